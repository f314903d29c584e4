// How one clock reads against another: offset and drift, out of messages that carry clock readings.
// Arithmetic only; global_clock.hpp exchanges the messages.
#pragma once

#include <span>

#include "harness/clock.hpp"

namespace assay {

// A reading of another's clock that was asked for by a message and came back by one.
struct Exchange {
  Ticks sent = 0;      // one's own clock, before asking
  Ticks remote = 0;    // the other's clock, in between
  Ticks received = 0;  // one's own clock again
};

// By how much the other clock is ahead of one's own when that reads `local`. The other was read at
// some moment of the round trip, so `ahead` is wrong by at most half of it.
struct ClockPoint {
  Ticks local = 0;
  Ticks ahead = 0;
  Ticks round_trip = 0;
};

// The point of the exchange with the shortest round trip (Cristian, Probabilistic clock
// synchronization, Distributed Computing 3, 1989). `exchanges` must not be empty.
ClockPoint shortest(std::span<const Exchange> exchanges);

// The other clock (the reference) as a linear function of the local one; that of no offset and no
// drift is the clock itself. `error_at_anchor` (ns) and `error_of_drift` (ns a ns): how far off
// offset and drift may be at most, if both clocks run evenly and messages take however long.
struct ClockModel {
  Ticks anchor = 0;  // local time at which the reference is ahead by `offset`
  Ticks offset = 0;
  double drift = 0.0;
  double error_at_anchor = 0.0;
  double error_of_drift = 0.0;

  Ticks to_reference(Ticks local) const;
  Ticks to_local(Ticks reference) const;
  // Nanoseconds.
  double error_at(Ticks local) const;
};

// The line through the points by least squares, each weighted by the inverse square of its round
// trip, anchored at the last one (drift by regression: Hunold & Carpen-Amarie, CLUSTER 2018).
// `points` must not be empty; one alone, or several at one time, tell of no drift.
ClockModel fit(std::span<const ClockPoint> points);

// From `inner`'s local clock to `outer`'s reference, where `outer`'s local clock is `inner`'s
// reference.
ClockModel composed(const ClockModel& outer, const ClockModel& inner);

}  // namespace assay
