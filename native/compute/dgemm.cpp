// compute.dgemm and compute.dgemm_shape: products of square matrices, and of matrices of any shape
// or transposed, by the BLAS, on every rank concurrently.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compute/blas.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/draws.hpp"
#include "memory/pages.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay {
namespace {

constexpr std::int64_t kLargestOrder = 100'000;
// Entries of C that verify() recomputes.
constexpr std::size_t kSpotEntries = 64;
// The largest share of a node's available memory for its matrices.
constexpr double kPartOfMemory = 0.9;

// A number in [-1, 1) that depends on all bits of the index (`mixed`). Every thread can fill its
// own part.
double hashed(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t z = mixed(seed + (index + 1) * kDrawStep);
  return static_cast<double>(static_cast<std::int64_t>(z)) * 0x1p-63;
}

// A parameter between 1 and the largest order, or KernelError.
std::size_t extent(Parameters& parameters, const char* name, std::int64_t fallback) {
  return static_cast<std::size_t>(parameters.integer(name, fallback, 1, kLargestOrder));
}

// A factor of the product, `rows` x `columns`, whose transpose is stored if it is transposed.
struct Factor {
  const double* entries = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool transposed = false;

  std::size_t leading() const { return transposed ? columns : rows; }
  double at(std::size_t row, std::size_t column) const {
    return transposed ? entries[column + row * columns] : entries[row + column * rows];
  }
  blas::Block block() const { return {entries, static_cast<std::int64_t>(leading()), transposed}; }
};

// C = A B, where A is m x k and B k x n.
class Product : public Kernel {
 public:
  Product(const Context& context, Parameters& parameters, std::size_t m, std::size_t n,
          std::size_t k, const std::string& transpose)
      : context_(context), m_(m), n_(n), k_(k) {
    a_.transposed = transpose == "a" || transpose == "both";
    b_.transposed = transpose == "b" || transpose == "both";
    fault_ = PlantedFault(parameters, {"value", "nan"});
    blas::require();
  }

  void setup() override {
    check_memory();
    a_memory_ = Pages(m_ * k_ * sizeof(double), Pages::Size::huge);
    b_memory_ = Pages(k_ * n_ * sizeof(double), Pages::Size::huge);
    c_memory_ = Pages(m_ * n_ * sizeof(double), Pages::Size::huge);
    a_ = {a_memory_.as<double>(), m_, k_, a_.transposed};
    b_ = {b_memory_.as<double>(), k_, n_, b_.transposed};
    c_ = c_memory_.as<double>();
    const std::uint64_t seed = context_.seed + static_cast<std::uint64_t>(context_.rank);
    // C is filled with NaN: with beta = 0 the BLAS must not read it, and unwritten entries are
    // detected.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    fill(a_memory_.as<double>(), m_, k_, [&](std::size_t i) { return hashed(seed, i); });
    fill(b_memory_.as<double>(), k_, n_, [&](std::size_t i) { return hashed(~seed, i); });
    fill(c_, m_, n_, [&](std::size_t) { return nan; });
    threads_used_ = blas::set_threads(context_.threads);
  }

  void run(std::int64_t count) override {
    for (std::int64_t each = 0; each < count; ++each) {
      blas::product(static_cast<std::int64_t>(m_), static_cast<std::int64_t>(n_),
                    static_cast<std::int64_t>(k_), a_.block(), b_.block(), c_,
                    static_cast<std::int64_t>(m_));
    }
  }

  // With u the unit roundoff and gamma_k = k u / (1 - k u), C as computed is within gamma_k |A||B|
  // of the product, entry by entry, in whatever order the sums were made (Higham, Accuracy and
  // Stability of Numerical Algorithms, 2002, 3.5). Two checks, each an error divided by its bound:
  // - Freivalds (1977): C x against A (B x) for a random x. C's own error, and the rounding of C x,
  //   of B x and of A (B x), are each at most gamma |A||B||x| for the longest sum of them, of k or
  //   n terms; 5 of them cover the four and the terms of second order. Costs 2 N^2 where another
  //   product would cost N^3.
  // - Some entries (all, if there are few) as inner products in extended precision. C's own error
  // and, where long double is no wider, the inner product's: 2 gamma_k |A||B|.
  Verification verify() override {
    inject_fault();
    const double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    const auto gamma = [&](std::size_t terms) {
      const double roundoffs = static_cast<double>(terms) * unit_roundoff;
      return roundoffs / (1.0 - roundoffs);
    };
    const double by_vector = vector_error() / (5.0 * gamma(std::max(n_, k_)));
    const double by_entries = entries_error() / (2.0 * gamma(k_));
    const bool number = !std::isnan(by_vector) && !std::isnan(by_entries);
    const double value =
        number ? std::max(by_vector, by_entries) : std::numeric_limits<double>::quiet_NaN();
    return {value <= 1.0, "error over its bound, of C x against A (B x) and of recomputed entries",
            value, 1.0};
  }

  bool uses_blas_threads() const override { return true; }

  std::map<std::string, Value> facts() const override {
    auto known = blas::facts();
    if (threads_used_ > 0) known["blas_threads"] = std::int64_t{threads_used_};
    return known;
  }

