"""The time of a program on a described machine from its counted work, with propagated uncertainty.

A closed form: each rank computes at a rate, moves its data at the node's memory bandwidth, which
ranks of a node share, and sends its messages at the network's latency and rate, which they share
too. Nothing overlaps. The work of an NPB kernel is its entry in the catalogue, whose messages and
bytes are compared with counted ones in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.topologies.loads import host_share
from described.figure import MachineFigure
from described.machine import DescribedMachine

DRAWS = 400


@dataclass(frozen=True)
class ProgramWork:
    """Work of all ranks: ``flops``; ``traffic`` with memory (B); ``messages``; ``sent`` (B)."""

    flops: float
    traffic: float
    messages: float
    sent: float

    @classmethod
    def of_catalogue(cls, work: Mapping[str, float]) -> ProgramWork:
        """From the work of a kernel in the catalogue; parts that it does not name are 0."""
        return cls(*(work.get(name, 0.0) for name in ("flops", "traffic", "messages", "sent")))


@dataclass(frozen=True)
class ProgramTime:
    """Seconds by cause."""

    computing: float
    memory: float
    latency: float
    bandwidth: float

    @property
    def seconds(self) -> float:
        """The whole time."""
        return self.computing + self.memory + self.latency + self.bandwidth


@dataclass(frozen=True)
class Predicted:
    """A value with its 90% interval, and the figures it rests on that were not measured.

    ``extrapolated``: what lies outside of what was measured, as sentences.
    """

    value: float
    ci90: tuple[float, float]
    assumptions: tuple[tuple[str, MachineFigure], ...]
    extrapolated: tuple[str, ...] = ()


def program_time(
    machine: DescribedMachine, work: ProgramWork, core_rate: float, ranks: int, per_node: int
) -> ProgramTime:
    """The time with ``ranks`` ranks, ``per_node`` on each node.

    ``core_rate``: flop/s of one rank whose data are in cache. Raises ValueError if they don't fit.
    """
    nodes = -(-ranks // per_node)
    if nodes > machine.nodes or per_node > machine.node.processors or min(ranks, per_node) < 1:
        raise ValueError(f"{ranks} ranks, {per_node} per node, don't fit {machine.name}")
    on_node = min(ranks, per_node)
    net = machine.interconnect
    rate = net.adapters * net.rate.value
    trunk = (net.trunk or net.rate).value
    per_rank = host_share(machine.topology, rate, trunk) / on_node
    return ProgramTime(
        computing=work.flops / ranks / core_rate,
        memory=work.traffic / nodes / machine.node.bandwidth(on_node),
        latency=work.messages / ranks * net.latency.value if nodes > 1 else 0.0,
        bandwidth=work.sent / ranks / per_rank if nodes > 1 else 0.0,
    )


def propagate(
    machine: DescribedMachine,
    value: Callable[[DescribedMachine], float],
    extrapolated: tuple[str, ...] = (),
    draws: int = DRAWS,
    seed: int = 0,
) -> Predicted:
    """A predicted value with the 5% and 95% quantiles of its draws."""
    random = np.random.default_rng(seed)
    drawn = [value(machine.draw(random)) for _ in range(draws)]
    low, high = np.quantile(drawn, (0.05, 0.95))
    return Predicted(
        value(machine), (float(low), float(high)), tuple(machine.assumptions()), extrapolated
    )
