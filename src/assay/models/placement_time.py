"""Where the time of a work goes at a placement, from the phases that its ranks tell.

Luecke, Li & Cuma (2005), section 4, name what keeps more ranks a node from bringing as much more:
memory that ranks share (4.2), messages and the adapter that they share (4.3), and what changes with
the size of a rank's piece, caches first (4.1). Their two comparisons tell these apart: the same
ranks on more nodes share nothing and have pieces of the same size; one rank a node on as many nodes
has larger pieces. Threads are held against ranks of one thread on the very same cores. All seconds
are of one operation, wall time, mean over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.models.placed import (
    MOST,
    TIME,
    UNKNOWN,
    WAITED,
    Floats,
    Machine,
    Placed,
    Twins,
    computing_of,
    expected,
    share_within,
)
from assay.stats.intervals import Interval

# What a placement's time is made of, in this order. They add up to the whole; what caches and
# hardware threads save is negative.
COMPONENTS = (
    "compute",
    "memory contention",
    "cache effect",
    "shared cores",
    "threads",
    "imbalance",
    "messages within nodes",
    "messages between nodes",
    "unexplained",
)
(
    COMPUTE, CONTENTION, CACHE, SHARED, THREADS, IMBALANCE, WITHIN, BETWEEN, UNEXPLAINED,
) = range(len(COMPONENTS))  # fmt: skip
# As a cause: messages, where what is spent within nodes and between them can't be told apart.
MESSAGES = len(COMPONENTS)
# The share of all messages' loss from which on those within nodes, or between them, are the cause.
_MOSTLY = 2 / 3
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval; None where launches were too few."""

    value: float
    ci95: Interval | None


@dataclass(frozen=True, eq=False)
class Split:
    """The time of a placement by ``COMPONENTS``, in s: as measured, and a row for each draw.

    ``alone``: the placement that computing is held against, with one rank a node on as many nodes;
    ``apart``: as many ranks, one a node; None where that was not measured. ``twins``: what its
    threads are held against. ``spread_known``: whether ranks told how unevenly they compute; what
    they wait for that is else with messages. ``reach_known``: whether time within nodes and between
    them is told apart by more than bytes.
    """

    placed: Placed
    alone: Placed | None
    apart: Placed | None
    twins: Twins
    seconds: Floats
    draws: Floats
    certain: bool
    spread_known: bool
    reach_known: bool

    @property
    def time(self) -> float:
        """The whole, in s."""
        return float(self.placed.medians[TIME])

    @property
    def held_against(self) -> list[Placed]:
        """All placements that it is made from, itself first."""
        parts = (self.placed, self.alone, self.apart, self.twins.seated, self.twins.separate)
        return [part for part in parts if part is not None]

    def component(self, number: int) -> Estimate:
        """Seconds of a component."""
        return self._estimate(float(self.seconds[number]), self.draws[:, number])

    def share(self, number: int) -> Estimate:
        """The same as a share of the whole."""
        return self._estimate(
            float(self.seconds[number]) / self.time,
            self.draws[:, number] / self.placed.draws[:, TIME],
        )

    def _estimate(self, value: float, draws: Floats) -> Estimate:
        return Estimate(value, interval_of(draws) if self.certain else None)


def interval_of(draws: Floats) -> Interval:
    """The 95% interval by percentiles of draws."""
    low, high = np.quantile(draws, _TAILS)
    return float(low), float(high)


def split(
    placed: Placed,
    alone: Placed | None,
    apart: Placed | None,
    machine: Machine = UNKNOWN,
    twins: Twins | None = None,
) -> Split:
    """The time of a placement by its components (docs/methods.md, "Why a placement takes as long").

    ``alone``: one rank of one thread a node on as many nodes, against which computing is held; it
    may be ``placed`` itself. ``apart``: as many ranks as cores work, one a node. Without either,
    all computing is ``compute``. ``twins``: by ``twins_of``. Raises ValueError where threads, or
    threads that share cores, are to be split without.
    """
    twins = Twins() if twins is None else twins
    missing = placed.threads > 1 and twins.seated is None
    if missing or (placed.shared and twins.separate is None):
        raise ValueError(f"{placed.name}: threads can't be split without ranks on the same cores")
    parts = [placed, alone, apart, twins.seated, twins.separate]
    known = bool(np.isfinite(placed.medians[MOST])) or placed.ranks == 1
    return Split(
        placed,
        alone,
        apart,
        twins,
        _components(placed, alone, apart, machine, twins, lambda part: part.medians),
        _components(placed, alone, apart, machine, twins, lambda part: part.draws),
        all(part.certain for part in parts if part is not None),
        known,
        min(placed.nodes, placed.ppn) == 1 or None not in (machine.near, machine.far),
    )


