// Back substitution on the process grid.
#pragma once

#include <cstdint>
#include <vector>

#include "linpack/distribution.hpp"
#include "linpack/grid.hpp"

namespace assay::linpack {

// This rank's part of U with the right-hand side as column n, column-major.
struct Triangular {
  std::int64_t n;
  Cyclic rows;
  Cyclic columns;
  const double* entries;
  std::int64_t leading;
};

// Collective: the solution of U x = c. Each rank gets the entries of the columns that its grid
// column owns, and 0 for the others.
std::vector<double> back_substitute(const Grid& grid, const Triangular& system, int threads);

// Collective: all entries on every rank, combined from those of each.
std::vector<double> whole_solution(const Grid& grid, MPI_Comm comm, std::vector<double> x);

}  // namespace assay::linpack
