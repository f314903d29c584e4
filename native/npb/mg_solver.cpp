#include "npb/mg_solver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "harness/kernel.hpp"

namespace assay::npb {
namespace {

constexpr int kUGhosts = 4;
constexpr int kRightGhosts = 3;

// A point on a face towards another block is computed on both sides in most of a sweep's stages.
constexpr double kFaceCost = 2.0;

// Levels are gathered where a rank's part of the finest has this many times the points...
constexpr std::int64_t kFinerPoints = 50;
// ... or where they are computed in the time of a few messages.
constexpr std::int64_t kFewPoints = 4096;

// Levels up to this extent are left to one thread: others would only wait for each other.
constexpr int kSoloExtent = 16;

constexpr std::int64_t cube(std::int64_t i) { return i * i * i; }

}  // namespace

Cutting mg_cutting(int extent) {
  return {.extents = {extent, extent, extent},
          .may_cut = {false, true, true},
          .least = kUGhosts,
          .face_cost = kFaceCost};
}

MgLevels::MgLevels(const MgClass& problem, int ranks) : finest(problem.log2_extent) {
  blocks = choose_grid(mg_cutting(extent(finest)), ranks);
  const int working = blocks[0] * blocks[1] * blocks[2];
  whole = finest;
  if (working == 1) return;
  const auto too_thin = [&](int level) {
    for (int d = 1; d < 3; ++d) {
      for (int c = 0; blocks[d] > 1 && c < blocks[d]; ++c) {
        if (own(level, d, c).size() < reach(level) + 1) return true;
      }
    }
    return false;
  };
  const std::int64_t cheap = std::max(kFewPoints, cube(extent(finest)) / working / kFinerPoints);
  whole = finest - 1;
  while (whole > 1 && cube(extent(whole)) > cheap && !too_thin(whole)) --whole;
}

Range MgLevels::own(int level, int dimension, int coordinate) const {
  const auto n = static_cast<std::uint64_t>(extent(finest));
  const Share share = share_of({0, n}, static_cast<std::uint64_t>(coordinate),
                               static_cast<std::uint64_t>(blocks[dimension]));
  return {static_cast<int>(share.begin) >> (finest - level),
          static_cast<int>(share.end) >> (finest - level)};
}

Span MgLevels::span(int level, int dimension, int coordinate, int ghosts) const {
  if (level <= whole || blocks[dimension] == 1) return {{0, extent(level)}, false, 0};
  return {own(level, dimension, coordinate), true, ghosts};
}

namespace {

// Doubles of the fields of the block at (y, z), of all levels.
struct FieldSizes {
  std::size_t u = 0;
  std::size_t right = 0;
  std::vector<std::size_t> rights;
  std::vector<std::size_t> corrections;
  std::size_t coarse = 0;

