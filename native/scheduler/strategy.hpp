// Decides which waiting jobs start, from the queue and the resources.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/case.hpp"
#include "scheduler/live.hpp"

namespace assay::scheduler {

struct Start {
  int job = 0;
  bool backfilled = false;
  int first_node = -1;
};

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  // Whether the job could start on the empty machine with its present limit.
  virtual bool possible(int job) const = 0;
  virtual void enqueue(int job, double now) = 0;
  virtual std::size_t waiting() const = 0;
  // The program ended; its nodes are free at `free_at`, when `release` is called.
  virtual void ended(int job, double now, double free_at) = 0;
  virtual void release(int job) = 0;
  // Jobs that now start, in order; `in_order`: without backfilling.
  virtual void pass(double now, bool in_order, std::vector<Start>& starts) = 0;
  // Nodes fail until `end`; returns the running jobs on them, ascending.
  virtual std::vector<int> fail(const Failure& failure) = 0;
  virtual void repair(const Failure& failure) = 0;
};

// The fastest strategy that supports the case.
std::unique_ptr<Strategy> choose_strategy(const Case& whole, const LiveJobs& live);

}  // namespace assay::scheduler
