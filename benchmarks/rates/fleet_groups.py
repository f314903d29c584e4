"""Groups of nodes: slow racks found, and clean racks and nodes named, with skewed launches.

Nodes differ by 0.5%. Levels and rules were chosen with normal launches, that for natural
differences between racks with the fleets of ``_natural``; the other distributions were reserved for
testing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from rate import Rate

from assay.stats.fleet.calibration import clean_level
from assay.stats.fleet.fleet import STATED
from assay.stats.fleet.node_groups import (
    GROUP_LEVEL,
    NODES_NAMED,
    compare_within_groups,
    group_interval,
)

Array = np.ndarray
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]
RESOURCES = ("memory", "memory", "compute", "network")
NOISES: dict[str, Noise] = {
    "normal, CoV 1%": lambda rng, shape: 0.01 * rng.standard_normal(shape),
    "2% of launches 20% late": lambda rng, shape: (
        0.005 * rng.standard_normal(shape) + np.log(1.2) * (rng.random(shape) < 0.02)
    ),
    "lognormal, sigma 1": lambda rng, shape: 0.005 * rng.lognormal(0.0, 1.0, shape),
    "10% of launches 3% slower": lambda rng, shape: (
        0.003 * rng.standard_normal(shape) + np.log(1.03) * (rng.random(shape) < 0.1)
    ),
    "Pareto 1.5": lambda rng, shape: 0.005 * rng.pareto(1.5, shape),
}


def fleet(rng: np.random.Generator, nodes: int, launches: int, noise: Noise) -> Array:
    """Costs [node, cell, launch]."""
    nature = 0.005 * rng.standard_normal((nodes, 4, 1))
    return np.exp(nature + noise(rng, (nodes, 4, launches)))


def named(costs: Array, racks: Array) -> tuple[set[int], set[int]]:
    """The racks and the nodes that an examination names."""
    found, groups = compare_within_groups(costs, RESOURCES, [racks])
    nodes = found.outliers()
    if nodes.size:
        nodes = found.outliers(clean_level(costs, RESOURCES, found, NODES_NAMED))
    return set(groups.slow if groups else ()), set(nodes.tolist())


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _clean(max(trials // 8, 20), seed)
    yield from _slow(max(trials // 8, 20), seed)
    yield from _natural(max(trials // 8, 20), seed)
    yield from _intervals(max(trials // 4, 20), seed)


def _clean(trials: int, seed: int) -> Iterator[Rate]:
    for nodes, size, launches in ((50, 10, 3), (50, 10, 6)):
        racks = np.arange(nodes) // size
        for name, noise in NOISES.items():
            of_racks = of_any = 0
            for trial in range(trials):
                rng = np.random.default_rng((seed, nodes, launches, trial))
                found, out = named(fleet(rng, nodes, launches, noise), racks)
                of_racks += bool(found)
                of_any += bool(found or out)
            planted = f"{nodes} nodes, racks of {size}, {launches} launches, {name}"
            what = "good racks: any named"
            yield Rate(what, planted, of_racks, trials, GROUP_LEVEL, "false alarm")
            what = "good racks and nodes: any named"
            yield Rate(what, planted, of_any, trials, STATED, "false alarm")


def _slow(trials: int, seed: int) -> Iterator[Rate]:
    """A rack 1% slow in memory, and a node elsewhere 3% slow in everything."""
    for nodes, size, stated in ((50, 10, 0.75), (64, 16, 0.85), (200, 20, 0.95)):
        racks = np.arange(nodes) // size
        bad = 3 * size + 3
        rack = only = node = 0
        for trial in range(trials):
            costs = fleet(
                np.random.default_rng((seed, nodes, trial)), nodes, 3, NOISES["normal, CoV 1%"]
            )
            costs[racks == 1, :2] *= 1.01
            costs[bad] *= 1.03
            found, out = named(costs, racks)
            rack += 1 in found
            node += bad in out
            only += bool(out - {bad})
        planted = f"{nodes} nodes, racks of {size}, 3 launches, CoV 1%"
        yield Rate("a rack 1% slow in memory: named", planted, rack, trials, stated, "detection")
        yield Rate("a node elsewhere 3% slow: named", planted, node, trials, 0.9, "detection")
        yield Rate("beside them: other nodes named", planted, only, trials, STATED, "false alarm")


def _natural(trials: int, seed: int) -> Iterator[Rate]:
    racks = np.arange(320) // 8
    wrong = 0
    for trial in range(trials):
        rng = np.random.default_rng((seed, 320, trial))
        costs = fleet(rng, 320, 3, NOISES["normal, CoV 1%"])
        costs *= np.exp(0.005 * rng.standard_normal((40, 4, 1)))[racks]
        wrong += bool(compare_within_groups(costs, RESOURCES, [racks])[1].slow)
    planted = "40 racks of 8 that differ by 0.5%, 3 launches, CoV 1%"
    yield Rate("good racks: any named", planted, wrong, trials, 0.2, "false alarm")


def _intervals(trials: int, seed: int) -> Iterator[Rate]:
    racks = np.arange(60) // 10
    held = 0
    for trial in range(trials):
        costs = fleet(np.random.default_rng((seed, 60, trial)), 60, 3, NOISES["normal, CoV 1%"])
        costs[racks == 2, 2] *= 1.03
        _, groups = compare_within_groups(costs, RESOURCES, [racks])
        low, high = group_interval(groups, 2, 2)
        held += bool(low <= np.log(1.03) <= high)
    planted = "6 racks of 10, 3 launches, CoV 1%, one 3% slow in a cell"
    yield Rate("the interval contains the deviation", planted, held, trials, 0.95, "coverage")
