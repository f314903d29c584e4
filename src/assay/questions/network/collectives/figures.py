"""Figures of collectives: against size, against ranks, by rank order, by timing method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.charts.axes import count_axis, size_axis
from assay.charts.builder import Chart, marked
from assay.charts.figure import Field, Figure
from assay.charts.levels import level
from assay.charts.marks import Row, ratio_fields
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.ratios import Ratio
from assay.questions.common.selection import Point
from assay.questions.network.collectives.findings import CollectiveFindings
from assay.questions.network.collectives.points import operation, ranks, size
from assay.questions.network.collectives.variants import variant_figures
from assay.units import capitalised, counted, format_size

_MICROSECONDS = (1e-6, "µ")
_HEIGHT = 280
# Number of colours in a theme. Beyond it colours repeat, and shapes distinguish the series.
_COLOURS = 6
# One shape fewer than colours, so that no two series share both colour and shape.
_SHAPES = [
    *("circle", "square", "diamond", "triangle-up"),
    *("triangle-down", "cross", "triangle-right"),
]


def figures(found: CollectiveFindings) -> list[Figure]:
    """Every figure of collectives for which there are points."""
    drawn = [
        _by_size(found.size_curves) if found.size_curves else None,
        _by_ranks(found.rank_curves) if found.rank_curves else None,
        _by_order(found.order_curve) if found.order_curve else None,
        _by_timing(found.timing_pairs) if found.timing_pairs else None,
    ]
    return [
        *(figure for figure in drawn if figure is not None),
        *variant_figures(found.variants),
    ]


def _by_size(found: Sequence[Point]) -> Figure:
    return _size_figure(
        found,
        operation,
        id="collectives-size",
        title=f"Collectives against size, {counted(ranks(found[0]), 'rank')}",
        series=Field("series", "", "operation"),
    )


def _by_order(found: Sequence[Point]) -> Figure:
    return _size_figure(
        found,
        lambda point: f"{point.summary.cell.placement.order} order",
        id="collectives-order",
        title=f"{capitalised(operation(found[0]))} by rank order, "
        + counted(ranks(found[0]), "rank"),
        series=Field("series", "", "order of ranks over nodes"),
    )


def _size_figure(
    found: Sequence[Point],
    series_of: Callable[[Point], str],
    *,
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    series: Field,
) -> Figure:
    """Time against size, both logarithmic, one line per series, with bands."""
    rows: list[Row] = [
        {"series": series_of(point), "bytes": size(point), **statistics(point)} for point in found
    ]
    sizes = sorted({size(point) for point in found})
    chart = Chart(
        rows,
        size_axis("bytes", "bytes per rank", sizes),
        "time",
        "s",
        hue="series",
        names=[("series", series.meaning), ("bytes", "bytes")],
        scale=_MICROSECONDS,
        logarithmic=True,
        height=_HEIGHT,
    )
    return _lines(chart.bands()).figure(
        id,
        title,
        caption=f"Both axes logarithmic. {intervals_text(rows, 'band')}",
        alt=f"Line chart: {title}, from {format_size(sizes[0])} to {format_size(sizes[-1])}; a "
        f"line for each {series.meaning}.",
        fields=[series, Field("bytes", "B", "vector or block of a rank")],
        width="full",
    )


def _lines(chart: Chart) -> Chart:
    """Lines with points in the colours of the series, and in shapes if series outnumber colours."""
    series = list(dict.fromkeys(row["series"] for row in chart.rows))
    if len(series) <= _COLOURS or chart.hue is None:
        return chart.lines()
    hue = {**chart.hue, "scale": {"domain": series}}
    chart.hue = hue
    shape = marked("series", series, _SHAPES, hue["legend"])
    return chart.lines(0).points(50, opaque=True, shape=shape)


def _by_ranks(found: Sequence[Point]) -> Figure:
    rows: list[Row] = [
        {"series": _short_name(point), "ranks": ranks(point), **statistics(point)}
        for point in found
    ]
    counts = sorted(set(map(ranks, found)))
    x = count_axis("ranks", "ranks", counts, nice=False)
    chart = Chart(
        rows,
        x,
        "time",
        "s",
        hue="series",
        names=[("series", "operation"), ("ranks", "ranks")],
        scale=_MICROSECONDS,
        logarithmic=True,
        height=_HEIGHT,
    )
    return (
        _lines(chart)
        .whiskers()
        .figure(
            "collectives-ranks",
            "Collectives against ranks",
            caption=f"Both axes logarithmic. {intervals_text(rows, 'whiskers')}",
            alt=f"Line chart: time of collectives from {counts[0]} to {counts[-1]} ranks, a line "
            "for each operation.",
            fields=[
                Field("series", "", "operation and size"),
                Field("ranks", "", "MPI processes"),
            ],
            width="full",
        )
    )


def _by_timing(found: Sequence[Ratio]) -> Figure:
    """The time after a barrier over the time from a common start."""
    rows = [_timing_row(times) for times in found]
    rows.sort(key=lambda row: (str(row["series"]), int(row["bytes"] or 0)))
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    chart = Chart(
        rows,
        size_axis("bytes", "bytes per rank", sizes),
        "after a barrier / from a common start",
        "",
        hue="series",
        names=[("series", "operation"), ("bytes", "bytes")],
        scale=(1.0, ""),
        zero=False,
        height=_HEIGHT,
    )
    most = counted(ranks(found[0].above), "rank")
    return (
        _lines(chart)
        .whiskers()
        .add(level(1.0))
        .figure(
            "collectives-timing",
            f"Timed after a barrier against timed from a common start, {most}",
            caption=f"Ratio of medians. {intervals_text(rows, 'whiskers')} On the dashed line both "
            "timings agree; below it an operation timed after a barrier appears quicker than it "
            "is.",
            alt="Ratios of the time after a barrier to the time from a common start, for "
            f"{counted(len(rows), 'case')}, and a line at 1.",
            fields=[
                Field("series", "", "operation"),
                Field("bytes", "B", "vector or block of a rank"),
                Field("appointed", "s", "median from a common start"),
                Field("barrier", "s", "median after a barrier"),
            ],
            statistics=ratio_fields("time after a barrier over time from a common start"),
            width="full",
        )
    )


def _timing_row(times: Ratio) -> Row:
    low, high = times.ci95 or (None, None)
    return {
        "series": operation(times.above),
        "bytes": size(times.above),
        "appointed": times.below.metric.median,
        "barrier": times.above.metric.median,
        "median": times.value,
        "low": low,
        "high": high,
        "launches": times.launches,
    }


def _short_name(point: Point) -> str:
    """``allreduce 8 B``."""
    op = operation(point)
    return op if op == "barrier" else f"{op} {format_size(size(point))}"
