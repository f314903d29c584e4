// Offset and drift between two clocks, estimated from messages that carry clock readings.
// Arithmetic only; global_clock.hpp exchanges the messages.
#pragma once

#include <span>

#include "harness/clock.hpp"

namespace assay {

// A reading of a remote clock, requested by one message and returned by another.
struct Exchange {
  Ticks sent = 0;      // local clock, before the request
  Ticks remote = 0;    // remote clock, in between
  Ticks received = 0;  // local clock, after the reply
};

// `ahead`: how far the remote clock is ahead of the local one when the latter reads `local`. The
// remote clock was read at some moment of the round trip, so `ahead` is wrong by at most half of
// it.
struct ClockPoint {
  Ticks local = 0;
  Ticks ahead = 0;
  Ticks round_trip = 0;
};

// The point of the exchange with the shortest round trip (Cristian, Probabilistic clock
// synchronization, Distributed Computing 3, 1989). `exchanges` must not be empty.
ClockPoint shortest(std::span<const Exchange> exchanges);

// The remote clock (the reference) as a linear function of the local one; a model with zero offset
// and drift is the local clock. `error_at_anchor` (ns) and `error_of_drift` (ns per ns): upper
// bounds of the errors of offset and drift, valid for any message delays if both clocks run evenly.
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
// `points` must not be empty; a single point, or several at one time, don't determine the drift.
ClockModel fit(std::span<const ClockPoint> points);

// From `inner`'s local clock to `outer`'s reference, where `outer`'s local clock is `inner`'s
// reference.
ClockModel composed(const ClockModel& outer, const ClockModel& inner);

}  // namespace assay
