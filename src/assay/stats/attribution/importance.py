"""Shares of a cost's variance that several causes explain, with intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.stats.attribution.explanations import Explanation
from assay.units import Interval

RESAMPLES = 500
# Maximum number of blocks of time that are resampled.
BLOCKS = 2000
# Ridge relative to the normal equations' trace: keeps a resample with a single level solvable.
_RIDGE = 1e-9
# Minimum divisor, so that a column of zeros gives 0 and not nan.
_TINY = 1e-300


def shares_of(
    log_cost: Floats, chosen: Sequence[Explanation], dependence: float
) -> tuple[list[tuple[float, Interval]], float, Interval | None]:
    """Each chosen cause's share with its interval, and the unexplained rest with its interval.

    ``dependence``: measurements per independent one. Shares are of adjusted R², whose expectation
    is 0 for a cause without effect. They are averaged over the orders of the causes within a tier
    (Lindeman, Merenda & Gold 1980; Grömping 2006), more direct tiers first (Frye, Rowat & Feige
    2020). The coefficient of a cause whose lost seconds are known is bounded by these. Intervals:
    bootstrap over blocks of time.
    """
    if not chosen:
        return [], 1.0, None
    groups = [_regressors(each, log_cost) for each in chosen]
    limits = np.concatenate([_limits(*each) for each in zip(chosen, groups, strict=True)])
    tiers = [each.cause.tier for each in chosen]
    n = log_cost.size
    data = np.concatenate([np.full((n, 1), 1.0), (log_cost - log_cost.mean())[:, None], *groups], 1)
    widths = [group.shape[1] for group in groups]
    blocks = max(min(BLOCKS, int(n / max(dependence, 1.0))), min(n, 10))
    edges = np.linspace(0, n, blocks + 1).astype(np.int64)
    products = np.add.reduceat(data[:, :, None] * data[:, None, :], edges[:-1], axis=0)
    drawn = np.random.default_rng(n).multinomial(blocks, np.full(blocks, 1.0 / blocks), RESAMPLES)
    weights = np.concatenate([np.ones((1, blocks)), drawn])  # the data, and resamples
    grams = np.tensordot(weights, products, axes=(1, 0))
    values = averaged_over_orders(grams, widths, tiers, limits)
    values = np.maximum(values, 0.0)
    rests = np.clip(1.0 - values.sum(axis=1), 0.0, 1.0)
    ends = np.quantile(values[1:], (0.025, 0.975), axis=0)
    # Intervals contain their estimates.
    low, high = np.minimum(ends[0], values[0]), np.maximum(ends[1], values[0])
    rest_low, rest_high = np.quantile(rests[1:], (0.025, 0.975))
    rest = float(rests[0])
    return (
        [
            (float(share), (float(a), float(b)))
            for share, a, b in zip(values[0], low, high, strict=True)
        ],
        rest,
        (min(float(rest_low), rest), max(float(rest_high), rest)),
    )


def _regressors(candidate: Explanation, log_cost: Floats) -> Floats:
    """Columns of a candidate, centred and scaled; for a covariate, its values or its normal scores,
    whichever fit better.
    """
    if candidate.raw is None:
        columns = candidate.scores
    else:
        options = [candidate.raw - candidate.raw.mean(), candidate.scores[:, 0]]
        y = log_cost - log_cost.mean()
        fits = [float((x @ y) ** 2 / max(float(x @ x), _TINY)) for x in options]
        columns = options[int(np.argmax(fits))][:, None]
    return np.asarray(columns / np.maximum(columns.std(axis=0), _TINY), dtype=np.float64)


def _limits(candidate: Explanation, columns: Floats) -> Floats:
    """The maximum slope on each of a candidate's columns that its upper bound of cost allows."""
    if candidate.most is None:
        return np.full(columns.shape[1], np.inf)
    slopes = (columns.T @ candidate.most) / np.maximum((columns**2).sum(axis=0), _TINY)
    return np.asarray(np.maximum(slopes, 0.0))


def averaged_over_orders(
    grams: Floats, widths: Sequence[int], tiers: Sequence[int], limits: Floats | None = None
) -> Floats:
    """Shapley values of adjusted R² within tiers, earlier tiers given: (resamples, causes).

    ``limits``: upper bound of each regressor's coefficient; None: no bounds.
    """
    limits = np.full(sum(widths), np.inf) if limits is None else limits
    bounds = np.concatenate([np.full(2, np.inf), limits])
    ends = np.cumsum([2, *widths])
    columns = [list(range(a, b)) for a, b in itertools.pairwise(ends)]
    known: dict[frozenset[int], Floats] = {}

    def explained(causes: frozenset[int]) -> Floats:
        if causes not in known:
            used = [c for i in sorted(causes) for c in columns[i]]
            known[causes] = _adjusted(grams, used, bounds[used])
        return known[causes]

    values = np.zeros((grams.shape[0], len(widths)))
    before: frozenset[int] = frozenset()
    for tier in sorted(set(tiers)):
        members = [i for i, own in enumerate(tiers) if own == tier]
        m = len(members)
        for i in members:
            others = [j for j in members if j != i]
            for size in range(m):
                weight = math.factorial(size) * math.factorial(m - size - 1) / math.factorial(m)
                for some in itertools.combinations(others, size):
                    without = before | frozenset(some)
                    values[:, i] += weight * (explained(without | {i}) - explained(without))
        before |= frozenset(members)
    return values


def _adjusted(grams: Floats, columns: Sequence[int], limits: Floats) -> Floats:
    """Adjusted R² (Ezekiel 1930) of column 1 on column 0, the constant, and ``columns``.

    If a limit binds, the explained part is the covariance of the fitted values with column 1, so
    that the rest of the covariance is left to other columns.
    """
    count = grams[:, 0, 0]
    total = grams[:, 1, 1] - grams[:, 0, 1] ** 2 / count
    if not columns:
        return np.zeros(grams.shape[0])
    used = [0, *columns]
    normal = grams[:, used][:, :, used]
    normal = normal + _RIDGE * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(len(used))
    right = grams[:, used, 1]
    solved = _solved(normal, right, np.concatenate([[np.inf], limits]))
    rest = np.maximum(grams[:, 1, 1] - (solved * right).sum(axis=1), 0.0)
    freedom = np.maximum(count - 1.0 - len(columns), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1.0 - (rest / freedom) / (total / (count - 1.0))
    return np.asarray(np.where(total > 0.0, share, 0.0))


def _solved(normal: Floats, right: Floats, limits: Floats) -> Floats:
    """Coefficients by least squares; where they would exceed their limits, they are the limits."""
    solved = np.linalg.solve(normal, right[..., None])[..., 0]
    held = np.zeros(solved.shape, dtype=bool)
    while (over := (solved > limits) & ~held).any():
        held |= over
        which = held.any(axis=1)
        fixed = held[which]
        scale = np.abs(normal[which]).max(axis=(1, 2))[:, None]
        rows = np.where(fixed[..., None], scale[..., None] * np.eye(limits.size), normal[which])
        ends = np.where(fixed, scale * np.where(np.isfinite(limits), limits, 0.0), right[which])
        solved[which] = np.linalg.solve(rows, ends[..., None])[..., 0]
    return np.asarray(solved)
