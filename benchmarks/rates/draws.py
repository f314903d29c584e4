"""Run times with a planted distribution, and trials of them, for the modules that try rates.

Times of 100 s with a coefficient of variation of 2%, unless stated otherwise: ``normal``;
``lognormal`` and ``t3``, whose tails are longer; ``long tail``: normal, and in 10% of the runs an
exponential delay with a mean of five standard deviations; ``two modes``: as on the T3E, 30% of the
runs 40% slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from rate import Kind, Rate
from scipy.special import ndtr

COV = 0.02
DAY = 86400.0
Rng = np.random.Generator
Draw = Callable[[Rng, int], np.ndarray]


def normal(rng: Rng, n: int) -> np.ndarray:
    return 100.0 * (1.0 + COV * rng.standard_normal(n))


def lognormal(rng: Rng, n: int, sigma: float = 0.5) -> np.ndarray:
    """Shifted, so that its mean is 100 and its standard deviation 2."""
    mean = math.exp(sigma**2 / 2.0)
    deviation = mean * math.sqrt(math.exp(sigma**2) - 1.0)
    return 100.0 + 100.0 * COV * (rng.lognormal(0.0, sigma, n) - mean) / deviation


def t3(rng: Rng, n: int) -> np.ndarray:
    # One in a hundred thousand would be a negative time.
    return np.maximum(100.0 * (1.0 + COV * rng.standard_t(3, n) / math.sqrt(3.0)), 1.0)


def long_tail(rng: Rng, n: int) -> np.ndarray:
    late = rng.random(n) < 0.1
    return normal(rng, n) + late * rng.exponential(500.0 * COV, n)


def two_modes(rng: Rng, n: int) -> np.ndarray:
    slow = rng.random(n) < 0.3
    return normal(rng, n) * np.where(slow, 1.4, 1.0)


def autocorrelated(rng: Rng, n: int, by: float = 0.5) -> np.ndarray:
    """AR(1), normal, with the same coefficient of variation."""
    noise = rng.standard_normal(n) * math.sqrt(1.0 - by**2)
    noise[0] /= math.sqrt(1.0 - by**2)
    for place in range(1, n):
        noise[place] += by * noise[place - 1]
    return 100.0 * (1.0 + COV * noise)


DRAWS: dict[str, Draw] = {"normal": normal, "lognormal": lognormal, "t3": t3}
SHAPES: dict[str, Draw] = {**DRAWS, "long tail": long_tail, "two modes": two_modes}

# The true coefficient of variation: for mixtures from the moments of their components.
_TAIL_MEAN = 100.0 + 0.1 * 500.0 * COV
_TAIL_SQUARE = 100.0**2 * (1 + COV**2) + 0.1 * (2 * 100.0 * 500.0 * COV + 2 * (500.0 * COV) ** 2)
TRUE_COV = {
    "normal": COV,
    "lognormal": COV,
    "t3": COV,
    "long tail": math.sqrt(_TAIL_SQUARE - _TAIL_MEAN**2) / _TAIL_MEAN,
}


def finishing(name: str, seconds: float) -> float:
    """The share of runs that take at most this long."""
    z = (seconds / 100.0 - 1.0) / COV
    if name == "normal":
        return float(ndtr(z))
    if name == "lognormal":
        mean = math.exp(0.125)
        x = mean + z * mean * math.sqrt(math.exp(0.25) - 1.0)
        return float(ndtr(2.0 * math.log(x))) if x > 0 else 0.0
    if name == "t3":
        from scipy.special import stdtr

        return float(stdtr(3, z * math.sqrt(3.0)))
    if name == "two modes":
        return float(0.7 * ndtr(z) + 0.3 * ndtr((seconds / 140.0 - 1.0) / COV))
    # A normal and an exponential delay with a mean of five deviations: their sum's distribution.
    rate = 1.0 / 5.0
    both = ndtr(z) - math.exp(rate**2 / 2.0 - rate * z) * ndtr(z - rate)
    return float(0.9 * ndtr(z) + 0.1 * both)


def count(trials: int, seed: tuple[int, ...], happens: Callable[[Rng], bool]) -> int:
    rng = np.random.default_rng(seed)
    return sum(happens(rng) for _ in range(trials))


class Table:
    """Creates rates, each with its own random numbers."""

    def __init__(self, trials: int, seed: int) -> None:
        self.trials, self.seed, self.simulated = trials, seed, 0

    def rate(
        self,
        what: str,
        planted: str,
        stated: float,
        kind: Kind,
        happens: Callable[[Rng], bool],
        share: float = 1.0,
    ) -> Rate:
        self.simulated += 1
        trials = max(int(self.trials * share), 1)
        found = count(trials, (self.seed, self.simulated), happens)
        return Rate(what, planted, found, trials, stated, kind)
