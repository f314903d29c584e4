"""Iterations of a program, found from the repetition of its sequence of calls.

A call's sign is its function, call site and communicator. A period p repeats over the longest run
of calls that equal the calls p places before. Candidates for p are the distances between calls with
the same sign. The period that covers most calls is the iteration; if several do, the shortest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.codes import coded
from assay.trace.events import Events, RankTrace

# Number of distances that are tried as periods, beginning with those that may cover most calls.
_MOST_CANDIDATES = 96
# Fewer repetitions occur by chance.
_LEAST_TIMES = 3
# A shorter period is preferred if it covers at least this share of the calls of the longest
# coverage.
_NEARLY = 0.98
# Minimum share of the iteration that an inner repetition covers.
_LEAST_INNER = 0.5


@dataclass(frozen=True)
class Repetition:
    """``times`` repetitions of ``period`` calls, from call ``first`` of a rank on."""

    first: int
    period: int
    times: int
    #: A repetition within the first of them, if it covers half of that one.
    inner: Repetition | None = None

    @property
    def end(self) -> int:
        """The first call after it."""
        return self.first + self.period * self.times


@dataclass(frozen=True)
class IterationTimes:
    """The iterations of a rank."""

    repetition: Repetition
    #: Begins of the iterations and the end of the last one, s.
    begins: Floats

    @property
    def seconds(self) -> Floats:
        """Seconds of each iteration."""
        return np.asarray(np.diff(self.begins))


def signs(events: Events) -> Ints:
    """A number per call, equal for calls with the same sign."""
    code = events.communicator.astype(np.int64)
    code = code * (int(events.site.max(initial=0)) + 1) + events.site
    code = code * (int(events.function.max(initial=0)) + 1) + events.function
    return coded(code)[1].astype(np.int64)


def find_repetition(sequence: Ints, least: int = 2) -> Repetition | None:
    """The repetition that covers most of a sequence; None if nothing repeats three times.

    ``least``: the shortest period.
    """
    found = []
    for period in _candidates(sequence):
        if period < least:
            continue
        same = sequence[period:] == sequence[:-period]
        start, length = _longest_run(same)
        times = length // period + 1
        if times >= _LEAST_TIMES:
            found.append(Repetition(start, int(period), int(times)))
    if not found:
        return None
    most = max(one.period * one.times for one in found)
    near = [one for one in found if one.period * one.times >= _NEARLY * most]
    best = min(near, key=lambda one: one.period)
    part = sequence[best.first : best.first + best.period]
    inner = find_repetition(part) if best.period >= 2 * _LEAST_TIMES else None
    if inner is not None and inner.period * inner.times < _LEAST_INNER * best.period:
        inner = None
    return Repetition(best.first, best.period, best.times, inner)


def iterations(rank: RankTrace) -> IterationTimes | None:
    """The iterations of a rank; None if its calls don't repeat."""
    found = find_repetition(signs(rank.events), least=1)
    if found is None:
        return None
    starts = found.first + found.period * np.arange(found.times)
    events = rank.events
    # An iteration begins where the call before it ends.
    before = np.where(starts > 0, events.end[np.maximum(starts - 1, 0)], rank.begin)
    return IterationTimes(found, np.append(before, events.end[found.end - 1]))


def _candidates(sequence: Ints) -> Ints:
    if len(sequence) < _LEAST_TIMES:
        return np.empty(0, dtype=np.int64)
    order = np.argsort(sequence, kind="stable")
    same = sequence[order][1:] == sequence[order][:-1]
    gaps, counts = np.unique(np.diff(order)[same], return_counts=True)
    likely = np.argsort(-(gaps * counts), kind="stable")[:_MOST_CANDIDATES]
    return np.sort(gaps[likely]).astype(np.int64)


def _longest_run(same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """The first index and the length of the longest run of True."""
    if not same.any():
        return 0, 0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.view(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    longest = int((ends - starts).argmax())
    return int(starts[longest]), int(ends[longest] - starts[longest])
