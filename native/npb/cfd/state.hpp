// Fields of the model problem: exact, initial, forcing; norms of residual and error.
//
// All functions are called outside parallel regions and open their own; those with a communicator
// are collective over it, and ranks whose block is empty take part.
#pragma once

#include <mpi.h>

#include "npb/cfd/field.hpp"
#include "npb/cfd/operator.hpp"

namespace assay::npb::cfd {

// The exact solution at the block's points and at ghosts inside the cube; 1 everywhere else (the
// padding is read with the rows, and must not cause a division by zero).
void set_exact(const Block& block, Field& u, int threads);

// Boundary values as the exact solution, inside the interpolation between the six faces
// (RNR-94-007, 3.4); ghosts and padding as above. Needs no communication.
void set_initial(const Block& block, Field& u, int threads);

// forcing = -R(exact solution) inside, 0 on the boundary. `work` is overwritten with the exact
// solution.
void set_forcing(const Operator& of, Field& forcing, Field& work, int threads);

// Sums of the squares over the block's points inside the cube, for each component; not collective.
// Independent of the number of threads.
State sums_of_squares(const Block& block, const Field& field, int threads);

// The root of the mean over all points inside the cube, from the sums of all blocks.
State root_mean_square(const State& sums, int points);

// The same for a residual, over all ranks; divided by `scale`, by which the residual was
// multiplied.
State residual_norm(const Block& block, const Field& residual, double scale, int threads,
                    MPI_Comm comm);

// The same for u minus the exact solution.
State error_norm(const Block& block, const Field& u, int threads, MPI_Comm comm);

}  // namespace assay::npb::cfd
