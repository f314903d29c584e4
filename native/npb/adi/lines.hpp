// Lines of grid points along one dimension, one per lane of a vector.
#pragma once

#include <array>
#include <cstddef>

#include "compute/lanes.hpp"
#include "npb/cfd/model.hpp"

namespace assay::npb::cfd {

// For members: as ASSAY_LANES_INLINE.
#define ASSAY_LANES_MEMBER inline __attribute__((always_inline))

using Lanes = std::array<Doubles, kComponents>;

// Components in an order common to all three directions: density, momentum along the line, momentum
// along the next two dimensions in turn, energy.
constexpr std::array<int, kComponents> along(int dimension) {
  return {0, 1 + dimension, 1 + (dimension + 1) % 3, 1 + (dimension + 2) % 3, 4};
}

// `vectors` times kLanes lines of `rows` points each, in the order in which unknowns are
// eliminated: from the lower end of the dimension to the upper, or in reverse if `row` is negative.
// Components have their own numbers.
struct Lines {
  std::array<const double*, kComponents>
      state{};                             // u at the first row; rows -1 and `rows` count too
  std::array<double*, kComponents> rhs{};  // right-hand side there, and solution
  std::ptrdiff_t state_row = 0;            // elements from one row to the next
  std::ptrdiff_t rhs_row = 0;
  std::ptrdiff_t vector = kLanes;  // elements from one vector to the next
  int rows = 0;
  int vectors = 0;
  bool ascending = true;       // whether elimination follows increasing coordinates
  bool starts_at_edge = true;  // whether the point before the first row is on the boundary
  bool ends_at_edge = true;    // whether the point after the last one is
};

}  // namespace assay::npb::cfd
