// The machine's resources, and the plan that a pass over the queue makes for them.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "scheduler/case.hpp"
#include "scheduler/live.hpp"

namespace assay::scheduler {

// A job beyond its limit is expected to end this much (s) after now.
constexpr double kOverdue = 1.0;

class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;

  virtual bool possible(int job) const = 0;
  // Begins a pass: reservations of the last pass are dropped.
  virtual void begin(double now) = 0;
  // Starts the job if it fits, from now to its limit, between the pass's reservations.
  virtual bool start(int job) = 0;
  // Reserves for the job at the earliest time; false if there is none up to `horizon`.
  virtual bool reserve(int job, double horizon) = 0;
  // Whether no job can start now.
  virtual bool exhausted() const = 0;
  virtual int first_node(int job) const = 0;
  virtual void ended(int job, double free_at) = 0;
  virtual void release(int job) = 0;
  virtual std::vector<int> fail(const Failure& failure) = 0;
  virtual void repair(const Failure& failure) = 0;
};

std::unique_ptr<Plan> make_count_plan(const Case& whole, const LiveJobs& live);
std::unique_ptr<Plan> make_node_plan(const Case& whole, const LiveJobs& live);
std::unique_ptr<Plan> make_slurm_plan(const Case& whole, const LiveJobs& live);

// A time of the plan, rounded up to the policy's resolution.
inline double rounded(double time, double resolution) {
  return resolution > 0 ? std::ceil(time / resolution) * resolution : time;
}

}  // namespace assay::scheduler
