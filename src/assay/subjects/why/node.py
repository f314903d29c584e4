"""What a node takes from its ranks: time without a CPU, by reason, and a slower clock."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.subjects.why.model import ReasonName
from assay.system.files import to_cpus
from assay.trace.model import RankProfile

# A CPU is slow below this share of the speed of the program's fastest CPUs. Their speed is this
# quantile of all ranks' speeds, so that one wrong value isn't the reference.
_SLOW, _FASTEST = 0.93, 0.75
# Share of a rank's time without a CPU that a quota must hold it back, to be the reason.
_HELD = 0.3
# CPU time ÷ wall time of a rank above which it has more than one busy thread.
_THREADS = 1.2


@dataclass(frozen=True)
class RankNode:
    """What one rank lost to its node in one launch, s."""

    rank: int
    host: str
    cpus: str
    #: Wall time of the rank.
    wall: float
    #: Time ready to run without a CPU; None: unknown.
    without_cpu: float | None
    held: float | None
    #: Why it had no CPU.
    reason: ReasonName
    #: Speed of its CPU relative to the fastest; None: unknown.
    speed: float | None
    #: ``lost_waiting``, ``lost_slow``: computing time lost without a CPU, and by a slow one.
    lost_waiting: float
    lost_slow: float
    #: Time outside of MPI.
    computing: float

    @property
    def lost(self) -> float:
        """Computing time lost to the node."""
        return self.lost_waiting + self.lost_slow

    @property
    def waiting_share(self) -> float:
        """Share of its time that it would compute but has no CPU."""
        return self.lost_waiting / self.wall if self.wall > 0.0 else 0.0


@dataclass(frozen=True)
class HostLoad:
    """The CPUs of a host during one launch."""

    host: str
    online: int
    #: CPUs that processes other than the ranks used on average.
    others: float


def rank_nodes(ranks: Sequence[RankProfile]) -> list[RankNode]:
    """What each rank lost to its node."""
    speeds = [one.node.speed_end for one in ranks if one.node and one.node.speed_end > 0.0]
    fastest = float(np.quantile(speeds, _FASTEST, method="higher")) if len(speeds) > 1 else 0.0
    crowded = _crowded(ranks)
    return [_rank_node(one, fastest, crowded) for one in ranks]


def shares_with_cpu(nodes: Sequence[RankNode]) -> dict[int, float]:
    """Share of its computing time in which each rank had a CPU."""
    return {
        one.rank: 1.0 - one.lost_waiting / one.computing for one in nodes if one.computing > 0.0
    }


def host_loads(ranks: Sequence[RankProfile]) -> list[HostLoad]:
    """The hosts whose ranks recorded their CPUs."""
    found = []
    for host, mine in _by_host(ranks).items():
        nodes = [one.node for one in mine if one.node is not None]
        busy = [node.busy for node in nodes if node.busy is not None]
        online = max((node.online or 0 for node in nodes), default=0)
        wall = max(one.header.wall for one in mine)
        if busy and online and wall > 0.0:
            own = sum(node.cpu_time or 0.0 for node in nodes)
            found.append(HostLoad(host, online, max(max(busy) - own, 0.0) / wall))
    return found


def _rank_node(one: RankProfile, fastest: float, crowded: set[tuple[str, str]]) -> RankNode:
    header, node = one.header, one.node
    wall = header.covered
    waited = header.cpu_wait
    lost_waiting = min(_lost_waiting(one), one.computing)
    speed = None
    if node is not None and node.speed_end > 0.0 and fastest > 0.0:
        speed = min(node.speed_end / fastest, 1.0)
    slow = speed is not None and speed < _SLOW
    lost_slow = (one.computing - lost_waiting) * (1.0 - (speed or 1.0)) if slow else 0.0
    return RankNode(
        rank=-1 if header.rank is None else header.rank,
        host=header.host,
        cpus="" if node is None else node.cpus,
        wall=wall,
        without_cpu=waited,
        held=None if node is None else node.held,
        reason=_reason(one, crowded),
        speed=speed,
        lost_waiting=lost_waiting,
        lost_slow=lost_slow,
        computing=one.computing,
    )


def _lost_waiting(one: RankProfile) -> float:
    """Computing time without a CPU, s.

    In MPI a rank that waits may yield its CPU, so only time outside of MPI counts. What isn't CPU
    time there may also be input and output: it counts as far as the rank was ready to run.
    """
    waited, wall = one.header.cpu_wait or 0.0, one.header.covered
    if one.node is not None and one.node.computing is not None:
        return min(max(one.computing - one.node.computing, 0.0), waited)
    return waited * one.computing / wall if wall > 0.0 else 0.0


def _reason(one: RankProfile, crowded: set[tuple[str, str]]) -> ReasonName:
    node, waited = one.node, one.header.cpu_wait or 0.0
    if node is not None and (node.held or 0.0) > _HELD * waited:
        return "CPU quota"
    if node is not None and (one.header.host, node.cpus) in crowded:
        return "binding"
    return "other processes"


def _crowded(ranks: Sequence[RankProfile]) -> set[tuple[str, str]]:
    """Hosts and sets of CPUs whose ranks, with their busy threads, outnumber these CPUs."""
    found = set()
    for host, mine in _by_host(ranks).items():
        wanted: dict[str, int] = defaultdict(int)
        for one in mine:
            if one.node is not None:
                wanted[one.node.cpus] += _busy_threads(one)
        sets = {text: set(to_cpus(text) or ()) for text in wanted}
        for cpus in sets.values():
            inside = sum(wanted[other] for other, some in sets.items() if some and some <= cpus)
            if cpus and inside > len(cpus):
                found |= {(host, other) for other, some in sets.items() if some and some <= cpus}
    return found


def _busy_threads(one: RankProfile) -> int:
    """Threads that used a CPU; a rank without a CPU used less than one."""
    used = (one.node.cpu_time or 0.0) if one.node else 0.0
    share = used / one.header.wall if one.header.wall > 0.0 else 1.0
    return math.ceil(share / _THREADS) if share > _THREADS else 1


def _by_host(ranks: Sequence[RankProfile]) -> dict[str, list[RankProfile]]:
    found: dict[str, list[RankProfile]] = defaultdict(list)
    for one in ranks:
        found[one.header.host].append(one)
    return found
