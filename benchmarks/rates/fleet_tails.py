"""Nodes named in fleets whose nodes differ with a tail.

Nodes differ by 0.5% by nature: by cell, or alike in all cells. Launches have a CoV of 1%. Some
distributions of the differences, and the kind, were used to build the rule; others are reserved for
testing it. Beside the rule stands the best one that knows the distribution of nodes' means and its
scale. It names a node beyond the value that the slowest node of a clean fleet exceeds in 8% of
fleets. No rule that has to find out the distribution from the fleet can do more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from fleet_draws import CELLS, NATURE, RESERVED, SECOND, TAILS, named, natural, slowed
from rate import Rate

# Maximum share of clean fleets that name a node.
CLEAN = 0.08
# Trials of the rule that knows the distribution.
_KNOWING = 4000


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _clean(max(trials // 10, 10), seed)
    yield from _slow(max(trials // 15, 10), seed)
    yield from _reserved(max(trials // 10, 10), seed)


def _clean(trials: int, seed: int) -> Iterator[Rate]:
    """In every second fleet nodes differ alike in all cells."""
    for nodes, launches in ((50, 3), (50, 6), (50, 12), (400, 6)):
        for tail in (*TAILS, SECOND):
            yield _clean_rate(nodes, launches, tail, trials, seed)


def _reserved(trials: int, seed: int) -> Iterator[Rate]:
    for nodes, launches in ((50, 3), (400, 6)):
        for tail in RESERVED:
            yield _clean_rate(nodes, launches, tail, trials, seed)


def _clean_rate(nodes: int, launches: int, tail: str, trials: int, seed: int) -> Rate:
    wrong = 0
    count = trials if nodes < 100 else max(trials // 2, 10)
    for trial in range(count):
        rng = np.random.default_rng((seed, nodes, launches, trial))
        wrong += bool(named(natural(rng, nodes, launches, tail, same=bool(trial % 2))))
    said = f"4 cells x {launches} launches, {tail}"
    return Rate(f"{nodes} good nodes: anybody named", said, wrong, count, CLEAN, "false alarm")


def _slow(trials: int, seed: int) -> Iterator[Rate]:
    for nodes, launches, size, same, stated in (
        (50, 3, 0.05, False, 1.0),
        (50, 3, 0.05, True, 0.85),
        (50, 6, 0.05, True, 0.9),
        (50, 12, 0.05, True, 0.9),
        (50, 3, 0.03, False, 0.75),
        (400, 3, 0.05, True, 0.9),
    ):
        found = 0
        count = trials if nodes < 100 else max(trials // 2, 10)
        for trial in range(count):
            rng = np.random.default_rng((seed, nodes, launches, 5, trial))
            found += 3 in named(slowed(natural(rng, nodes, launches, same=same), [3], size))
        how = "alike in all cells" if same else "by cell"
        said = f"4 cells x {launches} launches, nodes differ normally, {how}"
        what = f"a node {size:.0%} slow among {nodes}"
        yield Rate(f"{what}: named", said, found, count, stated, "detection")
        best = _knowing(nodes, launches, size, same=same, seed=seed)
        what = f"{what}: named by the rule that knows the distribution"
        yield Rate(what, said, best, _KNOWING, 0.0, "detection")


def _knowing(nodes: int, launches: int, size: float, *, same: bool, seed: int) -> int:
    """Planted nodes that the rule names, which knows that means over cells are normal."""
    rng = np.random.default_rng((seed, 17))
    own = NATURE / np.sqrt(1 if same else len(CELLS))
    deviation = np.hypot(own, 0.01 / np.sqrt(len(CELLS) * launches))
    means = deviation * rng.standard_normal((_KNOWING, nodes))
    limit = np.quantile(means.max(axis=1), 1.0 - CLEAN)
    slow = deviation * rng.standard_normal(_KNOWING) + np.log1p(size)
    return int(np.count_nonzero(slow > limit))
