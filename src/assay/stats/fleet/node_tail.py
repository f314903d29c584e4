"""Whether a node lies outside of what the tail of its own fleet explains.

Nodes differ by nature, and not only normally: a fleet whose values have a long tail has a slowest
node that is far from the others. A node is therefore compared with the next ones. Its distance is
judged by tails that are fitted to the fleet (``tails``).

For each k up to a quarter of the fleet, the k slowest nodes are candidates. If they belong to the
fleet, each exceeds the next slower value as the tail S says: all of them lie beyond x[k] with
probability (S(x[k]) / S(x[k + 1]))^k (A. Renyi: On the theory of order statistics, Acta Mathematica
Hungarica 4, 1953, 191-231). The distributions are weighted by the likelihood of the other nodes.
The candidates are known only to lie beyond them (type II censoring), so that slow nodes don't
lengthen the tail. The probability is averaged with these weights (predictive distributions: S.
Geisser: Predictive inference, 1993), so that what few nodes don't tell about the tail lengthens it.
"""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.core.multiple import corrected_rows
from assay.stats.fleet.fleet import Fleet
from assay.stats.fleet.peers import MIN_VALUES, MOST_BAD, median_down
from assay.stats.fleet.tails import medians, places, tails

# Level at which a node lies outside of the tail. It holds in the mean over the distributions of
# ``tails``. For the worst ones of them the rate is up to 1.6 times as large (simulated): at most 8%
# of clean fleets have such a node.
TAIL_LEVEL = 0.05
# Share of the level for the column with most cells, and for a single candidate. The rest is for the
# other columns, and for several candidates: most for two.
_WHOLE, _ALONE = 0.75, 0.9
# Only this number of the largest gaps is examined in each column: a cluster of slow nodes has one.
_MOST_GAPS = 64


def deviations(fleet: Fleet) -> Floats:
    """Deviations [node, column] from the usual node of the kind, in units of the scatter between
    nodes; of nodes with fewer launches than usual, in units of their larger scatter.
    """
    scale = fleet.scatter[fleet.kinds]
    noise = _noise(fleet)
    with np.errstate(invalid="ignore", divide="ignore"):
        more = np.maximum(noise - median_down(noise), 0.0)
        return np.asarray(fleet.shift / np.sqrt(scale**2 + more))


def launch_errors(fleet: Fleet) -> Floats:
    """The usual error of nodes' values from their launches [column], over the nodes' scatter.

    It is 0 where it is unknown, since nodes have one launch each.
    """
    if not np.isfinite(fleet.within).any():
        return np.zeros(fleet.shift.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = median_down(_noise(fleet) / fleet.scatter[fleet.kinds] ** 2)
    return np.asarray(np.sqrt(np.maximum(np.nan_to_num(share), 0.0)))


def _noise(fleet: Fleet) -> Floats:
    """Variances of nodes' values that come from their launches [node, column]."""
    scale = fleet.scatter[fleet.kinds]
    several = np.bincount(fleet.kinds)[fleet.kinds][:, None]
    of_cell = np.arange(fleet.shift.shape[1]) < fleet.cells
    with np.errstate(invalid="ignore"):
        return np.asarray(fleet.error**2 - np.where(of_cell, scale**2 / several, 0.0))


def beyond_tail(away: Floats, errors: Floats) -> Floats:
    """The probability that a clean fleet has a node this far beyond its others, for each node.

    ``away`` [node, column]: deviations in units of their scatter, more is worse, nan where missing;
    the last column has most cells. ``errors`` [column]: as ``launch_errors``. Adjusted over numbers
    of candidates and columns; nan for nodes without a value.
    """
    p = np.full(away.shape, np.nan)
    for column, error in enumerate(errors.tolist()):
        there = np.flatnonzero(np.isfinite(away[:, column]))
        if there.size < MIN_VALUES:
            continue
        given = away[there, column] - np.median(away[there, column])
        order = np.argsort(-given, kind="stable")
        p[there[order], column] = _of_ordered(given[order], error)
    return _over_columns(p)


def one_more(away: Floats, errors: Floats, sizes: Floats) -> Floats:
    """The p of ``beyond_tail`` of one more node, for each of several possible deviations.

    ``sizes`` [number, column]: deviations from the usual node, in the units of ``away``.
    """
    p = np.full(sizes.shape, np.nan)
    for column, error in enumerate(errors.tolist()):
        there = away[np.isfinite(away[:, column]), column]
        if there.size < MIN_VALUES:
            continue
        given = np.sort(there - np.median(there))[::-1]
        weights, log_tail = _weighted(given, np.zeros(1, dtype=np.int64), error, more=1)
        beyond = _tail_at(sizes[:, column], given.size, error)
        gap = np.minimum(beyond - log_tail[:, :1], 0.0)
        p[:, column] = np.minimum(weights[:, 0] @ np.exp(gap) / _ALONE, 1.0)
    return _over_columns(p)


def _of_ordered(values: Floats, error: float) -> Floats:
    """p of each value, the slowest first, over numbers of candidates up to a quarter."""
    result = np.ones(values.size)
    most = max(1, int(MOST_BAD * values.size))
    gaps = values[:most] - values[1 : most + 1]
    count = np.sort(np.argsort(-gaps, kind="stable")[:_MOST_GAPS]) + 1
    weights, log_tail = _weighted(values, count, error)
    gap = count * np.minimum(_tail_at(values[count - 1], values.size, error) - log_tail, 0.0)
    p = (weights * np.exp(gap)).sum(axis=0) / _shares(count)
    # A node is a candidate of its own number and of all larger ones.
    for last, own in zip(count[::-1].tolist(), p[::-1].tolist(), strict=True):
        result[:last] = np.minimum(result[:last], own)
    return result


def _weighted(values: Floats, count: Ints, error: float, more: int = 0) -> tuple[Floats, Floats]:
    """Weights of all distributions [distribution, number] by the values after ``count`` candidates,
    and logarithms of their tails at the first of these values.

    ``more``: number of candidates that aren't among the values.
    """
    density = tails(error).density
    sums = []
    for moved in medians(values.size):
        own = density[:, places(values - moved)].astype(np.float64)
        sums.append(np.cumsum(own[:, ::-1], axis=1)[:, ::-1][:, count])
    log_tail = _tail_at(values[count], values.size, error)
    beforehand = np.tile(tails(error).weight, len(sums))[:, None]
    fit = np.concatenate(sums) + beforehand + (count + more) * log_tail
    weights = np.exp(fit - fit.max(axis=0))
    return weights / weights.sum(axis=0), log_tail


def _tail_at(values: Floats, nodes: int, error: float) -> Floats:
    """Logarithms of the tails of all distributions [distribution, value]."""
    tail = tails(error).tail
    return np.concatenate([tail[:, places(values - moved)] for moved in medians(nodes)]).astype(
        np.float64
    )


def _shares(count: Ints) -> Floats:
    """The share of the level for each number of candidates."""
    several = np.maximum(count, 2)
    return np.where(count == 1, _ALONE, (1.0 - _ALONE) / (several * (several - 1.0)))


def _over_columns(p: Floats) -> Floats:
    """One p of each row: of the column with most cells, and Simes' over the others."""
    if p.shape[1] == 1:
        return np.asarray(p[:, 0])
    others = corrected_rows(p[:, :-1])
    there = np.isfinite(others).any(axis=1)
    least = np.where(there, np.nan_to_num(others, nan=2.0).min(axis=1), np.nan)
    return np.asarray(np.minimum(np.fmin(p[:, -1] / _WHOLE, least / (1.0 - _WHOLE)), 1.0))
