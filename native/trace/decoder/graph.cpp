// Passes over execution graphs (src/assay/models/program/graph.py): nodes in an order in which each
// comes after those that it depends on, with at most two edges into each.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using Index = std::int64_t;

// The time of each node, s: the later of those at the other ends of its edges (-1: none), `along`
// and `across`, plus their costs; without an edge `along`, its cost.
extern "C" void assay_replay(const Index* along, const Index* across, const double* along_cost,
                             const double* across_cost, double* times, Index count) {
  for (Index i = 0; i < count; ++i) {
    double time = along[i] >= 0 ? times[along[i]] + along_cost[i] : along_cost[i];
    if (across[i] >= 0 && times[across[i]] + across_cost[i] > time) {
      time = times[across[i]] + across_cost[i];
    }
    times[i] = time;
  }
}

// The nodes of the longest path to `last`, backwards, and whether each was reached by `across`:
// an edge that gives its node's time. Their number.
extern "C" Index assay_path(const Index* along, const Index* across, const double* across_cost,
                            const double* times, Index last, Index* path, std::uint8_t* reached) {
  Index length = 0;
  for (Index node = last; node >= 0; ++length) {
    const bool by = across[node] >= 0 && times[node] == times[across[node]] + across_cost[node];
    path[length] = node;
    reached[length] = by;
    node = by ? across[node] : along[node];
  }
  return length;
}

// An order of nodes; each comes after the nodes at the other ends of its edges (Kahn 1962):
// how many could be placed, all of them unless there is a circle.
extern "C" Index assay_topological(const Index* one, const Index* other, Index count,
                                   Index* order) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<Index> first(size + 1, 0), followers;
  const auto waiting = std::make_unique<std::uint8_t[]>(size);
  for (const Index* source : {one, other}) {
    for (Index i = 0; i < count; ++i) {
      if (source[i] < 0) continue;
      ++first[static_cast<std::size_t>(source[i]) + 1];
      ++waiting[static_cast<std::size_t>(i)];
    }
  }
  for (std::size_t i = 0; i < size; ++i) first[i + 1] += first[i];
  followers.resize(static_cast<std::size_t>(first[size]));
  std::vector<Index> place(first.begin(), first.end() - 1);
  for (const Index* source : {one, other}) {
    for (Index i = 0; i < count; ++i) {
      if (source[i] < 0) continue;
      followers[static_cast<std::size_t>(place[static_cast<std::size_t>(source[i])]++)] = i;
    }
  }
  std::vector<Index> todo;
  for (Index i = count - 1; i >= 0; --i) {
    if (!waiting[static_cast<std::size_t>(i)]) todo.push_back(i);
  }
  Index done = 0;
  while (!todo.empty()) {
    const Index node = todo.back();
    todo.pop_back();
    order[done++] = node;
    const auto from = static_cast<std::size_t>(node);
    for (Index k = first[from]; k < first[from + 1]; ++k) {
      const Index follower = followers[static_cast<std::size_t>(k)];
      if (--waiting[static_cast<std::size_t>(follower)] == 0) todo.push_back(follower);
    }
  }
  return done;
}
