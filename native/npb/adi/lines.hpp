// Lines of grid points along one dimension, one per lane of a vector; or one alone, in plain code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "compute/lanes.hpp"
#include "npb/cfd/model.hpp"

namespace assay::npb::cfd {

// For members: as ASSAY_LANES_INLINE.
#define ASSAY_LANES_MEMBER inline __attribute__((always_inline))

// The values that code for lines works on: vectors V of one double per line, or V = double. The
// systems along a line and the solver derive from it, and take their own Doubles and kLanes from
// it: those of this namespace are the vectors'.
template <typename V>
struct LineValues {
  using Doubles = V;
  static constexpr int kLanes = sizeof(V) / sizeof(double);
  using Lanes = std::array<V, kComponents>;
  // Per lane: all bits are set, or none.
  using Mask = std::conditional_t<std::is_same_v<V, double>, std::int64_t, assay::Mask>;

  static ASSAY_LANES_MEMBER V load(const double* from) { return assay::load<V>(from); }
  static ASSAY_LANES_MEMBER V broadcast(double value) { return V{} + value; }
  // 0 in lanes without the mask's bits.
  static ASSAY_LANES_MEMBER V masked(V x, Mask keep) {
    if constexpr (std::is_same_v<V, double>) {
      return keep != 0 ? x : 0.0;
    } else {
      return (V)((Mask)x & keep);
    }
  }
};

// Components in an order common to all three directions: density, momentum along the line, momentum
// along the next two dimensions in turn, energy.
constexpr std::array<int, kComponents> along(int dimension) {
  return {0, 1 + dimension, 1 + (dimension + 1) % 3, 1 + (dimension + 2) % 3, 4};
}

// `vectors` vectors of lines of `rows` points each, in the order in which unknowns are eliminated:
// from the lower end of the dimension to the upper, or in reverse if `row` is negative.
// Components have their own numbers.
struct Lines {
  std::array<const double*, kComponents>
      state{};                             // u at the first row; rows -1 and `rows` count too
  std::array<double*, kComponents> rhs{};  // right-hand side there, and solution
  std::ptrdiff_t state_row = 0;            // elements from one row to the next
  std::ptrdiff_t rhs_row = 0;
  std::ptrdiff_t vector = 0;  // elements from one vector to the next
  int rows = 0;
  int vectors = 0;
  bool ascending = true;       // whether elimination follows increasing coordinates
  bool starts_at_edge = true;  // whether the point before the first row is on the boundary
  bool ends_at_edge = true;    // whether the point after the last one is
};

}  // namespace assay::npb::cfd
