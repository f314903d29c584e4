// The entries of the matrix to solve; they are the same on any process grid.
#pragma once

#include <cstdint>

#include "linpack/distribution.hpp"
#include "linpack/settings.hpp"

namespace assay::linpack {

// Entry (i, j) of a random matrix is a hash of (seed, i, j), uniform in (-0.5, 0.5): column j is
// the sequence of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) from a start value hashed from seed
// and j; any piece of it can be generated separately. The right-hand side is such a column for
// every kind of matrix.
//
// graded: entry (i, j) times 2^(-20 (i + j) / n), rounded.
// nearly_singular: column n/2 is the column before it, plus 2^-30 times a random column.
// singular: column n/2 is 0.
class Generator {
 public:
  explicit Generator(const Settings& settings)
      : n_(settings.n), seed_(settings.seed), kind_(settings.matrix) {}

  // The entries of column `column` on grid row `part`, in their local order. Column n is the
  // right-hand side.
  void column(std::int64_t column, const Cyclic& rows, int part, double* out) const;

 private:
  // Entries first … first + count - 1.
  void piece(std::int64_t column, std::int64_t first, std::int64_t count, double* out) const;

  std::int64_t n_;
  std::uint64_t seed_;
  MatrixKind kind_;
};

}  // namespace assay::linpack
