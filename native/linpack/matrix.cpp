#include "linpack/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "memory/draws.hpp"

namespace assay::linpack {
namespace {

constexpr double kGrades = 20.0;       // powers of 2 from the first row or column to the last
constexpr double kDistance = 0x1p-30;  // of the column that is nearly equal to another
constexpr std::uint64_t kRightHandSide = ~std::uint64_t{0};  // as a column

// An odd multiple of 2^-53 in (-0.5, 0.5) from the upper 52 bits: every step is exact.
inline double centred(std::uint64_t bits) {
  const double from_1_to_2 = std::bit_cast<double>((bits >> 12) | 0x3ff0000000000000u);
  return (from_1_to_2 - 1.5) + 0x1p-53;
}

void random_piece(std::uint64_t seed, std::uint64_t column, std::int64_t first, std::int64_t count,
                  double* out) {
  const std::uint64_t start =
      mixed(mixed(seed) + (column + 1) * kDrawStep) + static_cast<std::uint64_t>(first) * kDrawStep;
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = centred(mixed(start + static_cast<std::uint64_t>(i + 1) * kDrawStep));
  }
}

}  // namespace

void Generator::piece(std::int64_t column, std::int64_t first, std::int64_t count,
                      double* out) const {
  const auto unsigned_column = static_cast<std::uint64_t>(column);
  if (column == n_) {
    random_piece(seed_, kRightHandSide, first, count, out);
    return;
  }
  const bool special = column == n_ / 2;
  if (kind_ == MatrixKind::singular && special) {
    std::fill_n(out, count, 0.0);
    return;
  }
  random_piece(seed_, unsigned_column, first, count, out);
  if (kind_ == MatrixKind::graded) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto steps = static_cast<double>(first + i + column);
      out[i] *= std::exp2(-kGrades * steps / static_cast<double>(n_));
    }
  } else if (kind_ == MatrixKind::nearly_singular && special) {
    for (std::int64_t i = 0; i < count; ++i) out[i] *= kDistance;
    if (column == 0) return;
    constexpr std::int64_t kAtOnce = 64;
    double other[kAtOnce];
    for (std::int64_t i = 0; i < count; i += kAtOnce) {
      const std::int64_t some = std::min(kAtOnce, count - i);
      random_piece(seed_, unsigned_column - 1, first + i, some, other);
      for (std::int64_t k = 0; k < some; ++k) out[i + k] += other[k];
    }
  }
}

void Generator::column(std::int64_t column, const Cyclic& rows, int part, double* out) const {
  const std::int64_t count = rows.count(part);
  for (std::int64_t local = 0; local < count; local += rows.block) {
    piece(column, rows.global(local, part), std::min(rows.block, count - local), out + local);
  }
}

}  // namespace assay::linpack
