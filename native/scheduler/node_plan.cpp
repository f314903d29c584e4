// The plan if it matters which nodes a job has.
#include <algorithm>

#include "scheduler/demand.hpp"
#include "scheduler/node_set.hpp"
#include "scheduler/outages.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/running.hpp"

namespace assay::scheduler {
namespace {

struct Share {
  int node;
  Amount amount;
};
using Shares = std::vector<Share>;

Amount least_of(const Amount& a, const Amount& b) {
  return {std::min(a.processors, b.processors), std::min(a.gpus, b.gpus),
          std::min(a.memory, b.memory)};
}

class NodePlan final : public Plan {
 public:
  NodePlan(const Case& whole, const LiveJobs& live)
      : whole_(whole),
        live_(live),
        size_(whole.size()),
        resolution_(whole.policy.timing.resolution),
        shares_(whole.jobs.size()),
        running_(whole.jobs.size()),
        outages_(size_) {
    for (const Job& job : whole.jobs) demands_.push_back(demand_of(whole, job));
    for (const NodeKind& kind : whole.kinds) {
      capacity_.insert(capacity_.end(), static_cast<std::size_t>(kind.count), kind.amount);
    }
    free_ = capacity_;
    open_nodes_ = size_;
    for (const Amount& each : capacity_) free_processors_ += each.processors;
  }

  bool possible(int job) const override {
    const Partition& partition = partition_of(job);
    if (live_[job].limit > partition.longest) return false;
    Shares shares;
    if (!choose(job, capacity_, shares)) return false;
    return partition.largest == 0 || static_cast<std::int64_t>(shares.size()) <= partition.largest;
  }

  void begin(double now) override {
    now_ = now;
    takes_.clear();
    snapshots_.clear();
    gains_.clear();
    planned_ = false;
  }

  bool start(int job) override {
    const Demand& demand = demands_[job];
    if (demand.nodes > open_nodes_) return false;
    if (whole_.policy.shared && demand.total.processors > free_processors_) return false;
    std::vector<Amount> usable = free_;
    for (const int node : outages_.nodes()) usable[node] = {};
    close(job, now_, usable);
    Shares shares;
    if (!choose(job, usable, shares)) return false;
    const double end = now_ + live_[job].limit;
    bool less = false;
    for (const Snapshot& each : snapshots_) {
      if (each.time >= end) continue;
      less = true;
      for (int node = 0; node < size_; ++node) {
        usable[node] = least_of(usable[node], each.free[node]);
      }
    }
    if (less && !choose(job, usable, shares)) return false;
    for (const Share& share : shares) change(share, -1);
    shares_[job] = shares;
    running_.insert(job, end);
    if (planned_) {
      const double planned_end = rounded(end, resolution_);
      add_gain(planned_end, &shares_[job]);
      subtract(shares, now_, planned_end);
    }
    return true;
  }

  bool reserve(int job, double horizon) override {
    if (!planned_) build();
    Take take;
    if (!(demands_[job].nodes > 0 ? earliest<NodeSet>(job, horizon, take)
                                  : earliest<std::vector<Amount>>(job, horizon, take))) {
      return false;
    }
    const double begin = take.begin;
    const double end = take.end;
    const bool known = std::any_of(snapshots_.begin(), snapshots_.end(),
                                   [&](const Snapshot& each) { return each.time == begin; });
    if (!known) snapshots_.push_back({begin, free_at(begin)});
    subtract(take.shares, begin, end);
    takes_.push_back(std::move(take));
    return true;
  }

  bool exhausted() const override { return free_processors_ == 0; }

  int first_node(int job) const override { return shares_[job].front().node; }

  void ended(int job, double free_at) override {
    running_.erase(job);
    running_.insert(job, free_at);
  }

  void release(int job) override {
    running_.erase(job);
    for (const Share& share : shares_[job]) change(share, 1);
  }

  std::vector<int> fail(const Failure& failure) override {
    for (int node = failure.first; node <= failure.last; ++node) outages_.fail(node, failure.end);
    std::vector<int> hit;
    for (const Running& each : running_) {
      const Shares& shares = shares_[each.job];
      if (std::any_of(shares.begin(), shares.end(), [&failure](const Share& share) {
            return share.node >= failure.first && share.node <= failure.last;
          })) {
        hit.push_back(each.job);
      }
    }
    std::sort(hit.begin(), hit.end());
    return hit;
  }

