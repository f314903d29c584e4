// Time steps by approximate factorisation: implicit along x, then y, then z (RNR-94-007, 3.4).
//
//   (I + dt X)(I + dt Y)(I + dt Z) change = dt (R(u) - R(exact solution)),  u += change
//
// BT and SP differ in the systems along a line, `System`: BlockTridiagonal or Pentadiagonal. A step
// passes through memory twice: plane by plane of z the right-hand side, the lines along x and those
// along y, all in cache; then the lines along z with the update of u.
#pragma once

#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "npb/adi/lines.hpp"
#include "npb/adi/pipeline.hpp"
#include "npb/adi/shape.hpp"
#include "npb/adi/tiles.hpp"
#include "npb/cfd/field.hpp"
#include "npb/cfd/operator.hpp"
#include "npb/cfd/state.hpp"
#include "npb/common/halo.hpp"
#include "npb/common/process_grid.hpp"

namespace assay::npb::cfd {

enum AdiPhase : std::size_t { kAdiCompute, kAdiHalo, kAdiHandOver };

// The interface of either code for npb.bt and npb.sp.
class AdiSolver {
 public:
  AdiSolver() = default;
  AdiSolver(const AdiSolver&) = delete;
  AdiSolver& operator=(const AdiSolver&) = delete;
  virtual ~AdiSolver() = default;

  // Ranks that have a block.
  virtual int working_ranks() const = 0;
  // The initial field.
  virtual void restore() = 0;
  virtual void advance(int steps, Phases& phases) = 0;
  // Root mean squares over the inner points: of the residual R(u) - R(exact), and of u - exact.
  virtual State residual() = 0;
  virtual State error() = 0;
  // A planted fault: makes one value of u wrong by a millionth.
  virtual void perturb() = 0;
};

template <typename System>
class Adi final : public AdiSolver {
  using Doubles = typename System::Doubles;
  using Lanes = typename System::Lanes;
  using Mask = typename System::Mask;
  static constexpr int kLanes = System::kLanes;

