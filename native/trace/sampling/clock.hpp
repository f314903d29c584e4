// What interrupts a thread after each period of its CPU time: a timer of its CPU clock or, where
// timers are forbidden, the kernel's counter of its CPU time.
#pragma once

#include <time.h>

#include <cstdint>

namespace assay::trace {

class ThreadClock {
 public:
  // Begins to send `number` to the calling thread. `part`: of the first period. 0, or an errno.
  int start(int number, std::uint64_t period, double part) noexcept;
  void stop() noexcept;  // from any thread
  // In a child that the program forked: timers are not inherited, the counter is its parent's.
  void forget() noexcept;
  [[nodiscard]] bool is_counter() const { return file_ > 0; }

 private:
  int start_counter(int number, std::uint64_t period) noexcept;

  timer_t timer_{};
  bool has_timer_ = false;
  int file_ = 0;  // 0: none
};

}  // namespace assay::trace
