"""The energy of one execution at a placement, if the processors' counters are readable.

The covariate ``energy`` is the energy that the processors and memories of a launch's nodes used
during its sampling span, for all programs. This energy is divided by the span and multiplied by the
time of one execution. The result is the energy of one execution in a job with exclusive nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.questions.common.findings import INTERNAL
from assay.records.model import RunData
from assay.stats.cells.summarise import launch_value
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary
from assay.units import Interval

if TYPE_CHECKING:
    from assay.system.model import System

COVARIATE = "energy"

# Whether the energy is known, or the reason why it is unknown.
EnergyStatus = Literal["known", "no counters", "unreadable", "incomplete", "several nodes"]


@dataclass(frozen=True)
class Energy:
    """The energy of one execution over all nodes, J.

    Internal: ``values``, of each launch.
    """

    #: Median over ``launches``, J.
    value: float
    #: 95% interval of ``value``, J; None with too few launches.
    interval: Interval | None
    #: Number of launches with recorded energy.
    launches: int
    #: Energy of each launch, J.
    values: tuple[float, ...] = field(default=(), metadata=INTERNAL)


def energies(run: RunData) -> dict[str, Energy]:
    """The energy of each cell, by id, if all its launches recorded energy.

    Launches that failed, or whose result was wrong, are left out.
    """
    by_cell: dict[str, list[float | None]] = {}
    for measurement in run.measurements:
        record = measurement.record
        seconds = launch_value(measurement)
        if seconds is None or record.verified is False:
            continue
        energy = record.covariates.get(COVARIATE)
        span = record.covariates.get("sampling_seconds")
        by_cell.setdefault(measurement.cell.id, []).append(
            energy / span * seconds if energy is not None and span else None
        )
    found = {}
    for name, launches in by_cell.items():
        known = [value for value in launches if value is not None]
        if known and len(known) == len(launches):
            found[name] = Energy(
                float(np.median(known)), median_interval(known), len(known), tuple(known)
            )
    return found


def energy_status(
    known: Collection[str], system: System | None, cells: Sequence[CellSummary]
) -> EnergyStatus:
    """Whether the energy of any cell is known, or why not; ``known``: ids of cells with energy."""
    if known:
        return "known"
    readable = None if system is None else system.processor.energy_readable
    if readable is None:
        return "no counters"
    if not readable:
        return "unreadable"
    if any(cell.cell.placement.nodes == 1 for cell in cells):
        return "incomplete"
    return "several nodes"
