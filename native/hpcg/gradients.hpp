// Preconditioned conjugate gradients, from x = 0 (SAND2013-8752, section 3.2).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "harness/phases.hpp"
#include "hpcg/vectors.hpp"

namespace assay::hpcg {

// The parts of a solution; those of the preconditioner are counted inside it.
enum HpcgPhase : std::size_t { kSpmv, kSmoother, kTransfer, kWaxpby, kDot };

struct Vectors {
  Vectors(const System& system, int threads);

  Vector b, x, r, z, p, product;
};

struct Until {
  int iterations = 50;
  double tolerance = 0.0;  // of the scaled residual
  bool preconditioned = true;
};

struct Convergence {
  int iterations = 0;
  double scaled = 0.0;  // ||r|| / ||r_0||, r from the recurrence
};

// Solves A x = b. Collective.
Convergence conjugate_gradients(System& system, Vectors& v, const Until& until, Phases& phases,
                                int threads, MPI_Comm comm);

}  // namespace assay::hpcg
