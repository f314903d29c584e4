// The one clock, CLOCK_MONOTONIC: its overhead and resolution, and the clock rate of the core.
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>

namespace assay {

// Nanoseconds of CLOCK_MONOTONIC.
using Ticks = std::int64_t;

inline Ticks ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Ticks>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Division, not multiplication: the quotient is the double nearest to the decimal and prints short.
inline double seconds(Ticks span) { return static_cast<double>(span) / 1e9; }

// Seconds. `overhead`: one call among back-to-back calls (median over blocks of calls).
// `resolution`: the smallest step greater than zero that was observed.
struct ClockQuality {
  double overhead = 0.0;
  double resolution = 0.0;
};

// Takes about 0.1 ms.
ClockQuality measure_clock();

// The present clock rate of this core in Hz, measured in about 0.1 ms; nothing on an architecture
// without such a chain. Method: a chain of register-to-register integer additions, each dependent
// on the one before. Such an addition takes exactly one cycle on every core in use (additions of a
// constant may be folded by the renamer of recent x86 cores, so both operands are registers), so
// additions / time is the clock rate. The fastest of several rounds is used: an interruption can
// only make a round slower.
std::optional<double> clock_rate();

}  // namespace assay
