"""Boosting of symmetric trees for the least absolute error.

Gradient boosting (Friedman 2001) with the sign of the residual as gradient, and medians in the
leaves. Each tree uses a random part of the rows, and each level a random part of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from assay.arrays import Floats, Ints
from assay.models.linpack.listed.forest import UNIT, Forest


@dataclass(frozen=True)
class ForestSettings:
    """Settings of a forest."""

    trees: int = 500
    depth: int = 6
    rate: float = 0.06
    #: Number of rows by which a leaf's value is shrunk to 0.
    prior: float = 8.0
    #: ``rows``, ``columns``: shares that each tree and level uses.
    rows: float = 0.7
    columns: float = 0.5
    bins: int = 48


def fit_forest(
    x: Floats, flags: Floats, y: Floats, weights: Floats, settings: ForestSettings, seed: int
) -> Forest:
    """Fit to ``y``. ``x``: numbers, NaN if missing. ``flags``: 0 or 1; their columns follow those
    of x."""
    random = np.random.default_rng(seed)
    cuts = [_cuts(column, settings.bins) for column in x.T]
    binned = [
        np.where(np.isnan(column), 0, np.searchsorted(cut, column)).astype(np.int64)
        for column, cut in zip(x.T, cuts, strict=True)
    ]
    sparse_flags = sparse.csr_matrix(flags.T)
    start = _weighted_median(y, weights)
    current = np.full(len(y), start)
    numbers = x.shape[1]
    columns = np.zeros((settings.trees, settings.depth), dtype=np.int64)
    bounds = np.zeros((settings.trees, settings.depth))
    leaves = np.zeros((settings.trees, 2**settings.depth))
    for tree in range(settings.trees):
        used = weights * (random.random(len(y)) < settings.rows)
        residual = y - current
        gradient = np.sign(residual) * used
        leaf = np.zeros(len(y), dtype=np.int64)
        for level in range(settings.depth):
            allowed = random.random(numbers + flags.shape[1]) < settings.columns
            column, bound = _best_split(
                binned=binned,
                cuts=cuts,
                flags=sparse_flags,
                gradient=gradient,
                weight=used,
                leaf=leaf,
                leaves=2**level,
                allowed=allowed,
                prior=settings.prior,
            )
            columns[tree, level], bounds[tree, level] = column, bound
            values = x[:, column] if column < numbers else flags[:, column - numbers]
            leaf += (values > bound).astype(np.int64) << level
        value = _leaf_medians(residual, used, leaf, 2**settings.depth, settings.prior)
        leaves[tree] = np.round(settings.rate * value / UNIT) * UNIT
        current += leaves[tree][leaf]
    return Forest(start, columns, bounds, leaves)


def _cuts(column: Floats, bins: int) -> Floats:
    """Bounds between bins with about equal numbers of values."""
    known = np.unique(column[~np.isnan(column)])
    if known.size < 2:
        return np.zeros(0)
    middle = (known[1:] + known[:-1]) / 2
    if middle.size <= bins:
        return middle
    quantiles = np.quantile(column[~np.isnan(column)], np.linspace(0, 1, bins + 2)[1:-1])
    return np.unique(middle[np.minimum(np.searchsorted(middle, quantiles), middle.size - 1)])


def _best_split(
    binned: list[Ints],
    cuts: list[Floats],
    flags: sparse.csr_matrix,
    gradient: Floats,
    weight: Floats,
    leaf: Ints,
    leaves: int,
    allowed: npt.NDArray[np.bool_],
    prior: float,
) -> tuple[int, float]:
    """The split with the largest sum over leaves of G² / (W + prior) on both sides."""
    total_g = np.bincount(leaf, gradient, leaves)
    total_w = np.bincount(leaf, weight, leaves)

    def gain(g: Floats, w: Floats) -> Floats:
        other_g, other_w = total_g - g, total_w - w
        return np.asarray((g**2 / (w + prior) + other_g**2 / (other_w + prior)).sum(axis=-1))

    best, found = -1.0, (0, np.inf)
    for index, (bins, cut) in enumerate(zip(binned, cuts, strict=True)):
        if not allowed[index] or not cut.size:
            continue
        at = bins * leaves + leaf
        size = (cut.size + 1) * leaves
        g = np.bincount(at, gradient, size).reshape(-1, leaves).cumsum(axis=0)[:-1]
        w = np.bincount(at, weight, size).reshape(-1, leaves).cumsum(axis=0)[:-1]
        gains = gain(g, w)
        place = int(gains.argmax())
        if gains[place] > best:
            best, found = float(gains[place]), (index, float(cut[place]))
    rows = np.arange(len(leaf))
    shape = (len(leaf), leaves)
    by_leaf_g = sparse.csr_matrix((gradient, (rows, leaf)), shape=shape)
    by_leaf_w = sparse.csr_matrix((weight, (rows, leaf)), shape=shape)
    gains = gain((flags @ by_leaf_g).toarray(), (flags @ by_leaf_w).toarray())
    gains[~allowed[len(binned) :]] = -1.0
    if gains.size and gains.max() > best:
        found = (len(binned) + int(gains.argmax()), 0.5)
    return found


def _leaf_medians(
    residual: Floats, weight: Floats, leaf: Ints, leaves: int, prior: float
) -> Floats:
    """Weighted median of each leaf, shrunk to 0 by ``prior``."""
    used = weight > 0
    residual, weight, leaf = residual[used], weight[used], leaf[used]
    order = np.lexsort((residual, leaf))
    residual, weight, leaf = residual[order], weight[order], leaf[order]
    ends = np.searchsorted(leaf, np.arange(leaves + 1))
    running = np.concatenate([[0.0], weight.cumsum()])
    value = np.zeros(leaves)
    for index in range(leaves):
        first, last = ends[index], ends[index + 1]
        if last > first:
            total = running[last] - running[first]
            half = running[first] + total / 2
            at = int(np.searchsorted(running[first + 1 : last + 1], half))
            value[index] = residual[first + min(at, last - first - 1)] * total / (total + prior)
    return value


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = values.argsort()
    running = weights[order].cumsum()
    return float(values[order][np.searchsorted(running, running[-1] / 2)])
