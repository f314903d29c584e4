"""Runs with wall-clock and CPU times, for several tests."""

from __future__ import annotations

import numpy as np

from assay.stats.repeats.repeats import Repeats
from repeats_builder import make_repeats


def clocked(wall: np.ndarray, cpu: np.ndarray, **covariates: np.ndarray) -> Repeats:
    """Launches whose ranks computed for ``cpu`` of every ``wall`` seconds of sampling."""
    return make_repeats(wall, {"least_cpu_seconds": 2.0 * cpu / wall, **covariates})


def migrated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Work of constant CPU time, apart from noise, that takes up to 50% longer when migrated."""
    random = np.random.default_rng(seed)
    cpu = 1.0 + 0.006 * random.normal(size=n)
    return cpu * (1.0 + np.where(random.random(n) < 0.3, 0.4 * random.random(n), 0.0)), cpu
