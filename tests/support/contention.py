"""Simulated machines and programs with a known best placement.

The search for the best placement is tested against them. A program's time on a node is the sum of
arithmetic and of memory traffic limited by cores, NUMA domains and caches; its messages pass
through memory within a node and through adapters between nodes. Nothing here describes a real
machine.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.models.placement.placed import ThreadAffinity
from assay.models.placement.search import PlacementCandidate, PlacementTrial, SearchRule, search

_CORES = (8, 16, 24, 32, 48, 64, 96, 128)
_DOMAINS = (1, 2, 4, 8)
# Arithmetic rate of two hardware threads on a core, relative to one.
_SHARED_CORE = 1.25


@dataclass(frozen=True)
class Parts:
    """Parts of a program's seconds at a placement, each to be multiplied by ``factor``.

    ``unshared``: ``computing`` if cores did not share memory bandwidth; ``imbalance``: waiting for
    the slowest rank; ``near``, ``far``: messages within nodes and between them. The additional cost
    of threads over ranks on the same cores is the difference of two placements' computing.
    """

    computing: float
    unshared: float
    imbalance: float
    near: float
    far: float
    factor: float

    @property
    def time(self) -> float:
        """The sum, in s."""
        return (self.computing + self.imbalance + self.near + self.far) * self.factor


@dataclass(frozen=True)
class SimulatedMachine:
    """A cluster of equal nodes with one program on it.

    Rates are per core (``flops``), per NUMA domain (``bandwidth``) and per core that draws on it
    (``pull``), per adapter (``adapter_rates``); ``cache`` in bytes per core. The program: ``work``
    in flops, ``traffic`` in bytes that memory would move if nothing fitted into caches, ``data`` in
    bytes of the whole problem, ``serial`` share of the work that threads don't divide, ``surface``
    in bytes that the rank of a one-rank run exchanges per step, ``steps``, ``latency`` s.
    ``noise``: standard deviation of the cost's logarithm; a share ``tails`` of measurements takes
    ``tail`` longer on average; ``drift``: standard deviation between blocks. ``quirk``: standard
    deviation of an individual deviation of each number of ranks (how the problem divides) and each
    placement (where data are placed), drawn by ``seed``: it keeps the surface from being smooth.
    """

    nodes: int
    cores: int
    domains: int
    hardware_threads: int
    flops: float
    bandwidth: float
    pull: float
    cache: float
    adapter_rates: tuple[float, ...]
    latency: float
    work: float
    traffic: float
    data: float
    serial: float
    surface: float
    steps: float
    imbalance: float
    remote: float
    noise: float
    tails: float
    tail: float
    drift: float
    quirk: float
    seed: int

    @cached_property
    def candidates(self) -> list[PlacementCandidate]:
        """Ranks per node, threads per rank; binding, order, adapter, whether cores are shared."""
        return list(self._candidates())

    def _candidates(self) -> Iterator[PlacementCandidate]:
        counts = [c for c in range(1, self.cores + 1) if self.cores % c == 0 or c & (c - 1) == 0]
        seats = self.cores * self.hardware_threads
        adapters = ["default"]
        if self.nodes > 1 and len(self.adapter_rates) > 1:
            adapters = [str(place) for place in range(len(self.adapter_rates))] + ["all"]
        for ppn in (*counts, *({seats} - {self.cores})):
            for threads in counts:
                if ppn * threads > seats:
                    continue
                orders = ["block", "cyclic"] if self.nodes > 1 and ppn > 1 else ["block"]
                bindings = ["compact", "spread"] if ppn * threads < self.cores else ["compact"]
                shared = "shared" if ppn * threads > self.cores else "own"
                for binding in bindings:
                    for order in orders:
                        for adapter in adapters:
                            yield PlacementCandidate(
                                (ppn, threads), (binding, order, adapter, shared)
                            )

    def cost(self, candidate: PlacementCandidate) -> float:
        """Seconds of the program at a placement, without noise."""
        return self.parts(candidate).time

    def seats(self, candidate: PlacementCandidate) -> ThreadAffinity:
        """Cores of the threads: consecutive, or at equal distances over all cores."""
        ppn, threads = candidate.counts
        binding, *_, sharing = candidate.words
        slots = ppn * threads

        def core(slot: int) -> int:
            if sharing == "shared":
                return slot // self.hardware_threads
            return slot if binding == "compact" else slot * self.cores // slots

        cores = [[core(rank * threads + t) for t in range(threads)] for rank in range(ppn)]
        per_domain = self.cores // self.domains
        return ThreadAffinity(
            tuple(map(tuple, cores)),
            tuple(tuple(core // per_domain for core in row) for row in cores),
        )

    def parts(self, candidate: PlacementCandidate) -> Parts:
        """The parts of these seconds."""
        ppn, threads = candidate.counts
        _, order, adapter, _ = candidate.words
        seats = self.seats(candidate)
        ranks, busy = self.nodes * ppn, len(seats.cores_used)
        speed = self.flops * busy * (_SHARED_CORE if seats.shared else 1.0)
        arithmetic = self.work / (self.nodes * speed)
        arithmetic *= 1.0 + self.serial * (threads - 1) + 0.004 * math.log2(threads) ** 2
        # Caches: the remaining share of the traffic as a core's share of the data fits, smoothly.
        share = self.data / (self.nodes * busy)
        missing = 1.0 / (1.0 + (self.cache / share) ** 2)
        # If a rank's threads are in several domains, a part of its data is in another domain's
        # memory.
        given = {domain: busy * self.given(load) for domain, load in seats.used_by_domain.items()}
        wanted = missing * self.traffic / self.nodes
        kinds = Counter(frozenset(row) for row in seats.domains)
        of_ranks = [
            self._computing(
                arithmetic,
                wanted * (1.0 + self.remote * (1.0 - 1.0 / len(own))),
                min(given[domain] for domain in own),
            )
            for own in kinds
        ]
        unshared = self._computing(arithmetic, wanted, busy * self.pull)
        shared = float(np.average(of_ranks, weights=list(kinds.values())))
        waiting = shared * self.imbalance * math.log2(max(ranks, 1)) / 10
        near, far = self._messages(ppn, ranks, order, adapter, len(seats.used_by_domain))
        own = self._quirk(f"{ranks}") + self._quirk(f"{candidate}")
        return Parts(
            computing=shared,
            unshared=unshared,
            imbalance=waiting + max(of_ranks) - shared,
            near=near,
            far=far,
            factor=math.exp(self.quirk * own),
        )

    @staticmethod
    def _computing(arithmetic: float, wanted: float, given: float) -> float:
        """Seconds of arithmetic and of traffic, which mostly overlap."""
        return float((arithmetic**3 + (wanted / given) ** 3) ** (1 / 3))

    def given(self, cores: int) -> float:
        """Bandwidth per core if this many cores draw on one domain."""
        return min(self.pull, self.bandwidth / cores)

    def stream(self, cores: int) -> float:
        """Bandwidth of the first ``cores`` cores of a node."""
        whole, rest = divmod(cores, self.cores // self.domains)
        per_domain = self.cores // self.domains
        return sum(load * self.given(load) for load in [per_domain] * whole + [rest] * (rest > 0))

    def _quirk(self, whose: str) -> float:
        """A reproducible draw from a standard normal distribution."""
        digest = hashlib.sha256(f"{self.seed}/{whose}".encode()).digest()
        return float(np.random.default_rng(int.from_bytes(digest[:8], "big")).normal())

    def _messages(
        self, ppn: int, ranks: int, order: str, adapter: str, domains: int
    ) -> tuple[float, float]:
        """Seconds within nodes and between them; waiting counts for the farthest ranks."""
        if ranks == 1:
            return 0.0, 0.0
        volume = self.surface / ranks ** (2 / 3)  # per rank and step
        within = (1.0 - 1.0 / ppn ** (1 / 3)) if order == "block" else 0.0
        outside = 1.0 - within if self.nodes > 1 else 0.0
        rates = self.adapter_rates
        rate = {"all": sum(rates), "default": rates[0]}.get(adapter) or rates[int(adapter)]
        near = volume * (1.0 - outside) * ppn / (self.bandwidth * domains / 4)
        far = volume * outside * ppn / rate
        waits = self.latency * (math.log2(ranks) + 0.05 * ppn * (outside > 0) + 0.3)
        if outside > 0:
            far += waits
        else:
            near += waits
        return float(self.steps * near), float(self.steps * far)

    @cached_property
    def costs(self) -> list[float]:
        """The costs of all candidates, in their order."""
        return [self.cost(candidate) for candidate in self.candidates]

    def measured(
        self, asked: Sequence[int], block: int, random: np.random.Generator
    ) -> list[PlacementTrial]:
        """Measurements of these candidates in one block, with noise, tails and its drift."""
        drift = random.normal(0.0, self.drift)
        trials = []
        for candidate in asked:
            factor = math.exp(random.normal(0.0, self.noise) + drift)
            if random.random() < self.tails:
                factor *= 1.0 + random.exponential(self.tail)
            trials.append(PlacementTrial(candidate, block, self.costs[candidate] * factor))
        return trials


def draw_machine(random: np.random.Generator) -> SimulatedMachine:
    """A random machine and program within realistic ranges: from arithmetic only to memory or
    messages only, noise of 0.5% to 5%.
    """
    cores = int(random.choice(_CORES))
    domains = int(random.choice([d for d in _DOMAINS if cores % d == 0 and cores // d >= 4]))
    nodes = int(random.choice([1, 1, 2, 4, 8, 16]))

    def between(low: float, high: float) -> float:
        """Uniform in the logarithm."""
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    flops = between(5e9, 5e10)
    pull = between(5e9, 2e10)
    work = flops * cores * nodes * between(0.5, 50.0)
    seconds = work / (flops * cores * nodes)
    bandwidth = pull * (cores / domains) * between(0.1, 1.0)
    adapters = int(random.choice([1, 1, 2]))
    first = between(1e9, 2.5e10)
    steps = between(10, 1000)
    return SimulatedMachine(
        nodes=nodes,
        cores=cores,
        domains=domains,
        hardware_threads=int(random.choice([1, 2])),
        flops=flops,
        bandwidth=bandwidth,
        pull=pull,
        cache=between(5e5, 4e6),
        adapter_rates=(first, first * between(0.25, 1.5))[:adapters],
        latency=between(1e-6, 1e-4),
        work=work,
        # Memory takes between a hundredth of the time of arithmetic and five times as long.
        traffic=between(0.01, 5.0) * seconds * bandwidth * domains * nodes,
        data=between(1e6, 1e10) * nodes,
        serial=between(1e-4, 2e-2),
        surface=between(0.001, 1.0) * seconds / steps * first * (cores * nodes) ** (2 / 3) / 4,
        steps=steps,
        imbalance=between(0.001, 0.2),
        remote=between(0.05, 1.0),
        noise=between(0.005, 0.05),
        tails=float(random.uniform(0.0, 0.05)),
        tail=between(0.05, 0.5),
        drift=between(0.001, 0.02),
        quirk=between(0.001, 0.03),
        seed=int(random.integers(2**31)),
    )


@dataclass(frozen=True)
class Explored:
    """The outcome of a search on a simulated machine.

    ``made``: measurements, of ``exhaustive``; ``loss``: relative excess cost of the chosen
    placement over the best, without noise; ``probability``, ``settled``: as reported by the search.
    """

    made: int
    exhaustive: int
    loss: float
    probability: float
    settled: bool


def explore(
    machine: SimulatedMachine, seed: int, rule: SearchRule, share: float = 0.25
) -> Explored:
    """Search a machine's best placement, with at most that share of the cost of measuring all
    placements ``rule.fewest`` times.
    """
    random = np.random.default_rng(seed)
    exhaustive = len(machine.candidates) * rule.fewest
    trials: list[PlacementTrial] = []
    block = 0
    while True:
        finding = search(machine.candidates, trials, rule, seed)
        asked = finding.ask[: max(int(share * exhaustive) - len(trials), 0)]
        if finding.settled or not asked:
            break
        trials += machine.measured(asked, block, random)
        block += 1
    best = min(machine.costs)
    loss = np.inf if finding.chosen is None else machine.costs[finding.chosen] / best - 1.0
    return Explored(len(trials), exhaustive, float(loss), finding.probability, finding.settled)
