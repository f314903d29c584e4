"""Prediction of the total time of many steps from a series of measured steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.stats.core.correlation import integrated_time
from assay.stats.core.intervals import checked

_DRAWS = 1000
_MOST_BLOCKS = 4000
MIN_STEPS = 50


def total_time(
    values: Sequence[float] | Floats, steps: int, share: float = 0.99, *, seed: int = 1
) -> float | None:
    """The ``share``-quantile of the time of ``steps`` steps, s; None for fewer than 50 values.

    ``values``: seconds of single steps in order of time. Circular block bootstrap (Politis & Romano
    1992): sums of blocks drawn from the series. The block length is twice the integrated
    autocorrelation time, or the cube root of n if that is greater, so that slow phases stay whole.
    Events that the series doesn't contain are not predicted.
    """
    series = checked(values)
    n = series.size
    if n < MIN_STEPS or steps < 1:
        return None
    length = math.ceil(max(2.0 * float(integrated_time(series)), n ** (1.0 / 3.0)))
    length = min(max(length, math.ceil(steps / _MOST_BLOCKS)), max(n // 2, 1), steps)
    blocks = math.ceil(steps / length)
    sums = np.concatenate(([0.0], np.cumsum(np.concatenate((series, series[:length])))))
    starts = np.random.default_rng(seed).integers(0, n, size=(_DRAWS, min(blocks, _MOST_BLOCKS)))
    drawn = (sums[starts + length] - sums[starts]).sum(axis=1)
    scale = steps / (min(blocks, _MOST_BLOCKS) * length)
    return float(np.quantile(drawn * scale, share))
