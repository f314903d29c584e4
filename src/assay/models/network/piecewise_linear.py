"""Piecewise linear fits: the exact best segmentation of a curve, and its number of pieces.

A piece is y = intercept + slope x, fitted by weighted least squares to relative residuals. For each
number of pieces and of outliers the best cut is found by dynamic programming (Bellman 1961; Bai &
Perron 2003, section 3) over all cuts. The numbers of both are decided by F tests, corrected for the
number of possible cuts (Bonferroni), at ``FALSE_ALARMS``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Indexes

# Probability of at least one false change or outlier in a curve that has none.
FALSE_ALARMS = 0.01
MAX_PIECES = 6
MAX_OUTLIERS = 3
# Two points always lie on a line; a third tests it.
MIN_POINTS = 3
# Relative scatter below which no piece is split; about a clock's resolution.
_FLOOR = 1e-3
# A point whose leverage differs from 1 by less than this determines its line. The value is above
# rounding errors of sums.
_MIN_FREE = 1e-6


@dataclass(frozen=True)
class Cut:
    """A curve in pieces."""

    #: Index of each piece's first point.
    firsts: tuple[int, ...]
    #: Outliers.
    left_out: tuple[int, ...]
    #: Sum of squared relative residuals.
    residual: float
    #: Points minus parameters.
    freedom: int

    def pieces(self, points: int) -> list[list[int]]:
        """The indices of each piece's points, without outliers."""
        ends = (*self.firsts[1:], points)
        return [
            [i for i in range(first, end) if i not in self.left_out]
            for first, end in zip(self.firsts, ends, strict=True)
        ]


def best_cut(x: Floats, y: Floats, scatter: Floats, most: int = MAX_PIECES) -> Cut | None:
    """The cut that the curve supports; None for fewer than ``MIN_POINTS`` points.

    ``x`` ascends, ``y`` is positive, ``scatter`` is each point's uncertainty relative to the
    others' (any scale). ``most``: maximum number of pieces.
    """
    if x.size < MIN_POINTS:
        return None
    cuts = _best_of_each(x, y, scatter, most)
    orders = sorted(cuts, key=lambda order: (2 * order[0] + order[1], order[0]))
    for number, order in enumerate(orders):
        larger = [other for other in orders[number + 1 :] if cuts[other].freedom >= 1]
        if not any(_improves(cuts, order, other, len(larger), x.size) for other in larger):
            return cuts[order]
    return None


def _improves(
    cuts: dict[tuple[int, int], Cut],
    plain: tuple[int, int],
    rich: tuple[int, int],
    tried: int,
    points: int,
) -> bool:
    """Whether the richer cut fits better than chance explains, given all places to cut."""
    from scipy.special import fdtrc

    less, more = cuts[plain], cuts[rich]
    parameters = less.freedom - more.freedom
    if parameters < 1 or more.residual >= less.residual:
        return False
    scale = max(more.residual / more.freedom, _FLOOR**2)
    chance = float(
        fdtrc(parameters, more.freedom, (less.residual - more.residual) / parameters / scale)
    )
    places = max(rich[0] - plain[0], 0) + max(rich[1] - plain[1], 0)
    return bool(chance * tried * points**places < FALSE_ALARMS)


def relative(y: Floats, scatter: Floats) -> Floats:
    """Square roots of the least-squares weights that make residuals relative."""
    roots: Floats = 1.0 / (y * scatter / float(np.median(scatter)))
    return roots


def _best_of_each(
    x: Floats, y: Floats, scatter: Floats, most: int = MAX_PIECES
) -> dict[tuple[int, int], Cut]:
    """The best cut for each number of pieces and of outliers that the points allow."""
    n = x.size
    whole, without, worst = piece_costs(x, y, scatter)
    costs = (whole, without)
    best: dict[tuple[int, int], Floats] = {(0, 0): np.full(n + 1, np.inf)}
    best[0, 0][0] = 0.0
    back: dict[tuple[int, int], tuple[Indexes, Indexes]] = {}
    orders = [
        (pieces, outliers)
        for pieces in range(1, most + 1)
        for outliers in range(min(MAX_OUTLIERS, pieces) + 1)
        if n - 2 * pieces - outliers >= 1 and pieces * MIN_POINTS + outliers <= n
    ]
    for pieces, outliers in orders:
        total, start, drops = np.full(n + 1, np.inf), np.zeros(n + 1, np.intp), np.zeros(n + 1, int)
        for dropped in (0, 1):
            before = best.get((pieces - 1, outliers - dropped))
            if before is None:
                continue
            # Rows: where the last piece begins; columns: where it ends.
            sums = before[:n, None] + costs[dropped]
            begin = np.argmin(sums, axis=0)
            lowest = sums[begin, np.arange(n)]
            better = lowest < total[1:]
            total[1:][better], start[1:][better] = lowest[better], begin[better]
            drops[1:][better] = dropped
        best[pieces, outliers], back[pieces, outliers] = total, (start, drops)
    return {
        order: _trace(order, back, worst, float(best[order][n]), n)
        for order in orders
        if math.isfinite(best[order][n])
    }


