"""The critical path of a traced run: what it would have to do faster to end sooner.

After Böhme, de Supinski, Geimer, Schulz & Wolf (IPDPS 2012): from the end of the rank that ended
last backwards; where a rank waited, the path goes on at the rank that it waited for. Nothing on the
path is waiting.
"""

from __future__ import annotations

from collections import defaultdict
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
    rank = int(np.argmax([one.end for one in flat.trace.ranks]))
    moment = flat.trace.ranks[rank].end
    by_rank = np.searchsorted(events, flat.first)
    pieces: list[tuple[int, float, float]] = []
    ends = flat.begin[events] + waits.seconds[order]
    while True:
        low, high = int(by_rank[rank]), int(by_rank[rank + 1])
        # Waits are in order of time on a rank, and so are their ends.
        at = low + int(np.searchsorted(ends[low:high], moment, side="left")) - 1
        if at < low:
            pieces.append((rank, flat.trace.ranks[rank].begin, moment))
            break
        pieces.append((rank, float(ends[at]), moment))
        moment = float(ends[at])
        rank = int(flat.rank[lates[at]])
    pieces.reverse()
    columns = list(zip(*pieces, strict=True))
    return CriticalPath(
        np.array(columns[0], dtype=np.int64), np.array(columns[1]), np.array(columns[2])
    )


def critical_shares(flat: FlatTrace, path: CriticalPath) -> list[CriticalShare]:
    """The path by rank and place, most first."""
    spent: dict[tuple[int, DelayKind, int, int], float] = defaultdict(float)
    for rank, begin, end in zip(
        path.rank.tolist(), path.begin.tolist(), path.end.tolist(), strict=True
    ):
        low, high = int(flat.first[rank]), int(flat.first[rank + 1])
        first = low + int(np.searchsorted(flat.end[low:high], begin, side="right"))
        last = low + int(np.searchsorted(flat.begin[low:high], end, side="left"))
        before = flat.end[first - 1] if first > low else begin
        moment = max(begin, float(before)) if first > low else begin
        for event in range(first, last):
            site = int(flat.site[event])
            call_begin, call_end = float(flat.begin[event]), float(flat.end[event])
            after = int(flat.site[event - 1]) if event > low else _START
            computing = min(call_begin, end) - moment
            if computing > 0.0:
                spent[rank, "computing", after, site] += computing
            inside = min(call_end, end) - max(call_begin, begin)
            if inside > 0.0:
                spent[rank, "communication", site, site] += inside
            moment = max(call_end, begin)
        if end > moment:
            after = int(flat.site[last - 1]) if last > low else _START
            spent[rank, "computing", after, _START] += end - moment
    return sorted(
        (CriticalShare(*key, seconds) for key, seconds in spent.items()),
        key=lambda one: -one.seconds,
    )
