// First come, first served, with or without EASY backfilling, if only the number of nodes matters.
#pragma once

#include "scheduler/strategy.hpp"

namespace assay::scheduler {

// Whether FirstCome supports the case.
bool first_come_does(const Case& whole);

// Waiting jobs are the leaves of a tree of the least number of nodes and the least limit, so that
// the next job to backfill is found without looking at all of them.
class FirstCome final : public Strategy {
 public:
  FirstCome(const Case& whole, const LiveJobs& live);
  bool possible(int job) const override;
  void enqueue(int job, double now) override;
  std::size_t waiting() const override { return waiting_; }
  void ended(int job, double now, double free_at) override;
  void release(int job) override;
  void pass(double now, bool in_order, std::vector<Start>& starts) override;
  std::vector<int> fail(const Failure&) override { return {}; }
  void repair(const Failure&) override {}

 private:
  struct Least {
    std::int64_t nodes;
    double limit;
  };
  struct Running {
    double end;  // by its limit
    int job;
    bool operator<(const Running& other) const {
      return end < other.end || (end == other.end && job < other.job);
    }
  };
  // When the first waiting job can start, and how many nodes it then leaves.
  struct Shadow {
    double time = 0;
    std::int64_t spare = 0;
    bool known = false;
  };

  void set_leaf(std::size_t place, Least least);
  void grow();
  std::size_t next(std::size_t from, double now) const;
  void run(int job, double now);
  void find_shadow(std::int64_t nodes, double now);

  const Case& whole_;
  const LiveJobs& live_;
  std::vector<std::int64_t> nodes_;  // by job
  std::vector<double> ends_;         // by job, as in running_
  std::vector<Running> running_;     // ascending
  std::int64_t free_ = 0;
  std::vector<Least> tree_;  // node k has the children 2k and 2k + 1
  std::vector<int> jobs_;    // by place in the queue
  std::size_t leaves_ = 0;
  std::size_t first_ = 0;   // no job waits before this place
  std::size_t looked_ = 0;  // places before it were looked at with this shadow
  std::size_t waiting_ = 0;
  Shadow shadow_;
};

}  // namespace assay::scheduler
