#include "linpack/settings.hpp"

#include <algorithm>

#include "linpack/distribution.hpp"
#include "linpack/panel.hpp"

namespace assay::linpack {

int usual_grid_rows(int ranks) {
  int rows = 1;
  for (int p = 1; static_cast<std::int64_t>(p) * p <= ranks; ++p) {
    if (ranks % p == 0) rows = p;
  }
  return rows;
}

std::int64_t padded(std::int64_t rows) {
  constexpr std::int64_t kLine = 8;  // doubles of a cache line
  const std::int64_t lines = (rows + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

double doubles_per_rank(const Settings& settings, int ranks) {
  const int q = ranks / settings.p;
  // The first part is the largest.
  const Cyclic rows{settings.n, settings.nb, settings.p};
  const Cyclic columns{settings.n + 1, settings.nb, q};
  const std::int64_t leading = padded(rows.count(0));
  const auto width = static_cast<double>(columns.count(0));
  double all = static_cast<double>(leading) * width;
  all += 2.0 * static_cast<double>(Panel::doubles(settings.n, settings.nb, rows.count(0)));
  if (settings.p > 1) {
    all += static_cast<double>(padded(std::min(settings.nb, settings.n))) * width;
  }
  return all;
}

double bytes_per_rank(const Settings& settings, int ranks) {
  const auto count = static_cast<std::int32_t>(std::min(settings.nb, settings.n));
  // In addition: solution, right-hand side and residual.
  const double doubles = doubles_per_rank(settings, ranks) + 4.0 * static_cast<double>(settings.n);
  return doubles * sizeof(double) + static_cast<double>(RowSwaps::memory(count, settings.p));
}

std::int64_t largest_order(Settings settings, int ranks, double bytes) {
  const auto fits = [&](std::int64_t n) {
    settings.n = n;
    return bytes_per_rank(settings, ranks) <= bytes;
  };
  std::int64_t least = 1;
  std::int64_t most = 2;
  constexpr std::int64_t kEnough = std::int64_t{1} << 30;
  while (most < kEnough && fits(most)) {
    least = most;
    most *= 2;
  }
  while (most - least > 1) {
    const std::int64_t middle = (least + most) / 2;
    (fits(middle) ? least : most) = middle;
  }
  return least;
}

}  // namespace assay::linpack
