"""Performance with several ranks per node: ratios over one, and over numbers of nodes and ranks.

After the figures of Luecke, Li & Cuma (2005); their appendix 1 has the other classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from assay.charts.axes import count_axis, count_span
from assay.charts.builder import Chart, named
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, ratio_fields, ratio_tooltip
from assay.kernels.naming import cell_name
from assay.questions.common.figure_rows import intervals_text
from assay.questions.common.selection import Point, quantity_text
from assay.questions.placement.ratios.findings import PlacementRatio, RatioFindings, compared_name
from assay.questions.placement.works import METRIC, size_of
from assay.units import Interval, counted

# Maximum number of lines per work in figures of ratios. If there are more, only 2 ranks per node
# and the maximum are drawn.
_RATIO_LINES = 2
# Maximum number of lines in figures of performance. If there are more, only the two smallest
# numbers of ranks per node and the maximum are drawn.
_SPEED_LINES = 4
# Maximum number of bars of a figure of half width.
_BARS_IN_HALF = 14


def figures(found: RatioFindings) -> list[Figure]:
    """Ratios on the same number of nodes and of ranks, and performance."""
    return [
        *ratio_figures("nodes", found.same_nodes),
        *ratio_figures("ranks", found.same_ranks),
        *speed_figures([work.points for work in found.works]),
    ]


def ratio_figures(fixed: str, compared: Sequence[PlacementRatio]) -> list[Figure]:
    """A figure of the largest problem class of each benchmark, one of the next smaller class, …"""
    return [_ratio_figure(fixed, group, place) for place, group in enumerate(by_size(compared))]


def by_size(compared: Sequence[PlacementRatio]) -> list[list[PlacementRatio]]:
    """Ratios at the largest problem class of each benchmark, at the next smaller class, …"""
    sizes: dict[str, set[int]] = {}
    for one in compared:
        cell = one.above.summary.cell
        sizes.setdefault(cell.kernel, set()).add(size_of(cell) or 0)
    groups: dict[int, list[PlacementRatio]] = {}
    for one in compared:
        cell = one.above.summary.cell
        larger = sum(size > (size_of(cell) or 0) for size in sizes[cell.kernel])
        groups.setdefault(larger, []).append(one)
    return [groups[place] for place in sorted(groups)]


def _ratio_figure(fixed: str, compared: Sequence[PlacementRatio], place: int) -> Figure:
    """Ratios for the same number of ``nodes`` or ``ranks``: bars for one number, else lines.

    ``place``: number of larger problem classes.
    """
    counts = sorted({_count(fixed, one.above) for one in compared})
    ppns = {_ppn(one.above) for one in compared}
    if len(counts) > 1 and len(ppns) > _RATIO_LINES:
        compared = [one for one in compared if _ppn(one.above) in (2, max(ppns))]
        counts = sorted({_count(fixed, one.above) for one in compared})
    rows = [_ratio_row(fixed, one, compared) for one in compared]
    bars = len(counts) == 1
    names = [("work", "work"), ("count", fixed), ("ppn", "over 1 rank per node")]
    chart = Chart(
        rows,
        named("work") if bars else count_axis("count", fixed, counts, **count_span(counts)),
        "performance over 1 rank per node",
        "",
        hue="ppn" if bars else "work",
        scale=(1.0, ""),
    )
    chart.tooltip = ratio_tooltip(names)
    if bars:
        chart.bars(beside="ppn").whiskers()
    else:
        _lines_by_ppn(chart, rows)
    chart.level(1.0)
    same = "same nodes" if fixed == "nodes" else "same ranks on fewer nodes"
    paper = "figures 1.B.a to 6.B.a" if fixed == "nodes" else "figures 1.B.c to 6.B.c"
    return chart.figure(
        f"placement-ratio-{fixed}{f'-{place + 1}' if place else ''}",
        f"Performance with several ranks per node over one, {same}"
        + ", smaller classes" * bool(place),
        caption="Dashed: equal performance; an interval that contains it shows no direction. "
        f"{intervals_text(rows, 'whiskers')} "
        f"After Luecke, Li & Cuma (2005), {paper}.",
        alt=f"Performance ratios over 1 rank per node, {same}, from "
        f"{min(one.value for one in compared):.2f} to {max(one.value for one in compared):.2f}.",
        fields=[
            Field("work", "", "benchmark and class, or command"),
            Field("count", "", f"the number of {fixed}, which is the same on both sides"),
            Field("ppn", "", "ranks per node of the numerator; 1 in the denominator"),
        ],
        statistics=ratio_fields(
            "ratio of performance: time at 1 rank per node over time at several"
        ),
        width="half" if len(rows if bars else counts) <= (_BARS_IN_HALF if bars else 3) else "full",
    )


def _ratio_row(fixed: str, found: PlacementRatio, compared: Sequence[PlacementRatio]) -> Row:
    low, high = found.interval or (None, None)
    return {
        "work": compared_name(found, compared),
        "count": _count(fixed, found.above),
        "ppn": f"{_ppn(found.above)} ranks per node",
        "median": found.value,
        "low": low,
        "high": high,
        "launches": found.launches,
    }


def _lines_by_ppn(chart: Chart, rows: Sequence[Row]) -> None:
    """A line for each work and number of ranks per node, distinguished by the shapes of points."""
    several = len({row["ppn"] for row in rows}) > 1
    shape: Spec = {
        "field": "ppn",
        "type": "nominal",
        "sort": None,
        "legend": {"title": None} if several else None,
    }
    detail = [{"field": "ppn", "type": "nominal"}]
    _joined(chart, 60, {"detail": detail}, {"shape": shape})


def speed_figures(works: Iterable[Sequence[Point]]) -> list[Figure]:
    """Performance over nodes and over ranks of each work with several numbers of nodes."""
    known = list(works)
    lines = [_few_ppns(work) for work in known]
    # A colour has the same meaning in all figures.
    colours = [_per_node(ppn) for ppn in sorted({ppn for ppns in lines for ppn in ppns})]
    drawn = (
        _speed_figure(fixed, place, known[place], ppns, colours)
        for fixed in ("nodes", "ranks")
        for place, ppns in enumerate(lines)
    )
    return [figure for figure in drawn if figure is not None]


def _few_ppns(work: Sequence[Point]) -> list[int]:
    ppns = sorted({_ppn(point) for point in work})
    return [*ppns[:2], ppns[-1]] if len(ppns) > _SPEED_LINES else ppns


def _speed_figure(
    fixed: str, place: int, work: Sequence[Point], ppns: Sequence[int], colours: Sequence[str]
) -> Figure | None:
    """The performance of a work over ``nodes`` or ``ranks``; None for a single number of them."""
    drawn = sorted(
        (point for point in work if _ppn(point) in ppns),
        key=lambda point: (_ppn(point), _count(fixed, point)),
    )
    counts = sorted({_count(fixed, point) for point in drawn})
    nodes = {point.summary.cell.placement.nodes for point in drawn}
    if len(nodes) < 2 or len(counts) < 2:
        return None
    name = cell_name(work[0].summary.cell)
    # Operations per second; executions per second if a work counts no operations.
    unit = "op/s" if "rate" in work[0].summary.metrics else "1/s"
    rows = [_speed_row(fixed, point) for point in drawn]
    chart = Chart(
        rows,
        count_axis("count", fixed, counts, **count_span(counts)),
        "performance",
        unit,
        hue="ppn",
        names=[("ppn", ""), ("count", fixed)],
        height=170,
    )
    chart.hue = {**(chart.hue or {}), "scale": {"domain": list(colours)}}
    _joined(chart, 50, {}, {})
    most = max(float(row["median"] or 0.0) for row in rows)
    paper = "a" if fixed == "nodes" else "b"
    figure = chart.figure(
        f"placement-speed-{fixed}-{place + 1}",
        f"{name}: performance for a fixed number of {fixed}",
        caption=f"Medians over launches. {intervals_text(rows, 'whiskers')} After Luecke, Li & "
        f"Cuma (2005), figures 1.B.{paper} to 6.B.{paper}.",
        alt=f"Lines of the performance of {name} over {fixed}, one per number of ranks per node, "
        f"up to {quantity_text(most, unit)}.",
        fields=[
            Field("count", "", f"number of {fixed}"),
            Field("ppn", "", "ranks per node"),
        ],
    )
    return msgspec.structs.replace(
        figure, group=f"Performance for a fixed number of {fixed}", panel=name
    )


def _speed_row(fixed: str, point: Point) -> Row:
    value, interval, launches = _performance(point)
    low, high = interval or (None, None)
    return {
        "count": _count(fixed, point),
        "ppn": _per_node(_ppn(point)),
        "median": value,
        "low": low,
        "high": high,
        "launches": launches,
    }


def _per_node(ppn: int) -> str:
    return f"{counted(ppn, 'rank')} per node"


def _performance(point: Point) -> tuple[float, Interval | None, int]:
    """The rate, or else executions per second, its 95% interval and the number of launches."""
    metric = point.summary.metrics.get("rate")
    if metric is not None:
        return metric.median, metric.ci95, metric.n
    time = point.summary.metrics[METRIC]
    interval = None if time.ci95 is None else (1.0 / time.ci95[1], 1.0 / time.ci95[0])
    return 1.0 / time.median, interval, time.n


def _joined(chart: Chart, size: int, of_line: Spec, of_points: Spec) -> None:
    """Lines, their 95% intervals in the same colours, and points on top."""
    chart.lines(0, width=1.5, **of_line).whiskers(coloured=True)
    chart.points(size, opaque=True, **of_points)


def _ppn(point: Point) -> int:
    return point.summary.cell.placement.ppn


def _count(fixed: str, point: Point) -> int:
    placement = point.summary.cell.placement
    return placement.nodes if fixed == "nodes" else placement.ranks
