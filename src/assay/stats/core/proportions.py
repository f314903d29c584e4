"""Confidence intervals of proportions, and of the ratios of rates."""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.units import Interval


def clopper_pearson(found: int, of: int, confidence: float = 0.95) -> Interval:
    """Exact interval of a probability from ``found`` successes in ``of`` trials.

    Clopper & Pearson (1934): coverage is at least ``confidence`` for every probability. [0, 1]
    without trials. Raises AssayError unless 0 <= found <= of.
    """
    if not 0 <= found <= of:
        raise AssayError(f"{found} of {of} is not a proportion.")
    if of == 0:
        return 0.0, 1.0
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(found, of - found + 1, tail)) if found else 0.0
    high = float(betaincinv(found + 1, of - found, 1.0 - tail)) if found < of else 1.0
    return low, high


def clopper_pearson_all(found: Ints, of: Ints, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """`clopper_pearson` of many counts at once: the lower and the upper limits.

    ``found`` and ``of`` have the same shape, or one of them is a single number.
    """
    from scipy.special import betaincinv

    hits, trials = np.broadcast_arrays(np.asarray(found, float), np.asarray(of, float))
    if np.any((hits < 0.0) | (hits > trials)):
        raise AssayError("A count is not a proportion of its trials.")
    tail = (1.0 - confidence) / 2.0
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    some, rest = hits > 0.0, hits < trials
    low[some] = betaincinv(hits[some], trials[some] - hits[some] + 1.0, tail)
    high[rest] = betaincinv(hits[rest] + 1.0, trials[rest] - hits[rest], 1.0 - tail)
    return low, high


def rate_ratios(
    counts: Ints, others: Ints, scale: float, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Exact limits of the ratios of Poisson rates, from one count of each rate.

    Given their sum, the first count is binomial (Przyborowski & Wilenski 1940). ``scale``: what a
    count of ``counts`` stands for ÷ what a count of ``others`` stands for, such as the ratio of
    two sampling periods. A limit is inf if ``others`` may be 0, and 0 to inf without counts.
    """
    one = np.asarray(counts)
    low, high = clopper_pearson_all(one, one + np.asarray(others), confidence)
    with np.errstate(divide="ignore"):
        return scale * low / (1.0 - low), scale * high / (1.0 - high)


def rates_differ(counts: Ints, others: Ints, scale: float, margin: float = 0.0) -> Floats:
    """Exact two-sided p-values of the hypotheses that Poisson rates differ by at most ``margin``.

    ``margin``: a relative difference; the ratio of the rates lies between 1 / (1 + margin) and
    1 + margin. Twice the smaller tail of the binomial distribution in `rate_ratios`, at most 1.
    """
    from scipy.special import betainc

    one, other = np.asarray(counts, float), np.asarray(others, float)

    def at_least(found: Floats, rest: Floats, ratio: float) -> Floats:
        """Probability of at least ``found`` of ``found + rest``."""
        chance = ratio / (1.0 + ratio)
        result = np.ones(found.shape)
        some = found > 0.0
        result[some] = betainc(found[some], rest[some] + 1.0, chance)
        return result

    more = at_least(one, other, (1.0 + margin) / scale)
    fewer = at_least(other, one, (1.0 + margin) * scale)
    return np.asarray(np.minimum(2.0 * np.minimum(more, fewer), 1.0))
