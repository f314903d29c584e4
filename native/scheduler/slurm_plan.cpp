// The plan of Slurm's backfilling (sched/backfill) on whole nodes: docs/methods/scheduler.md, "As
// Slurm plans".
#include <algorithm>
#include <cmath>

#include "scheduler/demand.hpp"
#include "scheduler/node_set.hpp"
#include "scheduler/outages.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/running.hpp"

namespace assay::scheduler {
namespace {

// The nodes that reservations of the pass leave, in a period.
struct Period {
  double begin;
  double end;
  NodeSet free;
};

class SlurmPlan final : public Plan {
 public:
  SlurmPlan(const Case& whole, const LiveJobs& live)
      : whole_(whole),
        live_(live),
        resolution_(std::max(1.0, whole.policy.timing.resolution)),
        nodes_of_(whole.jobs.size(), NodeSet(whole.size())),
        running_(whole.jobs.size()),
        idle_(whole.size()),
        outages_(whole.size()) {
    for (const Job& job : whole.jobs) counts_.push_back(demand_of(whole, job).nodes);
    for (const Partition& each : whole.partitions) {
      NodeSet nodes(whole.size());
      for (int node = each.first; node <= each.last; ++node) nodes.set(node, true);
      partitions_.push_back(std::move(nodes));
    }
    for (int node = 0; node < whole.size(); ++node) idle_.set(node, true);
    free_ = whole.size();
  }

  bool possible(int job) const override {
    const Job& asked = whole_.jobs[job];
    const Partition& partition = whole_.partitions[asked.partition];
    return live_[job].limit <= partition.longest &&
           counts_[job] <= partition.last - partition.first + 1 &&
           (partition.largest == 0 || counts_[job] <= partition.largest) &&
           whole_.kinds[0].amount.holds(demand_of(whole_, asked).each);
  }

  void begin(double now) override {
    now_ = std::floor(now);
    periods_.clear();
  }

  bool start(int job) override {
    if (counts_[job] > free_) return false;
    NodeSet nodes = usable(job, now_);
    double later = kNever;
    restrict_to_periods(job, now_, nodes, later);
    nodes.keep(idle_);
    if (!lowest(job, nodes)) return false;
    nodes_of_[job] = nodes;
    idle_.remove(nodes);
    free_ -= counts_[job];
    running_.insert(job, now_ + live_[job].limit);
    return true;
  }

  bool reserve(int job, double horizon) override {
    if (periods_.empty()) {
      NodeSet all(whole_.size());
      for (int node = 0; node < whole_.size(); ++node) all.set(node, true);
      periods_.push_back({down(now_), kNever, std::move(all)});
    }
    const double limit = live_[job].limit;
    double from = now_;
    while (from < kNever) {
      double later = kNever;
      NodeSet nodes = usable(job, from, &later);
      restrict_to_periods(job, from, nodes, later);
      const double start = std::max(from, earliest(job, nodes));
      if (start == kNever || start > later) {
        from = later;
        continue;
      }
      if (start > horizon) return false;
      const double begin = down(start);
      const double end = down(start + limit);
      if (start > now_ && overlaps(nodes, begin, end)) {
        from = start;
        continue;
      }
      keep(begin, end, nodes);
      return true;
    }
    return false;
  }

  bool exhausted() const override { return free_ == 0; }

  int first_node(int job) const override { return nodes_of_[job].next(0); }

  void ended(int job, double free_at) override {
    running_.erase(job);
    running_.insert(job, std::ceil(free_at));
  }

  void release(int job) override {
    running_.erase(job);
    const NodeSet& nodes = nodes_of_[job];
    for (int node = nodes.next(0); node >= 0; node = nodes.next(node + 1)) idle_.set(node, true);
    free_ += counts_[job];
  }

  std::vector<int> fail(const Failure& failure) override {
    for (int node = failure.first; node <= failure.last; ++node) outages_.fail(node, failure.end);
    std::vector<int> hit;
    for (const Running& each : running_) {
      const int node = nodes_of_[each.job].next(failure.first);
      if (node >= 0 && node <= failure.last) hit.push_back(each.job);
    }
    std::sort(hit.begin(), hit.end());
    return hit;
  }

  void repair(const Failure& failure) override {
    for (int node = failure.first; node <= failure.last; ++node) outages_.repair(node);
  }

 private:
  double down(double time) const { return std::floor(time / resolution_) * resolution_; }

  // The nodes of the partition that are up and that no reservation of the machine keeps from a job
  // which starts at `time`; `later` becomes the end of the first of those that do.
  NodeSet usable(int job, double time, double* later = nullptr) const {
    NodeSet nodes = partitions_[whole_.jobs[job].partition];
    for (const int node : outages_.nodes()) nodes.set(node, false);
    for (const Reservation& each : whole_.reservations) {
      if (time >= each.end || time + live_[job].limit <= each.begin ||
          each.allows(whole_.jobs[job].user)) {
        continue;
      }
      for (int node = each.first; node <= each.last; ++node) nodes.set(node, false);
      if (later != nullptr) *later = std::min(*later, each.end);
    }
    return nodes;
  }

