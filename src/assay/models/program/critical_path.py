"""The critical path of a traced run: the work that must become faster for the run to end sooner.

After Böhme, de Supinski, Geimer, Schulz & Wolf (IPDPS 2012): the path goes backwards from the end
of the rank that ended last. If a rank waited, the path continues at the rank that it waited for.
Nothing on the path is waiting.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.models.program.origins import DelayKind
from assay.models.program.waits import WaitStates
from assay.trace.codes import coded
from assay.trace.matching import FlatTrace

_START = -1
# Number of calls that are processed at a time.
_PART = 1 << 20


@dataclass(frozen=True)
class CriticalPath:
    """Pieces of the path in order of time: ``rank`` (positions), ``begin`` and ``end`` in s."""

    rank: Ints
    begin: Floats
    end: Floats

    @property
    def seconds(self) -> float:
        """Length of the path, s."""
        return float((self.end - self.begin).sum())


@dataclass(frozen=True)
class CriticalShare:
    """``seconds`` of the critical path that one rank spent in one place."""

    #: ``rank``, ``kind``, ``after``, ``before``: as in `origins.DelayCost`.
    rank: int
    kind: DelayKind
    after: int
    before: int
    seconds: float


def critical_path(flat: FlatTrace, waits: WaitStates) -> CriticalPath:
    """The path, as pieces on ranks."""
    order = np.argsort(waits.event, kind="stable")
    events, lates = waits.event[order], waits.late[order]
    by_rank = np.searchsorted(events, flat.first)
    # Waits of a rank are in order of time, and so are their ends.
    ends = flat.begin[events] + waits.seconds[order]
    goes_to = flat.rank[lates]
    last = int(np.argmax([one.end for one in flat.trace.ranks]))
    moment = flat.trace.ranks[last].end

    def before(times: Floats, rank: int) -> Ints:
        """The rank's last wait that ends before each time; -1 if none does."""
        low, high = int(by_rank[rank]), int(by_rank[rank + 1])
        found = np.searchsorted(ends[low:high], times, side="left") - 1
        return np.asarray(np.where(found >= 0, found + low, -1))

    # From each wait, the path continues backwards at the rank that was waited for.
    next_wait = np.empty(len(ends), dtype=np.int64)
    for rank in np.unique(goes_to).tolist():
        here = np.flatnonzero(goes_to == rank)
        next_wait[here] = before(ends[here], rank)
    follow = next_wait.data
    chain = []
    at = int(before(np.array([moment]), last)[0])
    while at >= 0:
        chain.append(at)
        at = follow[at]
    on = np.array(chain[::-1], dtype=np.int64)
    rank_of = np.append(goes_to[on], last).astype(np.int64)
    begins = np.concatenate([[flat.trace.ranks[int(rank_of[0])].begin], ends[on]])
    return CriticalPath(rank_of, begins, np.append(ends[on], moment))


def critical_shares(flat: FlatTrace, path: CriticalPath) -> list[CriticalShare]:
    """The path by rank and place, longest time first."""
    first, last = _calls_of(flat, path)
    counts = last - first
    sums: dict[int, float] = defaultdict(float)
    width = int(flat.site.max(initial=0)) + 2
    # Process calls in parts: a path of 10^7 calls would need 1 GiB of temporary columns.
    ends = np.cumsum(counts)
    for low in range(0, int(counts.sum()), _PART):
        number = np.arange(low, min(low + _PART, int(ends[-1])))
        piece = np.searchsorted(ends, number, side="right")
        event = number - (ends[piece] - counts[piece]) + first[piece]
        for part in _of_calls(flat, path, piece, event):
            _add(sums, width, *part)
    _add(sums, width, *_behind(flat, path, first, last))
    found = []
    for code, seconds in sums.items():
        code, before = divmod(code, width)
        code, after = divmod(code, width)
        rank, kind = divmod(code, 2)
        name: DelayKind = "communication" if kind else "computing"
        found.append(CriticalShare(rank, name, after - 1, before - 1, seconds))
    return sorted(found, key=lambda one: -one.seconds)


# Kind (0: computing, 1: communication), ranks, sites after and before, s.
_Part = tuple[int, Ints, Ints, Ints, Floats]


def _of_calls(flat: FlatTrace, path: CriticalPath, piece: Ints, event: Ints) -> tuple[_Part, _Part]:
    """The parts of the path before and in each call. ``piece``: the piece of each part."""
    begin, end = path.begin[piece], path.end[piece]
    rank = path.rank[piece]
    known = event > flat.first[rank]
    before = np.maximum(event - 1, 0)
    opened = np.array([one.begin for one in flat.trace.ranks])[rank]
    free = np.maximum(np.where(known, flat.end[before], opened), begin)
    after = np.where(known, flat.site[before].astype(np.int64), _START)
    site = flat.site[event].astype(np.int64)
    inside = np.minimum(flat.end[event], end) - np.maximum(flat.begin[event], begin)
    return (
        (0, rank, after, site, np.minimum(flat.begin[event], end) - free),
        (1, rank, site, site, inside),
    )


def _behind(flat: FlatTrace, path: CriticalPath, first: Ints, last: Ints) -> _Part:
    """After the last call of each piece: the end of a rank, unless the next call begins there."""
    opened = np.array([one.begin for one in flat.trace.ranks])[path.rank]
    some = last > flat.first[path.rank]
    final = np.maximum(last - 1, 0)
    rest = path.end - np.maximum(np.where(some, flat.end[final], opened), path.begin)
    last_site = np.where(some, flat.site[final].astype(np.int64), _START)
    follows = last < flat.first[path.rank + 1]
    behind = flat.site[np.minimum(last, len(flat.site) - 1)].astype(np.int64)
    return 0, path.rank, last_site, np.where(follows, behind, _START), rest


def _add(
    sums: dict[int, float],
    width: int,
    kind: int,
    rank: Ints,
    after: Ints,
    before: Ints,
    seconds: Floats,
) -> None:
    """Add s by rank, kind and sites, coded as one number."""
    real = seconds > 0.0
    code = ((rank * 2 + kind) * width + after + 1) * width + before + 1
    codes, which = coded(code[real])
    for one, total in zip(codes.tolist(), np.bincount(which, seconds[real]), strict=True):
        sums[one] += float(total)


def _calls_of(flat: FlatTrace, path: CriticalPath) -> tuple[Ints, Ints]:
    """For each piece, its first call and the first call after it."""
    first = np.zeros(len(path.rank), dtype=np.int64)
    last = np.zeros(len(path.rank), dtype=np.int64)
    for rank in np.unique(path.rank).tolist():
        here = path.rank == rank
        low, high = int(flat.first[rank]), int(flat.first[rank + 1])
        first[here] = low + np.searchsorted(flat.end[low:high], path.begin[here], side="right")
        last[here] = low + np.searchsorted(flat.begin[low:high], path.end[here], side="left")
    return first, np.maximum(last, first)
