#include "linpack/solve.hpp"

#include <algorithm>

#include "compute/blas.hpp"
#include "linpack/threads.hpp"

namespace assay::linpack {
namespace {

// The part of a block of x's contribution to the rows above it that the next block doesn't need.
struct Pending {
  std::int64_t rows = 0;  // local, from the first
  std::int64_t column = 0;
  std::int64_t width = 0;
  const double* x = nullptr;
};

}  // namespace

// Each grid column sums the contributions of its blocks of x to each row; the sums of the rows of
// one block are added up, along their grid row, on the rank that has the block on the diagonal. It
// broadcasts the block of x to its grid column, which first subtracts it from the rows solved next;
// all other rows follow while the next block is computed in the next grid column.
std::vector<double> back_substitute(const Grid& grid, const Triangular& system, int threads) {
  const std::int64_t n = system.n;
  const Cyclic& rows = system.rows;
  const Cyclic& columns = system.columns;
  const double* const entries = system.entries;
  const std::int64_t leading = system.leading;
  const std::int64_t nb = rows.block;
  std::vector<double> x(static_cast<std::size_t>(n), 0.0);
  std::vector<double> rest(static_cast<std::size_t>(rows.count(grid.my_row)), 0.0);
  if (columns.owner(n) == grid.my_column) {
    std::copy_n(entries + columns.local(n) * leading, rest.size(), rest.begin());
  }
  const auto take_off = [&](std::int64_t first_row, std::int64_t count, const Pending& block) {
    in_row_shares(threads, count, [&](std::int64_t from, std::int64_t some, int) {
      const std::int64_t row = first_row + from;
      blas::subtract_product(some, block.width, {entries + row + block.column * leading, leading},
                             block.x, rest.data() + row);
    });
  };

  Pending pending;
  for (std::int64_t first = (n - 1) / nb * nb; first >= 0; first -= nb) {
    const std::int64_t width = std::min(nb, n - first);
    const int owner_row = rows.owner(first);
    const int owner_column = columns.owner(first);
    double* const block = x.data() + first;
    if (grid.my_row == owner_row) {
      MPI_Reduce(rest.data() + rows.local(first), block, static_cast<int>(width), MPI_DOUBLE,
                 MPI_SUM, owner_column, grid.row);
    }
    Pending next;
    if (grid.my_column == owner_column) {
      const std::int64_t column = columns.local(first);
      if (grid.my_row == owner_row) {
        blas::solve_upper(width, {entries + rows.local(first) + column * leading, leading}, block);
      }
      MPI_Bcast(block, static_cast<int>(width), MPI_DOUBLE, owner_row, grid.column);
      const std::int64_t above = rows.below(first, grid.my_row);
      next = {rows.below(std::max(first - nb, std::int64_t{0}), grid.my_row), column, width, block};
      take_off(next.rows, above - next.rows, next);
    }
    take_off(0, pending.rows, pending);
    pending = next;
  }
  return x;
}

std::vector<double> whole_solution(const Grid& grid, MPI_Comm comm, std::vector<double> x) {
  // All ranks of a grid column have the same blocks.
  if (grid.my_row != 0) std::fill(x.begin(), x.end(), 0.0);
  MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(x.size()), MPI_DOUBLE, MPI_SUM, comm);
  return x;
}

}  // namespace assay::linpack
