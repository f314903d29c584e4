"""Figures of storage by the rules of IO500: bandwidths, and rates of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from assay.charts.builder import Chart, named
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row
from assay.kernels.naming import metric_name, placement_text
from assay.kernels.storage.io500 import DATA_PHASES, FILE_PHASES, OWN_CODE
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point
from assay.questions.speed.io500.findings import Io500Findings
from assay.stats.core.model import CellSummary
from assay.units import format_duration, format_size


def figures(found: Io500Findings) -> list[Figure]:
    """The four bandwidths, and the eight rates, of all cells."""
    return [
        figure
        for figure in (
            _phases(found, "data", "bandwidth", "B/s", DATA_PHASES),
            _phases(found, "files", "rates of files", "op/s", FILE_PHASES),
        )
        if figure is not None
    ]


def _phases(
    found: Io500Findings, name: str, what: str, unit: str, phases: Mapping[str, str]
) -> Figure | None:
    rows = _rows(found.measured, phases)
    if not rows:
        return None
    several = len({row["cell"] for row in rows}) > 1
    values = [
        summary.metrics[phase].median
        for summary in found.measured
        for phase in phases
        if phase in summary.metrics
    ]
    chart = Chart(
        rows,
        named("phase"),
        what,
        unit,
        hue="cell" if several else None,
        names=[("phase", "phase"), ("cell", "cell")],
        values=[median(values)],
        logarithmic=True,
    )
    return (
        chart.points(70, beside="cell", opaque=True)
        .whiskers()
        .figure(
            f"io500-{name}",
            f"Storage by IO500's rules: {what}",
            caption=f"Logarithmic axis. All ranks in total. "
            f"{intervals_text(chart.rows, 'whiskers')} {OWN_CODE[0].upper()}{OWN_CODE[1:]}.",
            alt=f"Chart of the {what} in {len(phases)} phases of storage, from "
            f"{min(values):.3g} to {max(values):.3g} {unit}.",
            fields=[
                Field("phase", "", "phase, as the rules name it"),
                Field("cell", "", "parameters and placement"),
            ],
            width="full" if several else "half",
        )
    )


def _rows(cells: Sequence[CellSummary], phases: Mapping[str, str]) -> list[Row]:
    labels = _labels(cells)
    return [
        {
            "phase": metric_name(phase),
            "cell": labels[summary.cell.id],
            **statistics(Point(summary, summary.metrics[phase])),
        }
        for phase in phases
        for summary in cells
        if phase in summary.metrics and summary.metrics[phase].median > 0
    ]


def _labels(cells: Sequence[CellSummary]) -> dict[str, str]:
    """By cell id: the interface, and what else differs between the cells."""
    records = {summary.id: _parameter(summary, "record") for summary in cells}
    times = {summary.id: _parameter(summary, "seconds") for summary in cells}
    places = {summary.id: placement_text(summary.cell.placement) for summary in cells}
    labels = {}
    for summary in cells:
        record, time = records[summary.id], times[summary.id]
        parts = [
            str(summary.parameters.get("api", "posix")),
            f"records of {format_size(record)}" if len(set(records.values())) > 1 else "",
            f"for {format_duration(time)}" if len(set(times.values())) > 1 else "",
            places[summary.id] if len(set(places.values())) > 1 else "",
        ]
        labels[summary.id] = ", ".join(part for part in parts if part)
    return labels


def _parameter(summary: CellSummary, name: str) -> float:
    value = summary.parameters.get(name, 0)
    return float(value) if isinstance(value, (int, float)) else 0.0
