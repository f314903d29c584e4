"""A measured work at a placement: its demands, the cores of its threads, and the node's model.

Seconds are wall time of one operation, mean over ranks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import smallest_size

Row = tuple[int, ...]

# Columns of the measured times of a launch.
TIME, MEAN, MOST, WAITED = range(4)
DRAWS = 1000


@dataclass(frozen=True)
class Demand:
    """The work of all ranks together at a placement, by the formulas of its kernel.

    ``flops`` (0: unknown), ``traffic`` in bytes that memory would move without caches (None:
    unknown), ``messages``, ``sent`` in bytes, and
    """

    flops: float = 0.0
    traffic: float | None = None
    messages: float = 0.0
    sent: float = 0.0
    #: Share of those bytes that stays within the node.
    near: float = 0.0


@dataclass(frozen=True)
class ThreadAffinity:
    """The cores of the threads of a node's ranks: one row per rank, one entry per thread."""

    #: ``cores``, ``domains``: numbers of the threads' cores and NUMA domains, each unique on the
    #: node.
    cores: tuple[Row, ...]
    domains: tuple[Row, ...]

    @cached_property
    def cores_used(self) -> frozenset[int]:
        """The cores that have a thread."""
        return frozenset(core for row in self.cores for core in row)

    @cached_property
    def cores_of_threads(self) -> Row:
        """The core of each thread, ascending: equal if the same cores have the same numbers of
        threads.
        """
        return tuple(sorted(core for row in self.cores for core in row))

    @cached_property
    def used_by_domain(self) -> dict[int, int]:
        """Number of cores with a thread, for each NUMA domain with threads."""
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
        return len(self.cores_of_threads) > len(self.cores_used)

    @cached_property
    def domains_per_rank(self) -> float:
        """NUMA domains that the threads of a rank are on, mean over ranks."""
        return float(np.mean([len(set(row)) for row in self.domains]))


@dataclass(frozen=True, eq=False)
class Placed:
    """A work that was measured at a placement."""

    #: Seed of its random draws.
    name: str
    nodes: int
    ppn: int
    threads: int
    demand: Demand
    #: One row per launch, in s: the time, the mean computing of the ranks, the computing of the
    #: rank with the most (NaN if unknown), and all phases with messages.
    launches: Floats
    #: Cores of its threads; None if unknown.
    affinity: ThreadAffinity | None = None

    @property
    def cores(self) -> int:
        """Cores in use per node."""
        return self.ppn * self.threads if self.affinity is None else len(self.affinity.cores_used)

    @property
    def ranks(self) -> int:
        """Total number of MPI processes."""
        return self.nodes * self.ppn

    @property
    def shared(self) -> bool:
        """Whether threads are known to share cores."""
        return self.affinity is not None and self.affinity.shared

    @cached_property
    def medians(self) -> Floats:
        """Medians over launches, column by column."""
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
    def mean_computing(self) -> float:
        """Seconds of computing, mean over ranks, median over launches."""
        return float(self.medians[MEAN])

    @property
    def certain(self) -> bool:
        """Whether there are enough launches for an interval."""
        return len(self.launches) >= smallest_size()


def computing_of(placed: Placed, times: Floats) -> Floats:
    """Computing of its ranks, in the rows of ``times``: launches, draws or medians of ``placed``.

    A single rank's computing is all its phases: it receives no messages and waits only for its own
    threads.
    """
    if placed.ranks > 1:
        return times[..., MEAN]
    return np.asarray(times[..., MEAN] + times[..., WAITED])


@dataclass(frozen=True)
class NodeModel:
    """Properties of a node and its network, independent of the work."""

    #: Bandwidth of a node's memory in B/s by number of used cores, the first ones.
    streams: Mapping[int, float] = field(default_factory=dict)
    #: Slowdown of other access patterns relative to one core, by number of cores of a node.
    patterns: Mapping[int, float] = field(default_factory=dict)
    #: ``near``, ``far``: seconds of a message by its bytes, within a node and between two nodes;
    #: None: unknown.
    near: Callable[[float], float] | None = None
    far: Callable[[float], float] | None = None
    #: Relative error; slowdowns may be larger by this share.
    uncertainty: float = 0.0
    #: Bandwidth of one of its ``domains`` NUMA domains by number of used cores, B/s; empty if
    #: unknown.
    domain: Mapping[int, float] = field(default_factory=dict)
    domains: int = 1

    def bandwidth(self, cores: int) -> float | None:
        """Bandwidth of this number of cores, interpolated linearly; None without measurements."""
        return _interpolated(self.streams, cores)

    def slowdown(self, cores: int) -> float | None:
        """Slowdown of a core's share of a stream relative to a single used core; at least 1.

        None if the bandwidth of one core is unknown.
        """
        return _slowdown(self.streams, cores)

    def slowdown_at(self, placed: Placed) -> float | None:
        """The slowdown at a placement: mean over ranks, each by its slowest thread.

        Cores of one NUMA domain share its memory, so that used cores are counted per domain. If
        affinity or domains are unknown, the whole node's curve is used.
        """
        affinity = placed.affinity
        if affinity is None or not self.domain:
            return self.slowdown(placed.cores)
        by_domain = {
            domain: _slowdown(self.domain, used) for domain, used in affinity.used_by_domain.items()
        }
        known = {domain: slower for domain, slower in by_domain.items() if slower is not None}
        if len(known) < len(by_domain):
            return None
        return float(np.mean([max(known[domain] for domain in row) for row in affinity.domains]))

    def copy_slowdown_at(self, placed: Placed) -> float | None:
        """The slowdown of copying messages, which only the first thread of each rank does."""
        affinity = placed.affinity
        if affinity is None:
            return self.slowdown(placed.ppn)
        first = ThreadAffinity(
            tuple(row[:1] for row in affinity.cores), tuple(row[:1] for row in affinity.domains)
        )
        return self.slowdown_at(replace(placed, affinity=first))

    def worst_slowdown(self, placed: Placed) -> float | None:
        """The maximum slowdown of computing by shared memory, over all known access patterns."""
        stream = self.slowdown_at(placed)
        known = [] if stream is None else [stream]
        if self.patterns:
            counts = sorted({1, *self.patterns})
            values = [self.patterns.get(count, 1.0) for count in counts]
            affinity = placed.affinity
            # Assume that each domain has as many used cores as the domain with the most.
            busy = placed.cores
            if affinity is not None:
                busy = max(busy, max(affinity.used_by_domain.values()) * self.domains)
            known.append(float(np.interp(busy, counts, values)))
        return max(known) * (1.0 + self.uncertainty) if known else None


