// compute.dgemm: the product of square matrices by the BLAS, on every rank concurrently.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compute/blas.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay {
namespace {

constexpr std::int64_t kLargestOrder = 100'000;
// Entries of C that verify() computes anew.
constexpr std::size_t kSpotEntries = 64;
// The share of a node's available memory that its matrices may take.
constexpr double kPartOfMemory = 0.9;

// A number in [-1, 1) that depends on all bits of the index (finaliser of SplitMix64: Steele, Lea
// and Flood, OOPSLA 2014). Every thread can fill its own part.
double hashed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(static_cast<std::int64_t>(z)) * 0x1p-63;
}

class Dgemm : public Kernel {
 public:
  Dgemm(const Context& context, Parameters& parameters) : context_(context) {
    const std::int64_t n = parameters.integer("n", 2000);
    if (n < 1 || n > kLargestOrder) {
      throw KernelError("parameter 'n' must be between 1 and " + std::to_string(kLargestOrder) +
                        ", not " + std::to_string(n));
    }
    n_ = static_cast<std::size_t>(n);
    fault_ = PlantedFault(parameters, {"value", "nan"});
    blas::require();
  }

  void setup() override {
    check_memory();
    for (Pages* each : {&a_memory_, &b_memory_, &c_memory_}) {
      *each = Pages(n_ * n_ * sizeof(double), Pages::Size::huge);
    }
    a_ = a_memory_.as<double>();
    b_ = b_memory_.as<double>();
    c_ = c_memory_.as<double>();
    const std::uint64_t seed = context_.seed + static_cast<std::uint64_t>(context_.rank);
    // NaN in C: with beta = 0 the BLAS must not read it, and entries that it doesn't write are
    // detected.
    const double nan = std::numeric_limits<double>::quiet_NaN();
#pragma omp parallel for num_threads(context_.threads) schedule(static)
    for (std::size_t column = 0; column < n_; ++column) {
      for (std::size_t i = column * n_; i < (column + 1) * n_; ++i) {
        a_[i] = hashed(seed, i);
        b_[i] = hashed(~seed, i);
        c_[i] = nan;
      }
    }
    threads_used_ = blas::set_threads(context_.threads);
  }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) blas::multiply(n_, a_, b_, c_);
  }

  // With u the unit roundoff and gamma_n = n u / (1 - n u), C as computed is within gamma_n |A||B|
  // of the product, entry by entry, in whatever order the sums were made (Higham, Accuracy and
  // Stability of Numerical Algorithms, 2002, 3.5). Two checks, each an error divided by its bound:
  // - Freivalds (1977): C x against A (B x) for a random x. C's own error, and the rounding of C x,
  //   of B x and of A (B x), are each at most gamma_n |A||B||x|; 5 of them cover the four and the
  //   terms of second order. Costs 2 N^2 where another product would cost N^3.
  // - Some entries (all, if there are few) as inner products in extended precision. C's own error
  // and, where long double is no wider, the inner product's: 2 gamma_n |A||B|.
  Verification verify() override {
    inject_fault();
    const double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    const double n_roundoffs = static_cast<double>(n_) * unit_roundoff;
    const double gamma = n_roundoffs / (1.0 - n_roundoffs);
    const double by_vector = vector_error() / (5.0 * gamma);
    const double by_entries = entries_error() / (2.0 * gamma);
    const bool number = !std::isnan(by_vector) && !std::isnan(by_entries);
    const double value =
        number ? std::max(by_vector, by_entries) : std::numeric_limits<double>::quiet_NaN();
    return {value <= 1.0,
            "error over its bound, of C x against A (B x) and of entries computed anew", value,
            1.0};
  }

  bool uses_blas_threads() const override { return true; }

  std::map<std::string, Value> facts() const override {
    auto known = blas::facts();
    if (threads_used_ > 0) known["blas_threads"] = std::int64_t{threads_used_};
    return known;
  }

 private:
  void check_memory() const {
    const double most = std::sqrt(memory_per_rank(context_, kPartOfMemory) / matrix_bytes(1) / 3);
    require_memory(context_, kPartOfMemory, 3 * matrix_bytes(n_),
                   "three matrices of order " + std::to_string(n_),
                   "n can be at most " + std::to_string(std::llround(std::floor(most))));
  }

  static double matrix_bytes(std::size_t n) {
    return static_cast<double>(n) * static_cast<double>(n) * sizeof(double);
  }

  // y = M x and bound = |M| z, column by column.
  void product(const double* matrix, const std::vector<double>& x, const std::vector<double>& z,
               std::vector<double>& y, std::vector<double>& bound) const {
    y.assign(n_, 0.0);
    bound.assign(n_, 0.0);
    for (std::size_t column = 0; column < n_; ++column) {
      const double* const entries = matrix + column * n_;
      for (std::size_t i = 0; i < n_; ++i) {
        y[i] += entries[i] * x[column];
        bound[i] += std::abs(entries[i]) * z[column];
      }
    }
  }

  // Maximum of |C x - A (B x)| / |A||B||x|, row by row; NaN if there is one.
  double vector_error() const {
    std::vector<double> x(n_);
    std::vector<double> size_of_x(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      // No entry near 0: it would hide errors in the corresponding column of C.
      const double random = hashed(context_.seed ^ 0x5eedu, i);
      x[i] = random < 0 ? random - 1.0 : random + 1.0;
      size_of_x[i] = std::abs(x[i]);
    }
    std::vector<double> bx;
    std::vector<double> bound_bx;
    std::vector<double> abx;
    std::vector<double> bound;
    std::vector<double> cx;
    std::vector<double> unused;
    product(b_, x, size_of_x, bx, bound_bx);
    product(a_, bx, bound_bx, abx, bound);
    product(c_, x, size_of_x, cx, unused);
    return greatest_ratio(cx, abx, bound);
  }

  // Maximum of |C - A B| / |A||B| over the checked entries; NaN if there is one.
  double entries_error() const {
    const std::size_t looked_at = std::min(kSpotEntries, n_ * n_);
    std::vector<double> found(looked_at);
    std::vector<double> expected(looked_at);
    std::vector<double> bound(looked_at);
    for (std::size_t k = 0; k < looked_at; ++k) {
      // From the first entry to the last; the golden ratio spreads rows and columns alike.
      const std::size_t at = looked_at < kSpotEntries || k == 0 ? k
                             : k == looked_at - 1
                                 ? n_ * n_ - 1
                                 : static_cast<std::size_t>(
                                       std::fmod(static_cast<double>(k) * 0.6180339887498949, 1.0) *
                                       static_cast<double>(n_ * n_));
      const std::size_t row = at % n_;
      const std::size_t column = at / n_;
      long double sum = 0.0L;
      for (std::size_t i = 0; i < n_; ++i) {
        const long double a = a_[row + i * n_];
        const long double b = b_[i + column * n_];
        sum += a * b;
        bound[k] += static_cast<double>(std::abs(a * b));
      }
      found[k] = c_[at];
      expected[k] = static_cast<double>(sum);
    }
    return greatest_ratio(found, expected, bound);
  }

  static double greatest_ratio(const std::vector<double>& found,
                               const std::vector<double>& expected,
                               const std::vector<double>& bound) {
    double greatest = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double difference = std::abs(found[i] - expected[i]);
      const double ratio = difference == 0.0 ? 0.0 : difference / bound[i];
      if (std::isnan(ratio)) return ratio;
      greatest = std::max(greatest, ratio);
    }
    return greatest;
  }

  void inject_fault() {
    const std::size_t at = n_ * n_ / 3;
    if (fault_.is("value")) c_[at] += 1e-4;
    if (fault_.is("nan")) c_[at] = std::numeric_limits<double>::quiet_NaN();
  }

  Context context_;
  std::size_t n_ = 0;
  Pages a_memory_;
  Pages b_memory_;
  Pages c_memory_;
  double* a_ = nullptr;
  double* b_ = nullptr;
  double* c_ = nullptr;
  int threads_used_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("compute.dgemm", Dgemm);

}  // namespace
}  // namespace assay
