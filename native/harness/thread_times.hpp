// Time that a rank's threads spent running, waiting for a CPU, or neither.
#pragma once

#include <optional>
#include <vector>

#include "harness/clock.hpp"

namespace assay {

// /proc/TASK/schedstat of each OpenMP thread, opened once. A thread waits there when it competes
// with others for a CPU; the scheduler counts this to the nanosecond.
class ThreadTimes {
 public:
  struct Reading {
    std::vector<double> waited;  // s, each thread; empty if not available
    double ran = 0.0;            // s, the calling thread
    Ticks time = 0;
  };

  struct Span {
    double waited = 0.0;   // s, all threads together
    double longest = 0.0;  // s, maximum over the threads
    double asleep = 0.0;   // s, the calling thread, neither running nor waiting for a CPU
  };

  // This and all other functions must be called by the rank's main thread.
  explicit ThreadTimes(int threads);
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  Reading read() const;

 private:
  std::vector<int> files_;
};

// Difference of two readings; nothing if not available.
std::optional<ThreadTimes::Span> between(const ThreadTimes::Reading& before,
                                         const ThreadTimes::Reading& after);

}  // namespace assay
