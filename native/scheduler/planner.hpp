// The general strategy: a sorted queue, and a plan of the machine at each pass.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/order.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/strategy.hpp"

namespace assay::scheduler {

class Planner final : public Strategy {
 public:
  Planner(const Case& whole, const LiveJobs& live, std::unique_ptr<Plan> plan);
  bool possible(int job) const override { return plan_->possible(job); }
  void enqueue(int job, double now) override;
  std::size_t waiting() const override { return queue_.size(); }
  void ended(int job, double now, double free_at) override;
  void release(int job) override { plan_->release(job); }
  void pass(double now, bool in_order, std::vector<Start>& starts) override;
  std::vector<int> fail(const Failure& failure) override { return plan_->fail(failure); }
  void repair(const Failure& failure) override { plan_->repair(failure); }

 private:
  void sort(double now);
  bool share_nodes(int partition, int other) const;

  const Case& whole_;
  const LiveJobs& live_;
  std::unique_ptr<Plan> plan_;
  std::optional<MultifactorPriority> multifactor_;
  std::optional<MauiPriority> maui_;
  std::vector<int> queue_;
};

}  // namespace assay::scheduler
