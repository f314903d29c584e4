// Work of a given duration.
#pragma once

#include "harness/clock.hpp"

namespace assay {

// Busy-waits for this many seconds.
inline void spin(double span) {
  const Ticks start = ticks();
  while (seconds(ticks() - start) < span) {
  }
}

}  // namespace assay
