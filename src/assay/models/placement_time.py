"""Where the time of a work goes at a placement, from the phases that its ranks tell.

Luecke, Li & Cuma (2005), section 4, name what keeps more ranks a node from bringing as much more:
memory that ranks share (4.2), messages and the adapter that they share (4.3), and what changes with
the size of a rank's piece, caches first (4.1). Their two comparisons tell these apart: the same
ranks on more nodes share nothing and have pieces of the same size; one rank a node on as many nodes
has larger pieces. All seconds are of one operation, wall time, mean over ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.stats.intervals import Interval, smallest_size

Floats = npt.NDArray[np.float64]

# What a placement's time is made of, in this order. They add up to the whole; what caches save is
# negative.
COMPONENTS = (
    "compute",
    "memory contention",
    "cache effect",
    "imbalance",
    "messages within nodes",
    "messages between nodes",
    "unexplained",
)
COMPUTE, CONTENTION, CACHE, IMBALANCE, WITHIN, BETWEEN, UNEXPLAINED = range(len(COMPONENTS))
# As a cause: messages, where what is spent within nodes and between them can't be told apart.
MESSAGES = len(COMPONENTS)
# The share of all messages' loss from which on those within nodes, or between them, are the cause.
_MOSTLY = 2 / 3
# Columns of what is measured of a launch.
TIME, MEAN, MOST, WAITED = range(4)
DRAWS = 2000
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Demand:
    """What a work asks for at a placement, all ranks together, by the formulas of its kernel.

    ``flops`` (0: not told), ``traffic`` in bytes that memory would move if nothing stayed in a
    cache (None: not told), ``messages``, ``sent`` in bytes, and ``near``: the share of those that
    stays on its node.
    """

    flops: float = 0.0
    traffic: float | None = None
    messages: float = 0.0
    sent: float = 0.0
    near: float = 0.0


@dataclass(frozen=True, eq=False)
class Placed:
    """A work as measured at a placement. ``name``: what its draws are seeded by.

    ``launches``: a row each, in s: the time, computing as the mean over ranks and on the rank that
    had most of it (NaN where that isn't told), and all phases that hold messages.
    """

    name: str
    nodes: int
    ppn: int
    threads: int
    demand: Demand
    launches: Floats

    @property
    def cores(self) -> int:
        """Cores of a node that work."""
        return self.ppn * self.threads

    @property
    def ranks(self) -> int:
        """MPI processes in all."""
        return self.nodes * self.ppn

    @cached_property
    def medians(self) -> Floats:
        """Over launches, column by column."""
        return np.asarray(np.median(self.launches, axis=0))

    @cached_property
    def draws(self) -> Floats:
        """Medians of launches drawn with replacement, always the same (``DRAWS`` × columns)."""
        digest = hashlib.sha256(f"placement time/{self.name}".encode()).digest()
        random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        count = len(self.launches)
        chosen = random.integers(count, size=(DRAWS, count))
        return np.asarray(np.median(self.launches[chosen], axis=1))

    @property
    def certain(self) -> bool:
        """Whether there are launches enough for an interval."""
        return len(self.launches) >= smallest_size()


@dataclass(frozen=True)
class Machine:
    """What is known of a node and its network beside the work.

    ``streams``: bandwidth of a node's memory in B/s by how many cores draw on it. ``patterns``: by
    the same, how many times as long other patterns of access take as on one core. ``near``,
    ``far``: seconds of a message of so many bytes within a node and between two; None: not known.
    ``doubt``: relative; by so much the slowdowns may be more.
    """

    streams: Mapping[int, float] = field(default_factory=dict)
    patterns: Mapping[int, float] = field(default_factory=dict)
    near: Callable[[float], float] | None = None
    far: Callable[[float], float] | None = None
    doubt: float = 0.0

    def bandwidth(self, cores: int) -> float | None:
        """Of so many cores, straight lines between those measured; None where none were."""
        if not self.streams:
            return None
        counts = sorted(self.streams)
        if cores < counts[0]:
            return self.streams[counts[0]] * cores / counts[0]
        return float(np.interp(cores, counts, [self.streams[count] for count in counts]))

    def slowdown(self, cores: int) -> float | None:
        """How many times as long a core's share of a stream takes as on one core by itself.

        None where the stream on one core is not known; never under 1.
        """
        if 1 not in self.streams:
            return None
        return max(cores * self.streams[1] / (self.bandwidth(cores) or np.inf), 1.0)

    def most(self, cores: int) -> float | None:
        """The most that sharing memory can slow down computing, by any pattern that is known."""
        stream = self.slowdown(cores)
        known = [] if stream is None else [stream]
        if self.patterns:
            counts = sorted({1, *self.patterns})
            values = [self.patterns.get(count, 1.0) for count in counts]
            known.append(float(np.interp(cores, counts, values)))
        return max(known) * (1.0 + self.doubt) if known else None


UNKNOWN = Machine()


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval; None where launches were too few."""

    value: float
    ci95: Interval | None


@dataclass(frozen=True, eq=False)
class Split:
    """The time of a placement by ``COMPONENTS``, in s: as measured, and a row for each draw.

    ``alone``: the placement that computing is held against, with one rank a node on as many nodes;
    ``apart``: as many ranks, one a node; None where that was not measured. ``spread_known``:
    whether ranks told how unevenly they compute; what they wait for that is else with messages.
    ``reach_known``: whether time within nodes and between them is told apart by more than bytes.
    """

    placed: Placed
    alone: Placed | None
    apart: Placed | None
    seconds: Floats
    draws: Floats
    certain: bool
    spread_known: bool
    reach_known: bool

    @property
    def time(self) -> float:
        """The whole, in s."""
        return float(self.placed.medians[TIME])

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
    placed: Placed, alone: Placed | None, apart: Placed | None, machine: Machine = UNKNOWN
) -> Split:
    """The time of a placement by its components (docs/methods.md, "Why a placement takes as long").

    ``alone``: one rank of one thread a node on as many nodes, against which computing is held; it
    may be ``placed`` itself. ``apart``: as many ranks, one a node. Without either, all computing is
    ``compute``.
    """
    parts = [part for part in (placed, alone, apart) if part is not None]
    known = bool(np.isfinite(placed.medians[MOST])) or placed.ranks == 1
    return Split(
        placed,
        alone,
        apart,
        _components(placed, alone, apart, machine, lambda part: part.medians),
        _components(placed, alone, apart, machine, lambda part: part.draws),
        all(part.certain for part in parts),
        known,
        min(placed.nodes, placed.ppn) == 1 or None not in (machine.near, machine.far),
    )