 public:
  // Collective over comm; allocates.
  Adi(int points, double time_step, MPI_Comm comm, int threads)
      : points_(points),
        time_step_(time_step),
        all_(comm),
        threads_(threads),
        grid_(comm, AdiShape::cutting(points), {false, false, false}),
        block_(block_of(grid_, points)),
        operator_(block_),
        systems_{System(0, time_step, 1.0 / (points - 1)), System(1, time_step, 1.0 / (points - 1)),
                 System(2, time_step, 1.0 / (points - 1))} {
    if (!grid_.works()) return;
    u_ = Field(block_);
    rhs_ = Field(without_ghosts(block_));
    forcing_ = Field(without_ghosts(block_));
    const Layout& layout = u_.layout();
    const auto size = [](std::ptrdiff_t elements) { return static_cast<std::size_t>(elements); };
    halo_ = std::make_unique<Halo>(
        grid_,
        BlockLayout{block_.count, size(layout.row), size(layout.plane), size(layout.component)},
        Ghosts{.depth = {0, grid_.cut(1) ? kGhosts : 0, grid_.cut(2) ? kGhosts : 0}}, kComponents,
        kHaloTag);
    for (int d = 1; d < 3; ++d) {
      Sweep& sweep = sweeps_[static_cast<std::size_t>(d - 1)];
      const int blocks = grid_.blocks()[static_cast<std::size_t>(d)];
      sweep.batch =
          AdiShape::batch(points, blocks, greatest_share(inner(3 - d)), System::kKept, kLanes);
      const int lines = sweep.batch.rows * sweep.batch.vectors;
      sweep.parts = (vectors() + sweep.batch.vectors - 1) / sweep.batch.vectors;
      sweep.pipeline = std::make_unique<Pipeline>(
          grid_, d, threads, static_cast<std::size_t>(lines * kEliminated),
          static_cast<std::size_t>(lines * kSubstituted), kPipelineTag + 2 * d);
      sweep.line = (inner(d) + System::kHanded) * sweep.row();
    }
    int given = 0;
    std::exception_ptr failure;
    walks_.resize(static_cast<std::size_t>(threads));
    workspaces_.resize(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      if (thread == 0) given = omp_get_num_threads();
      try {
        walks_[thread] = std::make_unique<OperatorWalk>(operator_, Range{0, block_.count[1]});
        workspaces_[thread] = Workspace(*this);
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    if (given != threads) {
      throw KernelError("OpenMP gave " + std::to_string(given) + " threads instead of " +
                        std::to_string(threads));
    }
    set_forcing(operator_, forcing_, u_, threads);
    inside_ = HugeArray<std::int64_t>(size(vectors() * kLanes));
    for (int x = 0; x < vectors() * kLanes; ++x) {
      inside_[static_cast<std::size_t>(x)] = x > 0 && x < points - 1 ? -1 : 0;
    }
  }

  int working_ranks() const override { return grid_.ranks(); }

  void restore() override {
    if (grid_.works()) set_initial(block_, u_, threads_);
  }

  void advance(int steps, Phases& phases) override {
    if (!grid_.works()) return;
#pragma omp parallel num_threads(threads_)
    {
      for (int step = 0; step < steps; ++step) {
        this->step(phases);
        if (omp_get_thread_num() == 0) phases.done(step + 1, steps);
      }
    }
  }

  State residual() override {
    if (grid_.works()) {
#pragma omp parallel num_threads(threads_)
      {
        halo_->exchange(u_.row(0, 0, 0));
        const Range planes = share(block_.inner_begin(2), block_.inner_end(2));
        apply(operator_, u_, &forcing_, 1.0, rhs_, {0, block_.count[1]}, planes);
      }
    }
    return residual_norm(block_, rhs_, 1.0, threads_, all_);
  }
  State error() override { return error_norm(block_, u_, threads_, all_); }

  void perturb() override {
    if (!grid_.works() || grid_.coordinates() != PerDimension<int>{}) return;
    u_.row(4, block_.count[2] / 2, block_.count[1] / 2)[points_ / 2] *= 1.000001;
  }

  // Maximum bytes that a rank allocates.
  static double bytes_per_rank(int points_given, int ranks, int threads) {
    using namespace shared;
    const PerDimension<int> blocks = choose_grid(AdiShape::cutting(points_given), ranks);
    const double points = points_given;
    const double y = blocks[1];
    const double z = blocks[2];
    constexpr double lanes = kLanes;
    constexpr double kept = System::kKept;
    constexpr double handed = System::kHanded;
    const auto batch = [&](double along, double across) {
      return AdiShape::batch(points, along, ceil_div(ceil_div(points, across), threads), kept,
                             lanes);
    };
    const auto [rows_y, vectors_y] = batch(y, z);
    const auto [rows_z, vectors_z] = batch(z, y);
#include "npb/adi/memory.def"
    return bytes;
  }

 private:
  static constexpr int kHaloTag = 100;
  static constexpr int kPipelineTag = 200;
  static constexpr std::ptrdiff_t kKeptElements = System::kKept * kLanes;
  static constexpr std::ptrdiff_t kEliminated = System::kHanded * kKeptElements;
  static constexpr std::ptrdiff_t kSubstituted = System::kUnknowns * kLanes;
  // Squares of rows that are solved along x together, and elements between their points.
  static constexpr int kTiles = 2;
  static constexpr std::ptrdiff_t kTilePoint = kComponents * kLanes;

  // The lines of one dimension that may be cut.
  struct Sweep {
    AdiShape::Batch batch;
    int parts = 1;            // batches of a row of points
    std::ptrdiff_t line = 0;  // doubles kept for the lines of one row across
    std::unique_ptr<Pipeline> pipeline;

    std::ptrdiff_t row() const { return batch.vectors * kKeptElements; }
    std::ptrdiff_t slot() const { return batch.rows * line; }
    int batches(int across) const { return (across + batch.rows - 1) / batch.rows * parts; }
  };

  // One thread's own memory. `kept`: for each dimension, the result of the elimination.
  struct Workspace {
    Workspace() = default;
    explicit Workspace(const Adi& of)
        : state(static_cast<std::size_t>(kTiles * of.tile())),
          rhs(static_cast<std::size_t>(kTiles * of.tile())) {
      kept[0] = HugeArray<double>(
          static_cast<std::size_t>((of.inner(0) + System::kHanded) * kTiles * kKeptElements));
      std::ptrdiff_t widest = kTiles;
      for (std::size_t d = 1; d < 3; ++d) {
        const Sweep& sweep = of.sweeps_[d - 1];
        const std::ptrdiff_t slots = sweep.pipeline->place().lag() + 1;
        kept[d] = HugeArray<double>(static_cast<std::size_t>(slots * sweep.slot()));
        widest = std::max<std::ptrdiff_t>(widest, sweep.batch.vectors);
      }
      beyond = HugeArray<double>(static_cast<std::size_t>(widest * kSubstituted));
      nothing = HugeArray<double>(beyond.size());
    }

    std::array<HugeArray<double>, 3> kept;
    HugeArray<double> beyond;      // unknowns after the last row
    HugeArray<double> nothing;     // the same at the edge: 0
    HugeArray<double> state, rhs;  // rows along x, transposed
  };

  static Block block_of(const ProcessGrid& grid, int points) {
    Block block = Block::whole(points);
    for (int d = 0; d < 3; ++d) {
      const auto at = static_cast<std::size_t>(d);
      block.first[at] = grid.works() ? static_cast<int>(grid.share(d).begin) : 0;
      block.count[at] = grid.works() ? grid.extent(d) : 0;
      block.cut[at] = grid.works() && grid.cut(d);
    }
    return block;
  }

  static Block without_ghosts(Block block) {
    block.cut = {};
    return block;
  }

  int vectors() const { return (points_ + kLanes - 1) / kLanes; }
  std::ptrdiff_t tile() const { return vectors() * kLanes * kTilePoint; }
  int inner(int d) const { return block_.inner_end(d) - block_.inner_begin(d); }

  // This thread's share of local indices.
  Range share(int begin, int end) const {
    const auto thread = static_cast<std::uint64_t>(omp_get_thread_num());
    const Share part = share_of({0, static_cast<std::uint64_t>(end - begin)}, thread,
                                static_cast<std::uint64_t>(threads_));
    return {begin + static_cast<int>(part.begin), begin + static_cast<int>(part.end)};
  }

  int greatest_share(int all) const { return (all + threads_ - 1) / threads_; }

  template <typename Action>
  void timed(Phases& phases, AdiPhase phase, const Action& action) {
    if (omp_get_thread_num() == 0) {
      phases.in(phase, action);
    } else {
      action();
    }
  }

  // By all threads.
  void step(Phases& phases) {
    const auto meet = [&] {
      timed(phases, kAdiCompute, [] {
#pragma omp barrier
      });
    };
    if (grid_.cut(1) || grid_.cut(2)) {
      timed(phases, kAdiHalo, [&] { halo_->exchange(u_.row(0, 0, 0)); });
    }
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const Range planes = share(block_.inner_begin(2), block_.inner_end(2));
    sweep<1>(
        planes, greatest_share(inner(2)), phases,
        [&](int i) {
          const int z = planes.begin + i;
          if (i == 0) walks_[thread]->begin(u_, z);
          walks_[thread]->plane(u_, &forcing_, time_step_, rhs_, z);
          solve_x(z);
        },
        [&](const Lines& lines, int first) {
          return [&lines, this, first](int k, int v, const Lanes& x)
                     __attribute__((always_inline)) {
                       const Mask keep = inside(first + v);
                       for (std::size_t m = 0; m < kComponents; ++m) {
                         store(lines.rhs[m] + k * lines.rhs_row + v * lines.vector,
                               System::masked(x[m], keep));
                       }
                     };
        });
    meet();
    const Range rows = share(block_.inner_begin(1), block_.inner_end(1));
    sweep<2>(
        rows, greatest_share(inner(1)), phases, [](int) {},
        [&](const Lines& lines, int first) {
          return
              [&lines, this, first](int k, int v, const Lanes& x) __attribute__((always_inline)) {
                const Mask keep = inside(first + v);
                for (std::size_t m = 0; m < kComponents; ++m) {
                  double* const u =
                      const_cast<double*>(lines.state[m]) + k * lines.state_row + v * lines.vector;
                  store(u, System::load(u) + System::masked(x[m], keep));
                }
              };
        });
    meet();
  }

  Mask inside(int vector) const {
    return *reinterpret_cast<const Mask*>(inside_.data() + vector * kLanes);
  }

  // Solves the lines along y of planes, or along z of rows. prepare(i) is called before the i-th
  // lines; finish_of(lines, first vector) returns the function that takes the solution.
  template <int kDimension, typename Prepare, typename FinishOf>
  void sweep(Range across, int most, Phases& phases, const Prepare& prepare,
             const FinishOf& finish_of) {
    const Sweep& sweep = sweeps_[kDimension - 1];
    const System& system = systems_[kDimension];
    Workspace& work = workspaces_[static_cast<std::size_t>(omp_get_thread_num())];
    const Place& place = sweep.pipeline->place();
    const std::ptrdiff_t row = sweep.row();
    const std::ptrdiff_t handed = System::kHanded * row;
    const std::ptrdiff_t unknowns = sweep.batch.vectors * kSubstituted;
    const auto slot = [&](int i) {
      return work.kept[kDimension].data() + i % (place.lag() + 1) * sweep.slot() + handed;
    };
    // action(lines of a row across, number of rows of the batch before it).
    const auto each = [&](int i, const auto& action) {
      const int first = across.begin + i / sweep.parts * sweep.batch.rows;
      const int count = std::min(sweep.batch.rows, across.end - first);
      const int vector = i % sweep.parts * sweep.batch.vectors;
      for (int at = 0; at < count; ++at) {
        action(lines<kDimension>(first + at, vector, sweep.batch.vectors, place), at);
      }
    };
    sweep.pipeline->run(
        sweep.batches(most), sweep.batches(across.end - across.begin),
        [&](int i, const double* in, double* out) {
          if (i % sweep.parts == 0) {
            each(i,
                 [&](const Lines&, int at) { prepare(i / sweep.parts * sweep.batch.rows + at); });
          }
          each(i, [&](const Lines& lines, int at) {
            double* const kept = slot(i) + at * sweep.line;
            if (in != nullptr) std::copy(in + at * handed, in + (at + 1) * handed, kept - handed);
            system.template eliminate<kDimension>(lines, kept, row);
            const double* const end = kept + lines.rows * row;
            if (out != nullptr) std::copy(end - handed, end, out + at * handed);
          });
        },
        [&](int i, const double* in, double* out) {
          each(i, [&](const Lines& lines, int at) {
            const double* const kept = slot(i) + at * sweep.line;
            const double* beyond = work.nothing.data();
            if (place.meets) {
              System::meet(kept + (lines.rows - 1) * row, in + (at + 1) * handed - row, row,
                           work.beyond.data(), lines.vectors);
              beyond = work.beyond.data();
            } else if (in != nullptr) {
              beyond = in + at * unknowns;
            }
            System::template substitute<kDimension>(
                lines, kept, row, beyond, out == nullptr ? nullptr : out + at * unknowns,
                finish_of(lines, i % sweep.parts * sweep.batch.vectors));
          });
        },
        phases, kAdiCompute, kAdiHandOver);
  }

  // The lines through the points inside the block, in the plane or row `across`.
  template <int kDimension>
  Lines lines(int across, int first_vector, int vectors_of_batch, const Place& place) {
    Lines lines;
    const bool up = place.ascending();
    const int begin = block_.inner_begin(kDimension);
    const int end = block_.inner_end(kDimension);
    const int first = up ? begin : end - 1;
    const int z = kDimension == 1 ? across : first;
    const int y = kDimension == 1 ? first : across;
    for (int m = 0; m < kComponents; ++m) {
      const auto at = static_cast<std::size_t>(m);
      lines.state[at] = u_.row(m, z, y) + first_vector * kLanes;
      lines.rhs[at] = rhs_.row(m, z, y) + first_vector * kLanes;
    }
    const auto step = [&](const Layout& layout) {
      const std::ptrdiff_t upwards = kDimension == 1 ? layout.row : layout.plane;
      return up ? upwards : -upwards;
    };
    lines.state_row = step(u_.layout());
    lines.rhs_row = step(rhs_.layout());
    lines.vector = kLanes;
    lines.rows = end - begin;
    lines.vectors = std::min(vectors_of_batch, vectors() - first_vector);
    lines.ascending = up;
    const bool low_edge = begin != 0;
    const bool high_edge = end != block_.count[kDimension];
    lines.starts_at_edge = up ? low_edge : high_edge;
    lines.ends_at_edge = up ? high_edge : low_edge;
    return lines;
  }

  // Solves all lines along x of a plane.
  void solve_x(int z) {
    Workspace& work = workspaces_[static_cast<std::size_t>(omp_get_thread_num())];
    const int begin = block_.inner_begin(1);
    const int end = block_.inner_end(1);
    const int width = vectors() * kLanes;
    const std::ptrdiff_t row = kTiles * kKeptElements;
    double* const kept = work.kept[0].data() + System::kHanded * row;
    for (int y = begin; y < end; y += kTiles * kLanes) {
      const int tiles = std::min(kTiles, (end - y + kLanes - 1) / kLanes);
      for (int t = 0; t < tiles; ++t) {
        for (int m = 0; m < kComponents; ++m) {
          std::array<const double*, kLanes> state;
          std::array<const double*, kLanes> rhs;
          for (int i = 0; i < kLanes; ++i) {
            const int at = std::min(y + t * kLanes + i, end - 1);
            state[static_cast<std::size_t>(i)] = u_.row(m, z, at);
            rhs[static_cast<std::size_t>(i)] = rhs_.row(m, z, at);
          }
          gather(state, width, work.state.data() + t * tile() + m * kLanes, kTilePoint);
          gather(rhs, width, work.rhs.data() + t * tile() + m * kLanes, kTilePoint);
        }
      }
      Lines lines;
      for (int m = 0; m < kComponents; ++m) {
        const auto at = static_cast<std::size_t>(m);
        lines.state[at] = work.state.data() + kTilePoint + m * kLanes;
        lines.rhs[at] = work.rhs.data() + kTilePoint + m * kLanes;
      }
      lines.state_row = kTilePoint;
      lines.rhs_row = kTilePoint;
      lines.vector = tile();
      lines.rows = points_ - 2;
      lines.vectors = tiles;
      systems_[0].template eliminate<0>(lines, kept, row);
      System::template substitute<0>(
          lines, kept, row, work.nothing.data(), nullptr,
          [&](int k, int v, const Lanes& x) __attribute__((always_inline)) {
            for (std::size_t m = 0; m < kComponents; ++m) {
              store(lines.rhs[m] + k * kTilePoint + v * lines.vector, x[m]);
            }
          });
      for (int t = 0; t < tiles; ++t) {
        const int valid = std::min(kLanes, end - y - t * kLanes);
        for (int m = 0; m < kComponents; ++m) {
          std::array<double*, kLanes> rhs{};
          for (int i = 0; i < valid; ++i) {
            rhs[static_cast<std::size_t>(i)] = rhs_.row(m, z, y + t * kLanes + i);
          }
          scatter(work.rhs.data() + t * tile() + m * kLanes, kTilePoint, width, rhs, valid);
        }
      }
    }
  }

  int points_;
  double time_step_;
  MPI_Comm all_;
  int threads_;
  ProcessGrid grid_;
  Block block_;
  Operator operator_;
  std::array<System, 3> systems_;
  Field u_, rhs_, forcing_;
  std::unique_ptr<Halo> halo_;
  std::array<Sweep, 2> sweeps_;  // along y and z
  std::vector<std::unique_ptr<OperatorWalk>> walks_;
  std::vector<Workspace> workspaces_;
  HugeArray<std::int64_t> inside_;  // for each x, all bits set inside the cube
};

}  // namespace assay::npb::cfd