 private:
  // Every thread fills columns of its own, which it multiplies later.
  template <typename Value>
  void fill(double* matrix, std::size_t rows, std::size_t columns, Value value) const {
#pragma omp parallel for num_threads(context_.threads) schedule(static)
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t i = column * rows; i < (column + 1) * rows; ++i) matrix[i] = value(i);
    }
  }

  void check_memory() const {
    const auto m = static_cast<double>(m_);
    const auto n = static_cast<double>(n_);
    const auto k = static_cast<double>(k_);
    const double need = (m * k + k * n + m * n) * sizeof(double);
    // For matrices of the same shape, n shrinks with the square root of their memory.
    const double most = n * std::sqrt(memory_per_rank(context_, kPartOfMemory) / need);
    const bool square = m_ == n_ && k_ == n_;
    require_memory(context_, kPartOfMemory, need,
                   square ? "three matrices of order " + std::to_string(n_)
                          : "three matrices of m, n, k = " + std::to_string(m_) + ", " +
                                std::to_string(n_) + ", " + std::to_string(k_),
                   square ? "n can be at most " + std::to_string(std::llround(std::floor(most)))
                          : std::string("use smaller ones"));
  }

  // y = M x and bound = |M| z, in the order of the entries in memory.
  static void apply(const Factor& matrix, const std::vector<double>& x,
                    const std::vector<double>& z, std::vector<double>& y,
                    std::vector<double>& bound) {
    y.assign(matrix.rows, 0.0);
    bound.assign(matrix.rows, 0.0);
    const bool by_rows = matrix.transposed;
    const std::size_t outer = by_rows ? matrix.rows : matrix.columns;
    const std::size_t inner = by_rows ? matrix.columns : matrix.rows;
    for (std::size_t slow = 0; slow < outer; ++slow) {
      for (std::size_t fast = 0; fast < inner; ++fast) {
        const double entry = matrix.entries[fast + slow * inner];
        const std::size_t row = by_rows ? slow : fast;
        const std::size_t column = by_rows ? fast : slow;
        y[row] += entry * x[column];
        bound[row] += std::abs(entry) * z[column];
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
    apply(b_, x, size_of_x, bx, bound_bx);
    apply(a_, bx, bound_bx, abx, bound);
    apply({c_, m_, n_, false}, x, size_of_x, cx, unused);
    return greatest_ratio(cx, abx, bound);
  }

  // Maximum of |C - A B| / |A||B| over the checked entries; NaN if there is one.
  double entries_error() const {
    const std::size_t entries = m_ * n_;
    const std::size_t looked_at = std::min(kSpotEntries, entries);
    std::vector<double> found(looked_at);
    std::vector<double> expected(looked_at);
    std::vector<double> bound(looked_at);
    for (std::size_t each = 0; each < looked_at; ++each) {
      // From the first entry to the last; the golden ratio spreads them evenly over rows and
      // columns.
      const double spread = std::fmod(static_cast<double>(each) * 0.6180339887498949, 1.0);
      const std::size_t at = looked_at < kSpotEntries || each == 0 ? each
                             : each == looked_at - 1
                                 ? entries - 1
                                 : static_cast<std::size_t>(spread * static_cast<double>(entries));
      const std::size_t row = at % m_;
      const std::size_t column = at / m_;
      long double sum = 0.0L;
      for (std::size_t i = 0; i < k_; ++i) {
        const long double a = a_.at(row, i);
        const long double b = b_.at(i, column);
        sum += a * b;
        bound[each] += static_cast<double>(std::abs(a * b));
      }
      found[each] = c_[at];
      expected[each] = static_cast<double>(sum);
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
    const std::size_t at = m_ * n_ / 3;
    if (fault_.is("value")) c_[at] += 1e-4;
    if (fault_.is("nan")) c_[at] = std::numeric_limits<double>::quiet_NaN();
  }

  Context context_;
  std::size_t m_;
  std::size_t n_;
  std::size_t k_;
  Pages a_memory_;
  Pages b_memory_;
  Pages c_memory_;
  Factor a_;
  Factor b_;
  double* c_ = nullptr;
  int threads_used_ = 0;
  PlantedFault fault_;
};

class Dgemm : public Product {
 public:
  Dgemm(const Context& context, Parameters& parameters)
      : Dgemm(context, parameters, extent(parameters, "n", 2000)) {}

 private:
  Dgemm(const Context& context, Parameters& parameters, std::size_t n)
      : Product(context, parameters, n, n, n, "none") {}
};

class Shape : public Product {
 public:
  Shape(const Context& context, Parameters& parameters)
      : Shape(context, parameters, extent(parameters, "m", 2000), extent(parameters, "n", 2000)) {}

 private:
  Shape(const Context& context, Parameters& parameters, std::size_t m, std::size_t n)
      : Product(context, parameters, m, n, extent(parameters, "k", 64),
                parameters.choice("transpose", "none", {"none", "a", "b", "both"})) {}
};

ASSAY_KERNEL("compute.dgemm", Dgemm);
ASSAY_KERNEL("compute.dgemm_shape", Shape);

}  // namespace
}  // namespace assay
