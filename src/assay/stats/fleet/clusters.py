"""A second kind of nodes: values that form two clusters rather than one distribution with a tail.

Two models of a column's values are compared by their likelihoods: two normal clusters of the same
deviation, with a few values that belong to neither (a mixture, fitted by expectation maximisation:
A. P. Dempster, N. M. Laird, D. B. Rubin: Maximum likelihood from incomplete data via the EM
algorithm, Journal of the Royal Statistical Society B 39, 1977, 1-38), and one distribution: normal,
t, or shifted lognormal with the tail on either side. A long tail has no second cluster. Slow nodes
of different slowness have none, either: they are not close to each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Bools, Floats
from assay.stats.fleet.kinds import LEAST_GAP
from assay.stats.fleet.peers import ROBUST

# Minimum number of nodes of a kind: fewer are slow nodes. Three nodes that are slow for different
# reasons, by 2 to 20%, look like a cluster in 1 of 30 fleets, four in 1 of 250 (simulated).
LEAST_KIND = 4
# Minimum number of nodes that are searched for clusters.
_LEAST_NODES = 3 * LEAST_KIND
# By how much two clusters must be more likely than one distribution with a tail, and than scattered
# values, as logarithms, and the minimum distance of their means in deviations.
LIKELIER, GATHERED, APART = 7.0, 3.0, 3.0
# Share of values that belong to neither cluster.
_NEITHER = 0.02
# Maximum deviation within the smaller cluster over that within the larger one.
_WIDER = 1.7
# Shares of scattered values that are tried.
_SCATTERED = (0.02, 0.05, 0.1, 0.2, 0.3)
_FREEDOM = (2.5, 4.0, 8.0, 1e6)
_ROUNDS = 60
# Sizes of the smaller cluster from which the fit starts, as shares; distances of the lognormal
# distribution's end from the nearest value, in deviations.
_STARTS = (0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.27, 0.35, 0.5)
_ENDS = np.exp(np.linspace(-2.5, 4.0, 40))


@dataclass(frozen=True)
class Clusters:
    """Two clusters of values."""

    #: The logarithm of how many times more likely two clusters are than one distribution.
    likelier: float
    #: Which values belong to the upper cluster; values that belong to neither are in the nearer
    #: one.
    upper: Bools


def find_clusters(values: Floats, floor: float) -> Clusters | None:
    """The two clusters of finite values, or None if one distribution explains them.

    ``floor``: the minimum deviation within a cluster.
    """
    n = values.size
    if n < _LEAST_NODES or float(np.ptp(values)) <= floor:
        return None
    mean, deviation, share, fit = _mixture(values, floor)
    if not np.isfinite(fit):
        return None
    upper, member = _members(values, mean, deviation, share)
    small = upper if 2 * np.count_nonzero(upper) <= n else ~upper
    # Values that belong to neither cluster count the same in both models.
    outside = np.count_nonzero(~member) * (np.log(_NEITHER) - np.log(float(np.ptp(values))))
    inside = member.sum() * np.log(1.0 - _NEITHER)
    likelier = fit - outside - inside - _single(values[member], floor)
    apart = (mean[1] - mean[0]) / deviation
    near, rest = values[small & member], values[~small & member]
    if near.size < LEAST_KIND or likelier < LIKELIER:
        return None
    # Slow nodes farther away say that the cluster's nodes are slow ones that are near by chance.
    if np.count_nonzero(small & ~member) > near.size // 4:
        return None
    if apart < APART or mean[1] - mean[0] < LEAST_GAP:
        return None
    if fit - _scattered(values, floor, float(np.ptp(values) + mean[1] - mean[0])) < GATHERED:
        return None
    if near.std(ddof=1) > _WIDER * max(rest.std(ddof=1), floor):
        return None
    return Clusters(float(likelier), upper)


def _spread(values: Floats) -> float:
    return ROBUST * float(np.median(np.abs(values - np.median(values))))


def _normal(values: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Logarithms of normal densities [start, value]."""
    away = (values[None, :] - mean[:, None]) / deviation[:, None]
    return np.asarray(-0.5 * away**2 - np.log(deviation[:, None]) - 0.5 * np.log(2.0 * np.pi))


