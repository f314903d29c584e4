"""A second kind of nodes: values that form two clusters rather than one distribution with a tail.

Two models of a column's values are compared by their likelihoods. In the first, values have one
mode: all have one of the distributions of ``tails``, with the tail on either side, or a mixture of
two that overlap. In the second, two clusters have the same distribution at a distance (mixtures: G.
McLachlan & D. Peel: Finite mixture models, 2000, chapter 6). A long tail is in both and has no
second cluster. In both models some values belong to neither cluster. Slow nodes of different
slowness are such values: they aren't close to each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from assay.arrays import Bools, Floats
from assay.stats.fleet.kinds import LEAST_GAP
from assay.stats.fleet.peers import ROBUST
from assay.stats.fleet.tails import medians, models, places

# Minimum number of nodes of a kind: fewer are slow nodes. Three nodes that are slow for different
# reasons, by 2 to 20%, look like a cluster in 1 of 30 fleets, four in 1 of 250 (simulated).
LEAST_KIND = 4
# Minimum number of nodes that are searched for clusters.
_LEAST_NODES = 3 * LEAST_KIND
# By how much two clusters must be more likely than one mode, as a logarithm, and how much more per
# node. In clean fleets the ratio hardly depends on the number of nodes where the families have the
# nodes' distribution. What they lack of another one adds to it with each node.
_LIKELIER, _PER_NODE = 3.0, 0.01
# Share of values that belong to no cluster, and those that are tried for one distribution.
_NEITHER, _SCATTERED = 0.02, (0.02, 0.1, 0.2)
# Maximum deviation within the smaller cluster over that within the larger one.
_WIDER = 1.7
# Sizes of the clusters that are tried, as shares.
_SHARES = (0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.2, 0.24, 0.3, 0.4, 0.5)
# Mixtures without a valley: distances of their clusters in deviations, shares of the upper cluster,
# and by how many steps of the scale it is wider. (Normal clusters of the same size have a valley
# from two deviations on.)
_NEAR, _PARTS, _WIDTHS = (1.0, 2.0), (0.1, 0.25, 0.5, 0.75), (0, 1, 2, 3)
# Distance of three equal clusters in deviations: a flat top.
_FLAT = 1.75


@dataclass(frozen=True)
class Clusters:
    """Two clusters of values."""

    #: The logarithm of how many times more likely two clusters are than one distribution.
    likelier: float
    #: Which values belong to the upper cluster; values that belong to neither are in the nearer
    #: one.
    upper: Bools


@dataclass(frozen=True)
class _Fit:
    likelihood: float
    upper: Bools
    member: Bools


def least_likelier(nodes: int) -> float:
    """The minimum logarithm of the likelihood ratio at which a column of nodes has two clusters."""
    return _LIKELIER + _PER_NODE * nodes


def find_clusters(values: Floats, floor: float, error: float = 0.0) -> Clusters | None:
    """The two clusters of finite values, or None if one distribution explains them.

    ``floor``: the minimum deviation within a cluster. ``error``: the deviation of values that comes
    from launches, 0 if unknown.
    """
    if values.size < _LEAST_NODES or float(np.ptp(values)) < max(LEAST_GAP, floor):
        return None
    scale = max(ROBUST * float(np.median(np.abs(values - np.median(values)))), floor)
    given = (values - np.median(values)) / scale
    width = 2.0 * float(np.ptp(given))
    fits = [
        fit
        for side in (1.0, -1.0)
        for fit in _two(side * given, LEAST_GAP / scale, width, error / scale, side)
    ]
    if not fits:
        return None
    best = max(fits, key=lambda fit: fit.likelihood)
    single = max(_one(side * given, width, error / scale) for side in (1.0, -1.0))
    needed = least_likelier(values.size)
    if best.likelihood - single >= needed:
        one_mode = max(_one_mode(side * given, width, error / scale) for side in (1.0, -1.0))
        single = max(single, one_mode)
    upper, member = best.upper, best.member
    small = upper if 2 * np.count_nonzero(upper) <= values.size else ~upper
    near, rest = values[small & member], values[~small & member]
    if best.likelihood - single < needed or near.size < LEAST_KIND:
        return None
    # Slow nodes farther away say that the cluster's nodes are slow ones that are near by chance.
    if np.count_nonzero(small & ~member) > near.size // 4:
        return None
    if near.std(ddof=1) > _WIDER * max(rest.std(ddof=1), floor):
        return None
    return Clusters(best.likelihood - single, upper)


def _one(given: Floats, width: float, error: float) -> float:
    """The log-likelihood of the most likely single distribution."""
    density = models(error).density
    return float(
        max(
            np.log((1.0 - share) * density[:, at] + share / width).sum(axis=1).max()
            for at in (places(given - moved) for moved in medians(given.size))
            for share in _SCATTERED
        )
    )


def _one_mode(given: Floats, width: float, error: float) -> float:
    """The log-likelihood of the most likely mixture with one mode.

    Two clusters that are near each other, or of which the upper one is wider, have one mode, and so
    have three of the same size. Their shapes lie between those of the families, which many nodes
    would distinguish.
    """
    tried = models(error)
    fits = []
    for wider, apart, part, moved in product(_WIDTHS, _NEAR, _PARTS, medians(given.size)):
        rows = np.arange(tried.spread.size - wider * tried.families)[:, None]
        distance = apart * tried.spread[rows]
        low = moved - part * distance
        inside = (1.0 - part) * tried.density[rows, places(given - low)]
        above = tried.density[rows + wider * tried.families, places(given - low - distance)]
        inside += part * above
        fit = np.log((1.0 - _NEITHER) * inside + _NEITHER / width).sum(axis=1).max()
        # Two clusters of the same width have a parameter less (G. Schwarz: Estimating the dimension
        # of a model, Annals of Statistics 6, 1978, 461-464).
        fits.append(fit - (0.5 * math.log(given.size) if wider else 0.0))
    rows = np.arange(tried.spread.size)[:, None]
    for moved in medians(given.size):
        inside = np.zeros((tried.spread.size, given.size))
        for step in (-_FLAT, 0.0, _FLAT):
            at = places(given - moved - step * tried.spread[rows])
            inside += tried.density[rows, at] / 3.0
        fits.append(np.log((1.0 - _NEITHER) * inside + _NEITHER / width).sum(axis=1).max())
    return float(max(fits))


def _two(given: Floats, least: float, width: float, error: float, side: float) -> list[_Fit]:
    """The most likely two clusters for each size of the upper one of ``given``.

    ``given`` is the original values times ``side``. Clusters whose medians are nearer than
    ``least`` are left out.
    """
    n, ordered = given.size, np.sort(given)
    density = models(error).density
    found = []
    for size in sorted({max(LEAST_KIND, round(share * n)) for share in _SHARES}):
        low, high = np.median(ordered[: n - size]), np.median(ordered[n - size :])
        if high - low < least:
            continue
        lower = (1.0 - _NEITHER) * (1.0 - size / n) * density[:, places(given - low)]
        upper = (1.0 - _NEITHER) * size / n * density[:, places(given - high)]
        fit = np.log(lower + upper + _NEITHER / width).sum(axis=1)
        row = int(np.argmax(fit))
        above = upper[row] > lower[row]
        member = np.maximum(lower[row], upper[row]) > _NEITHER / width
        # Far beyond both medians the densities may cross again.
        above = np.where(given >= high, True, np.where(given <= low, False, above))
        found.append(_Fit(float(fit[row]), above if side > 0.0 else ~above, member))
    return found
