#include "npb/lu/solver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/kernel.hpp"
#include "npb/common/outcome.hpp"
#include "npb/common/share.hpp"
#include "npb/common/shared.hpp"

namespace assay::npb {
namespace {

cfd::Range inner(const cfd::Block& block, int dimension) {
  return {block.inner_begin(dimension), block.inner_end(dimension)};
}

cfd::Range part_of(cfd::Range rows, int thread, int threads) {
  const Share share =
      share_of({0, static_cast<std::uint64_t>(count(rows))}, static_cast<std::uint64_t>(thread),
               static_cast<std::uint64_t>(threads));
  return {rows.begin + static_cast<int>(share.begin), rows.begin + static_cast<int>(share.end)};
}

}  // namespace

Cutting lu_cutting(const LuClass& problem) { return cube_cutting(kLuCutting, problem.points); }

struct LuSolver::Worker {
  Worker(const cfd::Operator& of, const LuCoefficients& coefficients, LuPart part)
      : walk(of, part.rows), sweep(coefficients, part) {}

  cfd::OperatorWalk walk;
  LuSweep sweep;
};

LuSolver::LuSolver(const LuClass& problem, MPI_Comm comm, int threads)
    : problem_(problem),
      comm_(comm),
      threads_(threads),
      grid_(comm, lu_cutting(problem), {false, false, false}),
      coefficients_(problem.points, problem.time_step) {
  if (!grid_.works()) return;
  block_.points = problem.points;
  for (int d = 0; d < 3; ++d) {
    block_.first[d] = static_cast<int>(grid_.share(d).begin);
    block_.count[d] = grid_.extent(d);
    block_.cut[d] = grid_.cut(d);
  }
}

LuSolver::~LuSolver() = default;

void LuSolver::set_up() {
  if (!grid_.works()) return;
  int given = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp master
  given = omp_get_num_threads();
  // Sweeps would wait forever for missing threads.
  if (given != threads_) {
    throw KernelError("OpenMP gave " + std::to_string(given) + " threads instead of " +
                      std::to_string(threads_));
  }
  operator_ = std::make_unique<cfd::Operator>(block_);
  u_ = cfd::Field(block_);
  v_ = cfd::Field(block_);
  forcing_ = cfd::Field(block_);
  const cfd::Layout& layout = u_.layout();
  const BlockLayout where{block_.count, static_cast<std::size_t>(layout.row),
                          static_cast<std::size_t>(layout.plane),
                          static_cast<std::size_t>(layout.component)};
  halo_ = std::make_unique<Halo>(grid_, where, Ghosts{{cfd::kGhosts, cfd::kGhosts, 0}},
                                 cfd::kComponents);
  pipeline_ =
      std::make_unique<LuPipeline>(grid_, inner(block_, 2), inner(block_, 1), inner(block_, 0),
                                   threads_, lu_planes_per_message(problem_.points));
  const int working = pipeline_->working_threads();
  for (int thread = 0; thread < working; ++thread) {
    const LuPart part{inner(block_, 0), part_of(inner(block_, 1), thread, working)};
    workers_.push_back(std::make_unique<Worker>(*operator_, coefficients_, part));
  }
  cfd::set_forcing(*operator_, forcing_, u_, threads_);
  restore();
}

void LuSolver::restore() {
  if (grid_.works()) cfd::set_initial(block_, u_, threads_);
}

void LuSolver::descend(int thread, Worker& worker, Phases& phases) {
  worker.walk.begin(u_, inner(block_, 2).begin);
  worker.sweep.begin();
  pipeline_->sweep(
      false, thread, phases, kLuPipeline,
      [&](int z) { worker.walk.plane(u_, &forcing_, problem_.time_step, v_, z); },
      [&](int z, const LuEdges& edges) { worker.sweep.lower(u_, v_, z, edges); });
}

void LuSolver::ascend(int thread, Worker& worker, Phases& phases) {
  worker.sweep.begin();
  pipeline_->sweep(
      true, thread, phases, kLuPipeline, [](int) {},
      [&](int z, const LuEdges& edges) { worker.sweep.upper(u_, v_, z, edges); });
}

void LuSolver::run(int steps, Phases& phases) {
  if (!grid_.works()) return;
  cfd::State sums{};
  phases.around(kLuCompute, [&] {
    advance(steps, phases);
    sums = cfd::sums_of_squares(block_, v_, threads_);
  });
  phases.in(kLuAllreduce, [&] {
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), cfd::kComponents, MPI_DOUBLE, MPI_SUM, grid_.comm());
  });
  residual_ = cfd::root_mean_square(sums, problem_.points);
  for (double& each : residual_) each /= problem_.time_step;  // v is dt times it
}

