// The process grid of HPCG and the box of points that each rank owns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::hpcg {

using Triple = std::array<std::int64_t, 3>;

// The factors of `ranks` with the least surface between equal boxes, the largest first.
std::array<int, 3> process_grid(int ranks);

// Equal boxes of points, one per rank; x varies fastest, in the grid of ranks as in a box.
struct Box {
  std::array<int, 3> processes{1, 1, 1};
  std::array<int, 3> at{0, 0, 0};
  Triple size{0, 0, 0};

  std::int64_t points() const { return size[0] * size[1] * size[2]; }
  // The box of the same rank on the grid with every second point.
  Box coarse() const { return {processes, at, {size[0] / 2, size[1] / 2, size[2] / 2}}; }
  std::int64_t extent(std::size_t axis) const { return size[axis] * processes[axis]; }
  // The nonzeros of all ranks' rows: each axis contributes 3 neighbours, 2 at its ends.
  double nonzeros() const;
  // The rank of the box in this direction (-1, 0 or 1 per axis); -1 if there is none.
  int neighbour(const std::array<int, 3>& direction) const;
};

Box box_of(int rank, int ranks, const Triple& size);

}  // namespace assay::hpcg
