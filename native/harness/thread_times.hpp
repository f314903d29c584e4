// How the time of a rank's threads was spent: running, waiting for a CPU, neither.
#pragma once

#include <optional>
#include <vector>

#include "harness/clock.hpp"

namespace assay {

// /proc/TASK/schedstat of each OpenMP thread, opened once. What waits there is what competes with
// others for a CPU: it is counted by the scheduler itself, to the nanosecond.
class ThreadTimes {
 public:
  struct Reading {
    std::vector<double> waited;  // s, each thread; empty where the system doesn't tell
    double ran = 0.0;            // s, the calling thread
    Ticks time = 0;
  };

  struct Span {
    double waited = 0.0;   // s, all threads together
    double longest = 0.0;  // s, the thread that waited longest
    double asleep = 0.0;   // s, the calling thread, neither running nor waiting for a CPU
  };

  // To be called by the rank's main thread, as all else.
  explicit ThreadTimes(int threads);
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  Reading read() const;

 private:
  std::vector<int> files_;
};

// Between two readings; nothing where the system doesn't tell.
std::optional<ThreadTimes::Span> between(const ThreadTimes::Reading& before,
                                         const ThreadTimes::Reading& after);

}  // namespace assay
