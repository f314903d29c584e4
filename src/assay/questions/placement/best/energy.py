"""The energy of one execution at a placement, where the processors' counters are readable.

The covariate ``energy`` is that of all processors and memories of a launch's nodes over its
sampling span, of all programs. Over that span it is a mean power; times the seconds of one
execution it is the energy of one, as in a job that has its nodes to itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.questions.common.selection import Interval
from assay.records.model import RunData
from assay.stats.cells.summarise import launch_value
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary

if TYPE_CHECKING:
    from assay.system.model import System

COVARIATE = "energy"

# Whether energy is known, or why it is not.
EnergyStatus = Literal["known", "no counters", "unreadable", "incomplete", "several nodes"]


@dataclass(frozen=True)
class Energy:
    """Of one execution, over all nodes: the median over ``launches`` with its 95% interval, J.

    ``value``: that median; ``interval``: None with too few launches.
    """

    value: float
    interval: Interval | None
    launches: int


def energies(run: RunData) -> dict[str, Energy]:
    """By cell id; only cells whose every launch recorded its energy, none of them refuted."""
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
            found[name] = Energy(float(np.median(known)), median_interval(known), len(known))
    return found


def energy_status(
    known: Collection[str], system: System | None, cells: Sequence[CellSummary]
) -> EnergyStatus:
    """Whether energy is known of any cell (``known``: their ids), or why it is not."""
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
