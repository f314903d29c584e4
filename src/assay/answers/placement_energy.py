"""What a placement takes of energy, where the processors' counters may be read.

The covariate ``energy`` is what all processors and memories of a launch's nodes took over its
sampling span, whoever used them. Over that span it is a mean power; times the seconds of one
execution that is the energy of one, as of a job that has its nodes for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.answers.select import Interval
from assay.errors import AssayError
from assay.records.model import RunData
from assay.stats.cells import launch_value
from assay.stats.intervals import median_interval
from assay.stats.model import CellSummary

COVARIATE = "energy"


@dataclass(frozen=True)
class Energy:
    """Of one execution, over all nodes: the median over ``launches`` with its 95% interval, J."""

    value: float
    interval: Interval | None
    launches: int


def energies(run: RunData) -> dict[str, Energy]:
    """By cell id; cells of which every launch told its energy, and none was refuted."""
    told: dict[str, list[float | None]] = {}
    for measurement in run.measurements:
        record = measurement.record
        seconds = launch_value(measurement)
        if seconds is None or record.verified is False:
            continue
        taken = record.covariates.get(COVARIATE)
        span = record.covariates.get("sampling_seconds")
        told.setdefault(measurement.cell.id, []).append(
            taken / span * seconds if taken is not None and span else None
        )
    found = {}
    for name, launches in told.items():
        known = [value for value in launches if value is not None]
        if known and len(known) == len(launches):
            found[name] = Energy(float(np.median(known)), median_interval(known), len(known))
    return found


def why_no_energy(run: RunData, cells: Sequence[CellSummary]) -> str:
    """Why there is no advice for energy, as a sentence; empty where there is some."""
    from assay.system.model import System

    if energies(run):
        return ""
    try:
        readable = System.from_dict(run.manifest.system).processor.energy_readable
    except AssayError:  # described by another version
        readable = None
    if readable is None:
        return "No energy: this machine shows no counters of it (RAPL)."
    if not readable:
        return (
            "No energy: this machine's counters (RAPL) may not be read by this user; as root, "
            "`chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj` on each node lets all read."
        )
    if any(cell.cell.placement.nodes == 1 for cell in cells):
        return "No energy: not every launch told what it took."
    return "No energy: of a command on several nodes it isn't known."
