"""Whether ranks slow each other down while they compute: the same computing together and in turn.

A second launch lets the ranks of a node compute in turn for some time. What a rank computes between
two calls is the same in both launches, so the ratio of these times is the effect of the others:
memory bandwidth, shared caches, or a clock that falls with the number of busy cores.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.trace.events import RankTrace, Trace

# Fewest gaps and seconds of computing per rank that are compared.
_LEAST_GAPS, _LEAST_SECONDS = 5, 0.02


@dataclass(frozen=True)
class RankGaps:
    """The computing of a rank between its calls."""

    #: A number for the function and the site of each call, the same in all launches.
    calls: Ints
    #: Computing time after each call, s; one less than calls.
    gaps: Floats
    #: End of each call, s from the begin of the rank.
    ends: Floats
    #: Share of the computing time in which the rank had a CPU.
    share: float = 1.0


@dataclass(frozen=True)
class SharedTime:
    """The same computing in two launches."""

    #: ``together``, ``alone``: computing time of all ranks, s.
    together: float
    alone: float
    #: Why they aren't compared, as a clause; "" if they are.
    problem: str = ""

    @property
    def share(self) -> float:
        """Share of the computing time that ranks lose to each other."""
        return 1.0 - self.alone / self.together if self.together > 0.0 else 0.0


def rank_gaps(trace: Trace, shares: Mapping[int, float]) -> list[RankGaps]:
    """The computing of each rank. ``shares``: of its time with a CPU, by rank; 1 if missing."""
    return [_gaps(trace, rank, shares.get(rank.rank, 1.0)) for rank in trace.ranks]


def shared_time(
    together: Sequence[RankGaps], alone: Sequence[RankGaps], seconds: Sequence[float]
) -> SharedTime:
    """Compare the first calls of two launches. ``seconds``: how long each rank took turns, s."""
    if len(together) != len(alone) or not alone:
        return SharedTime(0.0, 0.0, "the launches have different ranks")
    sums = np.zeros(2)
    for one, other, until in zip(together, alone, seconds, strict=True):
        # The gap after a call that ended in time may reach beyond it: the last one is left out.
        number = int(np.searchsorted(other.ends, until)) - 1
        number = min(number, len(one.gaps), len(other.gaps))
        if number < _LEAST_GAPS:
            return SharedTime(0.0, 0.0, "the ranks made too few calls in turn")
        if not np.array_equal(one.calls[: number + 1], other.calls[: number + 1]):
            return SharedTime(0.0, 0.0, "the launches made different calls")
        # Time without a CPU isn't what ranks take from each other.
        sums[0] += one.share * float(one.gaps[:number].sum())
        sums[1] += other.share * float(other.gaps[:number].sum())
    if sums.min() < _LEAST_SECONDS * len(alone):
        return SharedTime(0.0, 0.0, "the ranks computed too little in turn")
    return SharedTime(float(sums[0]), float(sums[1]))


def _gaps(trace: Trace, rank: RankTrace, share: float) -> RankGaps:
    events = rank.events
    functions = np.array([zlib.crc32(name.encode()) for name in trace.functions], dtype=np.int64)
    sites = np.array(
        [zlib.crc32(f"{one.image} {one.offset}".encode()) for one in trace.sites], dtype=np.int64
    )
    calls = (functions[events.function] << 31) ^ sites[events.site]
    ends = np.maximum.accumulate(events.end) if len(events) else events.end
    gaps = np.maximum(events.begin[1:] - ends[:-1], 0.0)
    return RankGaps(calls, gaps, ends - rank.begin, share)
