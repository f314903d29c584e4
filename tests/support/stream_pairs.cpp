// Compares every tuned loop of memory.stream with the reference: same results at sizes and offsets
// with unaligned ends, nothing written outside. Prints one line per pair.
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "memory/stream_loops.hpp"

namespace {

using assay::stream::Operation;
using assay::stream::Pass;

constexpr std::size_t margin = 16;  // elements around the result that must not change
constexpr double untouched = -7.0;

std::vector<double> result_of(Pass pass, const Operation& operation, std::size_t n,
                              std::size_t to_shift, std::size_t from_shift) {
  std::vector<double> to(n + 2 * margin + to_shift, untouched);
  std::vector<double> x(n + from_shift);
  std::vector<double> y(operation.reads == 2 ? n + 1 : 0);  // shifted by one against x
  for (std::size_t i = 0; i < n; ++i) {
    x[i + from_shift] = assay::stream::x_value(i);
    if (!y.empty()) y[i + 1] = assay::stream::y_value(i);
  }
  const double* const second = y.empty() ? nullptr : y.data() + 1;
  pass(to.data() + margin + to_shift, x.data() + from_shift, second, 3.125, n);
  to.erase(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(to_shift));
  return to;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// By an independent formula, so that the reference is not compared with itself.
double by_definition(const std::string& name, double x, double y, double scalar) {
  if (name == "copy") return x;
  if (name == "scale") return scalar * x;
  if (name == "sum") return x + y;
  if (name == "triad") return x + scalar * y;
  return std::numeric_limits<double>::quiet_NaN();
}

bool reference_is_right(const Operation& operation, std::size_t n) {
  const auto to = result_of(operation.variants[0].pass, operation, n, 0, 0);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool inside = i >= margin && i < margin + n;
    const double x = assay::stream::x_value(i - margin);
    const double y = assay::stream::y_value(i - margin);
    // Inputs and scalar are short binary fractions: every result is exact.
    const double expected =
        inside ? by_definition(std::string(operation.name), x, y, 3.125) : untouched;
    if (to[i] != expected) return false;
  }
  return true;
}

}  // namespace

int main() {
  int wrong = 0;
  for (const Operation& operation : assay::stream::operations()) {
    for (const auto& variant : operation.variants) {
      int pairs = 0;
      int differ = 0;
      for (std::size_t n = 0; n < 150; ++n) {
        if (!reference_is_right(operation, n)) ++differ;
        for (std::size_t to_shift = 0; to_shift < 9; ++to_shift) {
          for (std::size_t from_shift = 0; from_shift < 2; ++from_shift) {
            const auto reference =
                result_of(operation.variants[0].pass, operation, n, to_shift, from_shift);
            const auto tuned = result_of(variant.pass, operation, n, to_shift, from_shift);
            ++pairs;
            if (!same(reference, tuned)) ++differ;
          }
        }
      }
      std::printf("%s %s %d pairs=%d differ=%d\n", std::string(operation.name).c_str(),
                  std::string(variant.stores).c_str(), variant.vector_bits, pairs, differ);
      wrong += differ;
    }
  }
  return wrong == 0 ? 0 : 1;
}
