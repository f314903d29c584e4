"""Kinds of nodes found by their values, and falsely found.

Nodes differ by 0.5% by nature, by cell. The best rule that knows both distributions (normal, with
the size, number and distance of the kind) tells whether a fleet has a kind from the ratio of
likelihoods, at a limit that 5% of fleets without a kind exceed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from fleet_draws import CELLS, NATURE, RESERVED, TAILS, natural, slowed
from rate import Rate
from scipy.stats import norm

from assay.stats.fleet.fleet import Fleet
from assay.stats.fleet.judgement import compare_within_kinds, judge

# Maximum share of clean fleets with a kind.
FALSE = 0.05
_KNOWING = 4000


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _planted(max(trials // 15, 10), seed)
    yield from _false(max(trials // 15, 10), seed)
    yield from _different(max(trials // 20, 10), seed)


def _recognised(fleet: Fleet, slow: int) -> bool:
    """Whether there are two kinds, with at most 3% of the nodes in the wrong one."""
    kinds = fleet.kinds
    wrong = np.count_nonzero(
        (kinds != np.bincount(kinds).argmax()) != (np.arange(kinds.size) < slow)
    )
    return len(set(kinds.tolist())) == 2 and wrong <= 0.03 * kinds.size


def _planted(trials: int, seed: int) -> Iterator[Rate]:
    for nodes, slow, size, launches, cov, stated in (
        (50, 8, 0.015, 3, 0.01, 0.2),
        (50, 8, 0.015, 6, 0.01, 0.5),
        (50, 8, 0.015, 12, 0.01, 0.65),
        (50, 8, 0.015, 6, 0.005, 0.75),
        (50, 8, 0.02, 6, 0.005, 0.9),
        (50, 8, 0.03, 3, 0.01, 0.95),
        (400, 60, 0.015, 3, 0.01, 0.95),
        (50, 7, 0.05, 3, 0.01, 0.9),
        (50, 4, 0.05, 3, 0.01, 0.8),
    ):
        recognised = beside = 0
        count = trials if nodes < 100 else max(trials // 2, 10)
        for trial in range(count):
            rng = np.random.default_rng((seed, nodes, slow, trial))
            costs = slowed(natural(rng, nodes, launches, cov=cov), range(slow), size)
            fleet, _ = compare_within_kinds(costs, CELLS)
            if _recognised(fleet, slow):
                recognised += 1
                beside += bool(fleet.outliers().size and judge(costs, CELLS).named)
        said = f"4 cells x {launches} launches, CoV {cov:.1%}"
        what = f"{slow} of {nodes} nodes {size:.1%} slow"
        yield Rate(f"{what}: recognised as a kind", said, recognised, count, stated, "detection")
        best = _knowing(nodes, slow, size, launches, cov, seed)
        what_best = f"{what}: recognised by the rule that knows the distributions"
        yield Rate(what_best, said, best, _KNOWING, 0.0, "detection")
        yield Rate(f"{what}: a kind and a node", said, beside, count, 0.08, "false alarm")


def _knowing(nodes: int, slow: int, size: float, launches: int, cov: float, seed: int) -> int:
    """Fleets with a kind that the rule tells from fleets without, by the nodes' means."""
    rng = np.random.default_rng((seed, 19))
    deviation = np.hypot(NATURE / np.sqrt(len(CELLS)), cov / np.sqrt(len(CELLS) * launches))
    share, apart = slow / nodes, np.log1p(size)
    clean = deviation * rng.standard_normal((_KNOWING, nodes))
    kinds = deviation * rng.standard_normal((_KNOWING, nodes))
    kinds[:, :slow] += apart
    # Without a kind the fleet has the same mean and deviation: those are no evidence.
    wide = float(np.sqrt(deviation**2 + share * (1.0 - share) * apart**2))

    def likelier(values: np.ndarray) -> np.ndarray:
        two = (1.0 - share) * norm.pdf(values, 0.0, deviation)
        two += share * norm.pdf(values, apart, deviation)
        return (np.log(two) - norm.logpdf(values, share * apart, wide)).sum(axis=1)

    limit = np.quantile(likelier(share * apart + clean * wide / deviation), 1.0 - FALSE)
    return int(np.count_nonzero(likelier(kinds) > limit))


def _false(trials: int, seed: int) -> Iterator[Rate]:
    """In every second fleet nodes differ alike in all cells."""
    for nodes, launches in ((50, 12), (400, 6)):
        count = trials if nodes < 100 else max(trials // 2, 10)
        for tail in (*TAILS, *RESERVED):
            kinds = 0
            for trial in range(count):
                rng = np.random.default_rng((seed, nodes, launches, 7, trial))
                costs = natural(rng, nodes, launches, tail, same=bool(trial % 2))
                fleet, _ = compare_within_kinds(costs, CELLS)
                kinds += len(set(fleet.kinds.tolist())) > 1
            said = f"4 cells x {launches} launches, CoV 1%, {tail}"
            what = f"{nodes} nodes of one kind: taken for several"
            yield Rate(what, said, kinds, count, FALSE, "false alarm")


def _different(trials: int, seed: int) -> Iterator[Rate]:
    """Nodes that are slow for different reasons."""
    for slow in (2, 4, 6):
        kinds = found = 0
        for trial in range(trials):
            rng = np.random.default_rng((seed, slow, 6, trial))
            costs = natural(rng, 50, 3)
            sizes = np.exp(rng.uniform(np.log(0.05), np.log(0.3), slow))
            costs[:slow] *= 1.0 + sizes[:, None, None]
            judged = judge(costs, CELLS)
            kinds += len(set(judged.fleet.kinds.tolist())) > 1
            found += len(set(judged.named) & set(range(slow)))
        said = "of 50, slow by 5 to 30% each, 4 cells x 3 launches, CoV 1%"
        what = f"{slow} nodes of different slowness"
        yield Rate(f"{what}: recognised as a kind", said, kinds, trials, 0.08, "false alarm")
        yield Rate(f"{what}: named", said, found, slow * trials, 0.8, "detection")
