// The plan if only the number of free nodes matters: a step function of time.
#include <algorithm>

#include "scheduler/demand.hpp"
#include "scheduler/outages.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/running.hpp"

namespace assay::scheduler {
namespace {

class CountPlan final : public Plan {
 public:
  CountPlan(const Case& whole, const LiveJobs& live)
      : whole_(whole),
        live_(live),
        running_(whole.jobs.size()),
        free_(whole.size()),
        named_(!whole.failures.empty()),
        outages_(named_ ? whole.size() : 0) {
    for (const Job& job : whole.jobs) nodes_.push_back(demand_of(whole, job).nodes);
    if (named_) {
      nodes_of_.resize(whole.jobs.size());
      owner_.assign(whole.size(), -1);
      for (int node = 0; node < whole.size(); ++node) free_nodes_.insert(node);
    }
  }

  bool possible(int job) const override {
    const Job& asked = whole_.jobs[job];
    const Partition& partition = whole_.partitions[asked.partition];
    return live_[job].limit <= partition.longest && nodes_[job] <= whole_.size() &&
           (partition.largest == 0 || nodes_[job] <= partition.largest) &&
           whole_.kinds[0].amount.holds(demand_of(whole_, asked).each);
  }

  void begin(double now) override {
    now_ = now;
    steps_.clear();
  }

  bool start(int job) override {
    if (nodes_[job] > free_ || closed_until(job, now_) > now_) return false;
    const double end = now_ + live_[job].limit;
    if (!steps_.empty()) {
      for (const Step& step : steps_) {
        if (step.time >= end) break;
        if (step.free < nodes_[job]) return false;
      }
      take(now_, rounded(end, whole_.policy.timing.resolution), nodes_[job]);
    }
    free_ -= nodes_[job];
    running_.insert(job, end);
    if (named_) name_nodes(job);
    return true;
  }

  bool reserve(int job, double horizon) override {
    if (steps_.empty()) build();
    const double limit = live_[job].limit;
    const std::int64_t nodes = nodes_[job];
    double time = now_;
    std::size_t at = 0;  // the step that holds `time`
    while (true) {
      const double open = closed_until(job, time);
      if (open > time) time = open;
      if (time > horizon || time == kNever) return false;
      while (at + 1 < steps_.size() && steps_[at + 1].time <= time) ++at;
      std::size_t k = at;
      while (k < steps_.size() && steps_[k].time < time + limit && steps_[k].free >= nodes) ++k;
      if (k == steps_.size() || steps_[k].time >= time + limit) break;
      while (k < steps_.size() && steps_[k].free < nodes) ++k;
      if (k == steps_.size()) return false;
      at = k;
      time = steps_[k].time;
    }
    take(time, rounded(time + limit, whole_.policy.timing.resolution), nodes);
    return true;
  }

  bool exhausted() const override { return free_ == 0; }

  int first_node(int job) const override { return named_ ? nodes_of_[job].front() : -1; }

  void ended(int job, double free_at) override {
    running_.erase(job);
    running_.insert(job, free_at);
  }

  void release(int job) override {
    running_.erase(job);
    if (!named_) {
      free_ += nodes_[job];
      return;
    }
    for (const int node : nodes_of_[job]) {
      owner_[node] = -1;
      if (!outages_.down(node)) {
        free_nodes_.insert(node);
        ++free_;
      }
    }
  }

  std::vector<int> fail(const Failure& failure) override {
    std::vector<int> hit;
    for (int node = failure.first; node <= failure.last; ++node) {
      outages_.fail(node, failure.end);
      if (owner_[node] >= 0) hit.push_back(owner_[node]);
      free_ -= static_cast<std::int64_t>(free_nodes_.erase(node));
    }
    std::sort(hit.begin(), hit.end());
    hit.erase(std::unique(hit.begin(), hit.end()), hit.end());
    return hit;
  }

  void repair(const Failure& failure) override {
    for (int node = failure.first; node <= failure.last; ++node) {
      if (outages_.repair(node) && owner_[node] < 0) {
        free_nodes_.insert(node);
        ++free_;
      }
    }
  }

 private:
  struct Step {
    double time;
    std::int64_t free;  // from this time to the next step
  };

  void name_nodes(int job) {
    std::vector<int>& nodes = nodes_of_[job];
    nodes.clear();
    for (std::int64_t k = 0; k < nodes_[job]; ++k) {
      nodes.push_back(*free_nodes_.begin());
      owner_[nodes.back()] = job;
      free_nodes_.erase(free_nodes_.begin());
    }
  }

  // The end of the machine's reservations that keep the job from running at `time`; else `time`.
  double closed_until(int job, double time) const {
    for (bool moved = true; moved;) {
      moved = false;
      for (const Reservation& each : whole_.reservations) {
        if (time < each.end && time + live_[job].limit > each.begin &&
            !each.allows(whole_.jobs[job].user)) {
          time = each.end;
          moved = true;
        }
      }
    }
    return time;
  }

  void build() {
    const double resolution = whole_.policy.timing.resolution;
    std::vector<Step> gains;
    for (const Running& each : running_) {
      const double end = each.end > now_ ? each.end : now_ + kOverdue;
      std::int64_t nodes = nodes_[each.job];
      if (named_) {
        nodes = std::count_if(nodes_of_[each.job].begin(), nodes_of_[each.job].end(),
                              [this](int node) { return !outages_.down(node); });
      }
      gains.push_back({rounded(end, resolution), nodes});
    }
    for (const int node : outages_.nodes()) {
      double end = outages_.until(node);
      // A node that fails before its job has released it becomes available when both the failure
      // and the job are over.
      if (owner_[node] >= 0) end = std::max(end, running_.end_of(owner_[node]));
      if (end < kNever) gains.push_back({rounded(end, resolution), 1});
    }
    std::sort(gains.begin(), gains.end(),
              [](const Step& a, const Step& b) { return a.time < b.time; });
    steps_.push_back({now_, free_});
    for (const Step& gain : gains) {
      if (gain.time > steps_.back().time) steps_.push_back({gain.time, steps_.back().free});
      steps_.back().free += gain.free;
    }
  }

  void take(double begin, double end, std::int64_t nodes) {
    const std::size_t from = split(begin);
    const std::size_t to = split(end);
    for (std::size_t k = from; k < to; ++k) steps_[k].free -= nodes;
  }

  // The step that begins at `time`, created if there is none.
  std::size_t split(double time) {
    auto at = std::lower_bound(steps_.begin(), steps_.end(), time,
                               [](const Step& step, double t) { return step.time < t; });
    if (at == steps_.end() || at->time != time) {
      const std::int64_t free = at == steps_.begin() ? 0 : std::prev(at)->free;
      at = steps_.insert(at, {time, free});
    }
    return static_cast<std::size_t>(at - steps_.begin());
  }

  const Case& whole_;
  const LiveJobs& live_;
  std::vector<std::int64_t> nodes_;  // by job
  RunningJobs running_;
  std::int64_t free_;
  double now_ = 0;
  std::vector<Step> steps_;  // ascending; empty: no reservation yet
  // The nodes of each job; used only if nodes fail.
  bool named_;
  Outages outages_;
  std::vector<std::vector<int>> nodes_of_;
  std::vector<int> owner_;
  std::set<int> free_nodes_;
};

}  // namespace

std::unique_ptr<Plan> make_count_plan(const Case& whole, const LiveJobs& live) {
  return std::make_unique<CountPlan>(whole, live);
}

}  // namespace assay::scheduler
