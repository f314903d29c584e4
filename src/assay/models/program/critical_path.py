"""The critical path of a traced run: what it would have to do faster to end sooner.

After Böhme, de Supinski, Geimer, Schulz & Wolf (IPDPS 2012): from the end of the rank that ended
last backwards; where a rank waited, the path goes on at the rank that it waited for. Nothing on the
path is waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.models.program.origins import DelayKind
from assay.models.program.waits import WaitStates
from assay.trace.events import Floats, Integers
from assay.trace.matching import FlatTrace

_START = -1


@dataclass(frozen=True)
class CriticalPath:
    """Pieces of the path in order of time: ``rank`` (places), ``begin`` and ``end`` in s."""

    rank: Integers
    begin: Floats
    end: Floats

    @property
    def seconds(self) -> float:
        """Length of the path, s."""
        return float((self.end - self.begin).sum())


@dataclass(frozen=True)
class CriticalShare:
    """``seconds`` of the critical path that one rank spent in one place.

    ``rank``, ``kind``, ``after``, ``before``: as in `origins.DelayCost`.
    """

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
    # Waits are in order of time on a rank, and so are their ends.
    ends = flat.begin[events] + waits.seconds[order]
    goes_to = flat.rank[lates]
    last = int(np.argmax([one.end for one in flat.trace.ranks]))
    moment = flat.trace.ranks[last].end

    def before(times: Floats, rank: int) -> Integers:
        """The last wait of a rank that ends before each time; -1: none does."""
        low, high = int(by_rank[rank]), int(by_rank[rank + 1])
        found = np.searchsorted(ends[low:high], times, side="left") - 1
        return np.asarray(np.where(found >= 0, found + low, -1))

    # From each wait the path goes on, backwards, at the rank that it waited for.
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
    """The path by rank and place, most first."""
    ranks = flat.trace.ranks
    first, last = _calls_of(flat, path)
    counts = last - first
    piece = np.repeat(np.arange(len(first)), counts)
    event = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    event += first[piece]
    begin, end = path.begin[piece], path.end[piece]
    starts = flat.first[path.rank]
    known = event > starts[piece]
    before = np.maximum(event - 1, 0)
    opened = np.array([rank.begin for rank in ranks])[path.rank]
    free = np.maximum(np.where(known, flat.end[before], opened[piece]), begin)
    after = np.where(known, flat.site[before].astype(np.int64), _START)
    site = flat.site[event].astype(np.int64)
    # Behind the last call of a piece, which is the end of a rank unless the next one begins there.
    some = last > starts
    final = np.maximum(last - 1, 0)
    rest = path.end - np.maximum(np.where(some, flat.end[final], opened), path.begin)
    last_site = np.where(some, flat.site[final].astype(np.int64), _START)
    follows = last < flat.first[path.rank + 1]
    next_site = np.where(
        follows, flat.site[np.minimum(last, len(flat.site) - 1)].astype(np.int64), _START
    )
    parts = [
        (0, path.rank[piece], after, site, np.minimum(flat.begin[event], end) - free),
        (1, path.rank[piece], site, site,
         np.minimum(flat.end[event], end) - np.maximum(flat.begin[event], begin)),
        (0, path.rank, last_site, next_site, rest),
    ]  # fmt: skip
    return _summed(parts)


def _calls_of(flat: FlatTrace, path: CriticalPath) -> tuple[Integers, Integers]:
    """For each piece its first call, and the first one behind it."""
    first = np.zeros(len(path.rank), dtype=np.int64)
    last = np.zeros(len(path.rank), dtype=np.int64)
    for rank in np.unique(path.rank).tolist():
        here = path.rank == rank
        low, high = int(flat.first[rank]), int(flat.first[rank + 1])
        first[here] = low + np.searchsorted(flat.end[low:high], path.begin[here], side="right")
        last[here] = low + np.searchsorted(flat.begin[low:high], path.end[here], side="left")
    return first, np.maximum(last, first)


def _summed(parts: list[tuple[int, Integers, Integers, Integers, Floats]]) -> list[CriticalShare]:
    keys = np.concatenate(
        [
            np.stack([np.full(len(rank), kind), rank, after, before])
            for kind, rank, after, before, _ in parts
        ],
        axis=1,
    )
    seconds = np.concatenate([part[4] for part in parts])
    real = seconds > 0.0
    if not real.any():
        return []
    keys, seconds = keys[:, real], seconds[real]
    low = keys.min(axis=1, keepdims=True)
    widths = (keys - low).max(axis=1) + 1
    code = np.zeros(keys.shape[1], dtype=np.int64)
    for row, width in zip(keys - low, widths, strict=True):
        code = code * width + row
    _, at, which = np.unique(code, return_index=True, return_inverse=True)
    sums = np.bincount(which, weights=seconds)
    found = [
        CriticalShare(
            rank=int(keys[1, i]),
            kind="communication" if keys[0, i] else "computing",
            after=int(keys[2, i]),
            before=int(keys[3, i]),
            seconds=float(time),
        )
        for i, time in zip(at, sums, strict=True)
    ]
    return sorted(found, key=lambda one: -one.seconds)
