"""Periodic interruptions in the noise traces as a cause of variation within a launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.records.model import RunData
from assay.stats.repeats.repeats import Repeats

# A periodic interruption is named if it can explain at least this share of the samples' variance.
_MIN_SHARE = 0.05


@dataclass(frozen=True)
class PeriodicCause:
    """A periodic interruption that can explain part of the variance of a cell's samples."""

    #: Label of the cell.
    label: str
    #: Id of the cell.
    cell: str
    #: Time between interruptions, s.
    period: float
    #: Length of an interruption, s.
    length: float
    #: Rank on which the interruption is strongest.
    where: str
    #: Maximum share of the variance of the logarithms of a launch's samples that the interruption
    #: explains.
    share: float


def periodic_causes(
    cells: Sequence[tuple[str, Repeats]], run: RunData, noise: NoiseFindings | None
) -> list[PeriodicCause]:
    """The share of each cell's variance that each period can explain, the greatest first."""
    if noise is None:
        return []
    found = []
    for label, repeats in cells:
        duration = _sample_seconds(repeats, run)
        spread = _sample_deviation(repeats)
        if duration is None or not spread:
            continue
        for component in noise.components:
            seen = component.periodic
            relative = periodic_deviation(seen.length, seen.period, duration) / duration
            share = min((relative / spread) ** 2, 1.0)
            if share >= _MIN_SHARE:
                found.append(
                    PeriodicCause(
                        label=label,
                        cell=repeats.cell.id,
                        period=seen.period,
                        length=seen.length,
                        where=component.where,
                        share=share,
                    )
                )
    return sorted(found, key=lambda each: -each.share)


def periodic_deviation(length: float, period: float, duration: float) -> float:
    """Standard deviation, s, of the time that interruptions of ``length`` s every ``period`` s add
    to work of ``duration`` s that begins at a random time.

    The work meets floor(d/P) interruptions, and one more with probability frac(d/P).
    """
    share = math.modf(duration / period)[0]
    return length * math.sqrt(share * (1.0 - share))


def _sample_seconds(repeats: Repeats, run: RunData) -> float | None:
    """Median duration of a sample, s, with all operations of its batch."""
    spans = [
        float(np.median(m.record.series[0].values)) * (m.record.batch or 1)
        for m in run.measurements
        if m.cell.id == repeats.cell.id
        and m.record.status == "ok"
        and m.record.series
        and m.record.series[0].unit == "s"
        and m.record.series[0].values
    ]
    return float(np.median(spans)) if spans else None


def _sample_deviation(repeats: Repeats) -> float | None:
    """Standard deviation of the logarithms of a launch's samples; median over launches."""
    if repeats.sizes.size == 0 or repeats.sizes.min() < 2:
        return None
    logs = np.log(repeats.sample_costs)
    parts: list[Floats] = np.split(logs, np.cumsum(repeats.sizes)[:-1])
    return float(np.median([part.std(ddof=1) for part in parts]))
