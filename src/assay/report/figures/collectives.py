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
from assay.answers.select import Point, points, ratio
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    band,
    colour,
    data_fields,
    error_bars,
    level,
    line,
    logarithmic_axis,
    ratio_fields,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted, format_size

_MICROSECOND, _TIME = 1e-6, "time (µs)"
# As many as the themes have: with more series colours come again.
_COLOURS = 6


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
    sizes = sorted({size(point) for point in found})
    y = logarithmic_axis(_TIME, rows, _MICROSECOND)
    names = [("series", series.meaning), ("bytes", "bytes")]
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(_MICROSECOND),
        "encoding": {"x": size_axis("bytes", "bytes of a rank", sizes)},
        "layer": [band(y, colour("series", rows)), _line(rows, y, names, "µs")],
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


def _line(rows: Sequence[Row], y: Spec, names: Sequence[tuple[str, str]], unit: str) -> Spec:
    """Lines with points, a colour a series; dashes too where there are more series than colours."""
    hue = colour("series", rows)
    many = len({row["series"] for row in rows}) > _COLOURS
    return line(y, hue, tooltip(names, unit), **({"strokeDash": hue} if many else {}))


def _by_ranks(usual: Sequence[Point]) -> Figure | None:
    groups = [group for group in growing(usual) if len(group) > 2]
    if not groups:
        return None
    rows: list[Row] = [
        {"series": _short_name(point), "ranks": ranks(point), **statistics(point)}
        for group in groups
        for point in group
    ]
    counts = sorted({ranks(point) for group in groups for point in group})
    x = {
        "field": "ranks",
        "type": "quantitative",
        "title": "ranks",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
    }
    names = [("series", "operation"), ("ranks", "ranks")]
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(_MICROSECOND),
        "encoding": {"x": x},
        "layer": [
            _line(rows, logarithmic_axis(_TIME, rows, _MICROSECOND), names, "µs"),
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
            Field("series", "", "operation and size"),
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
    rows.sort(key=lambda row: (str(row["series"]), int(row["bytes"] or 0)))
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    y = y_axis("after a barrier / from a common start", zero=False)
    names = [("series", "operation"), ("bytes", "bytes")]
    spec: Spec = {
        "height": 280,
        "transform": scaled_fields(1.0),
        "encoding": {"x": size_axis("bytes", "bytes of a rank", sizes)},
        "layer": [
            _line(rows, y, names, "times as long"),
            error_bars(),
            level(1.0),
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
            Field("series", "", "operation"),
            Field("bytes", "B", "vector or block of a rank"),
            Field("appointed", "s", "median from a common start"),
            Field("barrier", "s", "median after a barrier"),
            *ratio_fields("barrier / appointed"),
        ],
        rows=rows,
        spec=spec,
    )


def _timing_row(appointed: Point, barrier: Point) -> Row:
    value, interval = ratio(barrier.metric, appointed.metric)
    low, high = interval or (None, None)
    return {
        "series": operation(barrier),
        "bytes": size(barrier),
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
