"""Times of all ranks on one clock, and in an order that messages allow.

Two steps. Hosts have clocks of their own: the program's ranks compared them at several times, and
offsets in between are interpolated. What remains of the errors can let a message end before it
began; such receives are moved, as by the controlled logical clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.errors import AssayError
from assay.trace.events import Floats, Integers, Trace
from assay.trace.matching import match

# s: intervals are rounded by at most half of 1.024 us (docs/formats/trace.md).
ROUNDING = 0.512e-6
# The part of the time after a corrected receive by which its correction shrinks: clocks of hosts
# differ in rate by up to 500 ppm (RFC 5905, appendix A).
_DECAY = 500e-6
# Corrections beyond this many rounds no longer shrink, so that they end.
_SHRINKING_ROUNDS, _MOST_ROUNDS = 200, 20_000
# s that a receive ends after the begin of its send at least.
_AFTER = 1e-9


@dataclass(frozen=True)
class ClockPoints:
    """Comparisons of a clock with the one of rank ``to``: when it reads ``at``, that one is ahead
    by ``ahead``, known to within half of ``round_trip`` (all ns).
    """

    to: int
    at: Integers
    ahead: Integers
    round_trip: Integers


class ClockTree:
    """The clocks of all ranks: which rank compares each clock, and with which it was compared."""

    def __init__(self, leaders: Mapping[int, int], points: Mapping[int, ClockPoints]) -> None:
        """``leaders``: by rank; ranks without one have the reference clock. ``points``: by leader.

        Raises AssayError if comparisons form a circle.
        """
        self._leaders = leaders
        self._points = points
        for rank in leaders:
            self._path(rank)

    def to_reference(self, rank: int, times: Integers) -> Integers:
        """Times of a rank's clock (ns) as those of the reference, rank 0's."""
        for points in self._path(rank):
            times = times + np.rint(_interpolated(points, times)).astype(np.int64)
        return times

    def error(self, rank: int) -> float:
        """s: bound of the error of `to_reference` at the times of the comparisons."""
        return sum(0.5e-9 * float(points.round_trip.max()) for points in self._path(rank))

    def _path(self, rank: int) -> list[ClockPoints]:
        path: list[ClockPoints] = []
        at = self._leaders.get(rank, rank)
        while at in self._points:
            if len(path) > len(self._points):
                raise AssayError(f"The comparisons of rank {rank}'s clock form a circle.")
            path.append(self._points[at])
            at = self._leaders.get(self._points[at].to, self._points[at].to)
        return path


def _interpolated(points: ClockPoints, times: Integers) -> Floats:
    """Offsets between comparisons on straight lines; outside, on the line through the first and the
    last comparison (one comparison: constant).
    """
    at, ahead = points.at, points.ahead
    if len(at) == 1 or at[-1] == at[0]:
        return np.full(len(times), float(ahead[0]))
    base = ahead[0]
    relative = (ahead - base).astype(np.float64)
    since = (times - at[0]).astype(np.float64)
    knots = (at - at[0]).astype(np.float64)
    slope = relative[-1] / knots[-1]
    inside = np.interp(since, knots, relative)
    outside = np.where(since < 0, since * slope, relative[-1] + (since - knots[-1]) * slope)
    found: Floats = float(base) + np.where((since < 0) | (since > knots[-1]), outside, inside)
    return found


def in_order(trace: Trace) -> Trace:
    """The trace without a message that is received before its send began.

    A receive that ended too early ends at the begin of its send, and what follows on its rank is
    moved with it, by less and less (forward amortisation). After Becker, Rabenseifner & Wolf,
    "Scalable timestamp synchronization for event traces of message-passing applications" (Parallel
    Computing 35, 2009). Unlike there, what precedes the receive isn't moved. Durations of calls
    change only where a receive is moved, and otherwise by at most 0.05%.

    Raises AssayError if no such order is found (the record of the messages is damaged then).
    """
    matched = match(trace)
    flat, messages = matched.flat, matched.messages
    known = messages.received_in >= 0
    send, receive = messages.send[known], messages.received_in[known]
    shifts = [_Shift() for _ in trace.ranks]
    begin, end = flat.begin.copy(), flat.end.copy()
    for round_ in range(_MOST_ROUNDS):
        late = begin[send] - end[receive]
        wrong = np.flatnonzero(late > 0)
        if len(wrong) == 0:
            break
        decay = _DECAY if round_ < _SHRINKING_ROUNDS else 0.0
        events = receive[wrong]
        wanted = begin[send[wrong]] + _AFTER - flat.end[events]
        for place in np.unique(flat.rank[events]):
            mine = flat.rank[events] == place
            shift = shifts[place]
            shift.add(flat.end[events[mine]], wanted[mine], decay)
            part = slice(int(flat.first[place]), int(flat.first[place + 1]))
            begin[part] = flat.begin[part] + shift.at(flat.begin[part])
            end[part] = flat.end[part] + shift.at(flat.end[part])
    else:
        raise AssayError("The messages of the trace can't be in any order.")
    ranks = []
    for place, (rank, shift) in enumerate(zip(trace.ranks, shifts, strict=True)):
        part = slice(int(flat.first[place]), int(flat.first[place + 1]))
        last = rank.end + float(shift.at(np.array([rank.end]))[0])
        events_ = replace(rank.events, begin=begin[part], end=end[part])
        ranks.append(replace(rank, end=last, events=events_))
    return replace(trace, ranks=tuple(ranks))


class _Shift:
    """How far the times of a rank are moved: the largest of the corrections before them, each of
    which shrinks with time.
    """

    def __init__(self) -> None:
        self._times: Floats = np.empty(0)
        self._sizes: Floats = np.empty(0)
        self._decay = _DECAY
        self._highest: Floats = np.empty(0)

    def add(self, times: Floats, sizes: Floats, decay: float) -> None:
        """Corrections: times are moved by ``sizes`` at least."""
        self._decay = min(self._decay, decay)
        self._times = np.concatenate([self._times, times])
        self._sizes = np.concatenate([self._sizes, sizes])
        order = np.argsort(self._times, kind="stable")
        self._times, self._sizes = self._times[order], self._sizes[order]
        self._highest = np.maximum.accumulate(self._sizes + self._decay * self._times)

    def at(self, times: Floats) -> npt.NDArray[np.float64]:
        """The correction of each time, s."""
        if len(self._times) == 0:
            return np.zeros(len(times))
        place = np.searchsorted(self._times, times, side="right") - 1
        found = self._highest[np.maximum(place, 0)] - self._decay * times
        return np.where(place >= 0, np.maximum(found, 0.0), 0.0)


def points_of(rows: Sequence[tuple[int, int, int, int]]) -> ClockPoints | None:
    """From (to, at, ahead, round trip) of each comparison; None without any."""
    if not rows:
        return None
    table = np.array(sorted(rows, key=lambda row: row[1]), dtype=np.int64)
    return ClockPoints(int(table[0, 0]), table[:, 1], table[:, 2], table[:, 3])
