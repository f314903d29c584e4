"""The smallest step that the tests for changes detect in series like given runs, by simulation.

A step is reported if the sequential scan detects it and if the permutation test confirms it. Steps
of increasing size are added to permutations of the runs' own residuals, so that their modes, tails
and dependence count. Of both tests the parts that decide are repeated, for all permutations at
once: the scan's statistic at the place of the step with all its thresholds, and the gain of the
best split against the gain that permutations without a step exceed with probability ``level``.
docs/methods/history.md, "Too variable to tell", has the power of the whole method at these sizes.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from assay.arrays import Floats
from assay.stats.changes.reordering import critical_gain, gains_of, reordered
from assay.stats.changes.scan import (
    FIRST,
    FLOOR,
    LEAST_VARIANCE,
    LEVELS,
    ROBUST,
    SPLITS,
    WINDOW,
    block_of,
    clips_of,
    inflation,
    robust_scale,
    settled_runs,
    thresholds,
)
from assay.stats.core.combinations import can_reach

# Probability with which the smallest detectable step is detected; permutations; sizes, in standard
# deviations of a run.
POWER, _ORDERS = 0.8, 200
_SIZES = np.geomspace(0.1, 40.0, 25)
# Of longer series, this many runs are examined.
_LONGEST = 400


def detectable_step(
    residuals: Floats, before: int, after: int, *, rho: float, level: float
) -> float | None:
    """The smallest relative step that is detected with probability ``POWER``.

    ``residuals``: of ``before + after`` runs around their levels, in logarithms and in order of
    time. ``before`` and ``after``: numbers of runs before and after the step. ``rho``:
    autocorrelation of neighbouring runs. ``level``: p at which a step is reported. None if neither
    test can show a step in this few runs; infinite if the runs vary so much that no size suffices.
    """
    if not _possible(before, after, level):
        return None
    before, after = min(before, _LONGEST), min(after, _LONGEST)
    own = residuals - np.median(residuals)
    scale = robust_scale(own)
    own = own / scale
    critical = critical_gain(own, rho, level)
    if critical is None:
        return math.inf
    # Residuals around two fitted levels are smaller than deviations from the true ones.
    own = own * math.sqrt(own.size / max(own.size - 2, 1))
    rows = reordered(own, rho, _ORDERS)[:, -(before + after) :]
    powers = _Powers(rows, before, rho, critical)
    at = _first_at_least(powers, _expected(before, after, rho, critical))
    if at == _SIZES.size:
        return math.inf
    size = float(_SIZES[at])
    if at:
        part = (POWER - powers.of(at - 1)) / (powers.of(at) - powers.of(at - 1))
        size = float(_SIZES[at - 1] * (_SIZES[at] / _SIZES[at - 1]) ** part)
    return math.expm1(min(size * scale, 700.0))


def fewest_runs(level: float) -> int:
    """The number of runs from which on a step halfway through them can be detected at ``level``."""
    n = FIRST + SPLITS[0]
    while not _possible(*halves(n), level):
        n += 1
    return n


def halves(runs: int) -> tuple[int, int]:
    """Numbers of runs before and after a step halfway through them, and after the first test."""
    before = min(max(runs - runs // 2, FIRST), runs)
    return before, runs - before


def _possible(before: int, after: int, level: float) -> bool:
    """Whether the scan tests this many runs, and a permutation test can have a p of ``level``."""
    if before < FIRST or after < SPLITS[0]:
        return False
    return can_reach(before + after, min(before, after), level)


def _expected(before: int, after: int, rho: float, critical: float) -> int:
    """About the first size that is detected, of normal noise."""
    sizes = np.array([min(after, SPLITS[-1]), min(before, WINDOW)], dtype=np.float64)
    error = math.sqrt(float(np.sum(inflation(rho, sizes) / sizes)))
    by_scan = (float(thresholds(LEVELS[-1])[-1]) + 1.0) * error
    share = before / (before + after)
    by_order = math.sqrt(critical / (1.0 - critical) / (share * (1.0 - share)))
    return int(np.searchsorted(_SIZES, max(by_scan, by_order)))


def _first_at_least(powers: _Powers, expected: int) -> int:
    """The index of the first size that is detected with ``POWER``, searched outwards."""
    low, high, stride = 0, _SIZES.size, 1
    at = min(expected, _SIZES.size - 1)
    if powers.of(at) >= POWER:
        high = at
        while high > low and powers.of(max(high - stride, low)) >= POWER:
            high, stride = max(high - stride, low), 2 * stride
        low = max(high - stride, low)
    else:
        low = at + 1
        while low < high and powers.of(min(low + stride, high) - 1) < POWER:
            low, stride = min(low + stride, high), 2 * stride
        high = min(low + stride - 1, high)
    return low + bisect_left(range(low, high), POWER, key=powers.of)


class _Powers:
    """The share of rows in which steps after ``before`` runs are reported, by the steps' sizes.

    ``critical``: the gain that confirms a step.
    """

    def __init__(self, rows: Floats, before: int, rho: float, critical: float) -> None:
        self._rows = rows
        self._before = before
        self._rho = rho
        self._critical = critical
        self._known: dict[int, float] = {}
        # Scales by runs before the step don't depend on its size.
        self._scales: dict[int, tuple[Floats, Floats, Floats]] = {}

    def of(self, at: int) -> float:
        """The power for the size of this index."""
        if at not in self._known:
            self._known[at] = self._power(float(_SIZES[at]))
        return self._known[at]

    def _power(self, step: float) -> float:
        moved = self._rows + np.where(np.arange(self._rows.shape[1]) >= self._before, step, 0.0)
        confirmed = gains_of(_scores(moved)).max(axis=1) >= self._critical
        return float((self._scanned(moved) & confirmed).mean())

    def _scanned(self, rows: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the scan's statistic for the step exceeds its threshold, after any number of runs
        since then.
        """
        before, rho = self._before, self._rho
        found = np.zeros(rows.shape[0], dtype=bool)
        start = max(before - WINDOW, 0)
        m, scored = before - start, -1
        last = min(before + SPLITS[-1], rows.shape[1])
        for k, level in zip(SPLITS, LEVELS, strict=True):
            stop = before + k
            if stop > rows.shape[1]:
                break
            if (first := block_of(stop - 1)) != scored:
                scores, scored = self._scored(rows, first, start, last), first
                near = scores[:, : before - start]
                near_mean, near_variance = near.mean(axis=1), near.var(axis=1)
            far = scores[:, before - start : stop - start]
            df = m + k - 2
            variance = (near_variance * m + far.var(axis=1) * k) / df
            sizes = np.array([k, m], dtype=np.float64)
            error = np.sqrt(
                np.maximum(variance, LEAST_VARIANCE) * np.sum(inflation(rho, sizes) / sizes)
            )
            known = thresholds(level)
            found |= (far.mean(axis=1) - near_mean) / error > known[min(df, known.size - 1)]
        return found

    def _scored(self, rows: Floats, first: int, start: int, stop: int) -> Floats:
        """The scan's scores of the runs from ``start`` to before ``stop``, by the runs before
        ``first``.
        """
        scales = self._scales.get(first)
        if scales is None:
            known = rows[:, :first]
            centre = np.median(known, axis=1, keepdims=True)
            settled = known[:, : settled_runs(first)] - centre
            scale = _scales(settled)
            scales = centre, scale, clips_of(settled / scale)[:, None]
            if first <= self._before:
                self._scales[first] = scales
        centre, scale, clip = scales
        return np.asarray(np.clip((rows[:, start:stop] - centre) / scale, -clip, clip))


def _scales(rows: Floats) -> Floats:
    """``clipped_scale`` of each row, as a column."""
    limit = 3.0 * ROBUST * np.median(np.abs(rows), axis=1, keepdims=True)
    clipped = np.clip(rows, -limit, limit)
    return np.asarray(np.maximum(np.sqrt(np.mean(clipped**2, axis=1, keepdims=True)), FLOOR))


def _scores(rows: Floats) -> Floats:
    """``scores_of`` of each row."""
    z = rows - np.median(rows, axis=1, keepdims=True)
    z = z / np.maximum(ROBUST * np.median(np.abs(z), axis=1, keepdims=True), FLOOR)
    clip = clips_of(z)[:, None]
    return np.asarray(np.clip(z, -clip, clip))
