// The order of the queue: first come, first served, Slurm's multifactor priority, or Maui's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/case.hpp"
#include "scheduler/live.hpp"

namespace assay::scheduler {

// Processor time used per key, with the processors in use now.
class Usage {
 public:
  explicit Usage(std::size_t keys) : rate_(keys), since_(keys), used_(keys) {}

  void change(std::size_t key, std::int64_t processors, double now) {
    bring(key, now);
    rate_[key] += processors;
  }
  // Processor × s since the last call; afterwards counted from `now`.
  double collect(std::size_t key, double now) {
    bring(key, now);
    const double used = used_[key];
    used_[key] = 0;
    return used;
  }

 private:
  void bring(std::size_t key, double now) {
    if (rate_[key] != 0) used_[key] += static_cast<double>(rate_[key]) * (now - since_[key]);
    since_[key] = now;
  }

  std::vector<std::int64_t> rate_;
  std::vector<double> since_, used_;
};

// Slurm's multifactor priority with the classic fair share.
class MultifactorPriority {
 public:
  MultifactorPriority(const Case& whole, const LiveJobs& live, double origin);
  void submitted(int job, double now);
  void changed(int job, int sign, double now);
  // Updates usage and the queue's priorities to the last period before `now`.
  void update(const std::vector<int>& queue, double now);
  double of(int job) const { return priority_[job]; }

 private:
  struct Association {
    int account = 0;    // index into accounts_
    double share = 0;   // of its account, 0 to 1
    double used = 0;    // decayed processor × s
    double factor = 1;  // fair share
  };
  struct Account {
    double share = 0;
    double used = 0;
  };

  void advance(double now);
  double compute(int job, double when) const;

  const Case& whole_;
  const LiveJobs& live_;
  double origin_;
  double processors_ = 0;
  double highest_qos_ = 0;
  int highest_tier_ = 0;
  std::vector<Association> associations_;
  std::vector<Account> accounts_;
  std::vector<int> association_;  // by job
  Usage usage_;
  std::int64_t periods_ = 0;                 // done
  std::vector<double> priority_, computed_;  // by job
};

// Maui's priority, computed at each pass.
class MauiPriority {
 public:
  MauiPriority(const Case& whole, const LiveJobs& live, double origin);
  void changed(int job, int sign, double now);
  void update(const std::vector<int>& queue, double now);
  double of(int job) const { return priority_[job]; }

 private:
  void advance(double now);

  const Case& whole_;
  const LiveJobs& live_;
  double origin_;
  std::size_t users_ = 0;
  Usage usage_;
  std::int64_t window_ = 0;                // the present one
  std::vector<std::vector<double>> used_;  // by window before the present one, and user
  std::vector<double> percent_;            // by user
  std::vector<double> priority_;           // by job
};

// The latest submission to start with; jobs[0] is never after another.
double origin_of(const Case& whole);

}  // namespace assay::scheduler