  // Keeps the nodes that no reservation of the pass has while the job would run from `time` to its
  // limit, the limit included. `later`: at most the end of the first period after which there are
  // other nodes.
  void restrict_to_periods(int job, double time, NodeSet& nodes, double& later) const {
    const double end = time + live_[job].limit;
    const NodeSet all = nodes;
    bool found = false;
    for (std::size_t k = 0; k < periods_.size(); ++k) {
      const Period& each = periods_[k];
      if (!found && each.end > time && k + 1 < periods_.size()) {
        NodeSet next = all;
        next.keep(periods_[k + 1].free);
        NodeSet here = nodes;
        here.keep(each.free);
        next.remove(here);
        if (next.count() > 0) {
          found = true;
          later = std::min(later, each.end);
        }
      }
      if (each.end <= time) continue;
      if (each.begin > end) break;
      nodes.keep(each.free);
    }
  }

  // The time when enough of `nodes` are free if running jobs end at their limits, one after the
  // other; never if that doesn't happen. `nodes` becomes the set that the job would have.
  double earliest(int job, NodeSet& nodes) const {
    if (nodes.count() < counts_[job]) return kNever;
    NodeSet free = nodes;
    free.keep(idle_);
    if (free.count() >= counts_[job]) {
      best_fit(job, free);
      nodes = free;
      return now_;
    }
    for (const Running& each : running_) {
      NodeSet freed = nodes_of_[each.job];
      freed.keep(nodes);
      free.add(freed);
      if (free.count() < counts_[job]) continue;
      best_fit(job, free);
      nodes = free;
      return each.end > now_ ? each.end : now_ + kOverdue;
    }
    return kNever;
  }

  // The smallest set of consecutive nodes that holds the job, else the largest sets until they hold
  // it, with the lowest nodes of each set. False if there are too few nodes.
  bool best_fit(int job, NodeSet& nodes) const {
    std::int64_t rest = counts_[job];
    if (nodes.count() < rest) return false;
    NodeSet chosen(whole_.size());
    while (rest > 0) {
      int best = -1;
      std::int64_t length = 0;
      for (int first = nodes.next(0); first >= 0;) {
        const int last = nodes.last_of_run(first);
        const std::int64_t here = last - first + 1;
        const bool better = length >= rest ? here >= rest && here < length : here > length;
        if (best < 0 || better) {
          best = first;
          length = here;
        }
        first = nodes.next(last + 1);
      }
      for (int node = best; rest > 0 && node < best + length; ++node, --rest) {
        chosen.set(node, true);
        nodes.set(node, false);
      }
    }
    nodes = chosen;
    return true;
  }

  // The lowest nodes that hold the job; false if there are too few.
  bool lowest(int job, NodeSet& nodes) const {
    NodeSet chosen(whole_.size());
    std::int64_t rest = counts_[job];
    for (int node = nodes.next(0); rest > 0 && node >= 0; node = nodes.next(node + 1), --rest) {
      chosen.set(node, true);
    }
    nodes = chosen;
    return rest == 0;
  }

  bool overlaps(const NodeSet& nodes, double begin, double end) const {
    return std::any_of(periods_.begin(), periods_.end(), [&](const Period& each) {
      if (each.end <= begin || each.begin >= end) return false;
      NodeSet taken = nodes;
      taken.remove(each.free);
      return taken.count() > 0;
    });
  }

  // Reserves the nodes, for the plan's resolution at least.
  void keep(double begin, double end, const NodeSet& nodes) {
    begin = std::max(begin, periods_.front().begin);
    end = std::max(end, begin + resolution_);
    split(begin);
    split(end);
    for (Period& each : periods_) {
      if (each.begin >= begin && each.end <= end) each.free.remove(nodes);
    }
  }

  // Creates a period that begins at `time`, if there is none.
  void split(double time) {
    std::size_t k = 0;
    while (periods_[k].end <= time) ++k;
    if (periods_[k].begin == time) return;
    const Period second{time, periods_[k].end, periods_[k].free};
    periods_[k].end = time;
    periods_.insert(periods_.begin() + static_cast<std::ptrdiff_t>(k) + 1, second);
  }

  const Case& whole_;
  const LiveJobs& live_;
  double resolution_;
  std::vector<std::int64_t> counts_;  // nodes, by job
  std::vector<NodeSet> partitions_;
  std::vector<NodeSet> nodes_of_;  // by job
  RunningJobs running_;
  NodeSet idle_;  // without regard to failures
  std::int64_t free_ = 0;
  Outages outages_;
  double now_ = 0;               // a whole second
  std::vector<Period> periods_;  // ascending; empty: no reservation yet
};

}  // namespace

std::unique_ptr<Plan> make_slurm_plan(const Case& whole, const LiveJobs& live) {
  return std::make_unique<SlurmPlan>(whole, live);
}

}  // namespace assay::scheduler
