"""The expected coverage of a cell's interval if its launches depend on each other."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from assay.stats.core.launches import ENOUGH, autoregressive_size

# The dependence to allow for where nothing is known: the strongest of the simulations.
UNKNOWN = 0.7
# Coverage of ``launch_interval``, which allows for dependence from 20 launches on, in 20,000 series
# each (docs/methods/sampling.md): by the number of launches, at each of these autocorrelations.
_DEPENDENCE = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9)
_SIMULATED = {
    20: (0.959, 0.943, 0.941, 0.932, 0.894, 0.770),
    30: (0.959, 0.953, 0.962, 0.956, 0.936, 0.841),
    60: (0.960, 0.970, 0.974, 0.972, 0.969, 0.928),
}
_NORMAL = NormalDist()


@lru_cache(maxsize=4096)
def expected_coverage(launches: int, autocorrelation: float) -> float:
    """The share of 95% intervals of two or more launches that contain the true median.

    ``autocorrelation``: of successive launches, a first-order autoregressive series. Under 20
    launches the interval assumes independent launches. Dependence makes it too short twice: the
    median varies more, and the launches scatter less around their own mean. The coverage follows
    from both factors; it agrees with simulations to within 1 percentage point.
    """
    if launches >= ENOUGH:
        sizes = sorted(_SIMULATED)
        shares = [np.interp(autocorrelation, _DEPENDENCE, _SIMULATED[size]) for size in sizes]
        return float(np.interp(launches, sizes, shares))
    lags = np.arange(1, launches)
    alike = 2.0 * float(np.sum((launches - lags) * autocorrelation**lags))
    scatter = 1.0 - alike / (launches * (launches - 1.0))
    worth = autoregressive_size(launches, autocorrelation) / launches
    quantile = _NORMAL.inv_cdf(0.975) * math.sqrt(worth * scatter)
    return 2.0 * _NORMAL.cdf(quantile) - 1.0
