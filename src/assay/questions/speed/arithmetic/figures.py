"""Figures of DGEMM's rate against the order of the matrices, and of the measured peak."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.axes import order_axis
from assay.charts.builder import STATISTICS, Chart, named, numbers
from assay.charts.figure import Field, Figure
from assay.charts.levels import peak_layers
from assay.charts.marks import Row
from assay.questions.common.figure_rows import by_size, intervals_text, statistics
from assay.questions.common.selection import Point, labeller
from assay.questions.speed.arithmetic.findings import ArithmeticCurves, ArithmeticFindings
from assay.units import counted, listed


def figures(found: ArithmeticFindings) -> list[Figure]:
    """The figures of DGEMM and of the measured peak."""
    drawn = (_dgemm(found.curves), _peak(found.curves.multiply_adds))
    return [figure for figure in drawn if figure is not None]


def _dgemm(found: ArithmeticCurves) -> Figure | None:
    """Rate against N, the theoretical peak, and a ring at the smallest N with 95% of the best rate.

    None for a single order, since the evidence has its rates.
    """
    if not found.dgemm:
        return None
    label = labeller(found.dgemm)
    rows: list[Row] = [
        {
            "n": int(point.parameter("n") or 0),
            "placement": label(point),
            **statistics(point),
            "peak": found.peaks.get(point.cores),
            "arrives": int(point.parameter("n") or 0) == found.arrivals.get(point.cores),
        }
        for point in sorted(found.dgemm, key=by_size)
    ]
    orders = sorted({int(row["n"] or 0) for row in rows})
    if len(orders) < 2:
        return None
    order = order_axis(orders)
    chart = Chart(
        rows,
        numbers("n", "order N of the matrices", **order),
        "rate",
        "flop/s",
        hue="placement",
        names=[("n", "N"), ("placement", "placement")],
        values=[*(p.metric.median for p in found.dgemm), *found.peaks.values()],
    )
    chart.whiskers().lines(size=45)
    if found.arrivals:
        chart.rings("arrives")
    if found.peaks and chart.hue:
        chart.add(*peak_layers(chart.hue, chart.factor))
    where = [
        f"on {counted(count, 'core')} 95% of the best at N = {order}"
        for count, order in sorted(found.arrivals.items())
    ] or ["a single order"]
    rings = " A ring marks the smallest N within 5% of the best." if found.arrivals else ""
    lines = " Dashed: theoretical peak of this number of cores." if found.peaks else ""
    return chart.figure(
        "dgemm",
        "DGEMM: floating-point rate against matrix order",
        caption=f"Median over launches. {intervals_text(chart.rows, 'whiskers')}{rings}{lines}",
        alt=f"Line chart of the DGEMM rate against matrix order N; {listed(where)}.",
        fields=[
            Field("n", "", "order of the matrices"),
            Field("placement", "", "ranks and threads"),
            STATISTICS,
            Field("peak", "flop/s", "theoretical peak of the cores in use"),
            Field("arrives", "", "whether this is the smallest N with 95% of the best rate"),
        ],
    )


def _peak(found: Sequence[Point]) -> Figure | None:
    """Bars of the multiply-add rate, grouped by vector width, with one bar per placement."""
    widths = sorted({int(point.parameter("width") or 0) for point in found})
    if len(widths) < 2:
        return None
    label = labeller(found)
    rows = [
        {
            "width": f"{point.parameter('width')} bit",
            "placement": label(point),
            **statistics(point),
        }
        for point in sorted(found, key=lambda p: (int(p.parameter("width") or 0), by_size(p)))
    ]
    chart = Chart(
        rows,
        named("width", title="vector width"),
        "rate",
        "flop/s",
        hue="placement",
        names=[("width", "width"), ("placement", "placement")],
        height=240,
    )
    return (
        chart.bars(beside="placement")
        .whiskers()
        .figure(
            "peak",
            "Measured peak: multiply-adds in registers",
            caption=f"Median over launches. {intervals_text(chart.rows, 'whiskers')}",
            alt=f"Bar chart of the multiply-add rate at {', '.join(map(str, widths))} bit.",
            fields=[
                Field("width", "", "bits of a vector register"),
                Field("placement", "", "ranks and threads"),
            ],
        )
    )
