"""Distributions fitted to few values, as tables of exceedance.

Beyond the highest tenth of the values, exceedances have a generalised Pareto distribution (J.
Pickands: Statistical inference using extreme order statistics, Annals of Statistics 3, 1975,
119-131; S. Coles: An Introduction to Statistical Modeling of Extreme Values, 2001, chapter 4). Few
values don't tell its shape. The table therefore has the posterior predictive distribution: the
average over all shapes and scales, weighted by their likelihood. Nodes' own levels have Student's t
distribution with the most plausible degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from assay.arrays import Floats
from assay.check.baseline.exceedance import GRID

#: Minimum standard deviation, in logarithms: what is measured to 0.1% is not known better.
FLOOR = 1e-3
# Rarer values come from two rounds (``decision/judgement.py``: AGAIN is larger).
_AGAIN = 0.01
# The share of values from which the Pareto distribution is fitted, unless these are fewer than
# _LEAST_TAIL, up to _MOST_SHARE.
_SHARE, _MOST_SHARE, _LEAST_TAIL = 0.1, 0.25, 12.0
# Minimum number of independent values beyond an observed quantile.
_OBSERVED = 8
# More exceedances are replaced by evenly spaced quantiles.
_MOST_FITTED = 1000
# Shapes that are tried, and their prior, normal: the tails of times on computers are between
# exponential (0) and Student's t with three degrees of freedom (1/3).
_SHAPES = np.linspace(-0.4, 0.8, 25)
_SHAPE_MEAN, _SHAPE_DEVIATION = 0.1, 0.2
# Scales that are tried, relative to the mean exceedance.
_SCALES = np.exp(np.linspace(-1.6, 1.6, 33))
# Reciprocal degrees of freedom that are tried, and the mean of their exponential prior.
_RECIPROCALS = np.linspace(0.0, 0.5, 51)[1:]
_RECIPROCAL_MEAN = 0.05
# Minimum distance of neighbours in a table.
_STEP = 1e-7
_DIGITS = 6


def check_table(singles: Floats, bests: Floats, checks: int) -> list[float]:
    """The table of a check's value, from deviations of single rounds and of the better of two.

    A check measures once, and again if its value is among the highest 1.5% of this table; its value
    is then the better of the two. Values below the 1% of the better of two are therefore single
    rounds, and values above are the better of two. ``checks``: number of independent values.
    """
    grid = np.array(GRID)
    first, second = tail_table(singles, checks), tail_table(bests, checks)
    limit = second[GRID.index(_AGAIN)]
    found = np.where(grid > _AGAIN, np.minimum(first, limit), second)
    return increasing(np.maximum(found, FLOOR * special.ndtri(1.0 - grid)))


def tail_table(values: Floats, independent: int) -> Floats:
    """The deviations exceeded with the probabilities of ``GRID``."""
    ordered = np.sort(values)
    share = min(max(_SHARE, _LEAST_TAIL / max(independent, 1)), _MOST_SHARE)
    grid = np.array(GRID)
    body = np.quantile(ordered, 1.0 - np.maximum(grid, share))
    threshold = float(np.quantile(ordered, 1.0 - share))
    above = ordered[ordered > threshold] - threshold
    scale = float(above.mean()) if above.size else 0.0
    if scale <= 0.0:
        return np.asarray(np.where(grid > share, body, threshold))
    weight = min(independent / ordered.size, 1.0)
    if above.size > _MOST_FITTED:
        weight *= above.size / _MOST_FITTED
        above = np.quantile(above, (np.arange(_MOST_FITTED) + 0.5) / _MOST_FITTED)
    beyond = _pareto_quantiles(above / scale, weight, grid[grid <= share] / share)
    fitted = np.concatenate([body[grid > share], threshold + scale * beyond])
    # Values that lie apart, such as a second mode, have no Pareto distribution.
    observed = np.quantile(ordered, 1.0 - grid)
    return np.where(grid * independent >= _OBSERVED, np.maximum(fitted, observed), fitted)


def _pareto_quantiles(above: Floats, weight: float, shares: Floats) -> Floats:
    """Quantiles of the predictive distribution of exceedances with a mean of 1."""
    shape = np.where(np.abs(_SHAPES) < 1e-6, 1e-6, _SHAPES)[:, None]
    scale = _SCALES[None, :]
    inside = 1.0 + shape[..., None] * above / scale[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(inside > 0.0, np.log(np.maximum(inside, 1e-300)), np.inf)
        likelihood = -above.size * np.log(scale) - (1.0 + 1.0 / shape) * logs.sum(axis=-1)
    likelihood = np.where(np.isfinite(likelihood), weight * likelihood, -np.inf)
    prior = -0.5 * ((shape - _SHAPE_MEAN) / _SHAPE_DEVIATION) ** 2
    posterior = np.exp(likelihood + prior - (likelihood + prior).max())
    posterior /= posterior.sum()

    def exceeds(at: Floats) -> Floats:
        reach = np.maximum(1.0 + shape[..., None] * at / scale[..., None], 0.0)
        with np.errstate(divide="ignore"):
            survival = np.where(reach > 0.0, reach ** (-1.0 / shape[..., None]), 0.0)
        return np.asarray((posterior[..., None] * survival).sum(axis=(0, 1)))

    low, high = np.zeros(shares.size), np.full(shares.size, 1e9)
    for _ in range(70):
        middle = np.where(high > 4.0, np.sqrt(np.maximum(low, 0.1) * high), 0.5 * (low + high))
        over = exceeds(middle) > shares
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return np.asarray(0.5 * (low + high))


def levels_table(levels: Floats, error: float) -> tuple[list[float], float]:
    """The table of nodes' own levels about their median, and their standard deviation.

    ``error``: the standard deviation of each level because of the scatter of its checks.
    """
    centred = levels - np.median(levels)
    total = max(1.4826 * float(np.median(np.abs(centred))), FLOOR)
    scale, freedom = _student(centred / total) if levels.size > 2 else (1.0, 1 / _RECIPROCAL_MEAN)
    deviation = max(np.sqrt(max((scale * total) ** 2 - error**2, 0.0)), FLOOR)
    quantiles = special.stdtrit(freedom, 1.0 - np.array(GRID))
    return increasing(deviation * quantiles), float(deviation)


def _student(values: Floats) -> tuple[float, float]:
    """The posterior means of the logarithm of the scale and of 1 / degrees of freedom."""
    reciprocal, scale = _RECIPROCALS[:, None], _SCALES[None, :]
    freedom = 1.0 / reciprocal
    logs = np.log1p((values / scale[..., None]) ** 2 * reciprocal[..., None]).sum(axis=-1)
    constant = special.gammaln((freedom + 1.0) / 2.0) - special.gammaln(freedom / 2.0)
    constant = constant - 0.5 * np.log(freedom) - np.log(scale)
    posterior = values.size * constant - (freedom + 1.0) / 2.0 * logs
    posterior = posterior - reciprocal / _RECIPROCAL_MEAN
    weights = np.exp(posterior - posterior.max())
    weights /= weights.sum()
    return (
        float(np.exp((weights * np.log(scale)).sum())),
        float(1.0 / (weights * reciprocal).sum()),
    )


def increasing(values: Floats) -> list[float]:
    """The values as a table: strictly increasing, rounded to a millionth."""
    rounded: list[float] = []
    for each in np.asarray(values).tolist():
        value = round(each, _DIGITS)
        if rounded and value <= rounded[-1]:
            value = round(rounded[-1] + _STEP, _DIGITS + 1)
        rounded.append(value)
    return rounded
