"""Points against others that differ in a single parameter or in the kernel, and their figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assay.charts.axes import size_axis
from assay.charts.builder import Chart
from assay.charts.figure import Field, Figure
from assay.charts.levels import level
from assay.charts.marks import Row, ratio_fields
from assay.model.placement import Value
from assay.models.network.minimum import MinimumData, MissingData
from assay.questions.common.figure_rows import intervals_text
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point
from assay.questions.network.parameters import message_bytes
from assay.units import counted, format_size

_HEIGHT = 280


def against(found: Iterable[Point], name: str, usual: Value) -> list[Ratio]:
    """Each point over the point that differs only in parameter ``name``, which there is ``usual``.

    A cell without the parameter has the usual value. Points of 0 s are left out.
    """
    timed = [point for point in found if point.metric.median > 0]
    usual_ones = {
        _other(point, name): point for point in timed if _value(point, name) in (None, usual)
    }
    return [
        ratio_of(point, usual_ones[key])
        for point in timed
        if _value(point, name) not in (None, usual) and (key := _other(point, name)) in usual_ones
    ]


def lacking(method: MinimumData, found: Iterable[Ratio]) -> tuple[MissingData, ...]:
    """The data that the first ratio with too few launches lacks for a comparison."""
    for times in found:
        lack = method.missing({1: times.above.metric.n, 2: times.below.metric.n})
        if lack:
            return (lack,)
    return ()


def _value(point: Point, name: str) -> Value | None:
    return point.summary.cell.parameters.get(name)


def _other(point: Point, name: str) -> tuple[object, ...]:
    """Everything that makes two cells comparable, except the parameter."""
    cell = point.summary.cell
    rest = frozenset((key, value) for key, value in cell.parameters.items() if key != name)
    return cell.kernel, cell.toolchain, cell.placement, rest


def ratios_figure(
    found: Sequence[Ratio],
    name_of: Callable[[Ratio], str],
    *,
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    axis: str,
    series: str,
    equal: str,
) -> Figure | None:
    """Ratios against size, a series for each name; None for fewer than two ratios.

    ``axis``: title of the ratio's axis. ``series``: meaning of the names. ``equal``: the caption's
    sentence on the line at 1.
    """
    if len(found) < 2:
        return None
    rows: list[Row] = []
    for times in found:
        low, high = times.ci95 or (None, None)
        rows.append(
            {
                "series": name_of(times),
                "bytes": max(message_bytes(times.above), 0),
                "time": times.above.metric.median,
                "usual": times.below.metric.median,
                "median": times.value,
                "low": low,
                "high": high,
                "launches": times.launches,
            }
        )
    rows.sort(key=lambda row: (str(row["series"]), int(row["bytes"] or 0)))
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    chart = Chart(
        rows,
        size_axis("bytes", "bytes", sizes),
        axis,
        "",
        hue="series",
        names=[("series", series), ("bytes", "bytes")],
        scale=(1.0, ""),
        zero=False,
        height=_HEIGHT,
    )
    return (
        chart.lines()
        .whiskers()
        .add(level(1.0))
        .figure(
            id,
            title,
            caption=f"Ratio of medians. {intervals_text(rows, 'whiskers')} {equal}",
            alt=f"{title}: ratios for {counted(len(rows), 'case')} from {format_size(sizes[0])} "
            f"to {format_size(sizes[-1])}, and a line at 1.",
            fields=[
                Field("series", "", series),
                Field("bytes", "B", "of a message, an operation or a block"),
                Field("time", "s", "median of the numerator"),
                Field("usual", "s", "median of the denominator"),
            ],
            statistics=ratio_fields(axis),
            width="full",
        )
    )
