"""The terms of HPL's time, panel by panel, and their fitted coefficients.

After "HPL scalability analysis" (Petitet, Whaley, Dongarra & Cleary 2004): P x Q processes
factor a panel of NB columns (one exchange of a row per column among P), send it along the Q of each
row, exchange rows among the P, and update the rest by matrix multiplication. With look-ahead a part
of panel and broadcast runs during the update.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from assay.arrays import Floats

_WORD = 8
_FILE = Path(__file__).with_name("coefficients.json")
# Memory that is filled by default: HPL's documents advise about 80% of it.
FILL = 0.80


@dataclass(frozen=True)
class Coefficients:
    """Coefficients that are fitted to published systems."""

    #: Rate of the update over the rate of DGEMM.
    update: float
    #: Rate of a process in the panel over its rate in DGEMM.
    panel: float
    #: Share of panel and broadcast that look-ahead hides, as long as there is an update to hide it
    #: under.
    hidden: float
    #: Achieved share of the network's rate.
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
class ProcessFigures:
    """The properties of a machine that HPL's terms need, as arrays of equal shape."""

    #: Rate of a process, flop/s.
    dgemm: Floats
    #: Latency, s.
    latency: Floats
    #: Rate that a node's adapters achieve, B/s.
    adapter: Floats
    #: ``along``, ``exchanged``: s per byte that each process sends while all others do: to the next
    #: in its row, and to all others of its column.
    along: Floats
    exchanged: Floats


@dataclass(frozen=True)
class PanelParts:
    """Seconds by term. ``panel`` and ``broadcast`` exclude the hidden part."""

    update: Floats
    panel: Floats
    broadcast: Floats
    swap: Floats


def grids_of(processes: int) -> list[tuple[int, int]]:
    """P x Q with P ≤ Q ≤ 4 P, as HPL's documents advise; else the one that is closest to square."""
    found = [(p, processes // p) for p in range(1, math.isqrt(processes) + 1) if processes % p == 0]
    return [grid for grid in found if grid[1] <= 4 * grid[0]] or found[-1:]


def panel_parts(
    n: Floats,
    nb: int,
    p: Floats,
    q: Floats,
    of: ProcessFigures,
    coefficients: Coefficients,
    steps: int,
) -> PanelParts:
    """Seconds of the parts of solutions, panel by panel, for arrays of equal shape.

    ``steps``: number of panels that are computed; each represents several.
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
