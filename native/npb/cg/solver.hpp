// The inverse power method of CG on blocks of rows: one block per rank, divided among its threads.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/phases.hpp"
#include "npb/cg/classes.hpp"

namespace assay::npb {

struct Estimate {
  double zeta = 0.0;      // of the eigenvalue
  double residual = 0.0;  // |x - A z| of the last solution
};

enum CgPhase : std::size_t { kCgCompute, kCgAllreduce, kCgAllgatherv };

class CgSolver {
 public:
  virtual ~CgSolver() = default;

  // From x = (1, ..., 1), this many outer iterations of 25 conjugate-gradient steps each.
  virtual Estimate estimate(int iterations) = 0;

  // Nonzeros of this rank's rows.
  virtual std::int64_t nonzeros() const = 0;

  // For tests: multiplies the first element of the matrix by `factor`.
  virtual void perturb(double factor) = 0;
};

// Builds this rank's rows; collective over comm. Matrices beyond `cache_bytes` (a rank's part of
// the last-level cache) are prefetched from memory. Estimates add their times to the phases, by
// CgPhase.
std::unique_ptr<CgSolver> make_cg_solver(const CgClass& problem, MPI_Comm comm, int threads,
                                         std::size_t cache_bytes, Phases& phases);

// Maximum memory that one rank uses at any time, in bytes.
double cg_bytes_per_rank(const CgClass& problem, int ranks, int threads);

}  // namespace assay::npb
