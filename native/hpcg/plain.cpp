#include "hpcg/plain.hpp"

#include <algorithm>
#include <cstddef>

namespace assay::hpcg {

namespace {

std::vector<std::int32_t> injection(const Box& fine, const Box& coarse) {
  std::vector<std::int32_t> points;
  points.reserve(static_cast<std::size_t>(coarse.points()));
  for (std::int64_t z = 0; z < coarse.size[2]; ++z) {
    for (std::int64_t y = 0; y < coarse.size[1]; ++y) {
      for (std::int64_t x = 0; x < coarse.size[0]; ++x) {
        points.push_back(
            static_cast<std::int32_t>(2 * x + fine.size[0] * (2 * y + fine.size[1] * 2 * z)));
      }
    }
  }
  return points;
}

inline void relax(const SparseMatrix& a, std::int32_t i, const double* r, double* x) {
  const auto row = static_cast<std::size_t>(i);
  double sum = r[i];
  double diagonal = 0.0;
  for (std::int64_t k = a.start[row]; k < a.start[row + 1]; ++k) {
    const std::int32_t j = a.column[static_cast<std::size_t>(k)];
    const double value = a.value[static_cast<std::size_t>(k)];
    if (j == i) {
      diagonal = value;
    } else {
      sum -= value * x[j];
    }
  }
  x[i] = sum / diagonal;
}

}  // namespace

std::vector<PlainLevel> plain_levels(const Box& finest, MPI_Comm comm, int threads) {
  std::vector<PlainLevel> levels;
  Box box = finest;
  for (int depth = 0; depth < kLevels; ++depth) {
    PlainLevel level;
    level.box = box;
    level.halo = Halo(box, comm);
    level.a = stencil_matrix(box, level.halo, threads);
    if (depth > 0) level.injected = injection(levels.back().box, box);
    levels.push_back(std::move(level));
    box = box.coarse();
  }
  return levels;
}

void fill_right_side(const Box& box, double* b) {
  std::int64_t i = 0;
  Triple point{};
  for (point[2] = 0; point[2] < box.size[2]; ++point[2]) {
    for (point[1] = 0; point[1] < box.size[1]; ++point[1]) {
      for (point[0] = 0; point[0] < box.size[0]; ++point[0], ++i) {
        double row = 1.0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t global = box.at[axis] * box.size[axis] + point[axis];
          row *= 1.0 + (global > 0 ? 1.0 : 0.0) + (global + 1 < box.extent(axis) ? 1.0 : 0.0);
        }
        b[i] = kDiagonal + kOffDiagonal * (row - 1.0);
      }
    }
  }
}

PlainSystem::PlainSystem(std::vector<PlainLevel>& levels, int threads)
    : levels_(levels), scratch_(levels.size()), threads_(threads) {
  for (std::size_t depth = 0; depth + 1 < levels.size(); ++depth) {
    scratch_[depth].product = touched(levels[depth].a.rows, threads);
    scratch_[depth].r = touched(levels[depth + 1].a.columns, threads);
    scratch_[depth].x = touched(levels[depth + 1].a.columns, threads);
  }
}

void PlainSystem::multiply(PlainLevel& level, double* x, double* y) const {
  const SparseMatrix& a = level.a;
  level.halo.exchange(x, a.rows);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int32_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    double sum = 0.0;
    for (std::int64_t k = a.start[row]; k < a.start[row + 1]; ++k) {
      sum += a.value[static_cast<std::size_t>(k)] * x[a.column[static_cast<std::size_t>(k)]];
    }
    y[i] = sum;
  }
}

// With several threads by steps, each of which has rows that don't depend on each other: the same
// numbers as one row after the other.
void PlainSystem::smooth(PlainLevel& level, const double* r, double* x) const {
  const SparseMatrix& a = level.a;
  level.halo.exchange(x, a.rows);
  if (threads_ == 1) {
    for (std::int32_t i = 0; i < a.rows; ++i) relax(a, i, r, x);
    for (std::int32_t i = a.rows; i-- > 0;) relax(a, i, r, x);
    return;
  }
  const Schedule& order = level.order;
#pragma omp parallel num_threads(threads_)
  for (std::int32_t k = 0; k < 2 * order.steps(); ++k) {
    const auto step = static_cast<std::size_t>(k < order.steps() ? k : 2 * order.steps() - 1 - k);
#pragma omp for schedule(static)
    for (std::int32_t at = order.start[step]; at < order.start[step + 1]; ++at) {
      relax(a, order.row[static_cast<std::size_t>(at)], r, x);
    }
  }
}

void PlainSystem::cycle(std::size_t depth, const double* r, double* x) {
  PlainLevel& level = levels_[depth];
  std::fill(x, x + level.a.columns, 0.0);
  smooth(level, r, x);
  if (depth + 1 == levels_.size()) return;
  Scratch& scratch = scratch_[depth];
  multiply(level, x, scratch.product.data());
  const std::vector<std::int32_t>& injected = levels_[depth + 1].injected;
  for (std::size_t i = 0; i < injected.size(); ++i) {
    const auto point = static_cast<std::size_t>(injected[i]);
    scratch.r[i] = r[point] - scratch.product[point];
  }
  cycle(depth + 1, scratch.r.data(), scratch.x.data());
  for (std::size_t i = 0; i < injected.size(); ++i) x[injected[i]] += scratch.x[i];
  smooth(level, r, x);
}

}  // namespace assay::hpcg
