"""Waiting times in a trace by origin: the rank, and the place in the program, that caused them.

Delay costs after Böhme, Geimer, Wolf & Arnold (ICPP 2010) and Böhme, Geimer, Arnold, Voigtlaender &
Wolf (ACM TOPC 3(2), 2016). Suppose that rank B makes rank A wait for a time w. Since both were last
at the same moment of the program, B has spent w more than A in computing, in communication, or
waiting itself. The wait is distributed over these excesses. The part that falls on B's own waits is
handed on to their causes, by a pass over all waits from the last to the first. ``direct`` (the
paper's short-term costs) is the cost of a delay for the ranks that wait for it. ``handed_on`` (the
long-term costs) is the cost for ranks that wait for these ranks, and so on.

Two ranks are at the same moment when one has waited for the other (the late rank's call begins),
and when an all-to-all collective has begun on all its ranks. There are two differences from the
paper. B's excesses, including its waits, are net of A's time in the same place, so that their sum
is the wait, by the identity of elapsed times. Places are pairs of call sites, because a trace has
no other functions of the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.models.program.waits import WaitStates
from assay.trace.calls import ALL_TO_ALL, blocking_form
from assay.trace.matching import FlatTrace, MatchedTrace
from assay.trace.native import OriginEvents, OriginMoments, OriginWaits, find_origins

DelayKind = Literal["computing", "communication"]
# Share of the waiting whose origins are searched for, longest waits first, and the largest number
# of these waits.
COVERED = 0.999
MOST_WAITS = 200_000


@dataclass(frozen=True)
class DelayCost:
    """Cost of one rank's delays in one place for other ranks."""

    #: Position in ``trace.ranks``.
    rank: int
    #: Whether the rank was computing or communicating.
    kind: DelayKind
    #: ``after``, ``before``: the call sites between which the rank computed (-1: the begin of the
    #: trace). For communication both are the call's own site.
    after: int
    before: int
    #: ``direct``, ``handed_on``: waiting, s.
    direct: float
    handed_on: float

    @property
    def total(self) -> float:
        """Total waiting that this causes, s."""
        return self.direct + self.handed_on


@dataclass(frozen=True)
class WaitOrigins:
    """The origins of a run's waiting."""

    #: Delays, the greatest cost first.
    costs: tuple[DelayCost, ...]
    #: Waiting that no delay explains, s.
    unknown: float
    #: Waiting whose origin was searched for, s.
    covered: float


def wait_origins(
    matched: MatchedTrace, waits: WaitStates, covered: float = COVERED, most: int = MOST_WAITS
) -> WaitOrigins:
    """The delays that caused the waiting.

    ``covered``: share of the waiting whose origin is searched for, longest waits first; ``most``:
    number of waits. The search itself is native code (`native/trace/decoder/origins.cpp`).
    """
    if not len(waits):
        return WaitOrigins((), 0.0, 0.0)
    return _result(matched, waits, _longest(waits, covered, most))


def _longest(waits: WaitStates, covered: float, most: int) -> npt.NDArray[np.bool_]:
    """The waits whose origin is searched for."""
    order = np.argsort(-waits.seconds, kind="stable")
    sums = np.cumsum(waits.seconds[order])
    number = int(np.searchsorted(sums, covered * sums[-1])) + 1
    followed = np.zeros(len(waits), dtype=bool)
    followed[order[: min(number, most)]] = True
    return followed


def _result(
    matched: MatchedTrace, waits: WaitStates, followed: npt.NDArray[np.bool_]
) -> WaitOrigins:
    flat = matched.flat
    own = np.where(followed, waits.seconds, 0.0)
    waited = np.zeros(len(flat.begin))
    waited[waits.event] = waits.seconds
    number = np.full(len(flat.begin), -1, dtype=np.int64)
    number[waits.event] = np.arange(len(waits))
    pair, pair_begin, pair_moment = _pair_moments(flat, waits)
    member, group_begin, group_moment = _collective_moments(matched)
    rows, unknown = find_origins(
        OriginEvents(
            begin=flat.begin,
            end=flat.end,
            rank=flat.rank,
            site=flat.site,
            waited=waited,
            number=number,
            first=flat.first,
            rank_begin=np.array([rank.begin for rank in flat.trace.ranks]),
        ),
        OriginWaits(
            event=waits.event,
            late=waits.late,
            seconds=own,
            order=np.argsort(-flat.begin[waits.late], kind="stable"),
        ),
        OriginMoments(
            pair=pair,
            pair_begin=pair_begin,
            pair_moment=pair_moment,
            member=member,
            group_begin=group_begin,
            group_moment=group_moment,
        ),
    )
    costs = [
        DelayCost(
            rank=rank,
            kind="communication" if kind else "computing",
            after=after,
            before=before,
            direct=direct,
            handed_on=later,
        )
        for rank, kind, after, before, direct, later in rows
    ]
    costs.sort(key=lambda cost: (-cost.total, cost.rank, cost.kind, cost.after, cost.before))
    return WaitOrigins(tuple(costs), unknown, float(own.sum()))


def _pair_moments(flat: FlatTrace, waits: WaitStates) -> tuple[Ints, Ints, Floats]:
    """The moments at which one rank of a pair had waited for the other. Returns the keys of the
    pairs, ascending, the offsets of their moments with their end, and the moments in order of time.
    """
    ranks = len(flat.trace.ranks)
    one, other = flat.rank[waits.event].astype(np.int64), flat.rank[waits.late].astype(np.int64)
    keys = np.minimum(one, other) * ranks + np.maximum(one, other)
    times = flat.begin[waits.late]
    order = np.lexsort((times, keys))
    keys, times = keys[order], times[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.append(starts, len(keys)).astype(np.int64), times


def _collective_moments(
    matched: MatchedTrace,
) -> tuple[npt.NDArray[np.uint8], Ints, Floats]:
    """For each communicator, the moments at which all its ranks had begun an all-to-all collective.
    Returns whether each communicator (row) has each rank, the offsets of its moments with their
    end, and the moments.
    """
    flat = matched.flat
    wanted = np.array([name in ALL_TO_ALL for name in flat.trace.functions])
    wanted &= np.array([blocking_form(name) == name for name in flat.trace.functions])
    member = np.zeros((len(matched.collectives), len(flat.trace.ranks)), dtype=np.uint8)
    found: list[Floats] = []
    for place, group in enumerate(matched.collectives):
        rows = group.events[wanted[flat.function[group.events[:, 0]]]]
        found.append(np.sort(flat.begin[rows].max(axis=1)) if len(rows) else np.empty(0))
        member[place, group.members] = 1
    begins = np.cumsum([0, *map(len, found)]).astype(np.int64)
    return member, begins, np.concatenate([np.empty(0), *found])
