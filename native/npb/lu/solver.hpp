// LU: the model problem of cfd/ by symmetric successive over-relaxation.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>

#include "harness/phases.hpp"
#include "npb/cfd/operator.hpp"
#include "npb/cfd/state.hpp"
#include "npb/common/halo.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/lu/classes.hpp"
#include "npb/lu/pipeline.hpp"
#include "npb/lu/sweep.hpp"

namespace assay::npb {

enum LuPhase : std::size_t { kLuCompute, kLuHalo, kLuPipeline, kLuAllreduce };

// How the cube is cut among ranks.
Cutting lu_cutting(const LuClass& problem);

// Maximum bytes that a rank allocates.
double lu_bytes_per_rank(const LuClass& problem, int ranks, int threads);

class LuSolver {
 public:
  // Collective over comm, which may have more ranks than there are blocks.
  LuSolver(const LuClass& problem, MPI_Comm comm, int threads);
  ~LuSolver();

  // Allocates, sets the forcing and the initial field. Must be called first.
  void set_up();

  // Ranks that have a block.
  int working_ranks() const { return grid_.works() ? grid_.ranks() : 0; }

  // Restores the initial field.
  void restore();

  // Runs this many steps from the current field, and computes the norm of the residual after them.
  void run(int steps, Phases& phases);

  // Collective over comm. The greatest relative error of the norms and the integral after the last
  // run, on all ranks; NaN if any of them is NaN.
  double greatest_error();

  const cfd::State& residual() const { return residual_; }

  // Planted faults.
  void spoil_forcing();
  void spoil_sweep();

 private:
  struct Worker;  // one thread's memory

  double surface_integral() const;

  // In a parallel region of its own; v_ holds the right-hand side at the end.
  void advance(int steps, Phases& phases);
  // The right-hand side together with the lower sweep, while it is in cache; the upper sweep.
  void descend(int thread, Worker& worker, Phases& phases);
  void ascend(int thread, Worker& worker, Phases& phases);

  const LuClass& problem_;
  MPI_Comm comm_;
  int threads_;
  ProcessGrid grid_;
  cfd::Block block_;
  LuCoefficients coefficients_;
  cfd::Field u_, v_, forcing_;
  std::unique_ptr<cfd::Operator> operator_;
  std::unique_ptr<Halo> halo_;
  std::unique_ptr<LuPipeline> pipeline_;
  std::vector<std::unique_ptr<Worker>> workers_;
  cfd::State residual_{};
};

}  // namespace assay::npb
