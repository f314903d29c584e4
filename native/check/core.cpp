// Fused multiply-adds in registers, on all cores at one time: one rate per core.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "check/component.hpp"
#include "check/slots.hpp"
#include "compute/fma.hpp"

namespace assay::check {
namespace {

#if defined(__x86_64__) && defined(__FMA__) && defined(__AVX512F__)
using Widest = fma::Bits512;
#elif defined(__x86_64__) && defined(__FMA__)
using Widest = fma::Bits256;
#elif defined(__aarch64__)
using Widest = fma::Bits128;
#else
using Widest = fma::Scalar;
#endif

constexpr std::size_t kLanes = Widest::kBits / 64;
constexpr std::size_t kNumbers = fma::kChains * kLanes;
// Operations per look at the clock: about 0.1 ms.
constexpr std::int64_t kQuantum = 10;

// The chains of a core, on cache lines of their own.
struct alignas(128) Chains {
  double lanes[kNumbers] = {};
  std::int64_t done = 0;
};

// Each step adds 1 to every lane, exactly: the speed of a multiply-add doesn't depend on its
// operands, and the sums show that no step was left out.
void advance(Chains& chains, double factor, double term) {
  typename Widest::Vector state[fma::kChains];
  std::memcpy(state, chains.lanes, sizeof state);
  fma::advance<Widest>(state, kQuantum, factor, term, std::make_index_sequence<fma::kChains>{});
  std::memcpy(chains.lanes, state, sizeof state);
  chains.done += kQuantum;
}

bool is_right(const Chains& chains) {
  const auto expected = static_cast<double>(chains.done * (fma::kInstructions / fma::kChains));
  return chains.done > 0 && std::all_of(std::begin(chains.lanes), std::end(chains.lanes),
                                        [&](double lane) { return lane == expected; });
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

}  // namespace

// A core's value is the median over the repetitions: the slowest of many cores must not be the one
// that a daemon interrupted once.
Measured measure_core(const Task& task) {
  constexpr double kFlops = 2.0 * kLanes * static_cast<double>(kQuantum * fma::kInstructions);
  std::vector<Chains> chains(task.team.size());
  // Not constants: the compiler must not know their values.
  volatile double factor = 1.0;
  volatile double term = 1.0;
  const auto found = timed(task.team, task.seconds, [&](std::size_t member) {
    advance(chains[member], factor, term);
    return kFlops;
  });
  double& last = chains.back().lanes[kNumbers - 1];
  if (task.fault.is("lane")) last -= 1.0;
  if (task.fault.is("nan")) last = last * 0.0 / 0.0;
  Measured measured{{}, task.team.cpus(), std::all_of(chains.begin(), chains.end(), is_right)};
  for (const auto& member : found) {
    std::vector<double> rates;
    for (const Done& done : member) rates.push_back(done.rate());
    measured.values.push_back(median(std::move(rates)));
  }
  return measured;
}

}  // namespace assay::check
