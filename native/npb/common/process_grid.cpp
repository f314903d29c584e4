#include "npb/common/process_grid.hpp"

#include <algorithm>
#include <limits>

#include "npb/common/shared.hpp"

namespace assay::npb {
namespace {

int most_blocks(const Cutting& cutting, int dimension) {
  if (!cutting.may_cut[dimension]) return 1;
  const std::int64_t most = cutting.extents[dimension] / std::max<std::int64_t>(cutting.least, 1);
  return static_cast<int>(std::clamp<std::int64_t>(most, 1, std::numeric_limits<int>::max()));
}

}  // namespace

double block_cost(const Cutting& cutting, PerDimension<int> blocks) {
  using namespace shared;
  const auto nx = static_cast<double>(cutting.extents[0]);
  const auto ny = static_cast<double>(cutting.extents[1]);
  const auto nz = static_cast<double>(cutting.extents[2]);
  const auto [x, y, z] = blocks;
  const double face_cost = cutting.face_cost;
#include "npb/common/grid_cost.def"
  return cost;
}

PerDimension<int> choose_grid(const Cutting& cutting, int ranks) {
  PerDimension<int> best{1, 1, 1};
  double least = block_cost(cutting, best);
  const int most_x = std::min(ranks, most_blocks(cutting, 0));
  for (int x = 1; x <= most_x; ++x) {
    const int most_y = std::min(ranks / x, most_blocks(cutting, 1));
    for (int y = 1; y <= most_y; ++y) {
      // Once z is cut, more cuts in it never enlarge the greatest block or its faces.
      const int most_z = std::min(ranks / x / y, most_blocks(cutting, 2));
      for (const int z : {most_z, 1}) {
        const double cost = block_cost(cutting, {x, y, z});
        if (cost < least || (cost == least && x == best[0] && y == best[1] && z > best[2])) {
          best = {x, y, z};
          least = cost;
        }
      }
    }
  }
  return best;
}

int block_neighbour(PerDimension<int> blocks, PerDimension<int> coordinates, int dimension,
                    int step, bool periodic) {
  int& coordinate = coordinates[dimension];
  const int count = blocks[dimension];
  coordinate += step;
  if (coordinate < 0 || coordinate >= count) {
    if (!periodic) return MPI_PROC_NULL;
    coordinate = (coordinate + count) % count;
  }
  return block_rank(blocks, coordinates);
}

ProcessGrid::ProcessGrid(MPI_Comm comm, const Cutting& cutting, PerDimension<bool> periodic)
    : cutting_(cutting), periodic_(periodic) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  blocks_ = choose_grid(cutting, size);
  const bool works = rank < ranks();
  if (works) coordinates_ = block_coordinates(blocks_, rank);
  if (ranks() == size) {
    comm_ = comm;
  } else {
    MPI_Comm_split(comm, works ? 0 : MPI_UNDEFINED, rank, &comm_);
    own_ = comm_;
  }
}

ProcessGrid::~ProcessGrid() {
  if (own_ != MPI_COMM_NULL) MPI_Comm_free(&own_);
}

Share ProcessGrid::share(int dimension, int coordinate) const {
  return share_of({0, static_cast<std::uint64_t>(cutting_.extents[dimension])},
                  static_cast<std::uint64_t>(coordinate),
                  static_cast<std::uint64_t>(blocks_[dimension]));
}

}  // namespace assay::npb
