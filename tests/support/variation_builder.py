"""Runs with repeated measurements of their cells, with planted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import RunData
from assay.records.schema import RankRecord
from report_builder import make_measurement, make_run

BEGAN = 1.79e9


def npb(code: str, *, size: str = "S", toolchain: str = "embedded", **placement: object) -> Cell:
    return Cell(f"npb.{code}", {"class": size}, Placement(**{"ppn": 2, **placement}), toolchain)


def run_of(
    planted: Mapping[str, tuple[Cell, Sequence[float]]] | Sequence[tuple[Cell, Sequence[float]]],
    *,
    every: float = 10.0,
    began: float = BEGAN,
    name: str = "20260315T083012Z-box-quick",
    hosts: Sequence[str] = ("box",),
) -> RunData:
    """A run: one launch per value (s) of each cell; the cells alternate, at this spacing in s."""
    cells = list(planted.values()) if isinstance(planted, Mapping) else list(planted)
    measurements = []
    for place, (cell, values) in enumerate(cells):
        for number, value in enumerate(values):
            measurement = make_measurement(cell, [float(value)] * 3, number + 1)
            host = hosts[number % len(hosts)]
            ranks = tuple(
                RankRecord(r, host, 10 + r, r, [r], 0, True, False)
                for r in range(cell.placement.ranks)
            )
            measurements.append(
                replace(
                    measurement,
                    launch=f"{number:04d}-{place}",
                    utc=began + every * (number + place / len(cells)),
                    ranks=ranks,
                    record=msgspec.structs.replace(measurement.record, covariates={}),
                )
            )
    run = make_run([], measurements=measurements, launches=[], name=name)
    plan = msgspec.structs.replace(run.manifest.plan, cells=tuple(cell for cell, _ in cells))
    return replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


def normal(seed: int, n: int, cov: float, median: float = 2.0) -> np.ndarray:
    return median * (1.0 + cov * np.random.default_rng(seed).standard_normal(n))


def tailed(seed: int, n: int, cov: float, share: float, mean: float, median: float = 2.0):
    """A normal distribution in which a share takes longer by exponentially distributed amounts."""
    rng = np.random.default_rng(seed)
    values = median * (1.0 + cov * rng.standard_normal(n))
    slow = rng.random(n) < share
    return values * np.where(slow, 1.0 + rng.exponential(mean, n), 1.0)


def two_speeds(seed: int, n: int, cov: float, share: float, factor: float, median: float = 2.0):
    rng = np.random.default_rng(seed)
    values = median * (1.0 + cov * rng.standard_normal(n))
    return values * np.where(rng.random(n) < share, factor, 1.0)