def _components(
    placed: Placed,
    alone: Placed | None,
    apart: Placed | None,
    machine: Machine,
    twins: Twins,
    of: Callable[[Placed], Floats],
) -> Floats:
    times = of(placed)
    computing = computing_of(placed, times)
    waited = times[..., WAITED] if placed.ranks > 1 else np.zeros_like(computing)

    def at(other: Placed | None, without: Floats) -> Floats:
        """Computing as at another placement, were it not for more than the work."""
        if other is None:
            return without
        return computing_of(other, of(other)) * expected(placed, other)

    most = np.where(np.isfinite(times[..., MOST]), times[..., MOST], computing)
    imbalance = np.clip(most - computing, 0.0, waited)
    messages = waited - imbalance
    near = share_within(placed, machine)

    # As ranks of one thread: on the same hardware threads, and with cores to themselves.
    seated = at(twins.seated, computing)
    separate = at(twins.separate, seated)
    threads = computing - seated
    base = at(alone, separate)
    piece = at(apart, base)
    # Smaller pieces: caches hold them, or there is more to do on their edges. Threads that are
    # quicker than ranks share data that each rank has of its own.
    larger, saved = np.maximum(piece - base, 0.0), np.minimum(piece - base, 0.0)
    grown = separate - piece
    saved = saved + np.minimum(grown, 0.0) + np.minimum(threads, 0.0)
    grown = np.maximum(grown, 0.0)
    # What has no traffic can't be slowed down by memory, nor what has a node's to itself.
    alone_there = placed.demand.traffic == 0 or placed.cores == 1
    ranks_alone = twins.separate or twins.seated or placed
    bound = 1.0 if alone_there else machine.most(ranks_alone)
    contention = grown if bound is None else np.minimum(grown, (bound - 1.0) * piece)
    found = [
        base + larger,
        contention,
        saved,
        seated - separate,
        np.maximum(threads, 0.0),
        imbalance,
        near * messages,
        (1.0 - near) * messages,
        np.zeros_like(computing),
    ]
    found[UNEXPLAINED] = times[..., TIME] - np.sum(found, axis=0)
    return np.stack(found, axis=-1)


@dataclass(frozen=True, eq=False)
class Loss:
    """What a placement takes beyond a part of another's time, by component.

    ``shares``: of the placement's own time, as measured and a row for each draw; they add up to
    ``whole``.
    """

    split: Split
    against: Split
    shares: Floats
    draws: Floats
    certain: bool

    @property
    def whole(self) -> Estimate:
        """The share of the time that is lost."""
        draws = self.draws.sum(axis=1)
        return Estimate(float(self.shares.sum()), interval_of(draws) if self.certain else None)

    def share(self, number: int) -> Estimate:
        """A component's part of the loss, as a share of the placement's time."""
        value = float(self.shares[number])
        return Estimate(value, interval_of(self.draws[:, number]) if self.certain else None)

    def cause_share(self, number: int) -> Estimate:
        """The same of a cause, ``MESSAGES`` among them."""
        if number != MESSAGES:
            return self.share(number)
        draws = self.draws[:, WITHIN] + self.draws[:, BETWEEN]
        value = float(self.shares[WITHIN] + self.shares[BETWEEN])
        return Estimate(value, interval_of(draws) if self.certain else None)

    def leading(self, least: float) -> int | None:
        """The one component that is surely more than ``least`` of the time and than any other.

        All messages count as one; ``MESSAGES`` where neither those within nodes nor those between
        them are most of it, or it isn't known. None where the intervals hold another; what is
        unexplained names nothing.
        """
        if not self.certain:
            return None
        names = [number for number in range(MESSAGES) if number not in (WITHIN, BETWEEN)]
        names.append(MESSAGES)
        within, between = float(self.shares[WITHIN]), float(self.shares[BETWEEN])
        shares = [*self.shares, within + between]
        draws = np.column_stack([self.draws, self.draws[:, WITHIN] + self.draws[:, BETWEEN]])
        first = max(names, key=lambda number: shares[number])
        if first == UNEXPLAINED or interval_of(draws[:, first])[0] <= least:
            return None
        others = [number for number in names if number != first]
        ahead = draws[:, [first]] - draws[:, others]
        if float(np.quantile(ahead.min(axis=1), _TAILS[0])) <= 0:
            return None
        if first != MESSAGES or not self.split.reach_known:
            return first
        reach = WITHIN if within > between else BETWEEN
        return reach if shares[reach] >= _MOSTLY * shares[MESSAGES] else MESSAGES


def lost(split: Split, against: Split) -> Loss:
    """What a placement loses against its share of another's time: that time by cores."""
    placed, other = split.placed, against.placed
    return _beyond(split, against, other.nodes * other.cores / (placed.nodes * placed.cores))


def longer(split: Split, against: Split) -> Loss:
    """What a placement takes longer than another, whatever their cores."""
    return _beyond(split, against, 1.0)


def _beyond(split: Split, against: Split, part: float) -> Loss:
    placed = split.placed

    def shares(of: Floats, its: Floats, time: Floats) -> Floats:
        return np.asarray((of - part * its) / time[..., None])

    return Loss(
        split,
        against,
        shares(split.seconds, against.seconds, placed.medians[TIME]),
        shares(split.draws, against.draws, placed.draws[:, TIME]),
        split.certain and against.certain,
    )
