"""Collectives: against size, against ranks, by rank order, and by how they were timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.answers.collective_points import (
    KERNEL,
    alike_but,
    growing,
    largest,
    of_op,
    operation,
    operations,
    ranks,
    size,
    timed_both_ways,
    timing,
    usual_points,
)
from assay.answers.select import Point, counted, points, ratio
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    decades,
    error_bars,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import format_size


def collective_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure | None]:
    """Every figure of collectives that this run holds data for."""
    found = [p for p in points(cells, KERNEL, "time") if p.metric.median > 0]
    if not found:
        return []
    usual = usual_points(found)
    return [_by_size(usual), _by_ranks(usual), _by_order(found), _by_timing(found)]


def _by_size(usual: Sequence[Point]) -> Figure | None:
    curves = [
        max(alike_but(of_op(largest(usual), op), "bytes"), key=len)
        for op in operations(largest(usual))
    ]
    most = [point for curve in curves if len(curve) > 1 for point in sorted(curve, key=size)]
    if not most:
        return None
    return _curves(
        most,
        operation,
        id="collectives-size",
        title=f"Collectives against size, {counted(ranks(most[0]), 'rank')}",
        series=Field("series", "", "operation"),
    )


def _by_order(found: Sequence[Point]) -> Figure | None:
    """One operation in several orders (Barczak et al. 2003, figures 5 and 6)."""
    compared = [point for group in alike_but(found, "order") if len(group) > 1 for point in group]
    if not compared:
        return None
    first = largest(of_op(_by_appointment(compared), operations(compared)[0]))
    own = max(alike_but(first, "order", "bytes"), key=len)
    op = operation(own[0])
    if len({size(point) for point in own}) < 2:
        return None
    return _curves(
        sorted(own, key=lambda p: (p.summary.cell.placement.order, size(p))),
        lambda point: f"{point.summary.cell.placement.order} order",
        id="collectives-order",
        title=f"{op} by rank order, {counted(ranks(own[0]), 'rank')}",
        series=Field("series", "", "order of ranks over nodes"),
    )


def _by_appointment(found: Sequence[Point]) -> list[Point]:
    """Those that were timed from appointed starts, or all if none was."""
    return [point for point in found if timing(point) == "appointed"] or list(found)


def _curves(
    found: Sequence[Point],
    series_of: Callable[[Point], str],
    *,
    id: str,  # noqa: A002 - the figure's own word
    title: str,
    series: Field,
) -> Figure:
    """Time against size, both logarithmic, a line a series, with bands."""
    rows: list[Row] = [
        {"series": series_of(point), "bytes": size(point), **statistics(point)} for point in found
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    sizes = sorted({size(point) for point in found})
    y = _log_time(rows, factor, prefix)
    hue = colour("series", rows)
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(factor),
        "encoding": {"x": size_axis("bytes", "bytes of a rank", sizes)},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "area", "opacity": 0.25},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative", "scale": y["scale"]},
                    "y2": {"field": "y_high"},
                    "color": hue,
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 30}},
                "encoding": {
                    "y": y,
                    "color": hue,
                    "tooltip": tooltip(
                        [("series", series.meaning), ("bytes", "bytes")], f"{prefix}s"
                    ),
                },
            },
        ],
    }
    return Figure(
        id=id,
        title=title,
        caption="Both axes logarithmic. The band is the 95% interval.",
        alt=f"Line chart: {title}, from {format_size(sizes[0])} to {format_size(sizes[-1])}; a "
        f"line for each {series.meaning}.",
        fields=[series, Field("bytes", "B", "vector or block of a rank"), *data_fields("s")],
        rows=rows,
        spec=spec,
    )


def _by_ranks(usual: Sequence[Point]) -> Figure | None:
    groups = [group for group in growing(usual) if len(group) > 2]
    if not groups:
        return None
    rows: list[Row] = [
        {"operation": _short_name(point), "ranks": ranks(point), **statistics(point)}
        for group in groups
        for point in group
    ]
    factor, prefix = scale_of(point.metric.median for group in groups for point in group)
    counts = sorted({ranks(point) for group in groups for point in group})
    x = {
        "field": "ranks",
        "type": "quantitative",
        "title": "ranks",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
    }
    hue = colour("operation", rows)
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(factor),
        "encoding": {"x": x, "color": hue},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 30}},
                "encoding": {
                    "y": _log_time(rows, factor, prefix),
                    "tooltip": tooltip(
                        [("operation", "operation"), ("ranks", "ranks")], f"{prefix}s"
                    ),
                },
            },
            error_bars(),
        ],
    }
    return Figure(
        id="collectives-ranks",
        title="Collectives against ranks",
        caption="Both axes logarithmic. The whiskers are 95% intervals.",
        alt=f"Line chart: time of collectives from {counts[0]} to {counts[-1]} ranks, a line for "
        "each operation.",
        fields=[
            Field("operation", "", "operation and size"),
            Field("ranks", "", "MPI processes"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=spec,
    )


def _by_timing(found: Sequence[Point]) -> Figure | None:
    """What timing after a barrier finds, over what a common start finds."""
    pairs = timed_both_ways(found)
    if not pairs:
        return None
    most = max(ranks(appointed) for appointed, _ in pairs)
    rows = [_timing_row(*pair) for pair in pairs if ranks(pair[0]) == most]
    hue = colour("operation", rows)
    x = {
        "field": "case",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelAngle": -40, "labelOverlap": False},
    }
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(1.0),
        "encoding": {"x": x},
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {
                    "y": y_axis("after a barrier / from a common start", zero=False),
                    "color": hue,
                    "tooltip": tooltip([("case", "operation")], "times as long"),
                },
            },
            error_bars(),
            {
                "mark": {"type": "rule", "strokeDash": [6, 4]},
                "encoding": {"y": {"datum": 1}, "x": {"value": 0}, "x2": {"value": "width"}},
            },
        ],
    }
    return Figure(
        id="collectives-timing",
        title=f"Timed after a barrier against timed from a common start, {counted(most, 'rank')}",
        caption="Ratio of medians; the whiskers are 95% intervals. On the dashed line both ways of "
        "timing agree; below it an operation timed after a barrier seems quicker than it is.",
        alt="Ratios of the time found after a barrier to the time from a common start, for "
        f"{counted(len(rows), 'case')}, around a line at 1.",
        fields=[
            Field("case", "", "operation and size"),
            Field("operation", "", "operation"),
            Field("appointed", "s", "median from a common start"),
            Field("barrier", "s", "median after a barrier"),
            Field("median", "", "barrier / appointed"),
            Field("low", "", "lower end of its 95% interval; empty under six launches"),
            Field("high", "", "upper end of its 95% interval"),
            Field("launches", "", "launches of the one that has fewer"),
        ],
        rows=rows,
        spec=spec,
    )


def _timing_row(appointed: Point, barrier: Point) -> Row:
    value, interval = ratio(barrier.metric, appointed.metric)
    low, high = interval or (None, None)
    return {
        "case": _short_name(barrier),
        "operation": operation(barrier),
        "appointed": appointed.metric.median,
        "barrier": barrier.metric.median,
        "median": value,
        "low": low,
        "high": high,
        "launches": min(appointed.metric.n, barrier.metric.n),
    }


def _short_name(point: Point) -> str:
    """``allreduce 8 B``."""
    op = operation(point)
    return op if op == "barrier" else f"{op} {format_size(size(point))}"


def _log_time(rows: Sequence[Row], factor: float, prefix: str) -> Spec:
    return {
        "field": "y",
        "type": "quantitative",
        "title": f"time ({prefix}s)",
        "scale": {"type": "log", "nice": True},
        "axis": {"values": decades(rows, factor), "format": "~g"},
    }
