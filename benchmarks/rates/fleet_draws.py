"""Costs of fleets of nodes with planted differences, for the modules that try fleets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from assay.stats.fleet.judgement import compare_within_kinds, judge, outside_of_tail
from assay.stats.fleet.node_tail import TAIL_LEVEL

Array = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
RESOURCES = ("memory", "memory", "compute", "compute", "network", "storage")
CELLS = RESOURCES[:4]
# Deviation of the natural differences between nodes.
NATURE = 0.005


def _weibull(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """With shape parameter 0.8, which has the mean 1.1330 and the deviation 1.4282."""
    return (rng.weibull(0.8, shape) - 1.1330) / 1.4282


def _skewed_t(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A. Azzalini & A. Capitanio's (2003) with 4 degrees of freedom and slant 3."""
    slant = 3.0 / np.sqrt(10.0)
    first, second = rng.standard_normal((2, *shape))
    skewed = slant * np.abs(first) + np.sqrt(1.0 - slant**2) * second
    # Its mean is slant * sqrt(2), its variance 2 - 2 slant^2.
    drawn = skewed / np.sqrt(rng.chisquare(4, shape) / 4.0)
    return np.asarray((drawn - slant * np.sqrt(2.0)) / np.sqrt(2.0 - 2.0 * slant**2))


# Differences between nodes, with a deviation of 1.
TAILS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal, sigma 0.5": lambda rng, shape: (rng.lognormal(0.0, 0.5, shape) - 1.0) / 0.604,
    "lognormal, sigma 1": lambda rng, shape: (rng.lognormal(0.0, 1.0, shape) - 1.0) / 2.161,
    "t with 5": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5.0 / 3.0),
    "t with 3": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3.0),
}
# Distributions that were not used to choose anything.
RESERVED: dict[str, Draw] = {
    "logistic": lambda rng, shape: rng.logistic(size=shape) * np.sqrt(3.0) / np.pi,
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape) * np.sqrt(3.0),
    "Weibull 0.8": _weibull,
    "skewed t with 4": _skewed_t,
    "10% three times as wide": lambda rng, shape: (
        rng.standard_normal(shape) * np.where(rng.random(shape) < 0.1, 3.0, 1.0) / np.sqrt(1.8)
    ),
}
SECOND = "a kind of 15% is 1.5% slower"


def slowed(costs: Array, bad: Iterable[int], size: float, cells: slice = slice(None)) -> Array:
    """The costs with nodes that are slower by ``size``."""
    changed = costs.copy()
    for node in bad:
        changed[node, cells] *= 1.0 + size
    return changed


def natural(
    rng: np.random.Generator,
    nodes: int,
    launches: int,
    tail: str = "normal",
    *,
    same: bool = False,
    cov: float = 0.01,
) -> Array:
    """Costs of nodes that differ by ``NATURE``: by cell, or in all cells alike if ``same``."""
    draw = {**TAILS, **RESERVED}["normal" if tail == SECOND else tail]
    logs = NATURE * draw(rng, (nodes, 1 if same else len(CELLS), 1))
    logs = logs + cov * rng.standard_normal((nodes, len(CELLS), launches))
    if tail == SECOND:
        logs[: round(0.15 * nodes)] += np.log(1.015)
    return np.exp(logs)


def named(costs: Array) -> list[int]:
    """The nodes that ``judge`` names; it isn't asked if no node is beyond the tail."""
    fleet, _ = compare_within_kinds(costs, CELLS)
    beyond = outside_of_tail(fleet)[fleet.outliers()]
    return judge(costs, CELLS).named if bool((beyond <= TAIL_LEVEL).any()) else []
