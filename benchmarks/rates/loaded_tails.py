"""Tails under load: ratios of a launch's loaded to its quiet quantile (network.congestion)

Each launch has as many operations per phase as the answer asks for at least, 10 beyond the
quantile. Launches differ by 5%, their ratios by 3%. The quantile of a launch is median-unbiased,
and the interval covers the median over launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from draws import Rng, Table
from rate import Rate
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri, stdtrit

from assay.questions.network.congestion.impacts import QUANTILES, needed_operations
from assay.stats.core.launches import launch_interval

LAUNCHES = (6, 12, 20)
STATED = 0.92
# Launches differ by this much, and their ratios.
OF_LAUNCHES, OF_RATIOS = 0.05, 0.03
# Draws of the 99.9th percentile take ten times as long.
FEWER = {"impact_p99": 1.0, "impact_p999": 0.25}
Draw = Callable[[Rng, tuple[int, int]], np.ndarray]


@dataclass(frozen=True)
class Times:
    """A distribution of an operation's times: draws of [launch, operation], and its quantiles."""

    draw: Draw
    quantile: Callable[[float], float]


def normal(factor: float = 1.0) -> Times:
    return Times(
        lambda rng, shape: factor * (1.0 + 0.05 * rng.standard_normal(shape)),
        lambda p: factor * (1.0 + 0.05 * float(ndtri(p))),
    )


def lognormal(sigma: float) -> Times:
    return Times(
        lambda rng, shape: np.exp(sigma * rng.standard_normal(shape)),
        lambda p: math.exp(sigma * float(ndtri(p))),
    )


def t3(factor: float = 1.0) -> Times:
    """Bounded below at a tenth of the median, which no upper quantile notices."""
    return Times(
        lambda rng, shape: factor * np.maximum(1.0 + 0.1 * rng.standard_t(3, shape), 0.1),
        lambda p: factor * (1.0 + 0.1 * float(stdtrit(3, p))),
    )


def mixture(slow: float) -> Times:
    """A part of the operations takes ten times as long."""

    def draw(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
        late = rng.random(shape) < slow
        return np.exp(0.05 * rng.standard_normal(shape)) * np.where(late, 10.0, 1.0)

    def quantile(p: float) -> float:
        def beyond(log: float) -> float:
            fast, late = ndtr(log / 0.05), ndtr((log - math.log(10.0)) / 0.05)
            return float((1.0 - slow) * fast + slow * late) - p

        return math.exp(brentq(beyond, -1.0, 4.0))

    return Times(draw, quantile)


def dependent(sigma: float, by: float = 0.7) -> Times:
    """Lognormal, and each operation depends on the one before, AR(1)."""

    def draw(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
        noise = rng.standard_normal(shape) * math.sqrt(1.0 - by**2)
        noise[:, 0] /= math.sqrt(1.0 - by**2)
        return np.exp(sigma * lfilter([1.0], [1.0, -by], noise, axis=1))

    return Times(draw, lognormal(sigma).quantile)


CASES: dict[str, tuple[Times, Times]] = {
    "normal, twice as long": (normal(), normal(2.0)),
    "lognormal, sigma 0.5, loaded 0.8": (lognormal(0.5), lognormal(0.8)),
    "t3, half as long again": (t3(), t3(1.5)),
    "normal, loaded t3": (normal(), t3()),
    "0.05% slow, loaded 0.5% slow": (mixture(0.0005), mixture(0.005)),
    "0.5% slow, loaded 2% slow": (mixture(0.005), mixture(0.02)),
    "2% slow, loaded 5% slow": (mixture(0.02), mixture(0.05)),
    "dependent operations, sigma 0.3, loaded 0.5": (dependent(0.3), dependent(0.5)),
}


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Coverage of the ratios of the 99th and 99.9th percentiles."""
    table = Table(trials, seed)
    for metric, (level, name) in QUANTILES.items():
        operations = needed_operations(metric)
        for case, times in CASES.items():
            for launches in LAUNCHES:
                yield table.rate(
                    f"the interval of the ratio of {name}s holds it",
                    f"{case}, {operations:,} operations, {launches} launches",
                    STATED,
                    "coverage",
                    covered(*times, level, operations, launches),
                    FEWER[metric],
                )
    quiet, loaded = CASES["0.5% slow, loaded 2% slow"]
    yield table.rate(
        "the interval of the ratio of 99th percentiles holds it",
        "launches that depend on each other, AR(1) 0.5, 0.5% slow, loaded 2% slow, 20 launches",
        STATED,
        "coverage",
        covered(quiet, loaded, 0.99, needed_operations("impact_p99"), 20, by=0.5),
    )


def covered(
    quiet: Times, loaded: Times, level: float, operations: int, launches: int, by: float = 0.0
) -> Callable[[Rng], bool]:
    """Whether the interval over launches holds the ratio of the true quantiles.

    ``by``: autocorrelation of the ratios of successive launches.
    """
    true = loaded.quantile(level) / quiet.quantile(level)
    shape = (launches, operations)

    def happens(rng: Rng) -> bool:
        base = np.exp(OF_LAUNCHES * rng.standard_normal(launches))
        noise = rng.standard_normal(launches) * math.sqrt(1.0 - by**2)
        noise[0] /= math.sqrt(1.0 - by**2)
        own = np.exp(OF_RATIOS * lfilter([1.0], [1.0, -by], noise))
        found = [
            np.quantile(times.draw(rng, shape), level, axis=1, method="median_unbiased") * scale
            for times, scale in ((quiet, base), (loaded, base * own))
        ]
        interval = launch_interval(found[1] / found[0])
        return interval is not None and interval[0] <= true <= interval[1]

    return happens
