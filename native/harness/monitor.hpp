// A sampling monitor that runs beside the timed part of a kernel, as in performance tools.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

// During its lifetime, a thread of the rank reads what such tools read, at a fixed rate: the
// process's times, memory and I/O, and the counters of the network adapters. The thread may use the
// rank's CPUs. Kramer and Ryan (2003), section 12, measured the cost of such tools and their effect
// on the variation of times.
class Monitor {
 public:
  // Readings per second; 0 for none.
  explicit Monitor(std::int64_t rate);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Ends it at once; returns the number of its readings.
  std::int64_t end();

 private:
  void watch(std::int64_t rate);
  void read();

  std::vector<int> files_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool ended_ = false;
  std::int64_t readings_ = 0;
  std::thread thread_;
};

}  // namespace assay
