"""Times of all ranks on one clock, and in an order that messages allow.

There are two steps. First, hosts have separate clocks: the program's ranks compared them at several
times, and offsets in between are interpolated. Second, with the remaining errors a message can end
before it began; such receives are moved, as with the controlled logical clock.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.trace.events import Trace
from assay.trace.matching import FlatTrace, MatchedTrace, match
from assay.trace.native import put_in_order
from assay.trace.partners.doubts import without_early

# Error of recorded times, s: intervals are rounded by at most half of 1.024 us
# (docs/formats/trace.md).
ROUNDING = 0.512e-6
# Share of the time after a corrected receive by which its correction shrinks: clocks of hosts
# differ in rate by up to 500 ppm (RFC 5905, appendix A).
_DECAY = 500e-6
# Most that a receive may end before the begin of its send and still belong to it: seconds, and
# multiples of the error between the clocks of hosts.
_WRONG, _ERRORS = 1e-3, 10.0
# Least time from the begin of a send to the end of its receive, s.
_AFTER = 1e-9


@dataclass(frozen=True)
class ClockPoints:
    """Comparisons of a clock with the clock of rank ``to``. When the clock reads ``at``, the other
    one is ahead by ``ahead``, known to within half of ``round_trip`` (all ns).
    """

    to: int
    at: Ints
    ahead: Ints
    round_trip: Ints


class ClockTree:
    """The clocks of all ranks: the rank that compares each clock, and the clock that it is compared
    with."""

    def __init__(self, leaders: Mapping[int, int], points: Mapping[int, ClockPoints]) -> None:
        """``leaders``: by rank; ranks without a leader have the reference clock. ``points``: by
        leader.

        Raises AssayError if the comparisons form a circle.
        """
        self._leaders = leaders
        self._points = points
        for rank in leaders:
            self._path(rank)

    def to_reference(self, rank: int, times: Ints) -> Ints:
        """Times of a rank's clock as times of the reference clock, rank 0's (ns)."""
        for points in self._path(rank):
            times = times + np.rint(_interpolated(points, times)).astype(np.int64)
        return times

    def error(self, rank: int) -> float:
        """Bound of the error of `to_reference` at the times of the comparisons, s."""
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


def _interpolated(points: ClockPoints, times: Ints) -> Floats:
    """Offsets by linear interpolation between comparisons. Outside, they lie on the line through
    the first and the last comparison (one comparison: constant).
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
    """The trace without a message that is received before its send began (`matched_in_order`)."""
    matched = match(trace)
    moved = matched_in_order(matched)
    return trace if moved is matched else moved.trace


def matched_in_order(matched: MatchedTrace) -> MatchedTrace:
    """The trace without a message that is received before its send began.

    A receive that ended too early is moved to end at the begin of its send. Later events of its
    rank are moved with it, by less and less (forward amortisation). After Becker, Rabenseifner,
    Wolf & Linford, "Scalable timestamp synchronization for event traces of message-passing
    applications" (Parallel Computing 35, 2009). Unlike in that paper, events before the receive
    aren't moved. A call whose receive is moved lasts longer; other durations shrink by at most
    0.05%.

    Messages that depend on each other, because their record is incomplete, are left out.
    """
    found = _moved(matched)
    # A circle contains a message that is received before it is sent, usually by much.
    for least in (_WRONG + _ERRORS * matched.trace.clock_error, 0.0):
        if found is not None:
            break
        kept, lost = without_early(matched.flat, matched.messages, least)
        matched = replace(matched, messages=kept, left_out=(*matched.left_out, *lost))
        found = _moved(matched)
    if found is None:
        raise AssayError(
            "No order of the trace's messages is possible: some are received before others that "
            "they depend on.",
            fix="Trace the program again with `assay profile --trace -- COMMAND`.",
        )
    return found


def _moved(matched: MatchedTrace) -> MatchedTrace | None:
    """The trace with all messages in order; None if some depend on each other."""
    trace, flat, messages = matched.trace, matched.flat, matched.messages
    send, receive = messages.send, messages.received_in
    if not np.any(flat.begin[send] > flat.end[receive]):
        return matched
    count = len(flat.begin)
    first, at = _chains(flat)
    begins, ends = (points[at] for points in _points(first, flat.begin, flat.end, at))
    time = np.empty(2 * count)
    time[begins], time[ends] = flat.begin, flat.end
    order = np.argsort(ends[receive], kind="stable")
    needs = np.ascontiguousarray(begins[send[order]])
    need_begin = np.zeros(2 * count + 1, dtype=np.int64)
    np.add.at(need_begin, ends[receive] + 1, 1)
    np.cumsum(need_begin, out=need_begin)
    if (
        put_in_order(
            time=time,
            first=2 * first,
            need_begin=need_begin,
            needs=needs,
            after=_AFTER,
            decay=_DECAY,
        )
        != 2 * count
    ):
        return None
    begin, end = time[begins], time[ends]
    ranks = []
    for place, rank in enumerate(trace.ranks):
        part = slice(int(flat.first[place]), int(flat.first[place + 1]))
        last = max(rank.end, float(end[part].max(initial=rank.end)))
        events = replace(rank.events, begin=begin[part], end=end[part])
        ranks.append(replace(rank, end=last, events=events))
    # The matching of calls doesn't depend on times.
    moved = replace(flat, trace=replace(trace, ranks=tuple(ranks)), begin=begin, end=end)
    return replace(matched, flat=moved)


def _chains(flat: FlatTrace) -> tuple[Ints, Ints]:
    """The events ordered by thread: where each thread's events begin, and the position of each
    event. The calls of one thread are in order; between threads, times are too close to decide.
    """
    thread = np.concatenate([rank.events.thread for rank in flat.trace.ranks]).astype(np.int64)
    chain = flat.rank.astype(np.int64) * (int(thread.max(initial=0)) + 1) + thread
    at = np.empty(len(chain), dtype=np.int64)
    at[np.argsort(chain, kind="stable")] = np.arange(len(chain))
    _, sizes = np.unique(chain, return_counts=True)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), at


def _points(first: Ints, begin: Floats, end: Floats, at: Ints) -> tuple[Ints, Ints]:
    """Positions of each event's begin and end among all times of its thread, in order of time.
    Begins come first at equal times, but an event's end always follows its own begin.
    """
    count = len(begin)
    order = np.empty(count, dtype=np.int64)
    order[at] = np.arange(count)
    begin, end = begin[order], end[order]
    begins = 2 * np.arange(count, dtype=np.int64)
    ends = begins + 1
    for low, high in itertools.pairwise(first.tolist()):
        if bool(np.all(end[low : high - 1] <= begin[low + 1 : high])):
            continue
        times = np.stack([begin[low:high], end[low:high]], axis=1).ravel()
        rank = np.empty(len(times), dtype=np.int64)
        rank[np.argsort(times, kind="stable")] = np.arange(len(times))
        begins[low:high] = 2 * low + rank[0::2]
        ends[low:high] = 2 * low + rank[1::2]
    return begins, ends


def points_of(rows: Sequence[tuple[int, int, int, int]]) -> ClockPoints | None:
    """The comparisons from (to, at, ahead, round trip) of each; None without comparisons."""
    if not rows:
        return None
    table = np.array(sorted(rows, key=lambda row: row[1]), dtype=np.int64)
    return ClockPoints(int(table[0, 0]), table[:, 1], table[:, 2], table[:, 3])
