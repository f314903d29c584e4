"""Whether a node lies outside of what the tail of its own fleet explains.

Nodes differ by nature, and not only normally: a fleet whose values have a long tail has a slowest
node that is far from the others. A node is therefore compared with the next ones. Its distance is
judged by a tail that is fitted to the fleet.

For each k up to a quarter of the fleet, the k slowest nodes are candidates. If they belong to the
fleet, each exceeds the next slower value as the tail S says: all of them lie beyond x[k] with
probability (S(x[k]) / S(x[k + 1]))^k (A. Renyi: On the theory of order statistics, Acta Mathematica
Hungarica 4, 1953, 191-231). The tail is fitted to the others. The candidates are known only to lie
beyond them (type II censoring), so that slow nodes don't lengthen it. Its family is a normal, t or
shifted lognormal distribution of unknown scale. Probabilities are averaged over all families and
scales with the weights that the fleet's values give them (predictive distributions: S. Geisser:
Predictive inference, 1993), so that what few nodes don't tell about the tail lengthens it.

A node that is slow in all cells of which others are independent is more conspicuous than in each of
them. The cells' p are combined as by R. A. Fisher (Statistical methods for research workers, 4th
edition, 1932, 21.1), with fewer cells the more the nodes' values correlate between cells.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.core.multiple import corrected_rows
from assay.stats.fleet.fleet import Fleet
from assay.stats.fleet.peers import MIN_VALUES, MOST_BAD, median_down

# Level at which a node lies outside of the tail. It, the weight of the normal distribution and the
# factor for nodes' values that correlate between cells were chosen by simulation: at most 8% of
# clean fleets of 50 and 400 nodes have such a node, for every tail in benchmarks/rates/fleets.py.
TAIL_LEVEL = 0.05
# Degrees of freedom of the t distributions, and deviations of the logarithms of the lognormal ones.
_FREEDOM = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
_SKEWS = (0.25, 0.5, 0.75, 1.0, 1.25)
# Weight of the normal distribution beforehand, over the weight of each other family.
_NORMAL = 8.0
# Scales of the families in units of the fleet's scatter, and the deviation of their logarithms from
# 0 beforehand.
_SCALES: Floats = np.exp(np.linspace(-2.5, 1.5, 33))
_SCALES_APART = 0.7
# The faster half is lognormal's with launches' normal scatter: its scale, as a logarithm per skew
# and its deviation beforehand. With this probability the faster half has a scale of its own.
_FASTER, _FASTER_APART, _FASTER_OWN = 0.2, 0.3, 0.1
# Number of nodes next to the candidates to which the tail is fitted. In large fleets the bulk says
# little about the tail: launches' scatter hides it.
_FITTED = 25
# Places of the tabulated distributions: logarithms of the deviation over the scale.
_PLACES: Floats = np.linspace(-9.0, 16.0, 2501)
_LEAST = 1e-9
# Share of the level for cells together; the rest is for single columns. A correlation between cells
# of 1 / _CORRELATED or more makes them one cell: their tail is seen once only, and p counts
# _DEPENDENT times as much.
_TOGETHER, _CORRELATED, _DEPENDENT = 0.8, 2.5, 5.0


def deviations(fleet: Fleet) -> Floats:
    """Deviations [node, column] from the usual node of the kind, in units of the scatter between
    nodes; of nodes with fewer launches than usual, in units of their larger scatter.
    """
    scale = fleet.scatter[fleet.kinds]
    of_kind = np.bincount(fleet.kinds)[fleet.kinds][:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = fleet.error**2 - scale**2 / of_kind
        more = np.maximum(noise - median_down(noise), 0.0)
        return np.asarray(fleet.shift / np.sqrt(scale**2 + more))


def beyond_tail(away: Floats, cells: int) -> Floats:
    """The probability that a clean fleet has a node this far beyond its others, for each node.

    ``away`` [node, column]: deviations, more is worse, nan where missing; the first ``cells``
    columns are cells. Adjusted over numbers of candidates and columns; nan for nodes without a
    value.
    """
    return _over_columns(_beyond_tails(away), cells, _correlation(away[:, :cells]))


def _beyond_tails(away: Floats) -> Floats:
    """The same in each column, adjusted over numbers of candidates only."""
    p = np.full(away.shape, np.nan)
    for column in range(away.shape[1]):
        there = np.flatnonzero(np.isfinite(away[:, column]))
        if there.size < MIN_VALUES:
            continue
        given = away[there, column] - np.median(away[there, column])
        order = np.argsort(-given, kind="stable")
        slower, faster = _halves(given)
        p[there, column] = 1.0
        of_slower = _blocks(slower, faster, max(1, int(MOST_BAD * there.size)))
        p[there[order[: slower.size]], column] = of_slower
    return p


def one_more(away: Floats, cells: int, sizes: Floats) -> Floats:
    """The p of ``beyond_tail`` of one more node, for each of several possible deviations.

    ``sizes`` [number, column]: deviations from the usual node, in the units of ``away``.
    """
    p = np.ones(sizes.shape)
    for column in range(away.shape[1]):
        there = away[np.isfinite(away[:, column]), column]
        if there.size < MIN_VALUES:
            continue
        slower, faster = _halves(there - np.median(there))
        log_tail, log_density = _tabulated(slower[: _FITTED + 1])
        fit = _fits(log_tail, log_density, np.zeros(1, dtype=np.int64))[:, 0]
        fit += log_tail[:, 0] + _prior(faster)
        weights = np.exp(fit - fit.max())
        weights /= weights.sum()
        beyond, _ = _tabulated(np.maximum(sizes[:, column], _LEAST))
        gap = np.minimum(beyond - log_tail[:, :1], 0.0)
        share = _shares(max(1, int(MOST_BAD * there.size)))[0]
        p[:, column] = np.minimum(weights @ np.exp(gap) / share, 1.0)
    return _over_columns(p, cells, _correlation(away[:, :cells]))


def _halves(given: Floats) -> tuple[Floats, Floats]:
    """The distances of the slower and of the faster half from the median, the farthest first."""
    ordered = np.sort(given)[::-1]
    half = given.size // 2
    return np.maximum(ordered[:half], _LEAST), np.maximum(-ordered[::-1][:half], _LEAST)


def _over_columns(p: Floats, cells: int, correlation: float) -> Floats:
    """One p of each row: Simes' over columns, and that of the cells together, in the last column
    and in Fisher's combination.
    """
    dependent = _DEPENDENT**correlation
    if cells < 2:
        return np.asarray(np.minimum(p[:, 0] * dependent, 1.0))
    both = np.stack([p[:, -1], _together(p[:, :cells], correlation)], axis=1)
    alone = _simes(p[:, :-1]) / (1.0 - _TOGETHER)
    return np.asarray(np.minimum(np.fmin(alone, _simes(both) / _TOGETHER) * dependent, 1.0))


def _simes(p: Floats) -> Floats:
    """Simes' p of each row; nan for rows without any."""
    there = np.isfinite(p).any(axis=1)
    return np.asarray(
        np.where(there, np.nan_to_num(corrected_rows(p), nan=2.0).min(axis=1), np.nan)
    )


