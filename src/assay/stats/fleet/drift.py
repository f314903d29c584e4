"""Drifts of nodes: nodes that become slower while their fleet does not.

Costs (logarithms) are taken relative to the fleet's on the same occasion and to the node's own over
all occasions (two-way: Tukey's median polish, 1977). The residuals are searched for a trend (least
squares over time) and for steps (mean after minus mean before, for each place with two occasions on
both sides). Each is divided by its standard deviation for independent occasions and compared with
the other nodes' of the same cell (``peers``), so that the natural variation of nodes is estimated
rather than assumed. Simes' p is taken over trend, places and cells, and Benjamini & Hochberg's
procedure is applied over nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.stats.core.multiple import corrected, corrected_rows
from assay.stats.fleet.fleet import FLOOR, LEVEL, logarithms
from assay.stats.fleet.peers import against_peers, median_down, reach

# Minimum number of occasions for a drift, and on each side of a step.
MIN_OCCASIONS = 4
_SIDE = 2
_POLISH = 4


@dataclass(frozen=True)
class Drift:
    """A node that became slower, in the cell with the smallest p."""

    node: int
    cell: int
    how: Literal["trend", "step"]
    #: Difference of logarithms of costs, from the first occasion to the last (trend) or at the
    #: step.
    size: float
    #: 95% interval of ``size``.
    interval: tuple[float, float]
    #: First occasion after the step; for a trend, the node's first occasion.
    since: int
    #: Number of the node's occasions.
    occasions: int
    #: p, adjusted over nodes.
    p: float


def find_drifts(
    costs: Floats, utc: Floats, kinds: Ints | None = None, level: float = LEVEL
) -> list[Drift]:
    """The nodes that became slower, the smallest p first.

    ``costs`` [node, cell, occasion]: positive, more is worse, nan for none. ``utc`` [occasion]:
    seconds, ascending. ``kinds`` [node]: nodes are compared within their kind.
    """
    logs = logarithms(costs)
    nodes, cells, occasions = logs.shape
    if nodes == 0 or cells == 0 or occasions < MIN_OCCASIONS:
        return []
    of_kind = np.zeros(nodes, dtype=np.int64) if kinds is None else kinds
    contrasts = [_trend(np.isfinite(logs), utc)]
    contrasts += [_step(np.isfinite(logs), place) for place in range(_SIDE, occasions - _SIDE + 1)]
    p = np.full((nodes, len(contrasts) * cells), np.nan)
    sizes, errors, fits = (np.full(p.shape, np.nan) for _ in range(3))
    for kind in np.unique(of_kind):
        rows = np.flatnonzero(of_kind == kind)
        rest = _polished(logs[rows])
        for number, (weights, spread) in enumerate(contrasts):
            columns = np.arange(cells) * len(contrasts) + number
            size = _sum(weights[rows] * np.nan_to_num(rest), weights[rows])
            wide = spread[rows]
            peers = against_peers(size / wide, floor=FLOOR)
            p[np.ix_(rows, columns)] = peers.p
            sizes[np.ix_(rows, columns)] = size - peers.centre * wide
            errors[np.ix_(rows, columns)] = peers.scale * wide * reach(peers.count)
            fits[np.ix_(rows, columns)] = sizes[np.ix_(rows, columns)] / wide
    tested = np.isfinite(p).any(axis=1)
    within = np.nan_to_num(corrected_rows(p), nan=2.0).min(axis=1)
    over = corrected(np.where(tested, within, np.nan), "bh")
    with np.errstate(invalid="ignore"):
        found = np.flatnonzero(over <= level)
    drifts = []
    for node in found:
        cell = int(np.nanargmin(p[node])) // len(contrasts)
        # The trend or step with the smallest residual sum of squares.
        number = int(np.nanargmax(fits[node, cell * len(contrasts) :][: len(contrasts)]))
        best = cell * len(contrasts) + number
        there = np.flatnonzero(np.isfinite(logs[node, cell]))
        much, half = float(sizes[node, best]), float(errors[node, best])
        after = there[there >= number + _SIDE - 1]
        drifts.append(
            Drift(
                node=int(node),
                cell=cell,
                how="step" if number else "trend",
                size=much,
                interval=(much - half, much + half),
                since=int(after[0] if number else there[0]),
                occasions=int(there.size),
                p=float(over[node]),
            )
        )
    return sorted(drifts, key=lambda drift: (drift.p, -drift.size, drift.node))


def _polished(logs: Floats) -> Floats:
    """The residuals [node, cell, occasion] after removal of nodes' and occasions' medians."""
    rest = logs.copy()
    for _ in range(_POLISH):
        rest -= median_down(np.moveaxis(rest, 2, 0))[:, :, None]
        rest -= median_down(rest)[None]
    return rest


def _sum(values: Floats, weights: Floats) -> Floats:
    """Sum over occasions; nan where all weights are 0."""
    return np.where(np.abs(weights).sum(axis=2) > 0.0, values.sum(axis=2), np.nan)


def _trend(there: npt.NDArray[np.bool_], utc: Floats) -> tuple[Floats, Floats]:
    """Least-squares weights of the change from a node's first occasion to its last, and its
    standard deviation if occasions have a standard deviation of 1; weights 0 and nan for too few
    occasions.
    """
    times = np.where(there, utc, np.nan)
    count = there.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(times, axis=2) / count
        away = np.where(there, utc - mean[:, :, None], 0.0)
        squares = (away**2).sum(axis=2)
        span = np.where(there, utc, -np.inf).max(axis=2) - np.where(there, utc, np.inf).min(axis=2)
        usable = (count >= MIN_OCCASIONS) & (squares > 0.0)
        weights = np.where(usable[:, :, None], away * (span / squares)[:, :, None], 0.0)
        spread = np.where(usable, span / np.sqrt(squares), np.nan)
    return weights, spread


def _step(there: npt.NDArray[np.bool_], place: int) -> tuple[Floats, Floats]:
    """The same for the mean from occasion ``place`` on minus the mean before it."""
    late = np.arange(there.shape[2]) >= place
    after, before = there & late, there & ~late
    n_after, n_before = after.sum(axis=2), before.sum(axis=2)
    usable = (n_after >= _SIDE) & (n_before >= _SIDE)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = after / n_after[:, :, None] - before / n_before[:, :, None]
        spread = np.where(usable, np.sqrt(1.0 / n_after + 1.0 / n_before), np.nan)
    return np.where(usable[:, :, None], np.nan_to_num(weights), 0.0), spread
