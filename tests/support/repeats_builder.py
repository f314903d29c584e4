"""Repeated results with planted effects, for several tests."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.attribution.covariates import (
    reading_of,
)
from assay.stats.repeats.repeats import Repeats

Covariates = dict[str, np.ndarray]


def make_repeats(cost: np.ndarray, covariates: Covariates, **changes: object) -> Repeats:
    """A cell's results, one per minute; each launch sampled for 2 s."""
    n = cost.size
    repeats = Repeats(
        cell=Cell("npb.lu", {"class": "A"}, Placement(ppn=4), "embedded"),
        metric="time",
        unit="s",
        better="less",
        values=cost,
        utc=1.79e9 + 60.0 * np.arange(n),
        run=("run",) * n,
        launch=tuple(map(str, range(n))),
        hosts=("n1",) * n,
        covariates={"sampling_seconds": np.full(n, 2.0), **covariates},
    )
    return replace(repeats, **changes)


def planted(n: int, seed: int, **parts: float) -> Repeats:
    """Log costs of variance 0.03², the sum of the covariates' parts and noise."""
    random = np.random.default_rng(seed)
    covariates: Covariates = {}
    log_cost = math.sqrt(1.0 - sum(parts.values())) * random.normal(size=n)
    for name, part in parts.items():
        lost = random.gamma(4.0, 0.5, n)  # mean 2, variance 1
        sign = reading_of(name).sign
        covariates[name] = 10.0 + sign * lost if sign < 0 else lost
        log_cost = log_cost + math.sqrt(part) * (lost - 2.0)
    for name in ("steal_seconds", "major_faults", "other_cpu_seconds", "minor_faults"):
        covariates.setdefault(name, random.poisson(2.0, n).astype(float))
    return make_repeats(np.exp(0.03 * log_cost), covariates)
