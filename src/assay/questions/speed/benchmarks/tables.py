"""Where the time of the NAS Parallel Benchmarks goes, as a table."""

from __future__ import annotations

from assay.kernels.naming import placement_text
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.speed.benchmarks.findings import BenchmarksFindings
from assay.questions.speed.benchmarks.phases import COMPUTE, NpbPhases
from assay.units import format_share


def tables(found: BenchmarksFindings) -> list[Table]:
    """Time, computing and communication of each benchmark's largest class, a row per core count.

    None where no kernel timed its phases.
    """
    rows = [
        _row(scaling.title, phases)
        for benchmark in found.benchmarks
        for scaling in benchmark.drawn[:1]
        for phases in scaling.phases.values()
    ]
    if not rows:
        return []
    return [
        Table(
            id="npb-phases",
            title="Where the time of the NPB goes",
            columns=[
                Column("benchmark", "Benchmark"),
                Column("placement", "Placement"),
                Column("time", "Time", "s", numeric=True),
                Column("compute", "Computing", numeric=True),
                Column("communication", "Communication", numeric=True),
                Column("most", "Most of it"),
            ],
            rows=rows,
        )
    ]


def _row(title: str, phases: NpbPhases) -> list[Entry]:
    cell = phases.point.summary
    time = cell.metrics["time"]
    compute, communication = phases.shares.get(COMPUTE), phases.communication
    largest = phases.largest_communication
    interval = phases.compute_interval if largest else None
    rest = (1 - interval[1], 1 - interval[0]) if interval else None
    return [
        Entry(title),
        Entry(placement_text(cell.cell.placement)),
        Entry(quantity_text(time.median, "s", time.ci95), time.median),
        Entry(format_share(compute, interval), compute),
        Entry(format_share(communication, rest) if largest else "none", communication),
        Entry(
            f"{largest}, {format_share(phases.shares[largest])}" if largest else "", tone="quiet"
        ),
    ]
