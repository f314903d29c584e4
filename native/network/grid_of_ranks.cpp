#include "network/grid_of_ranks.hpp"

#include <numeric>

namespace assay {
namespace {

// Extents of at most `most` each, the largest first; empty if there are none.
std::vector<int> extents_below(int ranks, int dimensions, int most) {
  if (dimensions == 1) return ranks <= most ? std::vector<int>{ranks} : std::vector<int>{};
  std::vector<int> best;
  int least = 0;
  for (int first = 1; first <= ranks && first <= most; ++first) {
    if (ranks % first != 0) continue;
    std::vector<int> rest = extents_below(ranks / first, dimensions - 1, first);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), first);
    const int sum = std::accumulate(rest.begin(), rest.end(), 0);
    if (best.empty() || sum < least) {
      best = std::move(rest);
      least = sum;
    }
  }
  return best;
}

}  // namespace

std::vector<int> grid_extents(int ranks, int dimensions) {
  return extents_below(ranks, dimensions, ranks);
}

}  // namespace assay
