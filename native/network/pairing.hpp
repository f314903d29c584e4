// Pairing of ranks for communication.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace assay {

// For an even number of ranks: the first half with the second, in order.
inline int partner_in_halves(int rank, int size) {
  return rank < size / 2 ? rank + size / 2 : rank - size / 2;
}

// 0 with 1, 2 with 3, and so on.
inline int partner_of_neighbours(int rank) { return rank % 2 == 0 ? rank + 1 : rank - 1; }

// The maximum number of senders with their receivers: the ranks of rank 0's node, each with a rank
// of another node, other nodes in turn (Luecke, Li & Cuma 2005, 4.3: one node to two). If there is
// only one node, its first half sends to its second. `nodes`: for each rank, a number that is the
// same for the ranks of a node.
inline std::vector<std::pair<int, int>> senders_and_receivers(const std::vector<int>& nodes) {
  std::vector<int> senders;
  std::vector<std::vector<int>> others;  // the other nodes' ranks, nodes in order of appearance
  std::map<int, std::size_t> places;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] == nodes[0]) {
      senders.push_back(static_cast<int>(rank));
      continue;
    }
    const auto [found, is_new] = places.try_emplace(nodes[rank], others.size());
    if (is_new) others.emplace_back();
    others[found->second].push_back(static_cast<int>(rank));
  }
  std::vector<int> receivers;
  if (others.empty()) {
    const std::size_t half = senders.size() / 2;
    receivers.assign(senders.end() - static_cast<std::ptrdiff_t>(half), senders.end());
    senders.resize(half);
  }
  for (std::size_t turn = 0, added = 1; added > 0; ++turn) {
    added = 0;
    for (const std::vector<int>& node : others) {
      if (turn >= node.size()) continue;
      receivers.push_back(node[turn]);
      ++added;
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < senders.size() && i < receivers.size(); ++i) {
    pairs.emplace_back(senders[i], receivers[i]);
  }
  return pairs;
}

}  // namespace assay
