"""A work as measured at a placement: what it asks for, where its threads sit, and what the machine
gives them.

Seconds are of one operation, wall time, mean over ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.stats.intervals import smallest_size

Floats = npt.NDArray[np.float64]
Row = tuple[int, ...]

# Columns of what is measured of a launch.
TIME, MEAN, MOST, WAITED = range(4)
DRAWS = 1000


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


@dataclass(frozen=True)
class Seats:
    """Where the threads of a node's ranks sit: a row for each rank, an entry for each thread.

    ``cores``, ``domains``: numbers of cores and of their NUMA domains, each unique on the node.
    """

    cores: tuple[Row, ...]
    domains: tuple[Row, ...]

    @cached_property
    def busy(self) -> frozenset[int]:
        """The cores that work."""
        return frozenset(core for row in self.cores for core in row)

    @cached_property
    def held(self) -> Row:
        """The core of each thread, ascending: alike where as many threads sit on the same cores."""
        return tuple(sorted(core for row in self.cores for core in row))

    @cached_property
    def loads(self) -> dict[int, int]:
        """How many cores work in each NUMA domain that has any."""
        pairs = {
            (domain, core)
            for domains, cores in zip(self.domains, self.cores, strict=True)
            for domain, core in zip(domains, cores, strict=True)
        }
        counts: dict[int, int] = {}
        for domain, _ in sorted(pairs):
            counts[domain] = counts.get(domain, 0) + 1
        return counts

    @property
    def shared(self) -> bool:
        """Whether threads share a core."""
        return len(self.held) > len(self.busy)

    @cached_property
    def reach(self) -> float:
        """NUMA domains that the threads of a rank are on, mean over ranks."""
        return float(np.mean([len(set(row)) for row in self.domains]))


@dataclass(frozen=True, eq=False)
class Placed:
    """A work as measured at a placement. ``name``: what its draws are seeded by.

    ``launches``: a row each, in s: the time, computing as the mean over ranks and on the rank that
    had most of it (NaN where that isn't told), and all phases that hold messages. ``seats``: None
    where it isn't known where its threads sat.
    """

    name: str
    nodes: int
    ppn: int
    threads: int
    demand: Demand
    launches: Floats
    seats: Seats | None = None

    @property
    def cores(self) -> int:
        """Cores of a node that work."""
        return self.ppn * self.threads if self.seats is None else len(self.seats.busy)

    @property
    def ranks(self) -> int:
        """MPI processes in all."""
        return self.nodes * self.ppn

    @property
    def shared(self) -> bool:
        """Whether threads are known to share cores."""
        return self.seats is not None and self.seats.shared

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


def computing_of(placed: Placed, times: Floats) -> Floats:
    """What its ranks compute, in the rows of ``times``: launches, draws or medians of it.

    Of a single rank all its phases: nobody sends it anything, so that what it waits for are its own
    threads.
    """
    if placed.ranks > 1:
        return times[..., MEAN]
    return np.asarray(times[..., MEAN] + times[..., WAITED])


@dataclass(frozen=True)
class Machine:
    """What is known of a node and its network beside the work.

    ``streams``: bandwidth of a node's memory in B/s by how many cores draw on it, the first ones.
    ``domain``: that of one of its ``domains`` NUMA domains by how many of its cores draw on it;
    empty where that isn't known. ``patterns``: by cores of a node, how many times as long other
    patterns of access take as on one core. ``near``, ``far``: seconds of a message of so many bytes
    within a node and between two; None: not known. ``doubt``: relative; by so much the slowdowns
    may be more.
    """

    streams: Mapping[int, float] = field(default_factory=dict)
    patterns: Mapping[int, float] = field(default_factory=dict)
    near: Callable[[float], float] | None = None
    far: Callable[[float], float] | None = None
    doubt: float = 0.0
    domain: Mapping[int, float] = field(default_factory=dict)
    domains: int = 1

    def bandwidth(self, cores: int) -> float | None:
        """Of so many cores, straight lines between those measured; None where none were."""
        return _along(self.streams, cores)

    def slowdown(self, cores: int) -> float | None:
        """How many times as long a core's share of a stream takes as on one core by itself.

        None where the stream on one core is not known; never under 1.
        """
        return _slowdown(self.streams, cores)

    def slowed(self, placed: Placed) -> float | None:
        """The same at a placement: mean over ranks, each as long as its thread that waits longest.

        Cores of one NUMA domain share its memory, so that it matters how many work in each. Where
        seats or domains aren't known, as many first cores stand for them.
        """
        seats = placed.seats
        if seats is None or not self.domain:
            return self.slowdown(placed.cores)
        by_domain = {domain: _slowdown(self.domain, load) for domain, load in seats.loads.items()}
        known = {domain: slower for domain, slower in by_domain.items() if slower is not None}
        if len(known) < len(by_domain):
            return None
        return float(np.mean([max(known[domain] for domain in row) for row in seats.domains]))

    def slowed_copies(self, placed: Placed) -> float | None:
        """The same of copying messages, which the first thread of each rank does by itself."""
        seats = placed.seats
        if seats is None:
            return self.slowdown(placed.ppn)
        first = Seats(
            tuple(row[:1] for row in seats.cores), tuple(row[:1] for row in seats.domains)
        )
        return self.slowed(replace(placed, seats=first))

    def most(self, placed: Placed) -> float | None:
        """The most that sharing memory can slow down computing, by any pattern that is known."""
        stream = self.slowed(placed)
        known = [] if stream is None else [stream]
        if self.patterns:
            counts = sorted({1, *self.patterns})
            values = [self.patterns.get(count, 1.0) for count in counts]
            seats = placed.seats
            # All domains as busy as the busiest: as many cores of the whole node.
            busy = placed.cores if seats is None else max(seats.loads.values()) * self.domains
            known.append(float(np.interp(max(busy, placed.cores), counts, values)))
        return max(known) * (1.0 + self.doubt) if known else None


UNKNOWN = Machine()


def _along(curve: Mapping[int, float], cores: int) -> float | None:
    if not curve:
        return None
    counts = sorted(curve)
    if cores < counts[0]:
        return curve[counts[0]] * cores / counts[0]
    return float(np.interp(cores, counts, [curve[count] for count in counts]))


def _slowdown(curve: Mapping[int, float], cores: int) -> float | None:
    if 1 not in curve:
        return None
    return max(cores * curve[1] / (_along(curve, cores) or np.inf), 1.0)


@dataclass(frozen=True)
class Twins:
    """Ranks of one thread on the very cores of a placement: what its threads are held against.

    ``seated``: a rank for each of its threads; ``separate``: a rank for each of its cores. None
    where that is the placement itself, or the one before.
    """

    seated: Placed | None = None
    separate: Placed | None = None


def twins_of(placed: Placed, among: Sequence[Placed]) -> Twins | None:
    """The twins of a placement; None where it takes one that was not measured.

    On the same cores memory, caches and clocks are shared alike: the rest is the threads' doing.
    """
    if placed.threads == 1 and not placed.shared:
        return Twins()
    seats = placed.seats
    if seats is None:
        return None
    alone = [
        other
        for other in among
        if other.threads == 1
        and other.nodes == placed.nodes
        and other.seats is not None
        and other.seats.busy == seats.busy
    ]
    seated = placed if placed.threads == 1 else None
    separate = None
    for other in alone:
        if seated is None and other.seats is not None and other.seats.held == seats.held:
            seated = other
        if separate is None and not other.shared:
            separate = other
    if seated is None or (placed.shared and separate is None):
        return None
    return Twins(
        None if seated is placed else seated,
        separate if placed.shared else None,
    )


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


def message_seconds(placed: Placed, machine: Machine) -> float | None:
    """What a rank's messages take by ping-pong; None where it says nothing of them."""
    if (placed.demand.near > 0 and machine.near is None) or (
        placed.nodes > 1 and placed.demand.near < 1 and machine.far is None
    ):
        return None
    between = far_cost(placed, machine) if placed.nodes > 1 else 0.0
    return near_cost(placed, machine) + between


def near_cost(placed: Placed, machine: Machine, *, long: bool = True) -> float:
    """What a rank's messages within its node cost: s by ping-pong.

    Where there is none, how many there are, or, if they are ``long``, the bytes of the node. They
    are copies through the memory that all ranks share, by one thread of each.
    """
    together = machine.slowed_copies(placed) or 1.0
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
