"""The time of HPL on a described machine, and what it loses to what.

The terms are ``panel_parts`` of ``assay.models.linpack.time``. Here they use the machine's LogGP
figures: adapters are shared by a node's processes, the exchange of rows is limited by the topology.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assay.models.linpack.time import FILL, Coefficients, ProcessFigures, grids_of, panel_parts
from assay.topologies.loads import Loads
from described.grids import grid_loads
from described.machine import DescribedMachine

# Steps that are computed; with more panels, each stands for several.
_STEPS = 200
_WORD = 8


@dataclass(frozen=True)
class LinpackProblem:
    """Order, block, and grid of ``p`` rows and ``q`` columns of processes.

    ``by_column``: consecutive ranks are in the same column, so that a node's are.
    """

    n: int
    nb: int
    p: int
    q: int
    by_column: bool = True


@dataclass(frozen=True)
class LinpackTime:
    """Seconds of the parts of a solution; ``panel`` and ``broadcast`` without what is hidden.

    ``arithmetic``: 2N³/3 + 3N²/2 flop at peak; ``memory``: what the update takes longer than that.
    """

    problem: LinpackProblem
    arithmetic: float
    memory: float
    panel: float
    broadcast: float
    swap: float
    flops: float

    @property
    def seconds(self) -> float:
        """The whole time."""
        return self.arithmetic + self.memory + self.panel + self.broadcast + self.swap

    @property
    def rate(self) -> float:
        """flop/s."""
        return self.flops / self.seconds

    @property
    def losses(self) -> dict[str, float]:
        """Shares of the time that are not arithmetic at peak, by cause."""
        parts = {
            "memory": self.memory,
            "panel": self.panel,
            "broadcast": self.broadcast,
            "swap": self.swap,
        }
        return {name: value / self.seconds for name, value in parts.items()}


@dataclass(frozen=True)
class Linpack:
    """A prediction: at the largest order, with N½ and what a small order costs.

    ``small_order``: share of the rate that a ten times larger memory would add.
    """

    time: LinpackTime
    half: float
    small_order: float


def best_grid(
    machine: DescribedMachine, n: int, block: int, coefficients: Coefficients
) -> LinpackProblem:
    """The fastest of the grids and of the two orders of ranks."""
    problems = [
        LinpackProblem(n, block, p, q, by_column)
        for p, q in grids_of(machine.processors)
        for by_column in (True, False)
    ]
    return min(problems, key=lambda each: time_of(machine, each, coefficients).seconds)


def order_of(machine: DescribedMachine, fill: float = FILL) -> int:
    """The order whose matrix fills this share of the machine's memory."""
    return math.isqrt(int(fill * machine.nodes * machine.node.memory.value / _WORD))


def time_of(
    machine: DescribedMachine, problem: LinpackProblem, coefficients: Coefficients
) -> LinpackTime:
    """The time of one solution. Raises ValueError if the grid is not that of all processors."""
    if problem.p * problem.q != machine.processors:
        raise ValueError(
            f"a grid of {problem.p} x {problem.q} is not one of {machine.processors} processors"
        )
    n, nb, p, q = problem.n, problem.nb, problem.p, problem.q
    per_node, net = machine.node.processors, machine.interconnect
    latency = net.latency.value
    adapter = net.adapters * net.rate.value * coefficients.network
    trunk = (net.trunk or net.rate).value * coefficients.network
    loads = grid_loads(machine.topology, p, q, per_node, problem.by_column)
    copy = machine.node.message_copy
    inside = (copy.value if copy else machine.node.stream_one.value / 2) / per_node
    if machine.nodes == 1:
        latency /= 4  # within the node

    def per_byte(load: Loads) -> float:
        """Seconds per byte that each process sends at once with all others."""
        return max(load.adapter / adapter, load.trunk / trunk)

    parts = panel_parts(
        np.asarray(float(n)), nb, np.asarray(float(p)), np.asarray(float(q)),
        ProcessFigures(
            dgemm=np.asarray(machine.node.dgemm.value / per_node),
            latency=np.asarray(1.0 * latency),
            adapter=np.asarray(1.0 * adapter),
            along=np.asarray(1.0 * max(per_byte(loads.rows), 1 / inside)),
            exchanged=np.asarray(1.0 * max(per_byte(loads.columns), loads.inside / inside)),
        ),
        coefficients,
        min(math.ceil(n / nb), _STEPS),
    )  # fmt: skip
    flops = 2.0 * n**3 / 3.0 + 1.5 * n**2
    arithmetic = flops / machine.peak
    return LinpackTime(
        problem,
        arithmetic,
        max(float(parts.update) - arithmetic, 0.0),
        float(parts.panel),
        float(parts.broadcast),
        float(parts.swap),
        flops,
    )


def half_order_of(
    machine: DescribedMachine, problem: LinpackProblem, coefficients: Coefficients
) -> float:
    """N½: the order that reaches half of the rate of ``problem``."""
    goal = time_of(machine, problem, coefficients).rate / 2
    low, high = 2 * problem.nb, problem.n
    while high - low > max(1, problem.n // 500):
        middle = (low + high) // 2
        rate = time_of(machine, replace(problem, n=middle), coefficients).rate
        low, high = (middle, high) if rate < goal else (low, middle)
    return (low + high) / 2


def predict(
    machine: DescribedMachine,
    coefficients: Coefficients,
    order: int | None = None,
    block: int = 128,
) -> Linpack:
    """Rmax at an order (the largest in memory if None), N½ and losses, with the best grid."""
    n = order or order_of(machine)
    problem = best_grid(machine, n, block, coefficients)
    found = time_of(machine, problem, coefficients)
    larger = time_of(machine, replace(problem, n=round(n * math.sqrt(10))), coefficients)
    half = half_order_of(machine, problem, coefficients)
    return Linpack(found, half, larger.rate / found.rate - 1)