def _together(p: Floats, correlation: float) -> Floats:
    """Fisher's combination of the cells' p, for the number of cells that are independent."""
    from scipy.special import gammaincc

    count = np.isfinite(p).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        surprise = -np.nansum(np.log(p), axis=1) / count
    cells = count / (1.0 + (count - 1.0) * correlation)
    return np.asarray(gammaincc(np.maximum(cells, _LEAST), cells * surprise))


def _correlation(away: Floats) -> float:
    """How much the cells of a node are alike, from 0 (independent) to 1, from rank correlations."""
    whole = away[np.isfinite(away).all(axis=1)]
    cells = away.shape[1]
    if whole.shape[0] <= MIN_VALUES or cells < 2:
        return 1.0
    ranks = np.argsort(np.argsort(whole, axis=0, kind="stable"), axis=0).astype(np.float64)
    mean = float((np.corrcoef(ranks.T).sum() - cells) / (cells * (cells - 1)))
    return min(max(_CORRELATED * mean, 0.0), 1.0)


def _blocks(slower: Floats, faster: Floats, most: int) -> Floats:
    """p of each of the slower nodes, the slowest first, over numbers of candidates up to ``most``.

    ``slower``, ``faster``: distances from the median, positive.
    """
    count = np.arange(1, min(most, slower.size) + 1)
    log_tail, log_density = _tabulated(slower[: count.size + _FITTED + 1])
    log_tail = np.concatenate([log_tail, np.zeros((log_tail.shape[0], 1))], axis=1)
    fit = _fits(log_tail, log_density, count) + _prior(faster)[:, None]
    fit += count * log_tail[:, count]
    fit -= fit.max(axis=0)
    weights = np.exp(fit)
    weights /= weights.sum(axis=0)
    gap = count * (log_tail[:, count - 1] - log_tail[:, count])
    p = (weights * np.exp(gap)).sum(axis=0) / _shares(count.size)
    result = np.ones(slower.size)
    result[: count.size] = np.minimum(np.minimum.accumulate(p[::-1])[::-1], 1.0)
    return result


