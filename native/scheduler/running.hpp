// The running jobs, by the times at which they end at the latest.
#pragma once

#include <algorithm>
#include <vector>

namespace assay::scheduler {

struct Running {
  double end;  // by its limit; when its nodes are free, once its program has ended
  int job;
  bool operator<(const Running& other) const {
    return end < other.end || (end == other.end && job < other.job);
  }
};

class RunningJobs {
 public:
  explicit RunningJobs(std::size_t jobs) : ends_(jobs) {}

  void insert(int job, double end) {
    ends_[job] = end;
    const Running running{end, job};
    running_.insert(std::upper_bound(running_.begin(), running_.end(), running), running);
  }
  void erase(int job) {
    const Running running{ends_[job], job};
    running_.erase(std::lower_bound(running_.begin(), running_.end(), running));
  }
  double end_of(int job) const { return ends_[job]; }
  auto begin() const { return running_.begin(); }  // ascending
  auto end() const { return running_.end(); }

 private:
  std::vector<double> ends_;  // by job
  std::vector<Running> running_;
};

}  // namespace assay::scheduler
