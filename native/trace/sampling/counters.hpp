// What the kernel counts of a thread between two samples: hardware events such as cycles, or events
// of the kernel such as page faults (perf_event_open).
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::trace {

constexpr std::uint32_t kMostCounters = 4;

struct Counted {
  // Time for which events were asked for and were counted, ns: counters are shared.
  std::uint64_t enabled = 0, running = 0;
  std::uint64_t values[kMostCounters] = {};
};

// Finds which of the events that ASSAY_SAMPLE_COUNTERS names can be counted; notes these and, for
// the others, why not.
void find_counters() noexcept;
// In the file of a child that the program forked.
void note_counters() noexcept;
std::uint32_t counters() noexcept;  // their number

// The counters of one thread, which begin with it.
class ThreadCounters {
 public:
  void start() noexcept;  // of the calling thread
  void stop() noexcept;
  void forget() noexcept;  // in a child that the program forked: they are its parent's
  [[nodiscard]] bool are_open() const { return files_[0] > 0; }
  // Since the last `mark`. Safe in signal handlers.
  [[nodiscard]] Counted since_mark() const noexcept;
  // What is counted from here on belongs to the next sample.
  void mark() noexcept;
  [[nodiscard]] Counted total() const noexcept;

 private:
  int files_[kMostCounters] = {};  // 0: none; the first leads the group
  Counted mark_;
};

// As fields of a JSON record, from the comma on; "" if there are no counters.
void write_counted(const ThreadCounters& of, char* to, std::size_t size) noexcept;

}  // namespace assay::trace