  void repair(const Failure& failure) override {
    for (int node = failure.first; node <= failure.last; ++node) outages_.repair(node);
  }

 private:
  // Resources that become free: a job's shares, or a failed node.
  struct Gain {
    double time;
    const Shares* shares;
    int node;
  };
  struct Take {
    double begin = 0;
    double end = 0;
    Shares shares;
  };
  // Resources that are free when a reservation begins.
  struct Snapshot {
    double time;
    std::vector<Amount> free;
  };

  const Partition& partition_of(int job) const {
    return whole_.partitions[whole_.jobs[job].partition];
  }

  void change(const Share& share, int sign) {
    Amount& free = free_[share.node];
    const bool open = free.processors > 0;
    if (sign > 0) {
      free.add(share.amount);
    } else {
      free.remove(share.amount);
    }
    free_processors_ += sign * share.amount.processors;
    open_nodes_ += static_cast<int>(free.processors > 0) - static_cast<int>(open);
  }

  // Nodes that the machine's reservations keep from a job that starts at `time` have no free
  // resources.
  template <class Clear>
  void closed(int job, double time, Clear clear) const {
    for (const Reservation& each : whole_.reservations) {
      if (time < each.end && time + live_[job].limit > each.begin &&
          !each.allows(whole_.jobs[job].user)) {
        for (int node = each.first; node <= each.last; ++node) clear(node);
      }
    }
  }
  void close(int job, double time, std::vector<Amount>& usable) const {
    closed(job, time, [&usable](int node) { usable[node] = {}; });
  }
  void close(int job, double time, NodeSet& usable) const {
    closed(job, time, [&usable](int node) { usable.set(node, false); });
  }

  void build() {
    planned_ = true;
    for (const Running& each : running_) {
      const double end = each.end > now_ ? each.end : now_ + kOverdue;
      gains_.push_back({rounded(end, resolution_), &shares_[each.job], -1});
    }
    for (const int node : outages_.nodes()) {
      if (outages_.until(node) < kNever) {
        gains_.push_back({rounded(outages_.until(node), resolution_), nullptr, node});
      }
    }
    std::stable_sort(gains_.begin(), gains_.end(),
                     [](const Gain& a, const Gain& b) { return a.time < b.time; });
  }

  void add_gain(double time, const Shares* shares) {
    const Gain gain{time, shares, -1};
    gains_.insert(std::upper_bound(gains_.begin(), gains_.end(), gain,
                                   [](const Gain& a, const Gain& b) { return a.time < b.time; }),
                  gain);
  }

  void subtract(const Shares& shares, double begin, double end) {
    for (Snapshot& each : snapshots_) {
      if (each.time < begin || each.time >= end) continue;
      for (const Share& share : shares) each.free[share.node].remove(share.amount);
    }
  }

  // Resources that are free at a time of the plan; nodes that are down have none.
  std::vector<Amount> free_at(double time) const {
    std::vector<Amount> free = free_;
    for (const Gain& gain : gains_) {
      if (gain.time > time || gain.shares == nullptr) continue;
      for (const Share& share : *gain.shares) free[share.node].add(share.amount);
    }
    for (const int node : outages_.nodes()) {
      if (rounded(outages_.until(node), resolution_) > time) free[node] = {};
    }
    for (const Take& take : takes_) {
      if (take.begin > time || take.end <= time) continue;
      for (const Share& share : take.shares) free[share.node].remove(share.amount);
    }
    return free;
  }

  // The nodes of `usable` that hold the job's part.
  void holding(int job, const std::vector<Amount>& usable, NodeSet& nodes) const {
    const Partition& partition = partition_of(job);
    nodes = NodeSet(size_);
    for (int node = partition.first; node <= partition.last; ++node) {
      if (usable[node].holds(demands_[job].each)) nodes.set(node, true);
    }
  }
  void holding(int /*job*/, const std::vector<Amount>& usable, std::vector<Amount>& nodes) const {
    nodes = usable;
  }

  bool choose(int job, const std::vector<Amount>& usable, Shares& shares) const {
    if (demands_[job].nodes == 0) return fill(job, usable, shares);
    NodeSet nodes;
    holding(job, usable, nodes);
    return choose(job, nodes, shares);
  }

