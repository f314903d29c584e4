#include "hpcg/sparse.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "harness/values.hpp"

namespace assay::hpcg {

namespace {

// Calls entry(column, value) for each nonzero of the row of this point, by ascending point.
template <class Entry>
void for_row(const Box& box, const Halo& halo, const Triple& point, const Entry& entry) {
  const std::int64_t own = box.points();
  const std::array<std::int64_t, 3> pitch{1, box.size[0], box.size[0] * box.size[1]};
  Triple at{};
  for (int dz = -1; dz <= 1; ++dz) {
    at[2] = point[2] + dz;
    for (int dy = -1; dy <= 1; ++dy) {
      at[1] = point[1] + dy;
      for (int dx = -1; dx <= 1; ++dx) {
        at[0] = point[0] + dx;
        bool inside = true;
        std::int64_t column = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          inside = inside && at[axis] >= 0 && at[axis] < box.size[axis];
          column += at[axis] * pitch[axis];
        }
        if (!inside) {
          column = halo.find(at);
          if (column < 0) continue;
          column += own;
        }
        entry(static_cast<std::int32_t>(column),
              dx == 0 && dy == 0 && dz == 0 ? kDiagonal : kOffDiagonal);
      }
    }
  }
}

// Rows with the same step keep their order.
Schedule by_step(const std::vector<std::int32_t>& step) {
  const std::int32_t steps = step.empty() ? 0 : *std::max_element(step.begin(), step.end()) + 1;
  Schedule schedule;
  schedule.start.assign(static_cast<std::size_t>(steps) + 1, 0);
  for (const std::int32_t each : step) ++schedule.start[static_cast<std::size_t>(each) + 1];
  for (std::size_t k = 1; k < schedule.start.size(); ++k) {
    schedule.start[k] += schedule.start[k - 1];
  }
  std::vector<std::int32_t> next = schedule.start;
  schedule.row.resize(step.size());
  for (std::size_t i = 0; i < step.size(); ++i) {
    schedule.row[static_cast<std::size_t>(next[static_cast<std::size_t>(step[i])]++)] =
        static_cast<std::int32_t>(i);
  }
  return schedule;
}

}  // namespace

SparseMatrix stencil_matrix(const Box& box, const Halo& halo, int threads) {
  const std::int64_t rows = box.points();
  if (rows + halo.external() > std::numeric_limits<std::int32_t>::max() / 2) {
    throw KernelError("a rank's grid has more points than 32-bit indices allow");
  }
  SparseMatrix a;
  a.rows = static_cast<std::int32_t>(rows);
  a.columns = static_cast<std::int32_t>(rows + halo.external());
  a.start = HugeArray<std::int64_t>(static_cast<std::size_t>(rows) + 1);
  std::int64_t entries = 0;
  for (std::int64_t z = 0, i = 0; z < box.size[2]; ++z) {
    for (std::int64_t y = 0; y < box.size[1]; ++y) {
      for (std::int64_t x = 0; x < box.size[0]; ++x, ++i) {
        std::int64_t count = 1;
        const Triple point{x, y, z};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t global = box.at[axis] * box.size[axis] + point[axis];
          count *= 1 + (global > 0 ? 1 : 0) + (global + 1 < box.extent(axis) ? 1 : 0);
        }
        a.start[static_cast<std::size_t>(i)] = entries;
        entries += count;
      }
    }
  }
  a.start[static_cast<std::size_t>(rows)] = entries;
  a.column = HugeArray<std::int32_t>(static_cast<std::size_t>(entries));
  a.value = HugeArray<double>(static_cast<std::size_t>(entries));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t z = 0; z < box.size[2]; ++z) {
    std::int64_t i = z * box.size[0] * box.size[1];
    for (std::int64_t y = 0; y < box.size[1]; ++y) {
      for (std::int64_t x = 0; x < box.size[0]; ++x, ++i) {
        auto k = static_cast<std::size_t>(a.start[static_cast<std::size_t>(i)]);
        for_row(box, halo, {x, y, z}, [&](std::int32_t column, double value) {
          a.column[k] = column;
          a.value[k] = value;
          ++k;
        });
      }
    }
  }
  return a;
}

Schedule dependency_levels(const SparseMatrix& a) {
  std::vector<std::int32_t> step(static_cast<std::size_t>(a.rows), 0);
  for (std::int32_t i = 0; i < a.rows; ++i) {
    std::int32_t first = 0;
    const auto row = static_cast<std::size_t>(i);
    for (std::int64_t k = a.start[row]; k < a.start[row + 1]; ++k) {
      const std::int32_t j = a.column[static_cast<std::size_t>(k)];
      if (j < i) first = std::max(first, step[static_cast<std::size_t>(j)] + 1);
    }
    step[row] = first;
  }
  return by_step(step);
}

Schedule greedy_colors(const SparseMatrix& a) {
  std::vector<std::int32_t> color(static_cast<std::size_t>(a.rows), 0);
  std::vector<std::int32_t> used_by;  // the last row that found the colour among its neighbours
  for (std::int32_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::int64_t k = a.start[row]; k < a.start[row + 1]; ++k) {
      const std::int32_t j = a.column[static_cast<std::size_t>(k)];
      if (j < i) used_by[static_cast<std::size_t>(color[static_cast<std::size_t>(j)])] = i;
    }
    std::size_t free = 0;
    while (free < used_by.size() && used_by[free] == i) ++free;
    if (free == used_by.size()) used_by.push_back(-1);
    color[row] = static_cast<std::int32_t>(free);
  }
  return by_step(color);
}

}  // namespace assay::hpcg
