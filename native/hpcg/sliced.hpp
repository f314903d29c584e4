// The matrix in its fast form: rows in the order of a schedule, in slices. Entries before and after
// the diagonal are kept apart, because a sweep doesn't need all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "hpcg/sparse.hpp"
#include "hpcg/strips.hpp"
#include "hpcg/vectors.hpp"

namespace assay::hpcg {

// Positions: rows in the order of the schedule. Each step begins at a multiple of eight; the
// positions in between are empty rows with 1 on the diagonal, whose elements remain 0. External
// elements follow, and after them one element that is always 0.
struct SlicedMatrix {
  std::int64_t own = 0;                // positions of rows, a multiple of eight
  std::int64_t length = 0;             // with external elements and the zero
  std::vector<std::int64_t> step;      // first slice of each step; steps + 1
  std::vector<std::int32_t> position;  // of each row
  std::vector<std::int32_t> row_at;    // at each position; -1: empty
  Slices lower;                        // entries earlier in the order, and external ones
  Slices upper;                        // entries later in the order
  Vector diagonal;
  Vector inverse;  // of the diagonal

  std::int64_t zero() const { return length - 1; }
};

SlicedMatrix slice(const SparseMatrix& a, const Schedule& order, int threads);

// The lower entries alone of the rows at these positions; row 8 s + l is lane l of slice s. For
// the position `zero` an empty row.
Slices lower_rows(const SlicedMatrix& a, const std::vector<std::int32_t>& positions, int threads);

// The upper entries alone whose columns are among these positions, with the place in `positions` as
// their columns: with them the upper part times a correction of these elements.
Slices injected_entries(const SlicedMatrix& a, const std::vector<std::int32_t>& positions,
                        int threads);

// y = A x
void multiply(const SlicedMatrix& a, const double* x, double* y, int threads);

// A symmetric Gauss-Seidel step from x = 0. With A = L + D + U: (L + D) s = r and (D + U) x = D s,
// so that each entry is used once (Conrad & Wallach, Numer. Math. 32, 1979). `d_s` becomes D s,
// from which the residual follows: r - A x = r - D s - L x. External elements of x must be 0.
void smooth_from_zero(const SlicedMatrix& a, const double* r, double* x, double* d_s, int threads);

// The next step, after x was corrected: x = y + P e, with y and D s from smooth_from_zero(), P the
// injection and e the elements `correction`. `injected` are the entries of U P. External elements
// of x may be any. The forward sweep keeps w = r - L t, and the backward sweep solves (D + U) x =
// w. It needs no product with the upper part: as (D + U) y = D s, U x = D s - D y + U P e. `w`
// holds D s + D P e before.
void smooth(const SlicedMatrix& a, const Slices& injected, const double* correction,
            const double* r, double* x, double* w, int threads);

}  // namespace assay::hpcg
