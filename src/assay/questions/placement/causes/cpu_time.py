"""The CPU time of a user's command at each number of ranks, as the kernel accounts it.

The phases of a command are unknown. Its time, the CPU time that the kernel accounts to it, and the
covariates of its launches are known.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Floats
from assay.kernels import known_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.selection import Point
from assay.questions.placement.works import works_of
from assay.records.model import Measurement, RunData
from assay.stats.cells.summarise import find_series, steady
from assay.stats.core.intervals import smallest_size
from assay.stats.core.model import CellSummary
from assay.units import Interval


@dataclass(frozen=True)
class CpuTimePart:
    """A part of a command's own time × cores in use."""

    #: Name of the part.
    name: str
    #: Text for the answer if this part is lost time, else None.
    loss: str | None = None


# The parts sum to own time × cores.
PARTS = (
    CpuTimePart("computing as with 1 rank"),
    CpuTimePart(
        "further CPU time",
        "CPU time that grows with the number of ranks (memory, repeated work, or polling)",
    ),
    CpuTimePart("in the kernel", "time in the kernel"),
    CpuTimePart("without work", "cores without work"),
)
_DRAWS = 1000
# Covariates of a whole launch that the evidence lists, and their text.
COVARIATES = {
    "involuntary_switches": "involuntary context switches",
    "minor_faults": "page faults",
    "major_faults": "page faults from disk",
    "steal_seconds": "s of CPU time stolen by the hypervisor",
    "other_cpu_seconds": "s of CPU time of other programs",
}


@dataclass(frozen=True, eq=False)
class CpuTimeShares:
    """A command at a placement on one node."""

    #: Measured point of the command.
    point: Point
    #: Share of each of ``PARTS`` in own time × cores (wall time if the command states no time). The
    #: shares sum to 1. Further CPU time is negative if the command used less than with 1 rank.
    shares: Floats
    #: 95% intervals of the shares; None with too few launches. They contain all possible amounts of
    #: CPU time outside the own time.
    intervals: list[Interval] | None
    #: Serial fraction; None for a single rank.
    serial: float | None
    #: Medians of covariates over launches; only medians above 0.
    covariates: Mapping[str, float] = field(default_factory=dict)
    #: Wall time outside the own time, s: start-up and end.
    outside: float = 0.0
    #: Wall time outside the own time as a share of the wall time.
    outside_share: float = 0.0

    @property
    def placement(self) -> Placement:
        """The placement of its cell."""
        return self.point.summary.cell.placement


def cpu_time_shares(cells: Sequence[CellSummary], run: RunData) -> list[list[CpuTimeShares]]:
    """Each command on one node, at 1 rank of 1 thread and at more ranks, by number of ranks."""
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
    """A row per launch: own time, CPU time, CPU time in the kernel, wall time; None if none is
    known. The own time is the wall time unless the command states it (``--time``).
    """
    rows = []
    for measurement in measurements:
        record = measurement.record
        own, wall, cpu = (find_series(record, name) for name in ("time", "wall", "cpu"))
        system = record.covariates.get("system_seconds")
        if record.status == "ok" and own and wall and cpu and system is not None:
            seconds = [float(np.median(steady(record, one))) for one in (own, cpu, wall)]
            whole = seconds[2]
            rows.append([min(seconds[0], whole), seconds[1], float(system), whole])
    return np.array(rows) if rows else None


def _draws(name: str, rows: Floats) -> Floats:
    """Bootstrap medians [draw, column]; the seed is derived from the cell."""
    digest = hashlib.sha256(f"seen from outside/{name}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    chosen = random.integers(len(rows), size=(_DRAWS, len(rows)))
    return np.asarray(np.median(rows[chosen], axis=1))


def _within(rows: Floats, cores: int) -> tuple[Floats, Floats, Floats]:
    """User, system and total CPU time within the own time [..., 3]: estimate, minimum and maximum.

    CPU time outside the own time can't exceed the time of the cores. The estimate counts as much
    CPU time as possible as within the own time. Cores are without work for at least the rest.
    """
    own, outside = rows[..., 0, None] * cores, (rows[..., 3] - rows[..., 0])[..., None] * cores
    used = np.stack([rows[..., 1] - rows[..., 2], rows[..., 2], rows[..., 1]], axis=-1)
    most = np.where(outside > 0.0, np.minimum(used, own), used)
    fitting = most[..., 2:] / np.maximum(used[..., 2:], 1e-12)
    return used * fitting, np.minimum(np.maximum(used - outside, 0.0), most), most


def _shares(of: Floats, alone: Floats, cores: int) -> tuple[Floats, Floats, Floats]:
    """Shares of ``PARTS`` in own time × cores: estimates, and minimum and maximum possible values.

    ``alone``: the same columns with 1 rank.
    """
    own = of[..., 0] * cores
    known, least, most = _within(of, cores)
    once, once_least, once_most = (each[..., 0] for each in _within(alone, 1))

    def parts(once: Floats, before: Floats, user: Floats, rest: Floats, cpu: Floats) -> Floats:
        each = np.stack([once, user - before, rest, own - cpu], axis=-1)
        return np.asarray(each / own[..., None])

    return (
        parts(once, once, known[..., 0], known[..., 1], known[..., 2]),
        parts(once_least, once_most, least[..., 0], least[..., 1], most[..., 2]),
        parts(once_most, once_least, most[..., 0], most[..., 1], least[..., 2]),
    )


def _shares_at(
    by_ranks: Mapping[int, tuple[Point, Floats]],
    ppn: int,
    launches: Mapping[str, Sequence[Measurement]],
) -> CpuTimeShares:
    point, rows = by_ranks[ppn]
    base, alone = by_ranks[1]
    name, first = point.summary.id, base.summary.id
    shares, _, _ = _shares(np.median(rows, axis=0), np.median(alone, axis=0), ppn)
    intervals = None
    if min(len(rows), len(alone)) >= smallest_size():
        _, least, most = _shares(_draws(name, rows), _draws(first, alone), ppn)
        low, high = np.quantile(least, 0.025, axis=0), np.quantile(most, 0.975, axis=0)
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
    outside = float(np.median(rows[:, 3] - rows[:, 0]))
    share = outside / float(np.median(rows[:, 3]))
    return CpuTimeShares(
        point=point,
        shares=shares,
        intervals=intervals,
        serial=serial,
        covariates=medians,
        outside=outside,
        outside_share=share,
    )
