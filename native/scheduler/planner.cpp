#include "scheduler/planner.hpp"

#include <algorithm>

#include "scheduler/demand.hpp"
#include "scheduler/first_come.hpp"

namespace assay::scheduler {
namespace {

std::unique_ptr<Plan> choose_plan(const Case& whole, const LiveJobs& live) {
  if (whole.policy.backfill == Backfill::slurm) return make_slurm_plan(whole, live);
  return only_counts(whole) ? make_count_plan(whole, live) : make_node_plan(whole, live);
}

}  // namespace

std::unique_ptr<Strategy> choose_strategy(const Case& whole, const LiveJobs& live) {
  if (first_come_does(whole)) return std::make_unique<FirstCome>(whole, live);
  return std::make_unique<Planner>(whole, live, choose_plan(whole, live));
}

Planner::Planner(const Case& whole, const LiveJobs& live, std::unique_ptr<Plan> plan)
    : whole_(whole), live_(live), plan_(std::move(plan)) {
  const double origin = origin_of(whole);
  if (whole.policy.order == Order::multifactor) multifactor_.emplace(whole, live, origin);
  if (whole.policy.order == Order::maui) maui_.emplace(whole, live, origin);
}

void Planner::enqueue(int job, double now) {
  if (multifactor_) multifactor_->submitted(job, now);
  queue_.push_back(job);
}

void Planner::ended(int job, double now, double free_at) {
  if (multifactor_) multifactor_->changed(job, -1, now);
  if (maui_) maui_->changed(job, -1, now);
  if (free_at != now) plan_->ended(job, free_at);
}

void Planner::sort(double now) {
  if (multifactor_) multifactor_->update(queue_, now);
  if (maui_) maui_->update(queue_, now);
  const auto before = [this](int a, int b) {
    const int tier_a = whole_.partitions[whole_.jobs[a].partition].tier;
    const int tier_b = whole_.partitions[whole_.jobs[b].partition].tier;
    if (tier_a != tier_b) return tier_a > tier_b;
    if (multifactor_ && multifactor_->of(a) != multifactor_->of(b)) {
      return multifactor_->of(a) > multifactor_->of(b);
    }
    if (maui_ && maui_->of(a) != maui_->of(b)) return maui_->of(a) > maui_->of(b);
    if (live_[a].submit != live_[b].submit) return live_[a].submit < live_[b].submit;
    return a < b;
  };
  if (!std::is_sorted(queue_.begin(), queue_.end(), before)) {
    std::sort(queue_.begin(), queue_.end(), before);
  }
}

bool Planner::share_nodes(int partition, int other) const {
  const Partition& a = whole_.partitions[partition];
  const Partition& b = whole_.partitions[other];
  return a.first <= b.last && b.first <= a.last;
}

void Planner::pass(double now, bool in_order, std::vector<Start>& starts) {
  const Policy& policy = whole_.policy;
  in_order = in_order || policy.backfill == Backfill::none;
  const bool all = policy.backfill == Backfill::conservative || policy.backfill == Backfill::slurm;
  const double horizon = policy.timing.window > 0 ? now + policy.timing.window : kNever;
  sort(now);
  plan_->begin(now);
  std::int64_t reserved = 0;
  std::vector<int> blocked;  // partitions
  std::size_t kept = 0;      // jobs at the queue's front that still wait
  std::size_t k = 0;
  for (; k < queue_.size(); ++k) {
    const int job = queue_[k];
    if (policy.timing.depth > 0 && static_cast<std::int64_t>(k) >= policy.timing.depth) break;
    const bool more = all || (!in_order && reserved < policy.reservations);
    if (plan_->exhausted() && !more) break;
    const int partition = whole_.jobs[job].partition;
    const bool passed_over =
        in_order && std::any_of(blocked.begin(), blocked.end(),
                                [&](int other) { return share_nodes(partition, other); });
    if (!passed_over && plan_->start(job)) {
      starts.push_back({job, kept > 0, plan_->first_node(job)});
      if (multifactor_) multifactor_->changed(job, 1, now);
      if (maui_) maui_->changed(job, 1, now);
      continue;
    }
    queue_[kept++] = job;
    if (in_order) {
      if (std::find(blocked.begin(), blocked.end(), partition) == blocked.end()) {
        blocked.push_back(partition);
      }
      if (whole_.partitions.size() == 1) {
        ++k;
        break;
      }
    } else if (more && plan_->reserve(job, horizon)) {
      ++reserved;
    }
  }
  kept = static_cast<std::size_t>(std::move(queue_.begin() + static_cast<std::ptrdiff_t>(k),
                                            queue_.end(),
                                            queue_.begin() + static_cast<std::ptrdiff_t>(kept)) -
                                  queue_.begin());
  queue_.resize(kept);
}

}  // namespace assay::scheduler
