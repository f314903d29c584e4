"""Why ranks wait for each other, by the place in which the late rank computes.

Each wait has an origin: a rank that computed for longer than the ranks that wait (`origins`). The
kind of the origin follows from what the other ranks do in the same place of the program.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from assay.models.program.origins import WaitOrigins
from assay.trace.calls import SENDS
from assay.trace.matching import MatchedTrace

# imbalance: the other ranks compute there, too, but for less time. serial: they don't, and wait at
# a collective. late sender: they don't, and wait for its message. dependencies: over the run they
# compute there for as long, but at other times.
WaitKind = Literal["imbalance", "serial", "late sender", "dependencies"]
WAIT_KINDS: tuple[WaitKind, ...] = get_args(WaitKind)
# Share of the late rank's time in a place below which the others don't compute there, and from
# which they compute there for as long.
_ALONE, _EQUAL = 0.1, 0.97
# The first and last rank of a chain compute between other calls than those in the middle. If the
# computing after the same call or before the same call is equal, and has at most this share of the
# place's excess, the ranks compute one after another.
_REST = 0.25


@dataclass(frozen=True)
class LatePlace:
    """Waiting that one rank's computing in one place causes."""

    kind: WaitKind
    #: Position in ``trace.ranks``.
    rank: int
    #: ``after``, ``before``: the call sites between which it computes; -1: the begin of the trace.
    after: int
    before: int
    #: Waiting of all ranks, s.
    waiting: float
    #: ``own``, ``others``: time of this rank in the place, and the mean of the other ranks, s.
    own: float
    others: float


def late_places(matched: MatchedTrace, origins: WaitOrigins) -> list[LatePlace]:
    """The places in which ranks compute while others wait for them, the greatest cost first."""
    times = _computing_by_place(matched)
    around = _Around(times)
    ranks = len(matched.trace.ranks)
    found = []
    for cost in origins.costs:
        if cost.kind != "computing":
            continue
        by_rank = times.get((cost.after, cost.before), {})
        own = by_rank.get(cost.rank, 0.0)
        others = (sum(by_rank.values()) - own) / max(ranks - 1, 1)
        joint = around.of(cost.after, cost.before)
        joint_own = joint.get(cost.rank, 0.0)
        joint_others = (sum(joint.values()) - joint_own) / max(ranks - 1, 1)
        excess = joint_own - joint_others
        if excess <= min((1.0 - _EQUAL) * joint_own, _REST * (own - others)):
            kind: WaitKind = "dependencies"
        else:
            kind = _kind(matched, cost.before, own, others)
        found.append(
            LatePlace(
                kind=kind,
                rank=cost.rank,
                after=cost.after,
                before=cost.before,
                waiting=cost.total,
                own=own,
                others=others,
            )
        )
    return found


def shares_by_kind(places: list[LatePlace]) -> dict[WaitKind, float]:
    """Shares of the waiting that these places cause; they add up to 1, or are all 0."""
    whole = sum(one.waiting for one in places)
    shares: dict[WaitKind, float] = dict.fromkeys(WAIT_KINDS, 0.0)
    if whole > 0.0:
        for one in places:
            shares[one.kind] += one.waiting / whole
    return shares


def _kind(matched: MatchedTrace, before: int, own: float, others: float) -> WaitKind:
    if others < _ALONE * own:
        return "late sender" if _sends(matched, before) else "serial"
    return "imbalance" if others < _EQUAL * own else "dependencies"


class _Around:
    """Computing of each rank after one call site or before another."""

    def __init__(self, times: dict[tuple[int, int], dict[int, float]]) -> None:
        self._times = times
        self._after: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._before: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for after, before in times:
            self._after[after].append((after, before))
            self._before[before].append((after, before))

    def of(self, after: int, before: int) -> dict[int, float]:
        found: dict[int, float] = defaultdict(float)
        for place in {*self._after[after], *self._before[before]}:
            for rank, seconds in self._times[place].items():
                found[rank] += seconds
        return found


def _sends(matched: MatchedTrace, site: int) -> bool:
    """Whether the calls of a site send messages to single ranks."""
    flat = matched.flat
    here = np.flatnonzero(flat.site == site)
    return bool(len(here)) and flat.trace.functions[int(flat.function[here[0]])] in SENDS


def _computing_by_place(matched: MatchedTrace) -> dict[tuple[int, int], dict[int, float]]:
    """Seconds between two call sites, by rank (position)."""
    flat, trace = matched.flat, matched.trace
    found: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for place, rank in enumerate(trace.ranks):
        low, high = int(flat.first[place]), int(flat.first[place + 1])
        if low == high:
            continue
        before = flat.site[low:high].astype(np.int64)
        after = np.concatenate([[-1], before[:-1]])
        ends = np.concatenate([[rank.begin], np.maximum.accumulate(flat.end[low : high - 1])])
        gaps = np.maximum(flat.begin[low:high] - ends, 0.0)
        keys = (after + 1) * (len(trace.sites) + 1) + before
        every, numbers = np.unique(keys, return_inverse=True)
        sums = np.bincount(numbers, weights=gaps)
        for key, total in zip(every.tolist(), sums.tolist(), strict=True):
            found[key // (len(trace.sites) + 1) - 1, key % (len(trace.sites) + 1)][place] = total
    return found
