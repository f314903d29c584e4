// The sampled threads of this process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "sampling/clock.hpp"
#include "sampling/counters.hpp"
#include "sampling/python.hpp"
#include "sampling/walk.hpp"

namespace assay::trace {

constexpr std::uint32_t kThreadsAtOnce = 512;

struct Thread {
  std::atomic<bool> taken{false};
  std::uint32_t number = 0;  // by age
  pid_t id = 0;
  std::uint64_t low = 0, high = 0;  // its stack
  std::int64_t begin_cpu = 0;       // its CPU time when sampling began, ns
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> cost{0};  // CPU time of the handler, ns
  ThreadClock clock;
  ThreadCounters counters;
  // Of the present sample: the thread's own stack may be small.
  Stack stack;
  PythonCalls python;
};

// The calling thread; nullptr if it isn't sampled.
Thread* this_thread() noexcept;

// Begins to sample the calling thread. 0, or an errno; -1: no room.
int enter(int number, std::uint64_t period) noexcept;
void leave() noexcept;
// In a child that the program forked: only the calling thread is left, and it isn't sampled yet.
// `seed`: which part of a period comes first.
// Returns how many others its parent sampled.
int forget_threads(std::uint32_t seed) noexcept;

void stop_all() noexcept;  // the clocks of all threads
// Notes the threads that still run, for the end of the file.
void note_all() noexcept;
// Of all threads so far, ns.
std::uint64_t total_cost() noexcept;

}  // namespace assay::trace
