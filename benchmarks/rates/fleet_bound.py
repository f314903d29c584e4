"""A slow node among 50 that differ alike in all cells: named, and the most that any rule can name

Nodes differ normally. The bound is the power of the most powerful test of a clean fleet against a
fleet with one slow node of the planted size, at a level of 8%, that doesn't know the location and
the scale of the nodes' differences. It knows that they are normal or have one of the other
distributions, of which it may accuse 8% of the clean fleets, too. It is the likelihood ratio
against the least favourable mixture of distributions, with location and scale integrated (E.
Lehmann, J. Romano: Testing statistical hypotheses, 2005, chapters 6 and 8). Any other mixture is
also a bound. It names a fleet, not a node, uses the whole level for all cells together, and knows
the size of the slow node: no rule can do all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from fleet_draws import CELLS, NATURE, TAILS, Array, named, natural, slowed
from rate import Rate
from scipy import stats
from scipy.special import logsumexp

CLEAN, NODES, SIZE = 0.08, 50, 0.05
# Places of the tables of densities, in deviations of a node's mean.
_STEP, _FAR = 0.01, 120.0
_AT: Array = np.arange(-_FAR, _FAR, _STEP)
# Scales, and locations in units of these, relative to the median and its absolute deviation.
_SCALES, _PLACES = np.exp(np.linspace(-0.7, 0.7, 15)), np.linspace(-0.5, 0.5, 7)
_ROUNDING, _LEAST = 1e-9, 1e-300
_ITERATIONS, _RATE = 300, 4.0

Density = Callable[[Array], Array]


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Ours beside the bound, by the number of launches."""
    for launches, stated in ((3, 0.88), (6, 0.95), (12, 0.96)):
        found = 0
        for trial in range(max(trials // 5, 20)):
            rng = np.random.default_rng((seed, launches, 5, trial))
            costs = natural(rng, NODES, launches, same=True)
            found += 3 in named(slowed(costs, [3], SIZE))
        what = f"a node {SIZE:.0%} slow among {NODES}: named"
        said = f"4 cells x {launches} launches, nodes differ normally, alike in all cells"
        yield Rate(what, said, found, max(trials // 5, 20), stated, "detection")
        fleets = max(2 * trials, 100)
        best = round(fleets * _bound(launches, fleets, seed))
        what += " at most, by any rule that doesn't know the distribution"
        yield Rate(what, said, best, fleets, 0.0, "detection")


def _densities() -> dict[str, Density]:
    """Densities of the differences of ``TAILS``, with a deviation of 1."""
    t3, t5 = np.sqrt(3.0), np.sqrt(5.0 / 3.0)
    return {
        "normal": stats.norm.pdf,
        "t with 5": lambda x: stats.t.pdf(x * t5, 5) * t5,
        "t with 3": lambda x: stats.t.pdf(x * t3, 3) * t3,
        "lognormal, sigma 0.5": lambda x: _lognormal(x, 0.5, 0.604),
        "lognormal, sigma 1": lambda x: _lognormal(x, 1.0, 2.161),
    }


def _lognormal(x: Array, sigma: float, deviation: float) -> Array:
    return np.asarray(stats.lognorm.pdf(1.0 + deviation * x, sigma) * deviation)


def _bound(launches: int, fleets: int, seed: int) -> float:
    """The share of fleets with a slow node that the best test recognises."""
    rng = np.random.default_rng((seed, launches))
    error = 0.01 / np.sqrt(len(CELLS) * launches)
    deviation = np.hypot(NATURE, error)
    nature, error = NATURE / deviation, error / deviation
    size = float(np.log1p(SIZE) / deviation)
    normal = np.asarray(stats.norm.logpdf(_AT))
    slow = rng.standard_normal((fleets, NODES))
    slow[:, 0] += size
    tables, fleets_of, ratios = [], [], []
    for name, density in _densities().items():
        tables.append(_with_error(density, nature, error))
        clean = nature * TAILS[name](rng, (fleets, NODES))
        clean += error * rng.standard_normal((fleets, NODES))
        fleets_of.append(clean)
    against = _likelihood(normal, slow, size)
    under = np.array([_likelihood(table, slow) for table in tables])
    for clean in fleets_of:
        own = np.array([_likelihood(table, clean) for table in tables])
        ratios.append((_likelihood(normal, clean, size), own))
    return _least_power(against, under, ratios)


def _least_power(against: Array, under: Array, ratios: list[tuple[Array, Array]]) -> float:
    """The least power over mixtures, whose weights grow where too many clean fleets are named."""
    weights, least = np.full(len(ratios), 1.0 / len(ratios)), 1.0
    for _ in range(_ITERATIONS):
        logs = np.log(np.maximum(weights, _ROUNDING))[:, None]
        clean = [one - logsumexp(all_ + logs, axis=0) for one, all_ in ratios]
        values = np.concatenate(clean)
        order = np.argsort(-values)
        level = np.cumsum(np.repeat(weights, clean[0].size)[order] / clean[0].size)
        limit = values[order][np.searchsorted(level, CLEAN)]
        least = min(least, float(np.mean(against - logsumexp(under + logs, axis=0) > limit)))
        weights *= np.exp(_RATE * (np.array([np.mean(one > limit) for one in clean]) - CLEAN))
        weights /= weights.sum()
    return least


def _with_error(density: Density, nature: float, error: float) -> Array:
    """Logarithms of the density of differences with the launches' error."""
    own = np.nan_to_num(density(_AT / nature) / nature)
    smooth = np.fft.rfft(stats.norm.pdf(_AT, 0.0, error), 2 * _AT.size)
    both = np.fft.irfft(np.fft.rfft(own, 2 * _AT.size) * smooth, 2 * _AT.size) * _STEP
    both = both[_AT.size // 2 : _AT.size // 2 + _AT.size]
    return np.asarray(np.log(np.maximum(np.where(both < _ROUNDING, own, both), _LEAST)))


def _likelihood(table: Array, values: Array, slow: float = 0.0) -> Array:
    """Logarithms of the likelihood of fleets, with location and scale integrated.

    With ``slow``, one of the nodes, any of them, is slower by this.
    """
    centred = values - np.median(values, axis=1)[:, None]
    given = centred / (1.4826 * np.median(np.abs(centred), axis=1)[:, None])
    terms = []
    for scale in _SCALES:
        for place in _PLACES:
            logs = _at(table, (given - place) / scale)
            term = logs.sum(axis=1) - NODES * np.log(scale)
            if slow:
                moved = _at(table, (given - place) / scale - slow)
                term += logsumexp(moved - logs, axis=1) - np.log(NODES)
            terms.append(term)
    return np.asarray(logsumexp(np.array(terms), axis=0))


def _at(table: Array, x: Array) -> Array:
    near = np.rint((x - _AT[0]) / _STEP).astype(np.int64)
    return np.asarray(table[np.clip(near, 0, _AT.size - 1)])
