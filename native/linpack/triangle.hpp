// Solves with the unit lower triangle of a panel, for many columns.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::linpack {

// B becomes L^-1 B only by matrix products: recursively by halves, down to small blocks on L's
// diagonal, whose inverses are computed once. (Several times as fast as the triangular solver of a
// BLAS that is optimised for other shapes.) L belongs to a panel: no entry exceeds 1, and the
// inverse of a block of 16 rows has no entry above 2^14; Du Croz & Higham, Stability of methods for
// matrix inversion, IMA J. Numer. Anal. 12, 1992, bound the effect on the solution.
class UnitLower {
 public:
  // Each thread takes one stripe of columns after the other; the BLAS must use one thread.
  explicit UnitLower(int threads) : threads_(threads) {}

  // The triangle's memory on and above its diagonal is not read. It must outlive this object's use.
  void set(std::int64_t order, const double* triangle, std::int64_t leading);

  // Applied to `width` columns of b.
  void solve(std::int64_t width, double* b, std::int64_t leading) const;

 private:
  // `copy` holds a block's rows while they are replaced.
  void solve_rows(std::int64_t first, std::int64_t count, std::int64_t width, double* b,
                  std::int64_t leading, double* copy) const;

  int threads_;
  std::int64_t order_ = 0;
  const double* triangle_ = nullptr;
  std::int64_t leading_ = 0;
  std::vector<double> inverses_;  // of the blocks on the diagonal, one after the other
};

}  // namespace assay::linpack