  // The lowest nodes, or the lowest consecutive ones.
  bool choose(int job, const NodeSet& usable, Shares& shares) const {
    const std::int64_t count = demands_[job].nodes;
    shares.clear();
    if (count > size_) return false;
    int node = whole_.policy.contiguous ? usable.run(count) : usable.next(0);
    while (node >= 0 && static_cast<std::int64_t>(shares.size()) < count) {
      shares.push_back(share_of(job, node));
      node = usable.next(node + 1);
    }
    return static_cast<std::int64_t>(shares.size()) == count;
  }

  Share share_of(int job, int node) const {
    return {node, whole_.policy.shared ? demands_[job].each : capacity_[node]};
  }

  // Processors, GPUs and memory of as many nodes as are needed, in the order of their indices.
  bool fill(int job, const std::vector<Amount>& usable, Shares& shares) const {
    const Partition& partition = partition_of(job);
    if (!whole_.policy.contiguous) {
      return fill_from(job, usable, partition.first, shares) == partition.last + 1;
    }
    for (int first = partition.first; first <= partition.last;) {
      const int stopped = fill_from(job, usable, first, shares);
      if (stopped == partition.last + 1) return true;
      first = stopped + 1;  // no node before has enough after it
      if (stopped < 0) return false;
    }
    return false;
  }

  // Returns the partition's last node + 1 if all is filled; else the node in the way, or -1.
  int fill_from(int job, const std::vector<Amount>& usable, int first, Shares& shares) const {
    const Partition& partition = partition_of(job);
    const bool contiguous = whole_.policy.contiguous;
    Amount rest = demands_[job].total;
    shares.clear();
    for (int node = first; node <= partition.last; ++node) {
      const Amount& free = usable[node];
      if (free.processors < 1) {
        if (contiguous) return node;
        continue;
      }
      const Amount part = least_of(rest, free);
      if (!contiguous && part.processors == 0 && part.gpus == 0 && part.memory == 0) continue;
      shares.push_back({node, whole_.policy.shared ? part : capacity_[node]});
      rest.remove(part);
      if (rest.processors == 0 && rest.gpus == 0 && rest.memory == 0) return partition.last + 1;
    }
    return -1;
  }

  // Unless the lowest nodes are requested, prefers nodes that become free last, so that nodes that
  // are free now stay available to others.
  bool choose_late(int job, const NodeSet& usable, const std::vector<NodeSet>& before,
                   std::size_t at, Shares& shares) const {
    const std::int64_t count = demands_[job].nodes;
    if (whole_.policy.contiguous || whole_.policy.lowest) return choose(job, usable, shares);
    if (usable.count() < count) return false;
    NodeSet rest = usable;
    shares.clear();
    const auto pick = [&](const NodeSet& nodes) {
      for (int node = nodes.next(0); node >= 0 && static_cast<std::int64_t>(shares.size()) < count;
           node = nodes.next(node + 1)) {
        shares.push_back(share_of(job, node));
      }
    };
    for (std::size_t k = at; k-- > 0 && static_cast<std::int64_t>(shares.size()) < count;) {
      NodeSet late = rest;
      late.remove(before[k]);
      pick(late);
      rest.keep(before[k]);
    }
    pick(rest);
    return true;
  }
  bool choose_late(int job, const std::vector<Amount>& usable,
                   const std::vector<std::vector<Amount>>&, std::size_t, Shares& shares) const {
    return fill(job, usable, shares);
  }

  bool enough(int job, const NodeSet& usable) const {
    const std::int64_t count = demands_[job].nodes;
    return usable.count() >= count && (!whole_.policy.contiguous || usable.run(count) >= 0);
  }
  bool enough(int job, const std::vector<Amount>& usable) const {
    Shares shares;
    return fill(job, usable, shares);
  }

  static void restrict_to(NodeSet& usable, const NodeSet& other) { usable.keep(other); }
  static void restrict_to(std::vector<Amount>& usable, const std::vector<Amount>& other) {
    for (std::size_t k = 0; k < usable.size(); ++k) usable[k] = least_of(usable[k], other[k]);
  }

