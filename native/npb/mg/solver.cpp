#include "npb/mg/solver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "harness/kernel.hpp"

namespace assay::npb {
namespace {

constexpr std::int64_t cube(std::int64_t i) { return i * i * i; }

}  // namespace

Cutting mg_cutting(int extent) { return cube_cutting(kMgCutting, extent); }

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
  const std::int64_t cheap =
      std::max(kMgFewPoints, cube(extent(finest)) / working / kMgFinerPoints);
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

// Doubles of the fields of the block at (y, z), on all levels.
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
    u = doubles(levels.finest, kMgUGhosts);
    right = doubles(levels.finest, kMgRightGhosts);
    for (int level = 0; level < levels.finest; ++level) {
      const int reach = levels.reach(level);
      rights.push_back(level == 0 ? 0 : doubles(level, reach + 1));
      corrections.push_back(level == 0 ? 0 : doubles(level, reach));
      coarse += rights.back() + corrections.back();
    }
  }
};

// The grid of tiles into which threads divide a range of rows and planes.
PerDimension<int> tiles_of(Range y, Range z, int threads) {
  Cutting tiling = kMgTiling;
  tiling.extents = {1, y.size(), z.size()};
  return choose_grid(tiling, threads);
}

// Doubles of scratch that a thread of the rank at (y, z) has.
struct ScratchSizes {
  std::size_t windows = 0;
  std::size_t frame = 0;

  ScratchSizes(const MgLevels& levels, int y, int z, int threads) {
    const auto most = [](int size, int parts) { return (size + parts - 1) / parts; };
    for (int level = 2; level <= levels.finest; ++level) {
      const int extent = MgLevels::extent(level);
      const bool finest = level == levels.finest;
      const int beyond = finest ? 0 : levels.reach(level);
      const Span rows = levels.span(level, 1, y, beyond);
      const Span planes = levels.span(level, 2, z, beyond);
      const PerDimension<int> tiles =
          extent <= kMgSoloExtent ? PerDimension<int>{1, 1, 1}
                                  : tiles_of({0, rows.stored()}, {0, planes.stored()}, threads);
      const int high = most(rows.stored(), tiles[1]);
      windows = std::max(windows, MgScratch::of_windows(extent, high));
      if (finest) frame = MgScratch::of_frame(extent, high, most(planes.stored(), tiles[2]));
    }
  }
};

}  // namespace

double mg_bytes_per_rank(const MgClass& problem, int ranks, int threads) {
  const MgLevels levels(problem, ranks);
  // share_of() assigns the remainder to the last parts.
  const int y = levels.blocks[1] - 1;
  const int z = levels.blocks[2] - 1;
  const FieldSizes sizes(levels, y, z);
  const ScratchSizes scratch(levels, y, z, threads);
  std::size_t doubles = sizes.u + sizes.right + sizes.coarse;
  doubles += static_cast<std::size_t>(threads) * (scratch.windows + scratch.frame);
  if (y > 0) {
    // Gathered blocks are packed, and so are the layers exchanged along y: sent and received, in
    // both directions.
    doubles += static_cast<std::size_t>(cube(MgLevels::extent(levels.whole)));
    for (int level = levels.whole + 1; level <= levels.finest; ++level) {
      const int ghosts = level == levels.finest ? kMgUGhosts : levels.reach(level) + 1;
      doubles += static_cast<std::size_t>(4 * ghosts * levels.own(level, 2, z).size()) *
                 static_cast<std::size_t>(MgLevels::extent(level));
    }
  }
  return static_cast<double>(doubles) * sizeof(double);
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
  fine_ = HugeArray<double>(sizes.u + sizes.right);
  u_ = field(finest, kMgUGhosts, fine_.data());
  right_ = field(finest, kMgRightGhosts, fine_.data() + sizes.u);
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
    u_halo_ = std::make_unique<Halo>(grid_, u_.layout(), u_.ghosts());
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
  const ScratchSizes scratch(levels_, y, z, threads_);
  for (int thread = 0; thread < threads_; ++thread) {
    scratch_.emplace_back(scratch.windows, scratch.frame);
  }
}

