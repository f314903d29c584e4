"""Coefficients of variation of two placements compared: equal ones called different, and found ones

Launches have a CoV of 4%, or 4 and 8%. The F test is the best test of normal launches; it is not
valid for others. The ratio of the two intervals is the test of earlier versions.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from draws import DRAWS, Draw, Rng, long_tail, normal
from rate import Rate
from scipy.stats import f as fisher

from assay.stats.compare.directions import LEVEL, compared
from assay.stats.compare.spreads import spreads_differ
from assay.stats.core.intervals import Estimate, ratio_interval
from assay.stats.core.summary import coefficient_of_variation, cov_interval

# Relative to the coefficient of variation of the draws.
EQUAL, LARGE = 2.0, 4.0


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Pairs with equal spreads called different, and pairs with different ones found."""
    for place, (name, draw) in enumerate({**DRAWS, "long tail": long_tail}.items()):
        for n in (12, 24, 40):
            rng = np.random.default_rng((seed, place, n))
            pairs = [(_times(rng, draw, n), _times(rng, draw, n)) for _ in range(trials)]
            yield Rate(
                "equal spreads are called different",
                f"{name}, {n} launches each",
                sum(spreads_differ(*pair, LEVEL) for pair in pairs),
                trials,
                0.005,
                "false alarm",
            )
    for n, least in ((12, 0.02), (24, 0.23), (40, 0.65)):
        rng = np.random.default_rng((seed, n))
        pairs = [(_times(rng, normal, n), _times(rng, normal, n, LARGE)) for _ in range(trials)]
        for test, name, stated in (
            (lambda one, other: spreads_differ(one, other, LEVEL), "", least),
            (_by_f, " by the F test at the same level", 0.0),
            (_by_intervals, " by the ratio of their intervals", 0.0),
        ):
            yield Rate(
                f"CoVs of 4 and 8% are distinguished{name}",
                f"normal, {n} launches each",
                sum(test(*pair) for pair in pairs),
                trials,
                stated,
                "detection",
            )


def _times(rng: Rng, draw: Draw, n: int, by: float = EQUAL) -> np.ndarray:
    return np.asarray(100.0 + by * (draw(rng, n) - 100.0))


def _by_f(one: np.ndarray, other: np.ndarray) -> bool:
    ratio = (other.std(ddof=1) / other.mean() / (one.std(ddof=1) / one.mean())) ** 2
    limit = float(fisher.isf(LEVEL / 2.0, other.size - 1, one.size - 1))
    return bool(ratio > limit or 1.0 / ratio > limit)


def _by_intervals(one: np.ndarray, other: np.ndarray) -> bool:
    known = [(coefficient_of_variation(each), cov_interval(each)) for each in (one, other)]
    (cov, ends), (than, ends_of_than) = known
    if cov is None or than is None or ends is None or ends_of_than is None:
        return False
    interval = ratio_interval(Estimate(cov, ends), Estimate(than, ends_of_than))
    found = compared(cov / than, interval, launches=one.size + other.size)
    return found.direction != "open"
