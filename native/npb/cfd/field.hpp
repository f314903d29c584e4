// Five components on one rank's block of a cube of grid points.
#pragma once

#include <array>
#include <cstddef>

#include "memory/huge_array.hpp"
#include "npb/cfd/model.hpp"

namespace assay::npb::cfd {

// The dimensions are 0, 1, 2 for x, y, z. Local indices count from 0 at the block's first point.
struct Block {
  int points = 0;              // along each side of the cube, its boundary among them
  std::array<int, 3> first{};  // global index of the block's first point
  std::array<int, 3> count{};  // own points; 0: the rank has no part
  std::array<bool, 3> cut{};   // whether the dimension is divided among ranks

  // The whole cube on one rank.
  static Block whole(int points) { return {points, {}, {points, points, points}, {}}; }

  // Points of the block that are not on the boundary of the cube: [begin, end) in local indices.
  int inner_begin(int d) const { return first[at(d)] == 0 ? 1 : 0; }
  int inner_end(int d) const {
    return first[at(d)] + count[at(d)] == points ? count[at(d)] - 1 : count[at(d)];
  }
  // Points including ghosts, except those outside the cube.
  int reach_begin(int d) const {
    const int ghosts = cut[at(d)] ? kGhosts : 0;
    return first[at(d)] < ghosts ? -first[at(d)] : -ghosts;
  }
  int reach_end(int d) const {
    const int ghosts = cut[at(d)] ? kGhosts : 0;
    const int left = points - first[at(d)] - count[at(d)];
    return count[at(d)] + (left < ghosts ? left : ghosts);
  }
  double coordinate(int d, int local) const {
    return static_cast<double>(first[at(d)] + local) / (points - 1);
  }
  double spacing() const { return 1.0 / (points - 1); }

 private:
  static std::size_t at(int d) { return static_cast<std::size_t>(d); }
};

// Positions of a block's elements: [component][z][y][x], x contiguous. The first point of each row
// is at the start of a cache line. Along y and z there are ghosts where the block is cut; along x
// there is always room for two before and after each row, shared between the end of one row and the
// start of the next where the padding suffices for both. The allocation includes a cache line
// before and after, because a vector load that begins inside a row may run over its end.
struct Layout {
  std::ptrdiff_t row = 0;        // from one y to the next, in elements
  std::ptrdiff_t plane = 0;      // from one z to the next
  std::ptrdiff_t component = 0;  // from one component to the next
  std::ptrdiff_t origin = 0;     // of component 0 at (0, 0, 0)
  std::size_t size = 0;          // elements allocated

  explicit Layout(const Block& block) {
    constexpr std::ptrdiff_t kLine = 8;
    const auto lines = [](std::ptrdiff_t elements) {
      return (elements + kLine - 1) / kLine * kLine;
    };
    const std::ptrdiff_t ghosts_y = block.cut[1] ? kGhosts : 0;
    const std::ptrdiff_t ghosts_z = block.cut[2] ? kGhosts : 0;
    row = lines(block.count[0] + 2 * kGhosts);
    plane = row * (block.count[1] + 2 * ghosts_y);
    // Components are an odd number of cache lines apart, so that they do not compete for the same
    // cache sets.
    component = plane * (block.count[2] + 2 * ghosts_z) + kLine;
    if (component / kLine % 2 == 0) component += kLine;
    origin = kLine + ghosts_z * plane + ghosts_y * row;
    size = static_cast<std::size_t>(kComponents * component + 2 * kLine);
  }
};

// u, a right-hand side, a forcing term: five doubles per point. Zero until written.
class Field {
 public:
  Field() = default;
  explicit Field(const Block& block) : layout_(block), values_(layout_.size) {}

  // The row's point x = 0; ghosts have negative indices, or from count on.
  double* row(int component, int z, int y) { return values_.data() + offset(component, z, y); }
  const double* row(int component, int z, int y) const {
    return values_.data() + offset(component, z, y);
  }
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }
  const Layout& layout() const { return layout_; }

 private:
  std::ptrdiff_t offset(int component, int z, int y) const {
    return layout_.origin + component * layout_.component + z * layout_.plane + y * layout_.row;
  }

  Layout layout_{Block{}};
  HugeArray<double> values_;
};

}  // namespace assay::npb::cfd
