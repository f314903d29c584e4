#include "scheduler/first_come.hpp"

#include <algorithm>

#include "scheduler/demand.hpp"
#include "scheduler/plan.hpp"

namespace assay::scheduler {
namespace {

constexpr std::int64_t kNone = std::int64_t{1} << 50;

}  // namespace

bool first_come_does(const Case& whole) {
  const Policy& policy = whole.policy;
  const Timing& timing = policy.timing;
  const bool at_once = timing.main == 0 && timing.delay == 0 && timing.backfill == 0 &&
                       timing.resolution == 0 && timing.window == 0 && timing.depth == 0;
  const bool simple = policy.backfill == Backfill::none ||
                      (policy.backfill == Backfill::easy && policy.reservations == 1);
  const auto other_tier = [&whole](const Partition& partition) {
    return partition.tier != whole.partitions[0].tier;
  };
  return only_counts(whole) && policy.order == Order::fcfs && at_once && simple &&
         whole.reservations.empty() && whole.failures.empty() &&
         std::none_of(whole.partitions.begin(), whole.partitions.end(), other_tier);
}

FirstCome::FirstCome(const Case& whole, const LiveJobs& live)
    : whole_(whole), live_(live), ends_(whole.jobs.size()), free_(whole.size()) {
  nodes_.reserve(whole.jobs.size());
  for (const Job& job : whole.jobs) nodes_.push_back(demand_of(whole, job).nodes);
  leaves_ = 64;
  while (leaves_ < whole.jobs.size()) leaves_ *= 2;
  tree_.assign(2 * leaves_, {kNone, kNever});
  jobs_.reserve(leaves_);
}

bool FirstCome::possible(int job) const {
  const Job& asked = whole_.jobs[job];
  const Partition& partition = whole_.partitions[asked.partition];
  return live_[job].limit <= partition.longest && nodes_[job] <= whole_.size() &&
         (partition.largest == 0 || nodes_[job] <= partition.largest) &&
         whole_.kinds[0].amount.holds(demand_of(whole_, asked).each);
}

void FirstCome::set_leaf(std::size_t place, Least least) {
  std::size_t k = leaves_ + place;
  tree_[k] = least;
  for (k /= 2; k >= 1; k /= 2) {
    const Least& left = tree_[2 * k];
    const Least& right = tree_[2 * k + 1];
    tree_[k] = {std::min(left.nodes, right.nodes), std::min(left.limit, right.limit)};
  }
}

void FirstCome::grow() {
  std::vector<Least> old(tree_.begin() + static_cast<std::ptrdiff_t>(leaves_), tree_.end());
  leaves_ *= 2;
  tree_.assign(2 * leaves_, {kNone, kNever});
  std::copy(old.begin(), old.end(), tree_.begin() + static_cast<std::ptrdiff_t>(leaves_));
  for (std::size_t k = leaves_ - 1; k >= 1; --k) {
    const Least& left = tree_[2 * k];
    const Least& right = tree_[2 * k + 1];
    tree_[k] = {std::min(left.nodes, right.nodes), std::min(left.limit, right.limit)};
  }
}

void FirstCome::enqueue(int job, double /*now*/) {
  if (jobs_.size() == leaves_) grow();
  jobs_.push_back(job);
  set_leaf(jobs_.size() - 1, {nodes_[job], live_[job].limit});
  ++waiting_;
}

// The first place, `from` or later, whose job may start without delaying the first waiting job.
std::size_t FirstCome::next(std::size_t from, double now) const {
  const auto fits = [&](const Least& least) {
    return least.nodes <= free_ &&
           (now + least.limit <= shadow_.time || least.nodes <= shadow_.spare);
  };
  // Goes up from the leaf to a right neighbour with a candidate, then down. A subtree whose least
  // values come from different jobs may have no candidate; then the search continues after it.
  std::size_t k = leaves_ + from;
  if (from >= jobs_.size()) return jobs_.size();
  while (true) {
    if (fits(tree_[k])) {
      if (k >= leaves_) return k - leaves_;
      k *= 2;
      continue;
    }
    while (k % 2 == 1) k /= 2;
    if (k == 0) return jobs_.size();
    ++k;
  }
}

void FirstCome::run(int job, double now) {
  free_ -= nodes_[job];
  ends_[job] = now + live_[job].limit;
  const Running running{ends_[job], job};
  running_.insert(std::upper_bound(running_.begin(), running_.end(), running), running);
}

void FirstCome::ended(int job, double now, double free_at) {
  if (free_at == now) return;  // released now
  const Running old{ends_[job], job};
  running_.erase(std::lower_bound(running_.begin(), running_.end(), old));
  ends_[job] = free_at;
  const Running running{free_at, job};
  running_.insert(std::upper_bound(running_.begin(), running_.end(), running), running);
  shadow_.known = false;
}

void FirstCome::release(int job) {
  const Running old{ends_[job], job};
  running_.erase(std::lower_bound(running_.begin(), running_.end(), old));
  free_ += nodes_[job];
  shadow_.known = false;
}

void FirstCome::find_shadow(std::int64_t nodes, double now) {
  shadow_ = {kNever, 0, true};
  looked_ = first_ + 1;
  std::size_t k = 0;
  std::int64_t overdue = 0;
  for (; k < running_.size() && running_[k].end <= now; ++k) overdue += nodes_[running_[k].job];
  std::int64_t free = free_;
  const double soon = now + kOverdue;
  while (true) {
    const double end = k < running_.size() ? running_[k].end : kNever;
    const double time = overdue > 0 ? std::min(end, soon) : end;
    if (time == kNever) return;  // not reached: the job fits the empty machine
    if (overdue > 0 && time == soon) {
      free += overdue;
      overdue = 0;
    }
    for (; k < running_.size() && running_[k].end == time; ++k) free += nodes_[running_[k].job];
    if (free >= nodes) {
      shadow_.time = time;
      shadow_.spare = free - nodes;
      return;
    }
  }
}

void FirstCome::pass(double now, bool in_order, std::vector<Start>& starts) {
  while (first_ < jobs_.size()) {
    const Least& head = tree_[leaves_ + first_];
    if (head.nodes != kNone) {
      if (head.nodes > free_) break;
      starts.push_back({jobs_[first_], false, -1});
      set_leaf(first_, {kNone, kNever});
      --waiting_;
      run(jobs_[first_], now);
      shadow_.known = false;
    }
    ++first_;
  }
  if (first_ == jobs_.size() || in_order || whole_.policy.backfill == Backfill::none) return;
  const bool overdue = !running_.empty() && running_.front().end <= now;
  if (!shadow_.known || overdue) find_shadow(nodes_[jobs_[first_]], now);
  // Nothing became free since the last pass with this shadow, so only new jobs can start.
  while ((looked_ = next(looked_, now)) < jobs_.size()) {
    const int job = jobs_[looked_];
    if (now + live_[job].limit > shadow_.time) shadow_.spare -= nodes_[job];
    starts.push_back({job, true, -1});
    set_leaf(looked_, {kNone, kNever});
    --waiting_;
    run(job, now);
  }
}

}  // namespace assay::scheduler
