"""Series of step times with planted effects, for the tests and for benchmarks/rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


def normal(rng: np.random.Generator, n: int) -> Floats:
    """0.1 s with a CoV of 2%."""
    return 0.1 * (1.0 + 0.02 * rng.standard_normal(n))


def lognormal(rng: np.random.Generator, n: int) -> Floats:
    """Skewed: 0.1 s and a long right tail."""
    return 0.1 * np.exp(0.2 * rng.standard_normal(n))


def bimodal(rng: np.random.Generator, n: int) -> Floats:
    """A fifth of the steps take 50% longer."""
    return normal(rng, n) * np.where(rng.random(n) < 0.2, 1.5, 1.0)


def periodic(rng: np.random.Generator, n: int) -> Floats:
    """Every hundredth step writes a file and takes ten times as long."""
    return normal(rng, n) * np.where(np.arange(1, n + 1) % 100 == 0, 10.0, 1.0)


def interrupted(rng: np.random.Generator, n: int) -> Floats:
    """One step in 200 is interrupted, for three times its length."""
    return normal(rng, n) * np.where(rng.random(n) < 0.005, 4.0, 1.0)


def autocorrelated(rng: np.random.Generator, n: int, phi: float = 0.5) -> Floats:
    """An AR(1) process, CoV 2%."""
    noise = rng.standard_normal(n)
    series = np.empty(n)
    series[0] = noise[0]
    scale = np.sqrt(1.0 - phi**2)
    for i in range(1, n):
        series[i] = phi * series[i - 1] + scale * noise[i]
    return np.asarray(0.1 * (1.0 + 0.02 * series))


CLEAN: dict[str, Draw] = {
    "normal": normal,
    "lognormal": lognormal,
    "bimodal": bimodal,
    "every 100th ten times as long": periodic,
    "interrupted once in 200": interrupted,
    "autocorrelated 0.5": autocorrelated,
}
