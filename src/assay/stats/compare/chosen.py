"""The best of several results: an estimate that allows for the choice of the best.

The smallest of several medians is the smallest partly by chance, and looks better than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.arrays import Bools, Floats
from assay.stats.core.intervals import Estimate, checked
from assay.units import Interval

# A result counts as comparable to the best if its median is less than this many standard errors of
# the difference away. With 30 equal results, nearly always all of them count as comparable.
COMPARABLE = 4.0
# The variance of a median of normal values over the variance of their mean.
OF_MEDIAN = math.pi / 2.0
_Z95 = 1.959963984540054


class ChosenEstimate(NamedTuple):
    """The estimate of a chosen result, with its 95% interval, and ``among`` how many comparable
    ones (itself included) it was chosen; 1 if it was clearly the best.
    """

    value: float
    #: 95% interval; None where there is none.
    interval: Interval | None
    among: int


def chosen_estimate(
    own: Estimate, values: Sequence[Sequence[float] | Floats], chosen: int
) -> ChosenEstimate:
    """The median of the best of several candidates, corrected for the choice.

    ``own``: its median with the interval of its own launches, in any unit. ``values``: the costs of
    each candidate's launches, above 0; ``chosen``: its place among them. Empirical Bayes: on
    logarithms the medians of the comparable candidates have a common mean, a variance between
    candidates (R. DerSimonian, N. Laird: Meta-analysis in clinical trials, Controlled Clinical
    Trials 7, 1986, 177-188) and their standard errors, from the pooled scatter of launches; the
    estimate is the chosen one's expectation given its median (B. Efron, C. Morris: Stein's
    estimation rule and its competitors, Journal of the American Statistical Association 68, 1973,
    117-130). The interval is the one of ``own``, extended to where it would lie around the
    estimate, so that it is never narrower. Without scatter, or other candidates, ``own`` is
    returned.
    """
    groups = [np.log(checked(each)) for each in values]
    medians = np.array([np.median(each) for each in groups])
    counts = np.array([each.size for each in groups])
    freedom = int((counts - 1).sum())
    varied = [each for each in groups if np.ptp(each) > 0.0]
    scatter = sum(float(((each - each.mean()) ** 2).sum()) for each in varied)
    if not varied:
        return ChosenEstimate(*own, 1)
    # A single value is its own median.
    errors = scatter / freedom * np.where(counts > 2, OF_MEDIAN, 1.0) / counts
    by, among = chosen_factor(medians, errors, chosen)
    return ChosenEstimate(own.value * by, extended(own.interval, by), among)


def squared_errors(
    medians: Sequence[float], variations: Sequence[float], launches: Sequence[int], chosen: int
) -> Floats:
    """The squared standard errors of medians of launches, on logarithms.

    ``medians``: their logarithms. ``variations``: coefficients of variation of the launches. Few
    launches show their own variation badly, so that of the candidates near the chosen one is
    pooled.
    """
    counts = np.asarray(launches, dtype=np.float64)
    squares = np.asarray(variations, dtype=np.float64) ** 2

    def errors(near: Bools) -> Floats:
        pooled = np.average(squares[near], weights=np.maximum(counts[near] - 1.0, 1.0))
        found: Floats = pooled * OF_MEDIAN / counts
        return found

    first = errors(np.ones(counts.size, dtype=np.bool_))
    apart = np.abs(np.asarray(medians) - medians[chosen])
    return errors(apart <= COMPARABLE * np.sqrt(first + first[chosen]))


def chosen_factor(
    medians: Sequence[float] | Floats, errors: Floats, chosen: int
) -> tuple[float, int]:
    """The expectation of a chosen result divided by its median, and the number of comparable ones.

    ``medians``: logarithms of all candidates' medians; ``errors``: their squared standard errors;
    ``chosen``: the place of the least or the greatest. 1 if it was clearly the best.
    """
    medians = np.asarray(medians, dtype=np.float64)
    apart = np.abs(medians - medians[chosen])
    near = apart <= COMPARABLE * np.sqrt(errors + errors[chosen])
    among = int(near.sum())
    if among < 2 or float(errors[near].min()) <= 0.0:
        return 1.0, 1 if among < 2 else among
    between = _between(medians[near], errors[near])
    weights = 1.0 / (errors[near] + between)
    common = float(np.average(medians[near], weights=weights))
    kept = between / (between + float(errors[chosen]))
    return math.exp((1.0 - kept) * (common - float(medians[chosen]))), among


def chosen_interval(
    ratios: Sequence[Estimate], chosen: int, errors: Floats | None = None
) -> tuple[Interval | None, int]:
    """The 95% interval of the least or the greatest of several ratios, extended for its choice.

    ``ratios``: positive, with their intervals. ``errors``: squared standard errors of their
    logarithms; without them they follow from the intervals and a normal distribution. The ratio
    itself stays the measured one. The interval is None where the chosen one has none. Also returns
    among how many comparable ratios it was chosen, itself included; 1 if it clearly is the extreme
    one.
    """
    own = ratios[chosen]
    known = [
        place
        for place, each in enumerate(ratios)
        if each.interval is not None and 0.0 < each.interval[0] <= each.value <= each.interval[1]
    ]
    if chosen not in known or len(known) < 2:
        return own.interval, 1
    if errors is None:
        ends = [ratios[place].interval or (1.0, 1.0) for place in known]
        squares = np.array([math.log(high / low) / (2.0 * _Z95) for low, high in ends]) ** 2
    else:
        squares = errors[known]
    medians = np.log([ratios[place].value for place in known])
    by, among = chosen_factor(medians, squares, known.index(chosen))
    return extended(own.interval, by), among


def extended(interval: Interval | None, by: float) -> Interval | None:
    """The interval, extended to where it would lie around the value times ``by``."""
    if interval is None:
        return None
    return min(interval[0], interval[0] * by), max(interval[1], interval[1] * by)


def _between(values: Floats, errors: Floats) -> float:
    """The variance between values with these squared standard errors, by moments; at least 0."""
    weights = 1.0 / errors
    total = float(weights.sum())
    common = float(np.average(values, weights=weights))
    excess = float((weights * (values - common) ** 2).sum()) - (values.size - 1)
    return max(excess / (total - float((weights**2).sum()) / total), 0.0)
