"""Figures of the phases of a kernel: stacked bars of their shares of the time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.charts.columns import DataColumn, statistics_columns
from assay.charts.figure import Datum, Field, Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.kernels.naming import metric_name, placement_text
from assay.questions.speed.benchmarks.findings import BenchmarkFindings
from assay.questions.speed.benchmarks.phases import COMPUTE, CellPhases
from assay.units import counted, listed


def phase_figure(found: BenchmarkFindings) -> Figure | None:
    """Stacked bars, by core count, of the phases of a benchmark's largest class with phases."""
    scaling = next((scaling for scaling in found.drawn if scaling.phases), None)
    if scaling is None:
        return None
    curve, title = scaling.curve, f"NPB {scaling.title}"
    rows = [row for count, one in scaling.phases.items() for row in phase_rows(one, cores=count)]
    most = scaling.phases.get(curve.most)
    compute = most.shares.get(COMPUTE, 0.0) if most else 0.0
    drawn = phases_figure(
        f"{found.kernel.replace('.', '-')}-phases",
        f"{title}: where the time goes",
        rows,
        Field("cores", "", "cores in use"),
        "processes" if curve.processes else "cores",
        caption="Mean over ranks. Communication includes waiting for other ranks.",
        alt=f"Stacked bars of the share of {listed(phases_among(rows))} in the time of {title}; on "
        f"{counted(curve.most, 'core')} computing takes {compute:.0%}.",
    )
    return msgspec.structs.replace(drawn, group="NPB: where the time goes", panel=scaling.title)


def phase_rows(phases: CellPhases, **fields: Datum) -> list[Row]:
    """A row per phase of a cell, with further fields that identify the cell."""
    where = placement_text(phases.point.summary.cell.placement)
    rows: list[Row] = []
    for name, metric in phases.seconds.items():
        low, high = metric.ci95 or (None, None)
        rows.append(
            {
                **fields,
                "placement": where,
                "phase": metric_name(name),
                "share": phases.shares.get(name),
                "median": metric.median,
                "low": low,
                "high": high,
                "launches": metric.n,
            }
        )
    return rows


def phases_among(rows: Sequence[Row]) -> list[str]:
    """The phases of these rows, in their order."""
    return list(dict.fromkeys(str(row["phase"]) for row in rows))


def phases_figure(
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    rows: Sequence[Row],
    x: Field,
    x_title: str,
    *,
    caption: str,
    alt: str,
) -> Figure:
    """Stacked bars of ``phase_rows`` along the field ``x``; the shares of each bar add up to 1."""
    columns = [
        DataColumn(x.name, x.meaning, x.unit, x_title, kind="rank"),
        DataColumn("placement", "ranks and threads", kind="name"),
        DataColumn("phase", "what the ranks did", kind="name"),
        DataColumn("share", "of the sum of all phases", format=".3p"),
        *statistics_columns("s"),
        DataColumn("order", shown=f"indexof({phases_among(rows)!r}, datum.phase)"),
    ]
    plot = Plot(columns, rows, height=240)
    plot.bars(
        x=plot.axis(
            x.name, label_angle=0, ticks=False, label_padding=6, label_overlap="greedy",
            padding_inner=0.3, padding_outer=0.2,
        ),
        y=plot.axis("share", "share of the time", format="%", tick_count=5, domain=[0, 1]),
        colour=plot.hue("phase"),
        order="order",
        tips=("phase", "placement", "median", "interval", "launches", "share"),
    )  # fmt: skip
    return plot.figure(
        id,
        title,
        caption=caption,
        alt=alt,
        width="half",
    )