def _mixture(values: Floats, floor: float) -> tuple[Floats, float, float, float]:
    """The most likely two clusters: means, deviation, share of the upper one, log-likelihood."""
    n = values.size
    ordered = np.sort(values)
    sizes = {round(share * n) for share in _STARTS}
    cuts = sorted({cut for k in sizes for cut in (k, n - k) if LEAST_KIND <= cut <= n - LEAST_KIND})
    low = np.array([np.median(ordered[:cut]) for cut in cuts])
    high = np.array([np.median(ordered[cut:]) for cut in cuts])
    share = 1.0 - np.array(cuts) / n
    within = [
        np.concatenate([ordered[:c] - a, ordered[c:] - b])
        for c, a, b in zip(cuts, low, high, strict=True)
    ]
    deviation = np.maximum([_spread(each) for each in within], floor)
    background = np.log(_NEITHER) - np.log(float(np.ptp(values)))
    fit = np.full(len(cuts), -np.inf)
    for _ in range(_ROUNDS):
        below = np.log((1.0 - _NEITHER) * (1.0 - share))[:, None] + _normal(values, low, deviation)
        above = np.log((1.0 - _NEITHER) * share)[:, None] + _normal(values, high, deviation)
        total = np.logaddexp(np.logaddexp(below, above), background)
        fit = total.sum(axis=1)
        p_low, p_high = np.exp(below - total), np.exp(above - total)
        w_low, w_high = p_low.sum(axis=1) + 1e-9, p_high.sum(axis=1) + 1e-9
        low, high = (p_low @ values) / w_low, (p_high @ values) / w_high
        squares = (p_low * (values[None, :] - low[:, None]) ** 2).sum(axis=1)
        squares += (p_high * (values[None, :] - high[:, None]) ** 2).sum(axis=1)
        deviation = np.maximum(np.sqrt(squares / (w_low + w_high)), floor)
        share = np.clip(w_high / (w_low + w_high), LEAST_KIND / n / 2.0, 1.0 - LEAST_KIND / n / 2.0)
    best = int(np.argmax(fit))
    mean = np.array([low[best], high[best]])
    return mean, float(deviation[best]), float(share[best]), float(fit[best])


def _members(values: Floats, mean: Floats, deviation: float, share: float) -> tuple[Bools, Bools]:
    """Which values belong rather to the upper cluster than to the lower, and which to either."""
    both = _normal(values, mean, np.array([deviation, deviation]))
    both += np.log((1.0 - _NEITHER) * np.array([1.0 - share, share]))[:, None]
    neither = np.log(_NEITHER) - np.log(float(np.ptp(values)))
    return both[1] > both[0], both.max(axis=0) > neither


def _single(values: Floats, floor: float) -> float:
    """The log-likelihood of the most likely single distribution."""
    return max(_t(values, floor), _lognormal(values, floor), _lognormal(-values, floor))


def _scattered(values: Floats, floor: float, width: float) -> float:
    """The log-likelihood of one normal cluster with values scattered over a range of this width."""
    share = np.array(_SCATTERED)
    mean = np.full(share.size, np.median(values))
    deviation = np.full(share.size, max(_spread(values), floor))
    background = np.log(share)[:, None] - np.log(width)
    fit = share
    for _ in range(_ROUNDS):
        inside = np.log1p(-share)[:, None] + _normal(values, mean, deviation)
        total = np.logaddexp(inside, background)
        fit = total.sum(axis=1)
        weights = np.exp(inside - total)
        mean = (weights @ values) / weights.sum(axis=1)
        squares = (weights * (values[None, :] - mean[:, None]) ** 2).sum(axis=1)
        deviation = np.maximum(np.sqrt(squares / weights.sum(axis=1)), floor)
    return float(fit.max())


def _t(values: Floats, floor: float) -> float:
    """The most likely t distribution, by EM over its weights (K. L. Lange, R. J. A. Little, J. M.
    G. Taylor: Robust statistical modeling using the t distribution, Journal of the American
    Statistical Association 84, 1989, 881-896).
    """
    from scipy.special import gammaln

    freedom = np.array(_FREEDOM)[:, None]
    mean = np.full((freedom.size, 1), np.median(values))
    scale = np.full((freedom.size, 1), max(_spread(values), floor))
    for _ in range(_ROUNDS):
        weights = (freedom + 1.0) / (freedom + ((values - mean) / scale) ** 2)
        mean = (weights * values).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        squares = (weights * (values - mean) ** 2).mean(axis=1, keepdims=True)
        scale = np.maximum(np.sqrt(squares), floor)
    constant = gammaln((freedom + 1.0) / 2.0) - gammaln(freedom / 2.0)
    constant -= 0.5 * np.log(freedom * np.pi) + np.log(scale)
    away = ((values - mean) / scale) ** 2
    logs = constant - (freedom + 1.0) / 2.0 * np.log1p(away / freedom)
    return float(logs.sum(axis=1).max())


def _lognormal(values: Floats, floor: float) -> float:
    """The most likely lognormal distribution with its tail above, over places of its lower end."""
    end = values.min() - max(_spread(values), floor) * _ENDS
    logs = np.log(values[None, :] - end[:, None])
    width = values.mean() - end
    deviation = np.maximum(logs.std(axis=1), floor / width)
    fit = -values.size * (np.log(deviation) + 0.5 * np.log(2.0 * np.pi))
    fit -= 0.5 * ((logs - logs.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / deviation**2
    return float((fit - logs.sum(axis=1)).max())