  // What changes on the way through the plan's times.
  struct Change {
    double time;
    const Shares* shares;  // or a node that is repaired
    int node;
    int sign;
  };

  std::vector<Change> changes() const {
    std::vector<Change> all;
    for (const Gain& gain : gains_) all.push_back({gain.time, gain.shares, gain.node, 1});
    for (const Take& take : takes_) {
      all.push_back({take.begin, &take.shares, -1, -1});
      all.push_back({take.end, &take.shares, -1, 1});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Change& a, const Change& b) { return a.time < b.time; });
    return all;
  }

  // The usable nodes between the plan's times, as far as they were requested.
  template <class Usable>
  class Periods {
   public:
    Periods(const NodePlan& plan, int job)
        : plan_(plan),
          job_(job),
          changes_(plan.changes()),
          free_(plan.free_),
          down_(static_cast<std::size_t>(plan.size_)) {
      times.push_back(plan.now_);
      for (const Change& change : changes_) times.push_back(change.time);
      for (const Reservation& each : plan.whole_.reservations) {
        if (each.end > plan.now_ && each.end < kNever) times.push_back(each.end);
      }
      std::sort(times.begin(), times.end());
      times.erase(std::unique(times.begin(), times.end()), times.end());
      for (const int node : plan.outages_.nodes()) down_[static_cast<std::size_t>(node)] = 1;
      visible_ = free_;
      for (const int node : plan.outages_.nodes()) visible_[node] = {};
      usable.reserve(times.size());
    }

    const Usable& at(std::size_t k) {
      while (usable.size() <= k) {
        const double time = times[usable.size()];
        for (; next_ < changes_.size() && changes_[next_].time <= time; ++next_) {
          apply(changes_[next_]);
        }
        Usable made;
        plan_.holding(job_, visible_, made);
        usable.push_back(std::move(made));
      }
      return usable[k];
    }

    std::vector<double> times;
    std::vector<Usable> usable;

   private:
    void apply(const Change& change) {
      if (change.shares == nullptr) {
        down_[static_cast<std::size_t>(change.node)] = 0;
        visible_[change.node] = free_[change.node];
        return;
      }
      for (const Share& share : *change.shares) {
        Amount& free = free_[share.node];
        if (change.sign > 0) {
          free.add(share.amount);
        } else {
          free.remove(share.amount);
        }
        if (!down_[static_cast<std::size_t>(share.node)]) visible_[share.node] = free;
      }
    }

    const NodePlan& plan_;
    int job_;
    std::vector<Change> changes_;
    std::vector<Amount> free_, visible_;  // without and with regard to failures
    std::vector<char> down_;
    std::size_t next_ = 0;
  };

  template <class Usable>
  bool earliest(int job, double horizon, Take& take) const {
    Periods<Usable> periods(*this, job);
    const double limit = live_[job].limit;
    for (std::size_t k = 0; k < periods.times.size(); ++k) {
      const double time = periods.times[k];
      if (time > horizon) return false;
      Usable usable = periods.at(k);
      close(job, time, usable);
      bool fits = enough(job, usable);
      for (std::size_t next = k + 1;
           fits && next < periods.times.size() && periods.times[next] < time + limit; ++next) {
        restrict_to(usable, periods.at(next));
        fits = enough(job, usable);
      }
      if (fits && choose_late(job, usable, periods.usable, k, take.shares)) {
        take.begin = time;
        take.end = rounded(time + limit, resolution_);
        return true;
      }
    }
    return false;
  }

  const Case& whole_;
  const LiveJobs& live_;
  int size_;
  double resolution_;
  std::vector<Demand> demands_;  // by job
  std::vector<Shares> shares_;   // by job
  RunningJobs running_;
  std::vector<Amount> capacity_, free_;  // by node
  int open_nodes_ = 0;                   // with a free processor
  std::int64_t free_processors_ = 0;
  Outages outages_;
  double now_ = 0;
  // Of the present pass, made for its first reservation.
  bool planned_ = false;
  std::vector<Gain> gains_;  // ascending
  std::vector<Take> takes_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace

std::unique_ptr<Plan> make_node_plan(const Case& whole, const LiveJobs& live) {
  return std::make_unique<NodePlan>(whole, live);
}

}  // namespace assay::scheduler
