"""Findings on storage by the rules of IO500: scores, phases, and what slows the hard ones."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.kernels.storage.io500 import DATA_PHASES, FILE_PHASES, HARD_RECORD, TIMED_PHASES
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, chosen_best, points
from assay.records.schema import MeasurementRecord
from assay.stats.core.model import CellSummary

KERNEL = "storage.io500"
IN_MEMORY = ("tmpfs", "ramfs")
ANOTHER_NODE = "another node"
_SCORES = ("bandwidth_score", "metadata_score")


@dataclass(frozen=True)
class Io500Facts:
    """The circumstances of a cell's measurements; the last one's where they differ."""

    #: Type of the file system.
    filesystem: str
    #: Directory of the files; "" if unknown.
    directory: str
    #: Whose data a rank reads: another node's, another rank's or its own.
    reads_from: str
    #: Share of the bytes read that the page cache served, median over measurements; None if
    #: unknown.
    from_cache: float | None
    #: Bytes written in the data phases of a node's ranks over the node's memory; None if unknown.
    memory_share: float | None
    #: Requested time of each phase that writes, s.
    seconds: float
    #: Phases that had written all that they may before this time had passed.
    limited: tuple[str, ...]
    #: What the slowest rank had written when the time had passed, as a share of the fastest's, by
    #: phase.
    slowest: Mapping[str, float]

    @property
    def in_memory(self) -> bool:
        """Whether the file system is in memory, so that there is no device."""
        return self.filesystem in IN_MEMORY


@dataclass(frozen=True)
class Io500Findings:
    """Storage by the rules of IO500."""

    #: Score of the best cell on the most ranks, among those with the rules' record size.
    score: Point
    #: Its geometric means, by metric.
    means: Mapping[str, Point]
    #: Its phases, by metric, in the order of the rules' list.
    phases: Mapping[str, Point]
    #: Circumstances of this cell.
    facts: Io500Facts
    #: Bandwidth of large transfers to files of the ranks over small records of one file, by
    #: operation (write, read).
    easy_over_hard: Mapping[str, Ratio]
    #: Bandwidth of one file with the largest measured record over the smallest, by operation; empty
    #: if no cells differ only in the record.
    larger_record: Mapping[str, Ratio]
    #: Rate of creating empty files in own directories over small files in one directory.
    own_over_shared: Ratio | None
    #: Score through MPI-IO over the score through POSIX; None unless both were measured.
    mpi_io: Ratio | None
    #: All cells that were measured, for the figures.
    measured: Sequence[CellSummary] = field(metadata=INTERNAL)


def find(measured: Measured) -> Io500Findings | None:
    """The findings; None if no usable cell measured it."""
    cells = measured.without_candidates().own_cells().cells
    scores = points(cells, KERNEL, "score")
    if not scores:
        return None
    most = max(point.cores for point in scores)
    on_most = [point for point in scores if point.cores == most]
    by_rules = [point for point in on_most if _record(point) == HARD_RECORD]
    score = chosen_best(by_rules or on_most)
    summary = score.summary
    records: dict[str, list[MeasurementRecord]] = {}
    for measurement in measured.run.measurements:
        records.setdefault(measurement.cell.id, []).append(measurement.record)
    return Io500Findings(
        score=score,
        means=_metrics(summary, _SCORES),
        phases=_metrics(summary, (*DATA_PHASES, *FILE_PHASES)),
        facts=_facts(summary, records.get(summary.id, [])),
        easy_over_hard=_by_operation(summary, summary, "ior_easy", "ior_hard"),
        larger_record=_larger_record(on_most),
        own_over_shared=_within(summary, "mdtest_easy_write", "mdtest_hard_write"),
        mpi_io=_mpi_io(by_rules or on_most),
        measured=[point.summary for point in scores],
    )


def _metrics(summary: CellSummary, names: Sequence[str]) -> dict[str, Point]:
    return {
        name: Point(summary, summary.metrics[name]) for name in names if name in summary.metrics
    }


def _facts(summary: CellSummary, records: Sequence[MeasurementRecord]) -> Io500Facts:
    last = records[-1].facts if records else {}
    shares = [float(r.facts["from_cache"]) for r in records if "from_cache" in r.facts]
    parameters = {**summary.cell.parameters, **summary.parameters}
    limited = str(last.get("limited", ""))
    share = last.get("memory_share")
    return Io500Facts(
        filesystem=str(last.get("filesystem", "")),
        directory=str(parameters.get("directory", "")),
        reads_from=str(last.get("reads_from", "")),
        from_cache=statistics.median(shares) if shares else None,
        memory_share=None if share is None else float(share),
        seconds=float(parameters.get("seconds", 0.0)),
        limited=tuple(limited.split(", ")) if limited else (),
        slowest={
            name: float(last[fact])
            for name in TIMED_PHASES
            if (fact := f"slowest_share.{name}") in last
        },
    )


def _within(summary: CellSummary, above: str, below: str) -> Ratio | None:
    """The ratio of two phases of a cell."""
    found = _metrics(summary, (above, below))
    return ratio_of(found[above], found[below]) if len(found) == 2 else None


def _by_operation(
    above: CellSummary, below: CellSummary, numerator: str, denominator: str
) -> dict[str, Ratio]:
    found = {}
    for op in ("write", "read"):
        one, other = f"{numerator}_{op}", f"{denominator}_{op}"
        if one in above.metrics and other in below.metrics:
            found[op] = ratio_of(
                Point(above, above.metrics[one]), Point(below, below.metrics[other])
            )
    return found


def _larger_record(on_most: Sequence[Point]) -> dict[str, Ratio]:
    """The one file with the largest record over the smallest, of cells that differ only in it."""
    largest = max(on_most, key=_record)
    alike = [p for p in on_most if _key(p, "record") == _key(largest, "record")]
    smallest = min(alike, key=_record)
    if _record(largest) <= _record(smallest):
        return {}
    return _by_operation(largest.summary, smallest.summary, "ior_hard", "ior_hard")


def _mpi_io(found: Sequence[Point]) -> Ratio | None:
    posix = {_key(p, "api"): p for p in found if p.parameter("api") == "posix"}
    for point in found:
        if point.parameter("api") == "mpiio" and (other := posix.get(_key(point, "api"))):
            return ratio_of(point, other)
    return None


def _record(point: Point) -> int:
    value = point.parameter("record")
    return int(value) if isinstance(value, (int, float)) else HARD_RECORD


def _key(point: Point, without: str) -> tuple[object, ...]:
    """Equal for cells that differ only in this parameter."""
    cell = point.summary.cell
    shared = tuple(sorted((n, v) for n, v in cell.parameters.items() if n != without))
    return (shared, cell.placement, cell.toolchain)