UNKNOWN = NodeModel()


def _interpolated(curve: Mapping[int, float], cores: int) -> float | None:
    if not curve:
        return None
    counts = sorted(curve)
    if cores < counts[0]:
        return curve[counts[0]] * cores / counts[0]
    return float(np.interp(cores, counts, [curve[count] for count in counts]))


def _slowdown(curve: Mapping[int, float], cores: int) -> float | None:
    if 1 not in curve:
        return None
    return max(cores * curve[1] / (_interpolated(curve, cores) or np.inf), 1.0)


@dataclass(frozen=True)
class EqualRanks:
    """Ranks of one thread on the same cores as a placement: the baseline of its threads."""

    #: One rank per thread.
    per_thread: Placed | None = None
    #: One rank per core. None if ``per_thread`` is the placement itself or equals ``per_core``.
    per_core: Placed | None = None


def equal_ranks_of(placed: Placed, among: Sequence[Placed]) -> EqualRanks | None:
    """The baseline of a placement; None if it needs a placement that was not measured.

    The same cores share memory, caches and clocks in the same way, so differences are due to
    threads.
    """
    if placed.threads == 1 and not placed.shared:
        return EqualRanks()
    affinity = placed.affinity
    if affinity is None:
        return None
    alone = [
        other
        for other in among
        if other.threads == 1
        and other.nodes == placed.nodes
        and other.affinity is not None
        and other.affinity.cores_used == affinity.cores_used
    ]
    per_thread = placed if placed.threads == 1 else None
    per_core = None
    for other in alone:
        same = other.affinity and other.affinity.cores_of_threads == affinity.cores_of_threads
        if per_thread is None and same:
            per_thread = other
        if per_core is None and not other.shared:
            per_core = other
    if per_thread is None or (placed.shared and per_core is None):
        return None
    return EqualRanks(
        None if per_thread is placed else per_thread,
        per_core if placed.shared else None,
    )


def expected(placed: Placed, other: Placed) -> float:
    """Expected ratio of computing per core between two placements, by the work."""
    work = 1.0
    if placed.demand.flops > 0 and other.demand.flops > 0:
        work = placed.demand.flops / other.demand.flops
    return work * other.nodes * other.cores / (placed.nodes * placed.cores)


def share_within(placed: Placed, machine: NodeModel) -> float:
    """The share of the messages' time that is spent within nodes.

    By ping-pong times, if measured both within and between nodes; otherwise by bytes.
    """
    if placed.nodes == 1:
        return 1.0
    if placed.ppn == 1:
        return 0.0
    within, between = near_cost(placed, machine), far_cost(placed, machine)
    if machine.near is None or machine.far is None or within + between <= 0:
        return placed.demand.near
    return within / (within + between)


def message_seconds(placed: Placed, machine: NodeModel) -> float | None:
    """Seconds of a rank's messages by ping-pong; None if ping-pong was not measured."""
    if (placed.demand.near > 0 and machine.near is None) or (
        placed.nodes > 1 and placed.demand.near < 1 and machine.far is None
    ):
        return None
    between = far_cost(placed, machine) if placed.nodes > 1 else 0.0
    return near_cost(placed, machine) + between


def near_cost(placed: Placed, machine: NodeModel, *, long: bool = True) -> float:
    """The cost of a rank's messages within its node: s by ping-pong.

    Without ping-pong, the cost is the node's number of messages or, if they are ``long``, its
    bytes. Messages are copied through the shared memory by one thread of each rank.
    """
    together = machine.copy_slowdown_at(placed) or 1.0
    return _cost(placed, placed.demand.near, machine.near, together, long=long)


def far_cost(placed: Placed, machine: NodeModel, *, long: bool = True) -> float:
    """The cost of a rank's messages between nodes, where all ranks of a node share one adapter."""
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
