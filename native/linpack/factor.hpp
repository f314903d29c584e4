// A dense linear system over the ranks of a communicator: made, solved, checked.
#pragma once

#include <mpi.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "harness/phases.hpp"
#include "linpack/broadcast.hpp"
#include "linpack/grid.hpp"
#include "linpack/matrix.hpp"
#include "linpack/panel.hpp"
#include "linpack/row_swaps.hpp"
#include "linpack/settings.hpp"
#include "linpack/triangle.hpp"
#include "memory/huge_array.hpp"

namespace assay::linpack {

// The phases of a solution, by these numbers; their times add up to its time.
inline const std::vector<std::string> kPhaseNames{"panel", "broadcast", "swap", "update", "solve"};
enum Phase : std::size_t { kPanel, kBroadcast, kSwap, kUpdate, kSolve };

// Told on every rank after each panel: which share of the factorisation's operations is done.
using Progress = std::function<void(double share)>;

// Memory of a rank that one system after the other may use.
class Workspace {
 public:
  // That many doubles at least, on huge pages, aligned to a cache line and holding anything. What
  // was given before is void. Throws KernelError.
  double* take(double doubles) {
    if (static_cast<double>(memory_.size()) < doubles) {
      memory_ = {};
      memory_ = HugeArray<double>(static_cast<std::size_t>(doubles));
    }
    return memory_.data();
  }
  std::size_t bytes() const { return memory_.size() * sizeof(double); }

 private:
  HugeArray<double> memory_;
};

// A x = b, where A is made by Generator and b is column n beside it. Dealt out block-cyclically
// over a grid of settings.p rows; A is factored in place, L being sent along and not kept.
class LinearSystem {
 public:
  // Collective over `comm`, which must stay. Takes its memory from the workspace, before it
  // communicates: KernelError on any subset of ranks. settings.p divides the ranks.
  LinearSystem(MPI_Comm comm, const Settings& settings, int threads, Workspace& workspace);

  // Collective: matrix and right-hand side, as they are before the solution. Sets the BLAS to one
  // thread, for each of the rank's OpenMP threads calls it.
  void make();

  // Collective. KernelError on all ranks if there is no pivot in some column.
  void solve(Phases& phases, const Progress& progress = {});

  // Collective, after solve(): the whole solution, on every rank; and HPL's scaled residual, to be
  // below kResidualTolerance.
  std::vector<double> solution() const;
  double residual() const;

  const Settings& settings() const { return settings_; }

 private:
  void connect();
  void prepare(std::int64_t first, Phases& phases);
  void factor_panel(Panel& panel);
  void update(Panel& panel, const SwapPlan& plan, std::int64_t first, std::int64_t last,
              PanelBroadcast* sent, Phases& phases);
  double* entry(std::int64_t row, std::int64_t column) const {
    return matrix_ + row + column * leading_;
  }

  MPI_Comm comm_;
  Settings settings_;
  int threads_;
  Generator generator_;
  Cyclic rows_;
  Cyclic columns_;
  std::int64_t local_rows_ = 0;
  std::int64_t local_columns_ = 0;  // with the right-hand side's, where that is
  std::int64_t leading_ = 0;
  double* matrix_ = nullptr;
  UnitLower lower_;      // of the panel whose update is going on
  double* u_ = nullptr;  // rows of U, where they don't stay in the matrix
  std::vector<Panel> panels_;
  std::vector<double> x_;
  // What takes messages to make, made by the first make().
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<PanelFactorisation> factorisation_;
  std::array<std::unique_ptr<PanelBroadcast>, 2> broadcasts_;
  std::unique_ptr<RowSwaps> swaps_;
  PanelBroadcast* under_way_ = nullptr;  // what RowSwaps moves on while it waits
};

}  // namespace assay::linpack
