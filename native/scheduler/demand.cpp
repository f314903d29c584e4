#include "scheduler/demand.hpp"

#include <algorithm>
#include <cmath>

namespace assay::scheduler {
namespace {

std::int64_t divided_up(std::int64_t amount, std::int64_t parts) {
  return amount / parts + (amount % parts != 0 ? 1 : 0);
}

// Number of nodes of a kind that hold an amount; more than exist if none can hold it.
std::int64_t nodes_for(const Amount& total, const NodeKind& kind) {
  const std::int64_t too_many = std::int64_t{1} << 40;
  std::int64_t nodes = divided_up(total.processors, kind.amount.processors);
  if (total.gpus > 0) {
    if (kind.amount.gpus == 0) return too_many;
    nodes = std::max(nodes, divided_up(total.gpus, kind.amount.gpus));
  }
  if (total.memory > 0) {
    if (!(total.memory <= kind.amount.memory * 1e9)) return too_many;
    nodes =
        std::max(nodes, static_cast<std::int64_t>(std::ceil(total.memory / kind.amount.memory)));
  }
  return nodes;
}

bool alone_on_equal_nodes(const Case& whole) {
  return whole.kinds.size() == 1 && (!whole.policy.shared || whole.kinds[0].amount.processors == 1);
}

}  // namespace

bool Reservation::allows(int user) const {
  return std::binary_search(users.begin(), users.end(), user);
}

Demand demand_of(const Case& whole, const Job& job) {
  Demand demand;
  demand.nodes = job.nodes;
  demand.total = {job.processors, job.gpus, job.memory};
  if (job.nodes > 0) {
    demand.each = {divided_up(job.processors, job.nodes), divided_up(job.gpus, job.nodes),
                   std::ceil(job.memory / static_cast<double>(job.nodes))};
  } else if (alone_on_equal_nodes(whole)) {
    demand.nodes = nodes_for(demand.total, whole.kinds[0]);
    demand.each = {1, 0, 0};
  }
  return demand;
}

std::int64_t least_nodes(const Case& whole, const Job& job) {
  if (job.nodes > 0) return job.nodes;
  std::int64_t most = 1;
  for (const NodeKind& kind : whole.kinds) most = std::max(most, kind.amount.processors);
  return divided_up(job.processors, most);
}

bool only_counts(const Case& whole) {
  const int last = whole.size() - 1;
  const auto partial = [last](const auto& range) { return range.first != 0 || range.last != last; };
  return alone_on_equal_nodes(whole) && !whole.policy.contiguous && !whole.policy.lowest &&
         std::none_of(whole.partitions.begin(), whole.partitions.end(), partial) &&
         std::none_of(whole.reservations.begin(), whole.reservations.end(), partial);
}

}  // namespace assay::scheduler
