"""Crossed factors: shares of variance.

Compiler, MPI and ranks per node have two levels each, and every combination is measured six times.
The logarithms of times have noise of 1%, normal or lognormal and skewed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.stats.compare.anova import Anova, anova

_LAUNCHES, _NOISE = 6, 0.01
_NAMES = ("compiler", "MPI", "ranks")
_PLACES = [place for place in itertools.product((0, 1), repeat=3) for _ in range(_LAUNCHES)]
_COLUMNS = {name: [f"{place[k]}" for place in _PLACES] for k, name in enumerate(_NAMES)}
# Cost of the first level of each factor, and of ranks with the other MPI, in logarithms.
_PLANTED = {"small": (0.01, 0.0, 0.02, 0.0), "large": (0.2, 0.02, 0.3, 0.05)}


def _effects(sizes: tuple[float, ...]) -> np.ndarray:
    return np.array([
        sizes[0] * c + sizes[1] * m + sizes[2] * r + sizes[3] * m * r for c, m, r in _PLACES
    ])  # fmt: skip


def _analysed(rng: np.random.Generator, sizes: tuple[float, ...], skewed: bool) -> Anova:
    noise = rng.standard_normal(len(_PLACES))
    if skewed:  # lognormal, with a mean of 0 and a standard deviation of 1
        noise = (np.exp(noise) - np.exp(0.5)) / np.sqrt((np.e - 1.0) * np.e)
    times = np.exp(_effects(sizes) + _NOISE * noise)
    return anova(times, _COLUMNS, sizes=True)


def _true_share(sizes: tuple[float, ...], factor: int) -> float:
    """By definition: the variance of the factor's means over all variance."""
    effects = _effects(sizes)[::_LAUNCHES].reshape(2, 2, 2)
    others = tuple(axis for axis in range(3) if axis != factor)
    own = effects.mean(axis=others)
    return float(own.var() / (effects.var() + _NOISE**2))


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Coverage of shares; a share of zero lies at the edge and is not tested."""
    for skewed, shape in ((False, "normal"), (True, "lognormal noise")):
        for name, sizes in _PLANTED.items():
            rng = np.random.default_rng((seed, len(name), skewed))
            few = max(trials // 4, 20)
            held = 0
            for _ in range(few):
                found = {e.factors: e for e in _analysed(rng, sizes, skewed).effects}
                own = found["compiler",]
                low, high = own.share_ci95 or (1.0, 0.0)
                held += low <= _true_share(sizes, 0) <= high
            planted = f"{shape}, {name} effects"
            yield Rate("95% interval of a factor's share", planted, held, few, 0.9, "coverage")
