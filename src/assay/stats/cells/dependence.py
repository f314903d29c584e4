"""How much successive launches may depend on each other, by the other cells of a run.

Few launches of one cell don't show whether they depend on each other, and a cell whose launches
look independent by chance has an interval that is too narrow by chance. The evidence for a cell's
interval therefore comes from the other cells of the run, pooled. Cells of one launch share its
disturbances, so that many cells may be worth few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from assay.arrays import Floats
from assay.stats.cells.expected_coverage import UNKNOWN
from assay.stats.core.launches import MIN_ORDERED, mode_split
from assay.stats.core.warmup import mid_ranks

# Minimum number of independent other cells. With fewer their launches are too much alike those of
# the judged cell.
NEEDED = 4.0
# Standard errors up to the 84% limit of the autocorrelation, and those below zero at which modes
# that last count as seen: 5% of runs with modes that don't last.
_LIMIT, _LASTING = 1.0, -1.64
# Normal scores of n values show n / (n + 3.2) of the autocorrelation beyond its bias, because each
# short series is scaled by its own scatter: 0.66 at 6, 0.78 at 12, 0.90 at 30 launches, for
# autocorrelations from 0.1 to 0.9 (8,000 series each).
_SCALED = 3.2
# The autocorrelation to allow for if modes last.
_WITH_MODES = 0.75
# More cells add nothing to the evidence, and longer series have no bias to allow for.
_MOST_CELLS, _LONG = 256, 1000
_RHOS = np.linspace(0.0, 0.95, 96)
_NORMAL = NormalDist()


@dataclass(frozen=True)
class LaunchSeries:
    """The launches of one cell: their numbers in the run, ascending, and their values."""

    numbers: Sequence[int]
    values: Floats


@dataclass(frozen=True)
class DependenceLimit:
    """What other cells show about the launches of a cell."""

    #: Number of independent other cells.
    cells: float
    #: The greatest autocorrelation of successive launches that they permit.
    autocorrelation: float


def dependence_limits(cells: Sequence[LaunchSeries]) -> list[DependenceLimit]:
    """The limit for each cell of a run, from its other cells.

    The statistic is the sum over cells of the products of successive normal scores, divided by the
    sum of their squares. It is compared with its expectation in autoregressive series of the same
    lengths, which allows for the bias of short series. Its variance comes from random orders of
    launches, with the covariances of cells from their squared correlations: for equal cells with
    squared correlation c, m cells count as m / (1 + (m - 1) c).
    """
    usable = [place for place, cell in enumerate(cells) if _is_usable(cell)]
    if len(usable) > _MOST_CELLS:
        spread = np.linspace(0, len(usable) - 1, _MOST_CELLS).astype(int)
        usable = [usable[place] for place in spread]
    if not usable:
        return [DependenceLimit(0.0, UNKNOWN)] * len(cells)
    pool = _Pool([cells[place] for place in usable])
    places = {place: number for number, place in enumerate(usable)}
    return [pool.limit_without(places.get(place)) for place in range(len(cells))]


def _is_usable(cell: LaunchSeries) -> bool:
    return cell.values.size >= MIN_ORDERED and bool(np.ptp(cell.values) > 0.0)


class _Pool:
    """The pooled cells, and what remains of them without one."""

    def __init__(self, cells: Sequence[LaunchSeries]) -> None:
        sizes = np.array([cell.values.size for cell in cells])
        scores = [_scores(cell.values) for cell in cells]
        self._lagged = np.array([float(each[1:] @ each[:-1]) for each in scores])
        self._squares = np.array([float(each @ each) for each in scores])
        self._expected = np.array([_expected(min(int(size), _LONG)) for size in sizes])
        self._variances = _covariances(cells, scores, self._squares)
        self._own = np.diag(self._variances).copy()
        splits = [mode_split(cell.values) for cell in cells]
        self._stays = np.array([each.stays - each.expected if each else 0.0 for each in splits])
        self._of_stays = np.array([each.variance if each else 0.0 for each in splits])

    def limit_without(self, place: int | None) -> DependenceLimit:
        """The limit from all cells except the one at this place."""
        keep = np.ones(self._own.size, dtype=bool)
        variance = float(self._variances.sum())
        if place is not None:
            keep[place] = False
            variance += float(self._own[place] - 2.0 * self._variances[place].sum())
        own = float(self._own[keep].sum())
        if own <= 0.0:
            return DependenceLimit(0.0, UNKNOWN)
        shared = max(variance / own, 1.0)
        cells = float(np.count_nonzero(keep)) / shared
        if cells < NEEDED:
            return DependenceLimit(cells, UNKNOWN)
        squares = self._squares[keep]
        total = float(squares.sum())
        expected = squares @ self._expected[keep] / total
        found = max(float(self._lagged[keep].sum()) / total, float(expected[0]))
        found += _LIMIT * math.sqrt(own * shared) / total
        limit = float(np.interp(found, expected, _RHOS))
        stays = float(self._of_stays[keep].sum()) * shared
        if stays > 0.0 and float(self._stays[keep].sum()) < _LASTING * math.sqrt(stays):
            limit = max(limit, _WITH_MODES)
        return DependenceLimit(cells, limit)


def _scores(values: Floats) -> Floats:
    """Normal scores with mean 0; equal values have equal scores."""
    halves = np.rint(2.0 * mid_ranks(values)).astype(int)
    scores = _quantiles(int(values.size))[halves]
    return np.asarray(scores - scores.mean())


@lru_cache(maxsize=256)
def _quantiles(n: int) -> Floats:
    """The normal score of each half rank of n values (G. Blom, 1958)."""
    ranks = [max(half / 2.0, 0.5) for half in range(2 * n + 1)]
    return np.array([_NORMAL.inv_cdf((rank - 0.375) / (n + 0.25)) for rank in ranks])


@lru_cache(maxsize=256)
def _expected(n: int) -> Floats:
    """The expected products of successive values over the expected squares, at each of ``_RHOS``.

    Of the scores of n values of a first-order autoregressive series, less their mean.
    """
    rho = _RHOS[:, None]
    at = np.arange(n)
    means = ((1.0 - rho ** (at + 1)) + (1.0 - rho ** (n - at))) / (1.0 - rho) - 1.0
    means /= n
    whole = means.mean(axis=1)
    products = (n - 1) * (_RHOS + whole) - (means[:, 1:] + means[:, :-1]).sum(axis=1)
    found = products / (n - n * whole)
    return np.asarray(found[0] + (found - found[0]) * n / (n + _SCALED))


@lru_cache(maxsize=256)
def _variance(n: int) -> float:
    """Variance, over random orders, of the products of successive scores over the squares.

    A. Wald, J. Wolfowitz: An exact test for randomness in the non-parametric case based on serial
    correlation, Annals of Mathematical Statistics 14, 1943, 378-388, for a series without wrap.
    """
    scores = _quantiles(n)[2::2]
    fourth = float(np.sum(scores**4)) / float(np.sum(scores**2)) ** 2
    pairs = (1.0 - fourth) / n
    triples = 2.0 * (2.0 * fourth - 1.0) / (n * (n - 1.0))
    others = (3.0 - 6.0 * fourth) / (n * (n - 1.0))
    return pairs + triples + others - 1.0 / n**2


def _covariances(
    cells: Sequence[LaunchSeries], scores: Sequence[Floats], squares: Floats
) -> Floats:
    """The covariances of the cells' sums of products, by the launches that they have in common."""
    numbers = sorted({number for cell in cells for number in cell.numbers})
    columns = {number: column for column, number in enumerate(numbers)}
    table = np.zeros((len(cells), len(numbers)))
    present = np.zeros_like(table)
    for row, (cell, each) in enumerate(zip(cells, scores, strict=True)):
        places = [columns[number] for number in cell.numbers]
        table[row, places] = each
        present[row, places] = 1.0
    common = np.rint(present @ present.T).astype(int)
    parts = (table**2) @ present.T
    alike = (table @ table.T) ** 2 / np.maximum(parts * parts.T, 1e-300)
    # The expected square of the correlation of independent cells is 1 / (n - 1).
    chance = 1.0 / np.maximum(common - 1.0, 1.0)
    alike = np.where(common > 2, (alike - chance) / np.maximum(1.0 - chance, 1e-9), 0.0)
    np.fill_diagonal(alike, 1.0)
    sizes, index = np.unique(common, return_inverse=True)
    variances = np.array([_variance(max(int(size), MIN_ORDERED)) for size in sizes])
    return np.asarray(np.outer(squares, squares) * variances[index].reshape(common.shape) * alike)
