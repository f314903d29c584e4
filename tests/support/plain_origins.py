"""The origins of waits in plain Python, with which the native search is compared."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.models.program.origins import DelayCost, WaitOrigins
from assay.models.program.waits import WaitStates
from assay.trace.calls import ALL_TO_ALL, blocking_form
from assay.trace.matching import FlatTrace, MatchedTrace

# Excesses below this share of the times are rounding.
_ROUNDING = 1e-9
_START = -1


# Kind (0: computing, 1: communication), site before, site behind.
_Key = tuple[int, int, int]


def plain_origins(matched: MatchedTrace, waits: WaitStates, covered: float) -> WaitOrigins:
    """As `wait_origins`."""
    if not len(waits):
        return WaitOrigins((), 0.0, 0.0)
    return _Search(matched, waits).result(_longest(waits, covered))


def _longest(waits: WaitStates, covered: float) -> npt.NDArray[np.bool_]:
    """Which waits are followed."""
    order = np.argsort(-waits.seconds, kind="stable")
    sums = np.cumsum(waits.seconds[order])
    number = int(np.searchsorted(sums, covered * sums[-1])) + 1
    followed = np.zeros(len(waits), dtype=bool)
    followed[order[:number]] = True
    return followed


class _Search:
    def __init__(self, matched: MatchedTrace, waits: WaitStates) -> None:
        flat = matched.flat
        self.flat = flat
        self.waits = waits
        # Views: as quick as lists, without a copy; single elements of arrays are slow.
        self.begin, self.end = flat.begin.data, flat.end.data
        self.rank, self.site = flat.rank.data, flat.site.data
        self.first = flat.first.tolist()
        waited = np.zeros(len(flat.begin))
        waited[waits.event] = waits.seconds
        self.waited = waited.data
        number = np.full(len(flat.begin), -1, dtype=np.int64)
        number[waits.event] = np.arange(len(waits))
        self.number = number.data
        self.moments = _pair_moments(flat, waits)
        self.collective = _collective_moments(matched)
        self.common: dict[tuple[int, int], list[memoryview]] = {}

    def result(self, followed: npt.NDArray[np.bool_]) -> WaitOrigins:
        flat, waits = self.flat, self.waits
        own = np.where(followed, waits.seconds, 0.0)
        handed = [0.0] * len(waits)
        direct_costs: dict[tuple[int, _Key], float] = defaultdict(float)
        later_costs: dict[tuple[int, _Key], float] = defaultdict(float)
        unknown = 0.0
        events, lates, seconds = waits.event.data, waits.late.data, own.data
        # Waits that are not followed, but get a cost that matters, hand it on.
        least = _ROUNDING * float(own.sum())
        for i in np.argsort(-flat.begin[waits.late], kind="stable").tolist():
            wait, more = seconds[i], handed[i]
            if wait == 0.0 and more <= least:
                unknown += more
                continue
            late = self.rank[lates[i]]
            delays, waiting = self._excess(events[i], lates[i])
            whole = sum(delays.values()) + sum(waiting.values())
            if whole <= _ROUNDING * (wait + more):
                unknown += wait + more
                continue
            for key, amount in delays.items():
                direct_costs[late, key] += wait * amount / whole
                later_costs[late, key] += more * amount / whole
            for j, amount in waiting.items():
                handed[j] += (wait + more) * amount / whole
        costs = [
            DelayCost(
                rank=rank,
                kind="communication" if key[0] else "computing",
                after=key[1],
                before=key[2],
                direct=direct_costs[rank, key],
                handed_on=later_costs[rank, key],
            )
            for rank, key in direct_costs
        ]
        costs.sort(key=lambda cost: -cost.total)
        return WaitOrigins(tuple(costs), unknown, float(own.sum()))

    def _excess(self, event: int, late: int) -> tuple[dict[_Key, float], dict[int, float]]:
        """By how much the late rank's times exceed the waiting one's since they last met.

        Delays by place, and the late rank's own waits by their number.
        """
        waiting_rank, late_rank = self.rank[event], self.rank[late]
        begin = self._met(waiting_rank, late_rank, self.begin[event])
        theirs, their_waits = self._spent(late_rank, late, begin)
        mine, my_waits = self._spent(waiting_rank, event, begin)
        delays = _net(theirs, mine)
        all_theirs, all_mine = sum(their_waits.values()), sum(my_waits.values())
        if all_theirs > all_mine:
            share = 1.0 - all_mine / all_theirs
            return delays, {i: amount * share for i, amount in their_waits.items()}
        return delays, {}

    def _met(self, one: int, other: int, before: float) -> float:
        """The last moment, up to a time, at which both ranks were at the same point, s."""
        pair = (one, other) if one < other else (other, one)
        found = [self.flat.trace.ranks[rank].begin for rank in pair]
        latest = max(found)
        lists = self.common.get(pair)
        if lists is None:
            lists = [self.moments[pair]] if pair in self.moments else []
            lists += [times for members, times in self.collective if members.issuperset(pair)]
            self.common[pair] = lists
        for times in lists:
            at = bisect_right(times, before)
            if at and times[at - 1] > latest:
                latest = times[at - 1]
        return latest

    def _spent(
        self, rank: int, until: int, begin: float
    ) -> tuple[dict[_Key, float], dict[int, float]]:
        """What a rank did from a time to the begin of an event: s by place, waits by number."""
        ends, begins, site = self.end, self.begin, self.site
        spent: dict[_Key, float] = defaultdict(float)
        waits: dict[int, float] = {}
        first = self.first[rank]
        i = until
        while True:
            start = ends[i - 1] if i > first else self.flat.trace.ranks[rank].begin
            here = begins[i] - (start if start > begin else begin)
            if here > 0.0:
                spent[0, site[i - 1] if i > first else _START, site[i]] += here
            i -= 1
            if i < first or ends[i] <= begin:
                return spent, waits
            # A wait ends within its call; one that ended at the common moment is over.
            waited = self.waited[i]
            wait_end = begins[i] + waited
            inside = wait_end - max(begins[i], begin)
            if waited and inside > 0.0:
                waits[self.number[i]] = inside
            busy = ends[i] - max(wait_end, begin)
            if busy > 0.0:
                spent[1, site[i], site[i]] += busy


def _net(theirs: dict[_Key, float], mine: dict[_Key, float]) -> dict[_Key, float]:
    """Their times above mine, place by place.

    Ranks with different roles have places that the other one lacks: of these, by kind, mine are
    deducted from theirs in proportion.
    """
    found = {}
    for kind in (0, 1):
        alone = sum(t for key, t in theirs.items() if key[0] == kind and key not in mine)
        other = sum(t for key, t in mine.items() if key[0] == kind and key not in theirs)
        share = max(0.0, 1.0 - other / alone) if alone > 0.0 else 0.0
        for key, amount in theirs.items():
            if key[0] != kind:
                continue
            net = amount - mine[key] if key in mine else amount * share
            if net > _ROUNDING * amount:
                found[key] = net
    return found


def _pair_moments(flat: FlatTrace, waits: WaitStates) -> dict[tuple[int, int], memoryview]:
    """When one rank of a pair had waited for the other, in order of time."""
    one, other = flat.rank[waits.event].astype(np.int64), flat.rank[waits.late].astype(np.int64)
    low, high = np.minimum(one, other), np.maximum(one, other)
    times = flat.begin[waits.late]
    order = np.lexsort((times, high, low))
    low, high, times = low[order], high[order], times[order]
    starts = np.flatnonzero(np.diff(low, prepend=-1) | np.diff(high, prepend=-1))
    return {
        (int(low[start]), int(high[start])): part.data
        for start, part in zip(starts, np.split(times, starts[1:]), strict=True)
    }


def _collective_moments(matched: MatchedTrace) -> list[tuple[frozenset[int], memoryview]]:
    """Per communicator, when all its ranks had begun an all-to-all collective."""
    flat = matched.flat
    wanted = np.array([name in ALL_TO_ALL for name in flat.trace.functions])
    wanted &= np.array([blocking_form(name) == name for name in flat.trace.functions])
    found = []
    for group in matched.collectives:
        rows = group.events[wanted[flat.function[group.events[:, 0]]]]
        times: Floats = np.sort(flat.begin[rows].max(axis=1)) if len(rows) else np.empty(0)
        found.append((frozenset(group.members.tolist()), times.data))
    return found
