#include "hpcg/grid.hpp"

#include <limits>

namespace assay::hpcg {

std::array<int, 3> process_grid(int ranks) {
  std::array<int, 3> best{ranks, 1, 1};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int z = 1; std::int64_t{z} * z * z <= ranks; ++z) {
    if (ranks % z != 0) continue;
    const int rest = ranks / z;
    for (int y = z; std::int64_t{y} * y <= rest; ++y) {
      if (rest % y != 0) continue;
      const int x = rest / y;
      const std::int64_t surface = std::int64_t{x} * y + std::int64_t{y} * z + std::int64_t{x} * z;
      if (surface < least) {
        least = surface;
        best = {x, y, z};
      }
    }
  }
  return best;
}

double Box::nonzeros() const {
  double all = 1.0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    all *= 3.0 * static_cast<double>(extent(axis)) - 2.0;
  }
  return all;
}

int Box::neighbour(const std::array<int, 3>& direction) const {
  int rank = 0;
  for (std::size_t axis = 3; axis-- > 0;) {
    const int there = at[axis] + direction[axis];
    if (there < 0 || there >= processes[axis]) return -1;
    rank = rank * processes[axis] + there;
  }
  return rank;
}

Box box_of(int rank, int ranks, const Triple& size) {
  Box box{process_grid(ranks), {}, size};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.at[axis] = rank % box.processes[axis];
    rank /= box.processes[axis];
  }
  return box;
}

}  // namespace assay::hpcg
