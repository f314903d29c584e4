// The one clock: CLOCK_MONOTONIC, its own cost and step, and how fast the core runs.
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

// Divided, not multiplied: the quotient is the double nearest to the decimal, and prints short.
inline double seconds(Ticks span) { return static_cast<double>(span) / 1e9; }

// Seconds. `overhead`: one call among calls back to back (median over blocks of calls).
// `resolution`: the smallest step greater than zero that was seen.
struct ClockQuality {
  double overhead = 0.0;
  double resolution = 0.0;
};

// Takes about 0.1 ms.
ClockQuality measure_clock();

// Cycles per second of this core, now, in about 0.1 ms; nothing where there is no such chain for
// the architecture. Method: a chain of register-to-register integer additions, each of which waits
// for the one before. Such an addition takes exactly one cycle on every core in use (additions of a
// constant may be folded by the renamer of recent x86 cores, so both operands are registers), so
// additions / time is the clock rate. The fastest of several rounds is taken: an interruption can
// only make a round slower.
std::optional<double> clock_rate();

}  // namespace assay
