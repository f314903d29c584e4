#include "storage/other_rank.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace assay {

// A cyclic shift of the ranks, in the order of their nodes, by the ranks of the fullest node.
int other_rank(const Context& context) {
  std::vector<int> ranks(static_cast<std::size_t>(context.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto node = [&](int rank) { return context.nodes[static_cast<std::size_t>(rank)]; };
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return node(a) < node(b); });
  std::vector<std::size_t> on_node(ranks.size());
  for (const int rank : ranks) ++on_node[static_cast<std::size_t>(node(rank))];
  std::size_t shift = *std::max_element(on_node.begin(), on_node.end());
  if (shift == ranks.size()) shift = 1;
  const auto mine = std::find(ranks.begin(), ranks.end(), context.rank);
  const auto place = static_cast<std::size_t>(mine - ranks.begin());
  return ranks[(place + shift) % ranks.size()];
}

}  // namespace assay
