// The scaled residual of a solution.
#pragma once

#include <mpi.h>

#include <vector>

#include "linpack/distribution.hpp"
#include "linpack/grid.hpp"
#include "linpack/matrix.hpp"

namespace assay::linpack {

// The residual of the HPL benchmark (Dongarra, Luszczek & Petitet, Concurrency and Computation 15,
// 2003), in infinity norms: ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), where eps is 2^-53. Its
// order of magnitude is 1 for a backward stable solution, whatever A's condition, and must be
// below this tolerance.
inline constexpr double kResidualTolerance = 16.0;

// Collective over `comm`; A and b are generated again, column by column. `x` is the whole solution
// on every rank. NaN if any intermediate number is NaN.
double scaled_residual(const Grid& grid, MPI_Comm comm, const Generator& generator,
                       const Cyclic& rows, const Cyclic& columns, const std::vector<double>& x,
                       int threads);

}  // namespace assay::linpack
