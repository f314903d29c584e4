// How the ranks share FT's grid.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "npb/common/share.hpp"

namespace assay::npb {

// Ranks are arranged in across x along, or fewer if the grid can't be cut so often. Ranks that
// differ in `across` alone are neighbours. With x whole, y is cut across and z along; with y whole,
// x across and z along; with z whole, x across and y along. across = 1 makes slabs: x and y are
// never cut at the same time, and one transpose does for a three-dimensional transform.
struct FtGrid {
  std::uint64_t across = 1;
  std::uint64_t along = 1;

  std::uint64_t ranks() const { return across * along; }
};

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/ft/constants.def"
#undef NPB_CONSTANT

// The arrangement in which the busiest rank has least to do (grid.def).
FtGrid ft_grid(const std::array<std::uint32_t, 3>& extents, std::uint64_t ranks);

// One share of 0..size a part, in whole units.
std::vector<Share> ft_shares(std::uint64_t size, std::uint64_t unit, std::uint64_t parts);

}  // namespace assay::npb