void LuSolver::advance(int steps, Phases& phases) {
  const cfd::Range planes = inner(block_, 2);
#pragma omp parallel num_threads(threads_)
  {
    const int thread = omp_get_thread_num();
    const bool works = thread < pipeline_->working_threads();
    Worker* const worker = works ? workers_[static_cast<std::size_t>(thread)].get() : nullptr;
    const auto exchange = [&] {
      if (thread == 0) {
        phases.in(kLuHalo, [&] { halo_->exchange(u_.row(0, 0, 0)); });
      } else {
        halo_->exchange(u_.row(0, 0, 0));
      }
    };
    for (int i = 0; i < steps; ++i) {
      exchange();
      if (works) descend(thread, *worker, phases);
      // The upper sweep changes u; other threads' right-hand sides may still need the old values.
#pragma omp barrier
      if (works) ascend(thread, *worker, phases);
      if (thread == 0) phases.done(i + 1, steps);
    }
    exchange();
    if (works) {
      worker->walk.begin(u_, planes.begin);
      for (int z = planes.begin; z < planes.end; ++z) {
        worker->walk.plane(u_, &forcing_, problem_.time_step, v_, z);
      }
    }
  }
}

// The pressure over the surface of a box inside the cube, by the trapezoidal rule: global indices 1
// to n - 2 along x, 1 to n - 3 along y, 2 to n - 2 along z (NPB 2 report; RNR-94-007, 3.6.4).
double LuSolver::surface_integral() const {
  const int n = problem_.points;
  const std::array<cfd::Range, 3> box{{{1, n - 2}, {1, n - 3}, {2, n - 2}}};  // both ends in
  const auto end = [&](int d, int i) { return i == box[d].begin || i == box[d].end; };
  double sum = 0.0;
  for (int z = 0; z < block_.count[2]; ++z) {
    for (int y = 0; y < block_.count[1]; ++y) {
      for (int x = 0; x < block_.count[0]; ++x) {
        const int at[3] = {x + block_.first[0], y + block_.first[1], z + block_.first[2]};
        bool within = true;
        for (int d = 0; d < 3; ++d) within &= at[d] >= box[d].begin && at[d] <= box[d].end;
        if (!within) continue;
        for (int d = 0; d < 3; ++d) {
          if (!end(d, at[d])) continue;
          double weight = 1.0;
          for (int k = 0; k < 3; ++k) {
            if (k != d) weight *= end(k, at[k]) ? 0.5 : 1.0;
          }
          double u[cfd::kComponents];
          for (int m = 0; m < cfd::kComponents; ++m) u[m] = u_.row(m, z, y)[x];
          const double kinetic = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0];
          sum += weight * cfd::kC2 * (u[4] - kinetic);
        }
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid_.comm());
  return sum * block_.spacing() * block_.spacing();
}

double LuSolver::greatest_error() {
  double greatest = 0.0;
  if (grid_.works()) {
    const cfd::State error = cfd::error_norm(block_, u_, threads_, grid_.comm());
    std::array<double, 2 * cfd::kComponents + 1> errors{};
    for (int m = 0; m < cfd::kComponents; ++m) {
      errors[2 * m] = relative_error(residual_[m], problem_.residual[m]);
      errors[2 * m + 1] = relative_error(error[m], problem_.error[m]);
    }
    errors.back() = relative_error(surface_integral(), problem_.surface);
    for (const double each : errors) {
      if (std::isnan(each) || each > greatest) greatest = each;
      if (std::isnan(greatest)) break;
    }
  }
  MPI_Bcast(&greatest, 1, MPI_DOUBLE, 0, comm_);
  return greatest;
}

void LuSolver::spoil_forcing() {
  if (!grid_.works()) return;
  forcing_.row(2, inner(block_, 2).begin, inner(block_, 1).begin)[inner(block_, 0).begin] *= 1.001;
}

void LuSolver::spoil_sweep() {
  for (auto& worker : workers_) worker->sweep.spoil();
}

double lu_bytes_per_rank(const LuClass& problem, int ranks, int threads) {
  using namespace shared;
  using cfd::kComponents;
  using cfd::kGhosts;
  const PerDimension<int> blocks = choose_grid(lu_cutting(problem), ranks);
  const double points = problem.points;
  const double x = blocks[0];
  const double y = blocks[1];
  const double lanes = kLanes;
#include "npb/lu/memory.def"
  return bytes;
}

}  // namespace assay::npb
