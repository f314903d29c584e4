// MG's V-cycles on blocks of all levels.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/phases.hpp"
#include "npb/common/halo.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/common/team.hpp"
#include "npb/mg/charges.hpp"
#include "npb/mg/classes.hpp"
#include "npb/mg/field.hpp"
#include "npb/mg/sweep.hpp"

namespace assay::npb {

enum MgPhase : std::size_t { kMgCompute, kMgHalo, kMgGather, kMgAllreduce };

// Planes along y and z are cut, rows along x never are.
Cutting mg_cutting(int extent);

// The levels, 1 (2 points along each side) to `finest`. Those up to `whole` are on every rank: the
// right-hand side of level `whole` is gathered, and all ranks compute the same from there on, which
// saves the messages of levels with little work. Blocks of a coarser level are the coarse points
// that lie in the block of the finer one.
struct MgLevels {
  int finest = 1;
  int whole = 1;
  PerDimension<int> blocks{1, 1, 1};

  MgLevels(const MgClass& problem, int ranks);

  static int extent(int level) { return 1 << level; }
  // Of the block with that coordinate in y (1) or z (2).
  Range own(int level, int dimension, int coordinate) const;
  Span span(int level, int dimension, int coordinate, int ghosts) const;
  // How far beyond its block a rank computes the correction on a level, as the next finer level
  // requires.
  int reach(int level) const { return level == finest - 1 ? 2 : 3; }
};

// Bytes that the largest rank allocates, accurate to a few rows and planes.
double mg_bytes_per_rank(const MgClass& problem, int ranks, int threads);

class MgSolver {
 public:
  // Collective over comm, as solve() and place_charges() are.
  MgSolver(const MgClass& problem, MPI_Comm comm, int threads);

  // Whether this rank has a block.
  bool works() const { return grid_.works(); }
  int working_ranks() const { return grid_.ranks(); }

  // Bytes that this rank allocated.
  std::int64_t bytes() const;

  // Sets the right-hand side.
  void place_charges(const std::vector<Charge>& charges);

  // Sets u to zero.
  void clear();

  // Runs this many V-cycles; returns the norm of the last residual, on ranks with a block.
  double solve(int cycles, Phases& phases);

  // For tests: multiplies the smoother's first coefficient by `factor`.
  void spoil_smoother(double factor) { problem_.smoother[0] *= factor; }

 private:
  void allocate();
  // The thread's part of a range of rows and planes.
  Tile tile(int thread, Range y, Range z) const;
  template <typename Action>
  void in_phase(const Member& member, std::size_t phase, Phases& phases, Action action);
  double sweep_finest(Member& member, bool correct, bool restrict_it, bool norm, Phases& phases);
  void descend(Member& member, Phases& phases);
  void ascend(Member& member, Phases& phases);
  void gather(Member& member, Phases& phases);
  void exchange(Halo& halo, const MgField& field, const Member& member, Phases& phases);
  double norm_of(Member& member, double squares, Phases& phases);

  MgClass problem_;
  int threads_;
  MgLevels levels_;
  ProcessGrid grid_;
  Team team_;
  HugeArray<double> fine_;    // u and the right-hand side
  HugeArray<double> coarse_;  // fields of all other levels
  MgField u_;
  MgField right_;
  std::vector<MgField> rights_;       // of the residual equations, by level below the finest
  std::vector<MgField> corrections_;  // the same for corrections
  std::unique_ptr<Halo> u_halo_;
  std::vector<std::unique_ptr<Halo>> halos_;  // of rights_
  std::vector<MgScratch> scratch_;            // one per thread
  std::vector<double> gathered_;              // blocks of the gathered level, rank by rank
  std::vector<int> gathered_counts_;
  std::vector<int> gathered_places_;
};

}  // namespace assay::npb
