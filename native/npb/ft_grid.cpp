#include "npb/ft_grid.hpp"

#include <algorithm>

namespace assay::npb {
namespace {

constexpr std::uint64_t largest_share(std::uint64_t size, std::uint64_t unit, std::uint64_t parts) {
  return (size / unit + parts - 1) / parts * unit;
}

}  // namespace

FtGrid ft_grid(const std::array<std::uint32_t, 3>& extents, std::uint64_t ranks) {
  const auto [nx, ny, nz] = extents;
  const std::uint64_t most_across = std::min<std::uint64_t>({nx / kFtUnit, ny / kFtUnit, ranks});
  FtGrid best;
  std::uint64_t least = UINT64_MAX;
  for (std::uint64_t across = 1; across <= most_across; ++across) {
    const std::uint64_t along = std::min<std::uint64_t>({ranks / across, ny, nz});
    const std::uint64_t x_across = largest_share(nx, kFtUnit, across);
    const std::uint64_t y_across = largest_share(ny, kFtUnit, across);
    const std::uint64_t z_along = largest_share(nz, 1, along);
    const std::uint64_t y_along = largest_share(ny, 1, along);
    const std::uint64_t transposes = (across > 1 ? 2 : 0) + (along > 1 ? 1 : 0);
    const std::uint64_t cost = nx * y_across * z_along + x_across * y_along * nz +
                               x_across * ny * z_along * (1 + transposes);
    if (cost < least) {
      least = cost;
      best = {across, along};
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
