"""Why a command of the user's takes as long at a placement, as far as can be seen from outside.

A command's phases are not known. Seen are its time, the CPU time that the kernel charges it and
what happened around it: cores that had nothing to do, CPU time that grew with the ranks, time spent
in the kernel.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.answers.model import Evidence
from assay.answers.placement_data import name_of, works
from assay.answers.select import Part, Point
from assay.kernels import known_kernel
from assay.plans.model import Cell, Placement
from assay.records.model import Measurement, RunData
from assay.stats.cells import find_series, steady
from assay.stats.intervals import smallest_size
from assay.stats.model import CellSummary
from assay.units import counted, format_share

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

# What the wall time of all cores in use is made of; they add up to it.
PARTS = ("computing as with 1 rank", "further CPU time", "in the kernel", "without work")
_DRAWS = 1000
# Shares of the time below which nothing is said of it.
_LITTLE = 0.05
# Covariates worth telling, with their words; of a whole run.
_AROUND = (
    ("involuntary_switches", "times the CPU was taken from it"),
    ("minor_faults", "page faults"),
    ("major_faults", "page faults from disk"),
    ("steal_seconds", "s of CPU time taken by the hypervisor"),
    ("other_cpu_seconds", "s of CPU time of other programs"),
)

METHOD = (
    "Commands are seen from outside alone: CPU time by the kernel's account over wall time and the "
    "cores in use. CPU time that grows with the ranks may be memory that they share, work that is "
    "done twice, or messages that are waited for by polling: outside these look alike. Serial "
    "fractions are Karp & Flatt's (1990)."
)


@dataclass(frozen=True, eq=False)
class Seen:
    """A command at a placement on one node. ``shares``: of ``PARTS`` in its wall time × cores.

    They add up to 1; further CPU time is negative where less of it was used than with 1 rank.
    ``intervals``: None where launches were too few. ``serial``: the fraction that does not get
    quicker with cores, None for a single one.
    """

    point: Point
    shares: Floats
    intervals: list[Interval] | None
    serial: float | None
    around: list[str]

    @property
    def placement(self) -> Placement:
        """Where it ran."""
        return self.point.summary.cell.placement


def outside_part(cells: Sequence[CellSummary], run: RunData) -> Part:
    """What can be said of the run's commands; an empty part where it has none."""
    part = Part()
    sentences = []
    for seen in seen_from_outside(cells, run):
        name = name_of(seen[0].point.summary.cell)
        part.evidence += [_evidence(name, one) for one in seen]
        sentences.append(_sentence(name, seen[-1]))
    if sentences:
        part.method.append(METHOD)
        part.limits.append(
            "What a command's CPU time is spent on can't be seen from outside, nor anything of it "
            "on other nodes."
        )
        part.remark = "Why, seen from outside: " + "; ".join(sentences) + "."
    return part


def seen_from_outside(cells: Sequence[CellSummary], run: RunData) -> list[list[Seen]]:
    """Each command on this machine at 1 rank of 1 thread and more, by ranks ascending."""
    found: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        found.setdefault(measurement.cell.id, []).append(measurement)
    made = []
    for group in works(cells):
        if not _outside(group[0].summary.cell):
            continue
        here = {
            point.summary.cell.placement.ppn: (point, rows)
            for point in group
            if point.summary.cell.placement.nodes == 1
            and (rows := _rows(found.get(point.summary.id, []))) is not None
        }
        if 1 in here and len(here) > 1:
            made.append([_seen(here, ppn, found) for ppn in sorted(here)])
    return made


def _outside(cell: Cell) -> bool:
    kernel = known_kernel(cell.kernel)
    return kernel is not None and kernel.outside


def _rows(measurements: Sequence[Measurement]) -> Floats | None:
    """A row a launch: wall time, CPU time, of it in the kernel; None where none tells them."""
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
    digest = hashlib.sha256(f"seen from outside/{name}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    chosen = random.integers(len(rows), size=(_DRAWS, len(rows)))
    return np.asarray(np.median(rows[chosen], axis=1))


def _shares(of: Floats, alone: Floats, cores: int) -> Floats:
    """Of wall time × cores: what 1 rank takes of it in user mode, more of that, kernel, nothing."""
    wall, cpu, system = of[..., 0] * cores, of[..., 1], of[..., 2]
    once = alone[..., 1] - alone[..., 2]
    parts = np.stack([once, cpu - system - once, system, wall - cpu], axis=-1)
    return np.asarray(parts / wall[..., None])


def _seen(
    here: dict[int, tuple[Point, Floats]], ppn: int, found: dict[str, list[Measurement]]
) -> Seen:
    point, rows = here[ppn]
    base, alone = here[1]
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
    around = []
    for key, words in _AROUND:
        values = [
            value
            for measurement in found.get(name, [])
            if (value := measurement.record.covariates.get(key)) is not None
        ]
        if values and statistics.median(values) > 0:
            around.append(f"{statistics.median(values):.3g} {words}")
    return Seen(point, shares, intervals, serial, around)


def _evidence(name: str, seen: Seen) -> Evidence:
    """How much of its cores' time a command spent on the CPU, and on what."""
    busy = 1.0 - float(seen.shares[3])
    idle = None if seen.intervals is None else seen.intervals[3]
    parts = [
        f"{part} {format_share(float(share), None if seen.intervals is None else interval)}"
        for part, share, interval in zip(
            PARTS, seen.shares, seen.intervals or [(0.0, 0.0)] * len(PARTS), strict=True
        )
        if abs(share) >= _LITTLE / 5
    ]
    notes = [", ".join(parts)]
    if seen.serial is not None:
        notes.append(f"serial fraction {seen.serial:.3f}")
    notes += [", ".join(seen.around)] if seen.around else []
    return Evidence(
        label=f"{name}, {counted(seen.placement.ppn, 'rank')}: CPU time over wall time × cores, "
        "seen from outside",
        metric="share of the cores' time",
        unit="1",
        value=busy,
        ci95=None if idle is None else (1.0 - idle[1], 1.0 - idle[0]),
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[seen.point.summary.id],
        note="; ".join(notes),
    )


def _sentence(name: str, seen: Seen) -> str:
    """What keeps the most ranks from being as much quicker, or that it is unclear."""
    words = {
        1: "CPU time that grows with its ranks (memory, work done twice, or waiting by polling)",
        2: "time in the kernel",
        3: "cores without work",
    }
    where = f"{name} with {counted(seen.placement.ppn, 'rank')}"
    if seen.intervals is None:
        return f"{where}: unclear, too few launches"
    order = sorted(words, key=lambda number: -seen.shares[number])
    first, second = order[:2]
    low = seen.intervals[first][0]
    if all(seen.intervals[number][1] < _LITTLE for number in words):
        return f"{where}: little is lost"
    if low <= _LITTLE or low <= seen.intervals[second][1]:
        return f"{where}: unclear"
    return f"{where} loses {seen.shares[first]:.0%} of its cores' time to {words[first]}"
