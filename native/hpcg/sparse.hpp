// The matrix of HPCG in compressed rows, in the natural order of the points: the plain form, from
// which the fast one is made, and with which the reference iterations are done.
#pragma once

#include <cstdint>
#include <vector>

#include "hpcg/grid.hpp"
#include "hpcg/halo.hpp"
#include "memory/huge_array.hpp"

namespace assay::hpcg {

inline constexpr double kDiagonal = 26.0;
inline constexpr double kOffDiagonal = -1.0;

// Columns from `rows` on are external elements.
struct SparseMatrix {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  HugeArray<std::int64_t> start;  // rows + 1
  HugeArray<std::int32_t> column;
  HugeArray<double> value;
};

// The 27-point stencil on a rank's box (SAND2013-8752, section 3.1): 26 on the diagonal, -1 for
// each neighbour that the domain has. Throws KernelError if the rows are too many for 32 bits.
SparseMatrix stencil_matrix(const Box& box, const Halo& halo, int threads);

// Rows grouped into steps: the rows of a step don't depend on each other in a Gauss-Seidel sweep.
struct Schedule {
  std::vector<std::int32_t> row;    // by step
  std::vector<std::int32_t> start;  // steps + 1, in `row`

  std::int32_t steps() const { return static_cast<std::int32_t>(start.size()) - 1; }
};

// The earliest step of each row after all rows before it that it depends on: a sweep by steps
// yields the numbers of the sweep in the natural order.
Schedule dependency_levels(const SparseMatrix& a);

// The smallest colour that no earlier neighbour has: few steps, but another order of the sweep.
Schedule greedy_colors(const SparseMatrix& a);

}  // namespace assay::hpcg