def _components(
    placed: Placed,
    alone: Placed | None,
    apart: Placed | None,
    machine: Machine,
    of: Callable[[Placed], Floats],
) -> Floats:
    times = of(placed)
    computing, waited = times[..., MEAN], times[..., WAITED]
    zero = np.zeros_like(computing)
    most = np.where(np.isfinite(times[..., MOST]), times[..., MOST], computing)
    imbalance = np.clip(most - computing, 0.0, waited)
    messages = waited - imbalance
    near = share_within(placed, machine)

    base = computing if alone is None else of(alone)[..., MEAN] * expected(placed, alone)
    piece = base if apart is None else of(apart)[..., MEAN] * expected(placed, apart)
    # Smaller pieces: caches hold them, or there is more to do on their edges.
    larger, saved = np.maximum(piece - base, 0.0), np.minimum(piece - base, 0.0)
    grown = computing - piece
    saved = saved + np.minimum(grown, 0.0)
    grown = np.maximum(grown, 0.0)
    # What has no traffic can't be slowed down by memory.
    bound = 1.0 if placed.demand.traffic == 0 else machine.most(placed.cores)
    contention = grown if bound is None else np.minimum(grown, (bound - 1.0) * piece)
    found = [
        base + larger,
        contention,
        saved,
        imbalance,
        near * messages,
        (1.0 - near) * messages,
        zero,
    ]
    found[UNEXPLAINED] = times[..., TIME] - np.sum(found, axis=0)
    return np.stack(found, axis=-1)


def expected(placed: Placed, other: Placed) -> float:
    """Computing a core at one placement over that at another, if nothing but the work mattered."""
    work = 1.0
    if placed.demand.flops > 0 and other.demand.flops > 0:
        work = placed.demand.flops / other.demand.flops
    return work * other.nodes * other.cores / (placed.nodes * placed.cores)


def share_within(placed: Placed, machine: Machine) -> float:
    """The share of the messages' time that is spent within nodes.

    By what ping-pong says that they take, where it says it of both; else by their bytes.
    """
    if placed.nodes == 1:
        return 1.0
    if placed.ppn == 1:
        return 0.0
    within, between = near_cost(placed, machine), far_cost(placed, machine)
    if machine.near is None or machine.far is None or within + between <= 0:
        return placed.demand.near
    return within / (within + between)


def near_cost(placed: Placed, machine: Machine, *, long: bool = True) -> float:
    """What a rank's messages within its node cost: s by ping-pong.

    Where there is none, how many there are, or, if they are ``long``, the bytes of the node. They
    are copies through the memory that all ranks share.
    """
    together = machine.slowdown(placed.cores) or 1.0
    return _cost(placed, placed.demand.near, machine.near, together, long=long)


def far_cost(placed: Placed, machine: Machine, *, long: bool = True) -> float:
    """The same between nodes, where all ranks of a node send over one adapter at once."""
    return _cost(placed, 1.0 - placed.demand.near, machine.far, placed.ppn, long=long)


def _cost(
    placed: Placed,
    share: float,
    seconds: Callable[[float], float] | None,
    together: float,
    *,
    long: bool,
) -> float:
    demand = placed.demand
    if demand.messages <= 0 or share <= 0:
        return 0.0
    each = demand.messages / placed.ranks
    if seconds is not None:
        return share * each * seconds(together * demand.sent / demand.messages)
    return share * (demand.sent / placed.nodes if long else each)


@dataclass(frozen=True, eq=False)
class Loss:
    """What a placement takes beyond its share of another's time, by component.

    Perfect would be the other's time by cores. ``shares``: of the placement's own time, as
    measured and a row for each draw; they add up to ``whole``.
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
    """What a placement loses against its share of a smaller one's time."""
    placed, other = split.placed, against.placed
    ideal = other.nodes * other.cores / (placed.nodes * placed.cores)

    def shares(of: Floats, its: Floats, time: Floats) -> Floats:
        return np.asarray((of - ideal * its) / time[..., None])

    return Loss(
        split,
        against,
        shares(split.seconds, against.seconds, placed.medians[TIME]),
        shares(split.draws, against.draws, placed.draws[:, TIME]),
        split.certain and against.certain,
    )
