#include "npb/ft/grid.hpp"

#include <limits>

#include "npb/common/shared.hpp"

namespace assay::npb {

FtGrid ft_grid(const std::array<std::uint32_t, 3>& extents, std::uint64_t ranks_given) {
  using namespace shared;
  const auto ranks = static_cast<double>(ranks_given);
  const double nx = extents[0];
  const double ny = extents[1];
  const double nz = extents[2];
  const double most = min(min(floor_div(nx, kFtUnit), floor_div(ny, kFtUnit)), ranks);
  FtGrid best;
  double least = std::numeric_limits<double>::infinity();
  for (double across = 1.0; across <= most; ++across) {
#include "npb/ft/grid.def"
    if (cost < least) {
      least = cost;
      best = {static_cast<std::uint64_t>(across), static_cast<std::uint64_t>(along)};
    }
  }
  return best;
}

std::vector<Share> ft_shares(std::uint64_t size, std::uint64_t unit, std::uint64_t parts) {
  std::vector<Share> shares;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const Share share = share_of({0, size / unit}, part, parts);
    shares.push_back({share.begin * unit, share.end * unit});
  }
  return shares;
}

}  // namespace assay::npb