def _fits(log_tail: Floats, log_density: Floats, count: Ints) -> Floats:
    """Log-likelihoods [family and scale, number] of the nodes next to ``count`` candidates.

    They are conditional on the first node that isn't used, or the median.
    """
    nodes = log_density.shape[1]
    sums = np.concatenate(
        [np.zeros((log_density.shape[0], 1)), np.cumsum(log_density, axis=1)], axis=1
    )
    end = np.minimum(count + _FITTED, nodes)
    # A fit that reaches the median has all nodes beyond it, and the tail there is 1.
    reached = np.where(end < nodes, log_tail[:, np.minimum(end, nodes - 1)], 0.0)
    return np.asarray(sums[:, end] - sums[:, count] - end * reached)


def _shares(most: int) -> Floats:
    """The share of the level for each number of candidates: half for one, fewer for more."""
    count = np.arange(1, most + 1)
    return np.asarray((most + 1) / most / (count * (count + 1.0)))


def _prior(faster: Floats) -> Floats:
    """Logarithms of the weights of all families and scales, given the faster half's distances."""
    _, log_density = _tabulated(faster)
    # As many faster nodes count as slower ones do.
    share = min(1.0, _FITTED / max(faster.size, 1))
    of_half = share * log_density.sum(axis=1).reshape(-1, _SCALES.size)
    scales = -0.5 * (np.log(_SCALES) / _SCALES_APART) ** 2
    scales -= _log_sum(scales)
    own = _log_sum(of_half[0] + scales)
    same = of_half.copy()
    for place, skew in enumerate(_SKEWS, 1 + len(_FREEDOM)):
        usual = np.log(_SCALES) + np.log(-np.expm1(-skew) / skew) + _FASTER * skew
        apart = -0.5 * ((np.log(_SCALES)[None, :] - usual[:, None]) / _FASTER_APART) ** 2
        same[place] = _log_sum(of_half[0] + apart) - _log_sum(apart)
    either = np.logaddexp(np.log1p(-_FASTER_OWN) + same, np.log(_FASTER_OWN) + own)
    family = np.zeros((same.shape[0], 1))
    family[0] = np.log(_NORMAL)
    return np.asarray((either + scales + family).ravel())


def _log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum of exponentials along the last axis."""
    most = logs.max(axis=-1, keepdims=True)
    return np.asarray((most + np.log(np.exp(logs - most).sum(axis=-1, keepdims=True)))[..., 0])


def _tabulated(values: Floats) -> tuple[Floats, Floats]:
    """Logarithms of the tail and of the density of positive values [family and scale, value]."""
    log_tail, log_density = _families()
    places = np.log(values)[None, :] - np.log(_SCALES)[:, None]
    at = (places - _PLACES[0]) / (_PLACES[1] - _PLACES[0])
    at = np.clip(at, 0.0, _PLACES.size - 1.001)
    low = at.astype(np.int64)
    part = at - low
    tail = log_tail[:, low] * (1.0 - part) + log_tail[:, low + 1] * part
    density = log_density[:, low] * (1.0 - part) + log_density[:, low + 1] * part
    density = density - np.log(_SCALES)[None, :, None]
    return tail.reshape(-1, values.size), density.reshape(-1, values.size)


@cache
def _families() -> tuple[Floats, Floats]:
    """Logarithms of the tail and density of half of each family at ``_PLACES``, for scale 1."""
    from scipy import stats

    x, two = np.exp(_PLACES), np.log(2.0)
    tails, densities = [two + stats.norm.logsf(x)], [two + stats.norm.logpdf(x)]
    for freedom in _FREEDOM:
        tails.append(two + stats.t.logsf(x, freedom))
        densities.append(two + stats.t.logpdf(x, freedom))
    for skew in _SKEWS:
        normal = np.log1p(skew * x) / skew
        tails.append(two + stats.norm.logsf(normal))
        densities.append(two + stats.norm.logpdf(normal) - np.log1p(skew * x))
    return np.array(tails), np.array(densities)
