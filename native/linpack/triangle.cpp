#include "linpack/triangle.hpp"

#include <algorithm>
#include <array>

#include "compute/blas.hpp"

namespace assay::linpack {
namespace {

constexpr std::int64_t kBlock = 16;
// Leading dimension of a copy of a block's rows: an odd number of cache lines.
constexpr std::int64_t kCopyLeading = kBlock + 8;
// Columns that stay in a cache while all rows are solved.
constexpr std::int64_t kStripe = 64;

}  // namespace

void UnitLower::set(std::int64_t order, const double* triangle, std::int64_t leading) {
  order_ = order;
  triangle_ = triangle;
  leading_ = leading;
  const std::int64_t blocks = (order + kBlock - 1) / kBlock;
  inverses_.assign(static_cast<std::size_t>(blocks * kBlock * kBlock), 0.0);
  for (std::int64_t first = 0; first < order; first += kBlock) {
    const double* const l = triangle + first + first * leading;
    double* const inverse = inverses_.data() + first * kBlock;
    const std::int64_t size = std::min(kBlock, order - first);
    for (std::int64_t column = 0; column < size; ++column) {
      double* const x = inverse + column * kBlock;
      x[column] = 1.0;
      for (std::int64_t row = column + 1; row < size; ++row) {
        for (std::int64_t k = column; k < row; ++k) x[row] -= l[row + k * leading] * x[k];
      }
    }
  }
}

void UnitLower::solve(std::int64_t width, double* b, std::int64_t leading) const {
#pragma omp parallel num_threads(threads_) if (threads_ > 1 && width > kStripe)
  {
    std::array<double, kCopyLeading * kStripe> copy;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t c = 0; c < width; c += kStripe) {
      solve_rows(0, order_, std::min(kStripe, width - c), b + c * leading, leading, copy.data());
    }
  }
}

void UnitLower::solve_rows(std::int64_t first, std::int64_t count, std::int64_t width, double* b,
                           std::int64_t leading, double* copy) const {
  if (count <= kBlock) {
    for (std::int64_t c = 0; c < width; ++c) {
      std::copy_n(b + c * leading, count, copy + c * kCopyLeading);
    }
    blas::product(count, width, count, {inverses_.data() + first * kBlock, kBlock},
                  {copy, kCopyLeading}, b, leading);
    return;
  }
  const std::int64_t upper = (count / 2 + kBlock - 1) / kBlock * kBlock;
  solve_rows(first, upper, width, b, leading, copy);
  blas::subtract_product(count - upper, width, upper,
                         {triangle_ + first + upper + first * leading_, leading_}, {b, leading},
                         b + upper, leading);
  solve_rows(first + upper, count - upper, width, b + upper, leading, copy);
}

}  // namespace assay::linpack
