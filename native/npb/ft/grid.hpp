// Distribution of FT's grid over the ranks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "npb/common/share.hpp"

namespace assay::npb {

// Ranks are arranged in across x along, or fewer if the grid doesn't have enough units to cut.
// Ranks that differ in `across` alone are neighbours. With x whole, y is cut across and z along;
// with y whole, x across and z along; with z whole, x across and y along. across = 1 gives slabs: x
// and y are never cut at the same time, and a three-dimensional transform needs only one transpose.
struct FtGrid {
  std::uint64_t across = 1;
  std::uint64_t along = 1;

  std::uint64_t ranks() const { return across * along; }
};

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/ft/constants.def"
#undef NPB_CONSTANT

// The arrangement that minimises the work of the busiest rank (grid.def).
FtGrid ft_grid(const std::array<std::uint32_t, 3>& extents, std::uint64_t ranks);

// One share of 0..size per part, in whole units.
std::vector<Share> ft_shares(std::uint64_t size, std::uint64_t unit, std::uint64_t parts);

}  // namespace assay::npb
