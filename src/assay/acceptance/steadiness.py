"""Promises of steadiness: how little launches or days may differ, decided with risks.

The measure is the coefficient of variation. Its interval is Bonett's, which allows for long tails
(``stats.core.summary``); its one-sided limits belong to the supplier's and the buyer's risk. No
interval can allow for tails that the launches don't show.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay.acceptance.contract import FEWEST_LAUNCHES, MOST_LAUNCHES
from assay.acceptance.decision import Dependence, Outcome
from assay.arrays import Floats
from assay.stats.cells.expected_coverage import UNKNOWN
from assay.stats.core.launches import ENOUGH, dependence_of
from assay.stats.core.summary import TAILED, coefficient_of_variation, cov_interval

# Numbers of values that a plan tries.
_SIZES = sorted(
    {*range(FEWEST_LAUNCHES, 60), *range(60, 200, 5), *range(200, MOST_LAUNCHES + 1, 20)}
)
# Series that a plan simulates at each of them, and their coefficient of variation.
_DRAWS, _SMALL = 400, 0.01
# Standard errors that are added to the autocorrelation of the launches themselves, as for the
# interval of one cell.
_ADDED = 1.5
_DAY = 86400.0


@dataclass(frozen=True)
class VariationDecision:
    """The decision on a variation."""

    outcome: Outcome
    #: Coefficient of variation; None under two values.
    value: float | None
    #: One-sided limits at the risks: the lower limit at the supplier's, the upper limit at the
    #: buyer's. None if the values don't bound the variation.
    low: float | None
    high: float | None
    #: Number of values, and their effective number for a variation.
    used: int
    worth: float
    #: Whether strong dependence was assumed because it could not be excluded.
    assumed: bool


def day_medians(values: Floats, utc: Floats) -> tuple[Floats, Floats]:
    """The median of each day's launches, and the begin of each day (UTC, s), in order of time."""
    days = np.floor(utc / _DAY)
    each = np.unique(days)
    return np.array([float(np.median(values[days == day])) for day in each]), each * _DAY


def decide_variation(
    values: Floats,
    at_most: float,
    margin: float,
    dependence: Dependence,
    supplier: float,
    buyer: float,
) -> VariationDecision:
    """Decide on the coefficient of variation of values in order of time.

    Rejected if the lower limit is above ``at_most``; accepted if the upper limit is at most
    ``at_most`` times 1 + ``margin``. Of both, the one that is farther from its limit counts. The
    decision is made once. Positive autocorrelation makes a sample vary less than the machine: the
    upper limit is raised by the expected ratio (first-order autoregression), and both allow for
    fewer independent values.
    """
    n = int(values.size)
    rho, assumed = _autocorrelation(values, dependence)
    worth = variance_size(n, rho)
    cov = coefficient_of_variation(values) if n > 1 else None

    def limits(risk: float) -> tuple[float, float] | None:
        if n < FEWEST_LAUNCHES:
            return None
        return cov_interval(values, 1.0 - 2.0 * risk, effective_n=worth, tailed=TAILED)

    below, above = limits(supplier), limits(buyer)
    low = None if below is None else below[0]
    high = None if above is None else above[1] * shrunk_by(n, rho)
    outcome: Outcome = "undecided"
    surplus = 0.0 if low is None else math.log(low / at_most)
    reserve = -1.0 if high is None else math.log(at_most * (1.0 + margin) / high)
    if surplus > 0.0 and surplus > reserve:
        outcome = "rejected"
    elif reserve >= 0.0:
        outcome = "accepted"
    return VariationDecision(
        outcome=outcome, value=cov, low=low, high=high, used=n, worth=worth, assumed=assumed
    )


@lru_cache(maxsize=64)
def values_needed(margin: float, supplier: float, buyer: float) -> int | None:
    """The number of independent normal values at which a variation exactly as promised is accepted
    with a probability of 1 - ``supplier``; None if ``MOST_LAUNCHES`` are too few.

    ``supplier``, ``buyer``: risks. By simulation, with a fixed seed.
    """
    place = bisect_left(
        _SIZES, True, key=lambda n: _accepted_share(n, margin, buyer) >= 1.0 - supplier
    )
    return _SIZES[place] if place < len(_SIZES) else None


def _accepted_share(n: int, margin: float, buyer: float) -> float:
    """The share of simulated series of n values at the promised variation that are accepted."""
    rng = np.random.default_rng(n)
    drawn = 1.0 + _SMALL * rng.standard_normal((_DRAWS, n))
    limit = _SMALL * (1.0 + margin)
    intervals = (cov_interval(values, 1.0 - 2.0 * buyer, tailed=TAILED) for values in drawn)
    return sum(each is not None and each[1] <= limit for each in intervals) / _DRAWS


def _autocorrelation(values: Floats, dependence: Dependence) -> tuple[float, bool]:
    """The autocorrelation to allow for, and whether it is only assumed."""
    n = int(values.size)
    own = dependence_of(values, added=_ADDED) if n >= ENOUGH else 0.0
    if dependence.known:
        return max(own, dependence.autocorrelation), False
    return (own, False) if n >= ENOUGH else (UNKNOWN, True)


def variance_size(n: int, rho: float) -> float:
    """The number of independent values whose variance is known as well as that of n values with a
    first-order autocorrelation of ``rho`` (M. Priestley: Spectral analysis and time series, 1981,
    5.3.3): squares are correlated by the squares of the autocorrelations."""
    lags = np.arange(1, n)
    return n / float(1.0 + 2.0 * np.sum((1.0 - lags / n) * rho ** (2 * lags))) if n else 0.0


def shrunk_by(n: int, rho: float) -> float:
    """How many times greater a standard deviation is than that of n dependent values."""
    lags = np.arange(1, n)
    alike = 1.0 + 2.0 * float(np.sum((1.0 - lags / n) * rho**lags))
    return math.sqrt((n - 1.0) / (n - alike)) if n > 1 else 1.0
