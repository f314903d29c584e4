"""Where the time of the NAS Parallel Benchmarks goes, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.benchmarks import TITLES
from assay.answers.scaling import communication, compute_interval, curves, phase_shares
from assay.answers.select import placement_text, quantity_text
from assay.report.model import Column, Entry, Table
from assay.stats.model import CellSummary
from assay.units import format_share


def phase_table(cells: Sequence[CellSummary]) -> Table | None:
    """Time, computing and communication of each benchmark's largest class, a line a core count.

    None where no kernel told its phases.
    """
    rows = [
        row
        for kernel in TITLES
        for curve in curves(cells, kernel)[:1]
        for point in curve.points.values()
        if (row := _row(f"{TITLES[kernel]} class {curve.size}", point.summary))
    ]
    if not rows:
        return None
    return Table(
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


def _row(title: str, cell: CellSummary) -> list[Entry] | None:
    shares = phase_shares(cell)
    if not shares:
        return None
    time = cell.metrics["time"]
    interval = compute_interval(cell)
    others = {name: share for name, share in shares.items() if name != "compute" and share > 0}
    spoken = communication(shares)
    rest = (1 - interval[1], 1 - interval[0]) if interval and others else None
    most = max(others, key=lambda name: others[name], default="")
    compute = shares.get("compute")
    return [
        Entry(title),
        Entry(placement_text(cell.cell.placement)),
        Entry(quantity_text(time.median, "s", time.ci95), time.median),
        Entry(format_share(compute, interval if others else None), compute),
        Entry(format_share(spoken, rest) if others else "none", spoken),
        Entry(f"{most}, {format_share(others[most])}" if most else "", tone="quiet"),
    ]