std::int64_t MgSolver::bytes() const {
  std::size_t doubles = fine_.size() + coarse_.size() + gathered_.size();
  for (const MgScratch& each : scratch_) doubles += each.size();
  auto bytes = static_cast<std::int64_t>(doubles * sizeof(double));
  if (u_halo_) bytes += u_halo_->buffer_bytes();
  for (const auto& halo : halos_) bytes += halo ? halo->buffer_bytes() : 0;
  return bytes;
}

// Each thread clears its own tile, so that pages are placed where they are used.
void MgSolver::clear() {
  if (!works()) return;
#pragma omp parallel num_threads(threads_)
  {
    const Tile mine = tile(omp_get_thread_num(), u_.stored_y(), u_.stored_z());
    for (int z = mine.z.begin; z < mine.z.end; ++z) {
      for (int y = mine.y.begin; y < mine.y.end; ++y) {
        std::fill_n(u_.row(z, y), u_.extent(), 0.0);
      }
    }
  }
}

void MgSolver::place_charges(const std::vector<Charge>& charges) {
  if (!works()) return;
  const auto extent = static_cast<std::uint64_t>(right_.extent());
#pragma omp parallel num_threads(threads_)
  {
    const Tile mine = tile(omp_get_thread_num(), right_.stored_y(), right_.stored_z());
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

Tile MgSolver::tile(int thread, Range y, Range z) const {
  const PerDimension<int> tiles = tiles_of(y, z, threads_);
  const auto [x, y_part, z_part] = block_coordinates(tiles, thread);
  if (z_part >= tiles[2]) return {};
  const auto part = [](Range whole, int index, int count) {
    const Share share =
        share_of({0, static_cast<std::uint64_t>(whole.size())}, static_cast<std::uint64_t>(index),
                 static_cast<std::uint64_t>(count));
    return Range{whole.begin + static_cast<int>(share.begin),
                 whole.begin + static_cast<int>(share.end)};
  };
  return {part(y, y_part, tiles[1]), part(z, z_part, tiles[2])};
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
  const FineFields fields{.u = u_,
                          .right = right_,
                          .correction = correct ? &corrections_[below] : nullptr,
                          .residual = restrict_it ? &rights_[below] : nullptr};
  MgScratch& scratch = scratch_[static_cast<std::size_t>(member.thread())];
  const Tile mine = tile(member.thread(), u_.y().own, u_.z().own);
  double squares = 0.0;
  in_phase(member, kMgCompute, phases, [&] {
    if (correct) {
      save_frame(u_, mine, scratch);
#pragma omp barrier
    }
    squares = sweep_fine(fields, problem_, mine, norm, scratch);
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
      const bool alone = MgLevels::extent(level) <= kMgSoloExtent;
      Range y = coarse.y().own;
      Range z = coarse.z().own;
      if (level - 1 == levels_.whole) {
        y = levels_.own(level - 1, 1, grid_.coordinates()[1]);
        z = levels_.own(level - 1, 2, grid_.coordinates()[2]);
      }
      if (!alone) {
        restrict_field(rights_[at], coarse, tile(member.thread(), y, z));
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
      const bool alone = MgLevels::extent(level) <= kMgSoloExtent;
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
                   alone ? Tile{y, z} : tile(member.thread(), y, z),
                   scratch_[static_cast<std::size_t>(member.thread())]);
    }
#pragma omp barrier
  });
}

// Each rank has its block of the right-hand side in place, and receives those of the others.
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
      if (!last && u_halo_) exchange(*u_halo_, u_, member, phases);
      if (member.thread() == 0) phases.done(cycle, cycles);
    }
    const double found = norm_of(member, squares, phases);
#pragma omp master
    norm = found;
  }
  return norm;
}

}  // namespace assay::npb
