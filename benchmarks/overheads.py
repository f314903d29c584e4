"""Overheads of tools from the run times of rounds: ratios, coefficients of variation, and their
intervals by the bootstrap over rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.arrays import Floats
from assay.units import Interval

_RESAMPLES = 4000
# Resampled means of fewer values have too narrow an interval.
_LEAST_ROUNDS = 6
AVERAGES: dict[str, Callable[..., Any]] = {"means": np.mean, "medians": np.median}


def ratio_draws(base: Floats, values: Floats, of: Callable[..., Any]) -> Floats:
    """Ratios of the averages in resampled rounds. Both have one value per round."""
    rounds = np.random.default_rng(1).integers(0, len(base), (_RESAMPLES, len(base)))
    return np.asarray(of(values[rounds], axis=1) / of(base[rounds], axis=1))


def limits(draws: Floats) -> Interval:
    """The 95% interval of resampled values."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def percent(ratio: float, draws: Floats) -> str:
    """Additional time, with its 95% interval."""
    low, high = limits(draws)
    return f"{100 * (ratio - 1):+.2f}% [{100 * (low - 1):+.2f}, {100 * (high - 1):+.2f}]"


def variation(values: Sequence[float] | Floats) -> float:
    """The coefficient of variation; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.mean(values)) if len(values) > 1 else 0.0


def variation_interval(values: Sequence[float] | Floats) -> Interval:
    """Its 95% interval; (0, 0) for a single value."""
    if len(values) < 2:
        return 0.0, 0.0
    samples = np.random.default_rng(1).choice(np.asarray(values), (2000, len(values)))
    return limits(samples.std(axis=1, ddof=1) / samples.mean(axis=1))


def mean_difference(base: Floats, values: Floats) -> tuple[float, Interval]:
    """The mean of the differences by round, with its 95% interval."""
    differences = values - base
    rounds = np.random.default_rng(1).integers(0, len(base), (_RESAMPLES, len(base)))
    return float(differences.mean()), limits(differences[rounds].mean(axis=1))


def judged(interval: Interval, most: float, rounds: int) -> str:
    """Whether a value with this interval is at most ``most``. Few rounds decide nothing."""
    if rounds < _LEAST_ROUNDS:
        return "undecided"
    low, high = interval
    if high <= most:
        return "met"
    return "missed" if low > most else "undecided"