def _trace(
    order: tuple[int, int],
    back: dict[tuple[int, int], tuple[Indexes, Indexes]],
    worst: Indexes,
    residual: float,
    n: int,
) -> Cut:
    pieces, outliers = order
    end, firsts, left_out = n, [], []
    for depth in range(pieces, 0, -1):
        starts, drops = back[depth, outliers]
        first = int(starts[end])
        if drops[end]:
            left_out.append(int(worst[first, end - 1]))
            outliers -= 1
        firsts.append(first)
        end = first
    freedom = n - 2 * pieces - len(left_out)
    return Cut(tuple(reversed(firsts)), tuple(sorted(left_out)), max(residual, 0.0), freedom)


def piece_costs(x: Floats, y: Floats, scatter: Floats) -> tuple[Floats, Floats, Indexes]:
    """Misfit of a line through points i to j, with and without the point that fits worst.

    The third array holds the index of that point. A misfit is a sum of squared relative residuals;
    infinite for fewer than ``MIN_POINTS`` points, and for j < i. Leaving a point out lowers the
    misfit by e² / (1 - h), with its residual e and leverage h (Cook & Weisberg 1982, section 2.2).
    """
    n = x.size
    whole, without = np.full((n, n), np.inf), np.full((n, n), np.inf)
    worst = np.zeros((n, n), np.intp)
    root = relative(y, scatter)
    ones, slopes, target = root, root * x, root * y
    for i in range(n - MIN_POINTS + 1):
        v, u, z = ones[i:], slopes[i:], target[i:]
        vv, vu, uu = np.cumsum(v * v), np.cumsum(v * u), np.cumsum(u * u)
        vz, uz = np.cumsum(v * z), np.cumsum(u * z)
        enough = slice(MIN_POINTS - 1, None)
        vv, vu, uu, vz, uz = (sums[enough] for sums in (vv, vu, uu, vz, uz))
        size = vv * uu - vu * vu
        intercept, slope = (uu * vz - vu * uz) / size, (vv * uz - vu * vz) / size
        within = np.tri(n - i, dtype=bool)[enough]
        residuals = (z - intercept[:, None] * v - slope[:, None] * u) * within
        residual = np.sum(residuals**2, axis=1)
        leverage = (
            uu[:, None] * (v * v) - 2 * vu[:, None] * (v * u) + vv[:, None] * (u * u)
        ) / size[:, None]
        # A point that determines its line by itself has no residual.
        free = np.maximum(1 - leverage, _MIN_FREE)
        saved = np.where(leverage < 1 - _MIN_FREE, residuals**2 / free, 0.0)
        ends = np.arange(i + MIN_POINTS - 1, n)
        whole[i, ends] = residual
        worst[i, ends] = i + np.argmax(saved, axis=1)
        without[i, ends[1:]] = np.maximum(residual - saved.max(axis=1), 0.0)[1:]
    return whole, without, worst


def fit_line(x: Floats, y: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Intercept and slope by weighted least squares, and (A'WA)⁻¹; ``root``: √W."""
    design = np.stack([root, root * x], axis=1)
    # Columns scaled to equal norms: x spans many decades.
    size = np.linalg.norm(design, axis=0)
    inverse = np.linalg.inv((design / size).T @ (design / size)) / np.outer(size, size)
    return np.asarray(inverse @ (design.T @ (root * y))), np.asarray(inverse)


def other_places(
    cut: Cut, x: Floats, y: Floats, scatter: Floats, confidence: float = 0.95
) -> Iterator[tuple[int, int]]:
    """For each change, the last index certainly before it and the last at which it may begin.

    Only this change is moved. It may begin at any place where an F test at 1 - ``confidence``
    doesn't distinguish the misfit from the best one.
    """
    from scipy.special import fdtri

    kept = np.array([i for i in range(x.size) if i not in cut.left_out])
    whole, _, _ = piece_costs(x[kept], y[kept], scatter[kept])
    firsts = [int(np.searchsorted(kept, first)) for first in cut.firsts]
    limits = [*firsts, kept.size]
    freedom = max(cut.freedom, 1)
    for number in range(1, len(firsts)):
        first, here, end = limits[number - 1], limits[number], limits[number + 1]
        costs = {at: whole[first, at - 1] + whole[at, end - 1] for at in range(first + 1, end)}
        scale = max(cut.residual / freedom, _FLOOR**2)
        allowed = costs[here] + scale * float(fdtri(1, freedom, confidence))
        possible = [at for at, cost in costs.items() if cost <= allowed]
        yield int(kept[min(possible) - 1]), int(kept[max(possible)])
