"""Simulated programs with one planted reason of random size, on machines with noise.

What a healthy machine does is in all of them: steps, ranks and launches differ by about 1%, some
steps are interrupted (half of the interruptions show in what the node records), latency and
bandwidth differ between launches and messages, and nodes are known to within 1%.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from assay.subjects.why.model import WhyFindings
from simulated_mpi import LinkCost, Net, Script
from why_launches import PlantedNode, PlantedProgram, asked

STEPS = 12
# Computing of a step without a reason, s, and of programs that exchange more.
WORK, SHORT_WORK = 0.05, 0.002
# Standard deviations of the logarithm: of a step, a rank and a launch; of a message's time and of
# the network in a launch; of a node's speed.
_STEP, _RANK, _LAUNCH, _MESSAGE, _NETWORK, _SPEED = 0.01, 0.005, 0.01, 0.1, 0.03, 0.007
# Share of the steps that are interrupted, and the mean interruption as a share of the step.
_INTERRUPTED, _INTERRUPTION = 0.02, 0.1
# What ranks in turn save on a machine where nothing is shared: mean and deviation of the launch in
# turn, and the deviation of each other launch, as shares of the computing.
_IN_TURN, _OF_TURN, _OF_PLAIN = 0.01, 0.01, 0.005
_WITHIN, _BETWEEN = LinkCost(1e-6, 2e-10, 5e-7), LinkCost(2e-5, 1e-9, 2e-6)


@dataclass(frozen=True)
class _NoisyNet(Net):
    """``slowed``: share of the messages between hosts that are slower by ``factor``."""

    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    launch: dict[str, float] = field(default_factory=dict)
    slowed: float = 0.0
    factor: float = 1.0

    def link(self, hosts: object, one: int, other: int) -> LinkCost:
        link = super().link(hosts, one, other)  # type: ignore[arg-type]
        times = self.launch["network"] * float(np.exp(_MESSAGE * self.random.normal()))
        if link is self.between and self.random.random() < self.slowed:
            times *= self.factor
        return LinkCost(link.latency * times, link.gap * times, link.overhead)


@dataclass
class Machine:
    """Computing with noise; notes what each rank lost to its node in the launch."""

    random: np.random.Generator
    launch: dict[str, float] = field(default_factory=dict)
    lost: dict[int, float] = field(default_factory=dict)
    own: dict[int, float] = field(default_factory=dict)

    def begin(self, script: Script) -> None:
        """Before the first step of a rank. The first rank begins the launch."""
        if script.rank == 0:
            self.launch["computing"] = self._factor(_LAUNCH)
            self.launch["network"] = self._factor(_NETWORK)
        self.own[script.rank] = self._factor(_RANK)
        self.lost[script.rank] = 0.0

    def compute(self, script: Script, seconds: float, taken: float = 0.0) -> None:
        """``taken``: share of the time in which the node gives the rank no CPU."""
        work = seconds * self._factor(_STEP) * self.own[script.rank] * self.launch["computing"]
        wall = work / (1.0 - taken)
        self.lost[script.rank] += wall - work
        if self.random.random() < _INTERRUPTED:
            more = float(self.random.exponential(_INTERRUPTION * work))
            wall += more
            self.lost[script.rank] += more * (self.random.random() < 0.5)
        script.compute(wall)

    def node(self, rank: int, of: PlantedNode) -> PlantedNode:
        """What the rank records. Called after the launch."""
        speed = of.speed * self._factor(_SPEED)
        return replace(of, lost=self.lost[rank], speed=speed)

    def _factor(self, deviation: float) -> float:
        return float(np.exp(deviation * self.random.normal()))


@dataclass(frozen=True)
class DrawnProgram:
    """A program with a planted reason; "" for none, "busy" for a machine with other work."""

    reason: str
    ranks: int
    #: Share of the run time that the reason costs.
    share: float
    #: The rank that is late or slow.
    rank: int
    machine: Machine

    @property
    def part(self) -> float:
        """Share of the waiting ranks."""
        return (self.ranks - 1) / self.ranks

    def extra(self, work: float) -> float:
        """What one rank computes longer than the others, so that their waiting has the share."""
        return self.share * work / (self.part - self.share)


def _exchange(script: Script, size: int = 2048) -> None:
    after, before = (script.rank + 1) % script.size, (script.rank - 1) % script.size
    script.sendrecv(after, before, size, site="halo")
    script.allreduce(site="norm")


def _even(of: DrawnProgram, script: Script) -> None:
    for _ in range(STEPS):
        of.machine.compute(script, WORK)
        _exchange(script)


def _uneven(of: DrawnProgram, script: Script) -> None:
    for _ in range(STEPS):
        more = of.extra(WORK) if script.rank == of.rank else 0.0
        of.machine.compute(script, WORK + more)
        _exchange(script)


def _serial(of: DrawnProgram, script: Script) -> None:
    for _ in range(STEPS):
        of.machine.compute(script, WORK)
        script.barrier(site="gather")
        if script.rank == of.rank:
            of.machine.compute(script, of.extra(WORK))
        script.barrier(site="spread")
        _exchange(script)


def _late_sender(of: DrawnProgram, script: Script) -> None:
    for step in range(STEPS):
        if script.rank == of.rank:
            of.machine.compute(script, of.extra(WORK))
            for other in range(script.size):
                if other != of.rank:
                    script.send(other, 8, tag=step, site="prepare")
        else:
            script.recv(of.rank, 8, tag=step, site="take")
        of.machine.compute(script, WORK)
        _exchange(script)


def _pipeline(of: DrawnProgram, script: Script) -> None:
    """Each rank computes a part after the rank before it."""
    each = of.share * WORK / ((of.ranks - 1) - of.share * of.ranks)
    for step in range(STEPS):
        of.machine.compute(script, WORK)
        if script.rank:
            script.recv(script.rank - 1, 8, tag=step, site="from")
        of.machine.compute(script, each)
        if script.rank + 1 < script.size:
            script.send(script.rank + 1, 8, tag=step, site="to")
        _exchange(script)


def _tiny(of: DrawnProgram, script: Script) -> None:
    """Rounds of small messages, each after the one before."""
    after, before = (script.rank + 1) % script.size, (script.rank - 1) % script.size
    round_ = _BETWEEN.latency + 2.0 * _BETWEEN.overhead
    rounds = max(round(of.share * SHORT_WORK / ((1.0 - of.share) * round_)), 4)
    for _ in range(STEPS):
        of.machine.compute(script, SHORT_WORK)
        for _ in range(rounds):
            script.sendrecv(after, before, 8, site="whisper")


def _large(of: DrawnProgram, script: Script) -> None:
    """Large messages of two sizes."""
    after, before = (script.rank + 1) % script.size, (script.rank - 1) % script.size
    mean = of.share * WORK / ((1.0 - of.share) * _BETWEEN.gap)
    for step in range(STEPS):
        of.machine.compute(script, WORK)
        script.sendrecv(after, before, int(mean * (1.6 if step % 2 else 0.4)), site="halo")


def _fine(of: DrawnProgram, script: Script) -> None:
    """A reduction and an exchange for so little work that one rank would be faster by the share."""
    rounds = of.ranks.bit_length() * (_BETWEEN.latency + 2.0 * _BETWEEN.overhead)
    work = (1.0 - of.share) * rounds / (of.ranks - 1.0 + of.share)
    for _ in range(4 * STEPS):
        of.machine.compute(script, 0.5 * work)
        script.allreduce(site="norm")
        of.machine.compute(script, 0.5 * work)
        after, before = (script.rank + 1) % script.size, (script.rank - 1) % script.size
        script.sendrecv(after, before, 8, site="halo")


def _taken(of: DrawnProgram, script: Script) -> None:
    """The node takes CPU time: from one rank; from the two that share a CPU; from all at times."""
    if of.reason == "busy":
        disturbed = of.machine.random.random() < 0.6
        share = float(of.machine.random.uniform(0.15, 0.5)) if disturbed else 0.0
    else:
        pair = {of.rank, of.rank ^ 1} if of.reason == "binding" else {of.rank}
        share = of.share if script.rank in pair else 0.0
    for _ in range(STEPS):
        of.machine.compute(script, WORK, share)
        _exchange(script)


def _slow(of: DrawnProgram, script: Script) -> None:
    """The clock of one rank is lower by the share."""
    for _ in range(STEPS):
        slowed = 1.0 - of.share if script.rank == of.rank else 1.0
        of.machine.compute(script, WORK / slowed)
        _exchange(script)


_PROGRAMS: dict[str, Callable[[DrawnProgram, Script], None]] = {
    "": _even,
    "CPU quota": _taken,
    "binding": _taken,
    "other processes": _taken,
    "slow CPU": _slow,
    "latency": _tiny,
    "bandwidth": _large,
    "congestion": _large,
    "imbalance": _uneven,
    "late sender": _late_sender,
    "serial part": _serial,
    "dependencies": _pipeline,
    "memory bandwidth": _even,
    "too many ranks": _fine,
    "busy": _taken,
}
PLANTED = tuple(_PROGRAMS)


def drawn(reason: str, random: np.random.Generator, shares: tuple[float, float]) -> DrawnProgram:
    """A program with this reason, whose share of the run time is between these."""
    ranks = int(random.choice([4, 8]))
    share = float(random.uniform(*shares))
    return DrawnProgram(reason, ranks, share, int(random.integers(ranks)), Machine(random))


def asked_of(of: DrawnProgram, launches: int) -> WhyFindings:
    """The answer after this many plain launches, and one with ranks in turn."""
    machine, random = of.machine, of.machine.random
    slowed, factor = (0.15, 1.0 + 30.0 * of.share) if of.reason == "congestion" else (0.0, 1.0)
    share = 0.04 if of.reason == "congestion" else of.share
    program = replace(of, share=share) if of.reason == "congestion" else of
    net = _NoisyNet(_BETWEEN, _WITHIN, random=random, launch=machine.launch, slowed=slowed,
                    factor=factor)  # fmt: skip
    # Each network program has a host per rank, so that all its messages are between hosts.
    alone = of.reason in ("latency", "bandwidth", "congestion", "too many ranks")
    hosts = [f"n{rank if alone else rank // 2}" for rank in range(of.ranks)]
    whole = _IN_TURN + _OF_TURN * float(random.normal())
    whole += of.share if of.reason == "memory bandwidth" else 0.0
    shared = [whole + _OF_PLAIN * float(random.normal()) for _ in range(launches)]

    def run(script: Script, _: np.random.Generator) -> None:
        machine.begin(script)
        _PROGRAMS[of.reason](program, script)

    planted = PlantedProgram(run, ranks=of.ranks, net=net, hosts=hosts, nodes=partial(_node, of))
    return asked(planted, launches=launches, shared=None if alone else shared)


def _node(of: DrawnProgram, rank: int, _: int) -> PlantedNode:
    """What a rank records of its node."""
    plain = PlantedNode(cpus=str(rank))
    if rank == of.rank and of.reason == "slow CPU":
        plain = replace(plain, speed=1e9 * (1.0 - of.share))
    if rank == of.rank and of.reason == "CPU quota":
        plain = replace(plain, held=0.8 * of.share)
    if of.reason == "binding" and rank // 2 == of.rank // 2:
        plain = replace(plain, cpus=str(2 * (rank // 2)))
    return of.machine.node(rank, plain)