  FieldSizes(const MgLevels& levels, int y, int z) {
    const auto doubles = [&](int level, int ghosts) {
      return MgField::doubles(MgLevels::extent(level), levels.span(level, 1, y, ghosts),
                              levels.span(level, 2, z, ghosts));
    };
    u = doubles(levels.finest, kUGhosts);
    right = doubles(levels.finest, kRightGhosts);
    for (int level = 0; level < levels.finest; ++level) {
      const int reach = levels.reach(level);
      rights.push_back(level == 0 ? 0 : doubles(level, reach + 1));
      corrections.push_back(level == 0 ? 0 : doubles(level, reach));
      coarse += rights.back() + corrections.back();
    }
  }
};

std::size_t window_doubles(const MgLevels& levels, int threads) {
  // The tallest tile is a rank's whole block; with threads, a little less.
  static_cast<void>(threads);
  return MgWindows::doubles(MgLevels::extent(levels.finest),
                            levels.own(levels.finest, 1, 0).size() + 2);
}

}  // namespace

double mg_bytes_per_rank(const MgClass& problem, int ranks, int threads) {
  const MgLevels levels(problem, ranks);
  const FieldSizes sizes(levels, levels.blocks[1] / 2, levels.blocks[2] / 2);
  double doubles = static_cast<double>(2 * sizes.u + sizes.right + sizes.coarse);
  doubles += static_cast<double>(window_doubles(levels, threads)) * threads;
  return doubles * sizeof(double);
}

MgSolver::MgSolver(const MgClass& problem, MPI_Comm comm, int threads)
    : problem_(problem),
      threads_(threads),
      levels_(problem,
              [comm] {
                int ranks = 1;
                MPI_Comm_size(comm, &ranks);
                return ranks;
              }()),
      grid_(comm, mg_cutting(MgLevels::extent(problem.log2_extent)), {true, true, true}),
      team_(grid_.works() ? grid_.comm() : MPI_COMM_SELF, threads) {
  if (grid_.works()) allocate();
}

void MgSolver::allocate() {
  const int y = grid_.coordinates()[1];
  const int z = grid_.coordinates()[2];
  const FieldSizes sizes(levels_, y, z);
  const int finest = levels_.finest;
  const auto field = [&](int level, int ghosts, double* memory) {
    return MgField(MgLevels::extent(level), levels_.span(level, 1, y, ghosts),
                   levels_.span(level, 2, z, ghosts), memory);
  };
  for (int i = 0; i < 2; ++i) {
    fine_[i] = HugeArray<double>(sizes.u);
    u_[i] = field(finest, kUGhosts, fine_[i].data());
  }
  fine_[2] = HugeArray<double>(sizes.right);
  right_ = field(finest, kRightGhosts, fine_[2].data());
  coarse_ = HugeArray<double>(sizes.coarse);
  double* memory = coarse_.data();
  rights_.resize(static_cast<std::size_t>(finest));
  corrections_.resize(static_cast<std::size_t>(finest));
  halos_.resize(static_cast<std::size_t>(finest));
  for (int level = 1; level < finest; ++level) {
    const auto at = static_cast<std::size_t>(level);
    rights_[at] = field(level, levels_.reach(level) + 1, memory);
    memory += sizes.rights[at];
    corrections_[at] = field(level, levels_.reach(level), memory);
    memory += sizes.corrections[at];
    if (level > levels_.whole) {
      halos_[at] = std::make_unique<Halo>(grid_, rights_[at].layout(), rights_[at].ghosts());
    }
  }
  if (grid_.ranks() > 1) {
    u_halo_ = std::make_unique<Halo>(grid_, u_[0].layout(), u_[0].ghosts());
    int place = 0;
    for (int rank = 0; rank < grid_.ranks(); ++rank) {
      const auto at = block_coordinates(levels_.blocks, rank);
      const int count = MgLevels::extent(levels_.whole) *
                        levels_.own(levels_.whole, 1, at[1]).size() *
                        levels_.own(levels_.whole, 2, at[2]).size();
      gathered_counts_.push_back(count);
      gathered_places_.push_back(place);
      place += count;
    }
    if (grid_.cut(1)) gathered_.resize(static_cast<std::size_t>(place));
  }
  const std::size_t doubles = window_doubles(levels_, threads_);
  for (int thread = 0; thread < threads_; ++thread) windows_.emplace_back(doubles);
}

// Writes all of the fields, each thread its tile: pages come to be where they are used.
void MgSolver::clear() {
  if (!works()) return;
  present_ = 0;
#pragma omp parallel num_threads(threads_)
  {
    Member member(team_);
    for (const MgField* field : {&u_[0], &u_[1]}) {
      const Tile mine = tile(member, field->stored_y(), field->stored_z());
      for (int z = mine.z.begin; z < mine.z.end; ++z) {
        for (int y = mine.y.begin; y < mine.y.end; ++y) {
          std::fill_n(field->row(z, y), field->extent(), 0.0);
        }
      }
    }
  }
}

void MgSolver::place_charges(const std::vector<Charge>& charges) {
  if (!works()) return;
  const auto extent = static_cast<std::uint64_t>(right_.extent());
#pragma omp parallel num_threads(threads_)
  {
    Member member(team_);
    const Tile mine = tile(member, right_.stored_y(), right_.stored_z());
    for (int z = mine.z.begin; z < mine.z.end; ++z) {
      for (int y = mine.y.begin; y < mine.y.end; ++y) {
        double* const row = right_.row(z, y);
        std::fill_n(row, extent, 0.0);
        const std::uint64_t global_z = (static_cast<std::uint64_t>(z) + extent) % extent;
        const std::uint64_t global_y = (static_cast<std::uint64_t>(y) + extent) % extent;
        for (const Charge& charge : charges) {
          if (charge.index / extent == global_z * extent + global_y) {
            row[charge.index % extent] = charge.value;
          }
        }
      }
    }
  }
}

// The thread's part of a range of rows and planes.
Tile MgSolver::tile(const Member& member, Range y, Range z) const {
  const auto rows = static_cast<std::int64_t>(y.size());
  const auto planes = static_cast<std::int64_t>(z.size());
  const PerDimension<int> parts = choose_grid({.extents = {1, rows, planes},
                                               .may_cut = {false, true, true},
                                               .least = 1,
                                               .face_cost = kFaceCost},
                                              threads_);
  const auto [x, y_part, z_part] = block_coordinates(parts, member.thread());
  if (z_part >= parts[2]) return {};
  const auto part = [](Range whole, int index, int count) {
    const Share share =
        share_of({0, static_cast<std::uint64_t>(whole.size())}, static_cast<std::uint64_t>(index),
                 static_cast<std::uint64_t>(count));
    return Range{whole.begin + static_cast<int>(share.begin),
                 whole.begin + static_cast<int>(share.end)};
  };
  return {part(y, y_part, parts[1]), part(z, z_part, parts[2])};
}

template <typename Action>
void MgSolver::in_phase(const Member& member, std::size_t phase, Phases& phases, Action action) {
  if (member.thread() == 0) {
    phases.in(phase, action);
  } else {
    action();
  }
}

void MgSolver::exchange(Halo& halo, const MgField& field, const Member& member, Phases& phases) {
  in_phase(member, kMgHalo, phases, [&] { halo.exchange(field.origin()); });
}

double MgSolver::sweep_finest(Member& member, bool correct, bool restrict_it, bool norm,
                              Phases& phases) {
  const auto below = static_cast<std::size_t>(levels_.finest - 1);
  const MgField& u = u_[present_];
  const FineFields fields{.u = u,
                          .right = right_,
                          .correction = correct ? &corrections_[below] : nullptr,
                          .next_u = correct ? &u_[1 - present_] : nullptr,
                          .residual = restrict_it ? &rights_[below] : nullptr};
  double squares = 0.0;
  in_phase(member, kMgCompute, phases, [&] {
    squares = sweep_fine(fields, problem_, tile(member, u.y().own, u.z().own), norm,
                         windows_[static_cast<std::size_t>(member.thread())]);
#pragma omp barrier
#pragma omp master
    if (correct) present_ = 1 - present_;
#pragma omp barrier
  });
  return squares;
}

// Right-hand sides of all levels below the finest, whose residual has been restricted.
void MgSolver::descend(Member& member, Phases& phases) {
  if (levels_.finest - 1 == levels_.whole) gather(member, phases);
  for (int level = levels_.finest - 1; level > 1; --level) {
    const auto at = static_cast<std::size_t>(level);
    if (level > levels_.whole) exchange(*halos_[at], rights_[at], member, phases);
    in_phase(member, kMgCompute, phases, [&] {
      const MgField& coarse = rights_[at - 1];
      const bool alone = MgLevels::extent(level) <= kSoloExtent;
      Range y = coarse.y().own;
      Range z = coarse.z().own;
      if (level - 1 == levels_.whole) {
        y = levels_.own(level - 1, 1, grid_.coordinates()[1]);
        z = levels_.own(level - 1, 2, grid_.coordinates()[2]);
      }
      if (!alone) {
        restrict_field(rights_[at], coarse, tile(member, y, z));
      } else if (member.thread() == 0) {
        restrict_field(rights_[at], coarse, {y, z});
      }
#pragma omp barrier
    });
    if (level - 1 == levels_.whole) gather(member, phases);
  }
}

void MgSolver::ascend(Member& member, Phases& phases) {
  in_phase(member, kMgCompute, phases, [&] {
    for (int level = 1; level < levels_.finest; ++level) {
      const auto at = static_cast<std::size_t>(level);
      const bool alone = MgLevels::extent(level) <= kSoloExtent;
      if (alone && member.thread() != 0) continue;
      if (!alone) {
#pragma omp barrier
      }
      if (level == 1) {
        smooth_coarsest(rights_[at], corrections_[at], problem_);
        continue;
      }
      const MgField& correction = corrections_[at];
      const Range y = correction.stored_y();
      const Range z = correction.stored_z();
      sweep_coarse(corrections_[at - 1], rights_[at], correction, problem_,
                   alone ? Tile{y, z} : tile(member, y, z),
                   windows_[static_cast<std::size_t>(member.thread())]);
    }
#pragma omp barrier
  });
}

// Each rank has its block of the right-hand side in its place; it gets the others'.
void MgSolver::gather(Member& member, Phases& phases) {
  if (grid_.ranks() == 1) return;
#pragma omp barrier
#pragma omp master
  phases.in(kMgGather, [&] {
    const MgField& field = rights_[static_cast<std::size_t>(levels_.whole)];
    const auto for_rows = [&](int rank, auto action) {
      const auto at = block_coordinates(levels_.blocks, rank);
      const Range y = levels_.own(levels_.whole, 1, at[1]);
      const Range z = levels_.own(levels_.whole, 2, at[2]);
      double* place = gathered_.data() + gathered_places_[static_cast<std::size_t>(rank)];
      for (int plane = z.begin; plane < z.end; ++plane) {
        for (int row = y.begin; row < y.end; ++row) {
          action(field.row(plane, row), place);
          place += field.extent();
        }
      }
    };
    double* all = field.row(0, 0);
    if (grid_.cut(1)) {
      all = gathered_.data();
      for_rows(block_rank(levels_.blocks, grid_.coordinates()),
               [&](const double* row, double* to) { std::copy_n(row, field.extent(), to); });
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, gathered_counts_.data(),
                   gathered_places_.data(), MPI_DOUBLE, grid_.comm());
    if (grid_.cut(1)) {
      for (int rank = 0; rank < grid_.ranks(); ++rank) {
        for_rows(rank,
                 [&](double* row, const double* from) { std::copy_n(from, field.extent(), row); });
      }
    }
  });
#pragma omp barrier
  static_cast<void>(member);
}

double MgSolver::norm_of(Member& member, double squares, Phases& phases) {
  double sum = 0.0;
  in_phase(member, kMgAllreduce, phases, [&] { sum = member.sum(squares); });
  return std::sqrt(sum / static_cast<double>(cube(MgLevels::extent(levels_.finest))));
}

double MgSolver::solve(int cycles, Phases& phases) {
  double norm = 0.0;
  if (!works()) return norm;
#pragma omp parallel num_threads(threads_)
  {
    Member member(team_);
    // The benchmark begins with a residual and its norm.
    double squares = sweep_finest(member, false, true, true, phases);
    norm_of(member, squares, phases);
    for (int cycle = 1; cycle <= cycles; ++cycle) {
      const bool last = cycle == cycles;
      descend(member, phases);
      ascend(member, phases);
      squares = sweep_finest(member, true, !last, last, phases);
      if (!last && u_halo_) exchange(*u_halo_, u_[present_], member, phases);
    }
    const double found = norm_of(member, squares, phases);
#pragma omp master
    norm = found;
  }
  return norm;
}

}  // namespace assay::npb
