"""Finds other runs of the same machine. Their best results are limits; runs measured at the same
time are concurrent runs.
"""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.store import Store
from assay.records.summary import last_moment, machine_identity
from assay.stats.changes.courses import (
    CellCourse,
    courses_of,
    identity_of,
    repeats_of_runs,
    runs_near,
)

_MAX_RUNS = 10  # reading more would take longer than the rest of the report


def read_history(run: RunData, root: Path | None = None) -> list[RunData]:
    """The newest other runs of the same machine under ``root``, by default the run's parent folder.

    Unreadable runs, such as runs of another version, are left out.
    """
    folder = root or (run.path.parent if run.path else None)
    if folder is None:
        return []
    kernels = {cell.kernel for cell in run.manifest.plan.cells}
    begun, until = run.manifest.utc, last_moment(run) or 0.0
    found: list[RunData] = []
    for directory, summary in Store(folder).of_machine(machine_identity(run.manifest.system)):
        if len(found) == _MAX_RUNS:
            break
        if directory.name == run.manifest.run:
            continue
        # A run of different kernels matters only if both runs were measured at the same time.
        if (
            summary
            and kernels.isdisjoint(summary.kernels)
            and not (summary.utc < until and begun < (summary.until or 0.0))
        ):
            continue
        try:
            found.append(read_run(directory.path, samples=False))
        except AssayError:
            continue
    return found


def read_courses(run: RunData) -> dict[str, CellCourse]:
    """The cells in the history of the machine, by id: over the runs in the run's folder.

    Only their tables are read, so that there may be more of them than ``read_history`` reads. Empty
    for a run outside of a folder, and with too few runs.
    """
    if run.path is None:
        return {}
    folder, name = run.path.parent, run.manifest.run
    near = runs_near(Store(folder), identity_of(run.manifest), [run.manifest.utc], without={name})
    return courses_of(repeats_of_runs(folder, {*near, name})) if near else {}
