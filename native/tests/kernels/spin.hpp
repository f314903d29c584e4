// Work that takes as long as it is told to.
#pragma once

#include "harness/clock.hpp"

namespace assay {

// Computes nothing for so many seconds.
inline void spin(double span) {
  const Ticks start = ticks();
  while (seconds(ticks() - start) < span) {
  }
}

}  // namespace assay
