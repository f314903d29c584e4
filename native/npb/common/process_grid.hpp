// Ranks as a grid of blocks: the cuts of a box of points, and the assignment of blocks to ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "npb/common/share.hpp"

namespace assay::npb {

// In each dimension, in the order x, y, z; x is contiguous in memory.
template <typename T>
using PerDimension = std::array<T, 3>;

// Which dimensions of a box may be cut, and the cost of a cut.
struct Cutting {
  PerDimension<std::int64_t> extents{};  // points
  PerDimension<bool> may_cut{};
  std::int64_t least = 1;  // minimum points of a block in each dimension that is cut
  // Cost of a point on a face towards another block (copying it in both directions, computing what
  // both sides need), in units of a point's own work. Faces across x count twice: each of their
  // points is in a separate cache line.
  double face_cost = 1.0;
};

// The rule of a cutting without extents, applied to a cube with that many points along each side.
constexpr Cutting cube_cutting(Cutting rule, std::int64_t points) {
  rule.extents = {points, points, points};
  return rule;
}

// The time of a step by a simple model: the greatest block's points, and face_cost for those on its
// faces towards other blocks (grid_cost.def).
double block_cost(const Cutting& cutting, PerDimension<int> blocks);

// The grid of at most `ranks` blocks whose step takes the least time; of equal ones the one with
// the minimum number of cuts in x, then in y, then the maximum in z. It may have fewer blocks than
// there are ranks: 11 are slower than 9 on 12 planes of 12 x 12.
PerDimension<int> choose_grid(const Cutting& cutting, int ranks);

// Blocks are numbered along x first, then y, then z.
constexpr PerDimension<int> block_coordinates(PerDimension<int> blocks, int rank) {
  return {rank % blocks[0], rank / blocks[0] % blocks[1], rank / blocks[0] / blocks[1]};
}

constexpr int block_rank(PerDimension<int> blocks, PerDimension<int> coordinates) {
  return coordinates[0] + blocks[0] * (coordinates[1] + blocks[1] * coordinates[2]);
}

// The block next to `coordinates` in a dimension, `step` -1 or 1; MPI_PROC_NULL beyond an edge that
// is not periodic.
int block_neighbour(PerDimension<int> blocks, PerDimension<int> coordinates, int dimension,
                    int step, bool periodic);

// The ranks of a communicator as the blocks of a box. Ranks beyond the number of blocks stay idle.
class ProcessGrid {
 public:
  // Collective over comm, which is used itself if no rank is idle, and must outlive the object.
  ProcessGrid(MPI_Comm comm, const Cutting& cutting, PerDimension<bool> periodic);
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  // Whether this rank has a block. The following functions are for ranks with a block.
  bool works() const { return comm_ != MPI_COMM_NULL; }

  PerDimension<int> blocks() const { return blocks_; }
  int ranks() const { return blocks_[0] * blocks_[1] * blocks_[2]; }  // that work
  PerDimension<int> coordinates() const { return coordinates_; }
  bool cut(int dimension) const { return blocks_[dimension] > 1; }

  // Points of this rank's block, as global indices from 0.
  Share share(int dimension) const { return share(dimension, coordinates_[dimension]); }
  // And of the block with that coordinate.
  Share share(int dimension, int coordinate) const;
  int extent(int dimension) const {
    return static_cast<int>(share(dimension).end - share(dimension).begin);
  }

  // The neighbour's rank in comm(): the rank itself in a periodic dimension that is not cut.
  // `step` is -1 or 1.
  int neighbour(int dimension, int step) const {
    return block_neighbour(blocks_, coordinates_, dimension, step, periodic_[dimension]);
  }

  // The ranks that work, numbered by block; MPI_COMM_NULL on idle ones.
  MPI_Comm comm() const { return comm_; }

 private:
  Cutting cutting_;
  PerDimension<bool> periodic_;
  PerDimension<int> blocks_;
  PerDimension<int> coordinates_{};
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm own_ = MPI_COMM_NULL;  // if it differs from the given one
};

}  // namespace assay::npb
