"""The CPU time of a user's command at each number of ranks, measured from outside.

The phases of a command are unknown. Known are its time, the CPU time that the kernel accounts to
it, and the covariates of its launches.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assay.kernels import known_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.selection import Interval, Point
from assay.questions.placement.works import works_of
from assay.records.model import Measurement, RunData
from assay.stats.cells.summarise import find_series, steady
from assay.stats.core.intervals import smallest_size
from assay.stats.core.model import CellSummary

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CpuTimePart:
    """A part of the wall time × cores in use. ``loss``: what an answer says where it is lost time;
    None where it is not.
    """

    name: str
    loss: str | None = None


# They add up to the whole.
PARTS = (
    CpuTimePart("computing as with 1 rank"),
    CpuTimePart(
        "further CPU time",
        "CPU time that grows with its ranks (memory, work done twice, or waiting by polling)",
    ),
    CpuTimePart("in the kernel", "time in the kernel"),
    CpuTimePart("without work", "cores without work"),
)
_DRAWS = 1000
# Covariates in the evidence, and their words; of a whole launch.
COVARIATES = {
    "involuntary_switches": "involuntary context switches",
    "minor_faults": "page faults",
    "major_faults": "page faults from disk",
    "steal_seconds": "s of CPU time stolen by the hypervisor",
    "other_cpu_seconds": "s of CPU time of other programs",
}


@dataclass(frozen=True, eq=False)
class CpuTimeShares:
    """A command at a placement on one node.

    ``shares``: of ``PARTS`` in its wall time × cores; they add up to 1, and further CPU time is
    negative where less was used than with 1 rank. ``intervals``: their 95% intervals; None where
    launches were too few. ``serial``: the serial fraction; None for a single rank. ``covariates``:
    medians over launches of those above 0.

    ``point``: the cell.
    """

    point: Point
    shares: Floats
    intervals: list[Interval] | None
    serial: float | None
    covariates: Mapping[str, float] = field(default_factory=dict)

    @property
    def placement(self) -> Placement:
        """Where it ran."""
        return self.point.summary.cell.placement


def cpu_time_shares(cells: Sequence[CellSummary], run: RunData) -> list[list[CpuTimeShares]]:
    """Each command on this machine at 1 rank of 1 thread and more, by ranks ascending."""
    launches: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        launches.setdefault(measurement.cell.id, []).append(measurement)
    found = []
    for group in works_of(cells):
        if not _is_command(group[0].summary.cell):
            continue
        by_ranks = {
            point.summary.cell.placement.ppn: (point, rows)
            for point in group
            if point.summary.cell.placement.nodes == 1
            and (rows := _rows(launches.get(point.summary.id, []))) is not None
        }
        if 1 in by_ranks and len(by_ranks) > 1:
            found.append([_shares_at(by_ranks, ppn, launches) for ppn in sorted(by_ranks)])
    return found


def _is_command(cell: Cell) -> bool:
    kernel = known_kernel(cell.kernel)
    return kernel is not None and kernel.outside


def _rows(measurements: Sequence[Measurement]) -> Floats | None:
    """A row per launch: wall time, CPU time, of it in the kernel; None where unknown of all."""
    rows = []
    for measurement in measurements:
        record = measurement.record
        wall, cpu = (find_series(record, name) for name in ("wall", "cpu"))
        system = record.covariates.get("system_seconds")
        if record.status == "ok" and wall and cpu and system is not None:
            rows.append(
                [float(np.median(steady(record, one))) for one in (wall, cpu)] + [float(system)]
            )
    return np.array(rows) if rows else None


def _draws(name: str, rows: Floats) -> Floats:
    """Bootstrap medians, draw × column; always the same for a cell."""
    digest = hashlib.sha256(f"seen from outside/{name}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    chosen = random.integers(len(rows), size=(_DRAWS, len(rows)))
    return np.asarray(np.median(rows[chosen], axis=1))


def _shares(of: Floats, alone: Floats, cores: int) -> Floats:
    """Shares of ``PARTS`` in wall time × cores; ``alone``: the same columns with 1 rank."""
    wall, cpu, system = of[..., 0] * cores, of[..., 1], of[..., 2]
    once = alone[..., 1] - alone[..., 2]
    parts = np.stack([once, cpu - system - once, system, wall - cpu], axis=-1)
    return np.asarray(parts / wall[..., None])


def _shares_at(
    by_ranks: Mapping[int, tuple[Point, Floats]],
    ppn: int,
    launches: Mapping[str, Sequence[Measurement]],
) -> CpuTimeShares:
    point, rows = by_ranks[ppn]
    base, alone = by_ranks[1]
    name, first = point.summary.id, base.summary.id
    shares = _shares(np.median(rows, axis=0), np.median(alone, axis=0), ppn)
    intervals = None
    if min(len(rows), len(alone)) >= smallest_size():
        drawn = _shares(_draws(name, rows), _draws(first, alone), ppn)
        low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
        intervals = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    serial = None
    if ppn > 1:
        speedup = base.metric.median / point.metric.median
        serial = (1.0 / speedup - 1.0 / ppn) / (1.0 - 1.0 / ppn)
    medians = {}
    for covariate in COVARIATES:
        values = [
            value
            for measurement in launches.get(name, [])
            if (value := measurement.record.covariates.get(covariate)) is not None
        ]
        if values and statistics.median(values) > 0:
            medians[covariate] = statistics.median(values)
    return CpuTimeShares(point, shares, intervals, serial, medians)
