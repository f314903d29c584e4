"""The time of HPL on a described machine, panel by panel, and what it loses to what.

After "HPL scalability analysis" (Petitet, Whaley, Dongarra & Cleary 2004): P x Q processes
factor a panel of NB columns (one exchange of a row per column among P), send it along the Q of each
row, exchange rows among the P, and update the rest by matrix multiplication. Here each term uses
the machine's LogGP figures, adapters are shared by a node's processes, the exchange of rows is
limited by the topology, and with look-ahead a part of panel and broadcast runs during the update.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.models.machine.machine import DescribedMachine
from assay.topologies.grids import grid_loads
from assay.topologies.loads import Loads

Array = npt.NDArray[np.float64]
# Steps that are computed; with more panels, each stands for several.
_STEPS = 200
_WORD = 8
_FILE = Path(__file__).with_name("coefficients.json")
# Memory that is filled by default: HPL's documents advise about 80% of it.
FILL = 0.80


@dataclass(frozen=True)
class Coefficients:
    """What is fitted to published systems.

    ``update``: rate of the update over DGEMM's; ``panel``: rate of a process in the panel over its
    DGEMM's; ``hidden``: share of panel and broadcast that look-ahead hides while there is an update
    to hide it under; ``network``: achieved share of the network's rate.
    """

    update: float
    panel: float
    hidden: float
    network: float


@dataclass(frozen=True)
class FittedCoefficients:
    """Coefficients with the half widths of 90% intervals of log rate and log N½."""

    values: Coefficients
    width_rate: float
    width_half: float


def fitted_coefficients() -> FittedCoefficients:
    """The coefficients that assay ships; ``benchmarks/linpack_coefficients.py`` fits them."""
    data = json.loads(_FILE.read_text())
    values = {each.name: float(data[each.name]) for each in fields(Coefficients)}
    return FittedCoefficients(Coefficients(**values), data["width_rate"], data["width_half"])


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
class ProcessFigures:
    """What the terms of HPL need of a machine, as arrays of one shape.

    ``dgemm``: flop/s of a process. ``latency``: s. ``adapter``: B/s that a node's adapters achieve.
    ``along``, ``exchanged``: s per byte that each process sends at once with all others, to the
    next in its row and to all others of its column.
    """

    dgemm: Array
    latency: Array
    adapter: Array
    along: Array
    exchanged: Array


@dataclass(frozen=True)
class PanelParts:
    """Seconds; ``panel`` and ``broadcast`` without what is hidden."""

    update: Array
    panel: Array
    broadcast: Array
    swap: Array


@dataclass(frozen=True)
class Linpack:
    """A prediction: at the largest order, with N½ and what a small order costs.

    ``small_order``: share of the rate that a ten times larger memory would add.
    """

    time: LinpackTime
    half: float
    small_order: float


def grids_of(processes: int) -> list[tuple[int, int]]:
    """P x Q with P ≤ Q ≤ 4 P, as HPL's documents advise; else the one that is closest to square."""
    found = [(p, processes // p) for p in range(1, math.isqrt(processes) + 1) if processes % p == 0]
    return [grid for grid in found if grid[1] <= 4 * grid[0]] or found[-1:]


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


def panel_parts(
    n: Array,
    nb: int,
    p: Array,
    q: Array,
    of: ProcessFigures,
    coefficients: Coefficients,
    steps: int,
) -> PanelParts:
    """Seconds of the parts of solutions, panel by panel, for arrays of one shape.

    ``steps``: panels that are computed, each of which stands for several.
    """
    n, p, q = n[..., None], p[..., None], q[..., None]
    dgemm, latency, adapter, along, exchanged = (
        value[..., None] for value in (of.dgemm, of.latency, of.adapter, of.along, of.exchanged)
    )
    left = n * (1.0 - (np.arange(steps) + 0.5) / steps)  # rows of the panel
    log_p = np.log2(p)
    update = 2.0 * nb * left**2 / (p * q) / (coefficients.update * dgemm)
    exchange = nb * log_p * (latency + _WORD * (2 * nb + 4) / adapter)
    panel = left / p * nb**2 / (coefficients.panel * dgemm) + exchange
    broadcast = np.where(q == 1, 0.0, 2 * latency + _WORD * nb * left / p * along)
    swapped = (log_p + p - 1) * latency + 3.0 * _WORD * nb * left / q * exchanged
    swap = np.where(p == 1, 0.0, swapped)
    early = panel + broadcast
    kept = early - np.minimum(coefficients.hidden * early, update)
    share = panel / np.maximum(early, 1e-300)
    weight = np.ceil(n[..., 0] / nb) / steps
    return PanelParts(
        update=update.sum(axis=-1) * weight,
        panel=(kept * share).sum(axis=-1) * weight,
        broadcast=(kept * (1 - share)).sum(axis=-1) * weight,
        swap=swap.sum(axis=-1) * weight,
    )


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
        n=np.asarray(float(n)), nb=nb, p=np.asarray(float(p)), q=np.asarray(float(q)),
        of=ProcessFigures(
            dgemm=np.asarray(machine.node.dgemm.value / per_node),
            latency=np.asarray(1.0 * latency),
            adapter=np.asarray(1.0 * adapter),
            along=np.asarray(1.0 * max(per_byte(loads.rows), 1 / inside)),
            exchanged=np.asarray(1.0 * max(per_byte(loads.columns), loads.inside / inside)),
        ),
        coefficients=coefficients,
        steps=min(math.ceil(n / nb), _STEPS),
    )  # fmt: skip
    flops = 2.0 * n**3 / 3.0 + 1.5 * n**2
    arithmetic = flops / machine.peak
    return LinpackTime(
        problem=problem,
        arithmetic=arithmetic,
        memory=max(float(parts.update) - arithmetic, 0.0),
        panel=float(parts.panel),
        broadcast=float(parts.broadcast),
        swap=float(parts.swap),
        flops=flops,
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
