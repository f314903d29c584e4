"""Performance over nodes and over ranks, a line a number of ranks a node: Luecke, Li & Cuma (2005).

Their figures 1.B.a to 6.B.b, and those of the other classes in appendix 1: a figure a benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.answers.placement_data import METRIC, Comparison, name_of, size_of
from assay.answers.select import Interval, Point
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    error_bars,
    scale_of,
    scaled_fields,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.units import counted

# More lines than these are no figure: then one, two and all are shown.
_MOST_LINES = 4


def by_size(compared: Sequence[Comparison]) -> list[list[Comparison]]:
    """Comparisons at the largest problem class of each benchmark, at the next smaller one, …"""
    sizes: dict[str, set[int]] = {}
    for found in compared:
        cell = found.above.summary.cell
        sizes.setdefault(cell.kernel, set()).add(size_of(cell) or 0)
    groups: dict[int, list[Comparison]] = {}
    for found in compared:
        cell = found.above.summary.cell
        larger = sum(size > (size_of(cell) or 0) for size in sizes[cell.kernel])
        groups.setdefault(larger, []).append(found)
    return [groups[place] for place in sorted(groups)]


def speed_figures(works: Iterable[Sequence[Point]]) -> list[Figure]:
    """Of each work that was measured on several numbers of nodes: by nodes and by ranks."""
    made = []
    for place, work in enumerate(works):
        for fixed in ("nodes", "ranks"):
            figure = _speed_figure(fixed, place, work)
            if figure is not None:
                made.append(figure)
    return made


def _speed_figure(fixed: str, place: int, work: Sequence[Point]) -> Figure | None:
    """One of a work: over ``nodes`` or over ``ranks``; None where there is but one number."""
    shown = _shown(work)
    points = sorted(
        (p for p in work if _ppn(p) in shown), key=lambda p: (_ppn(p), _number(fixed, p))
    )
    rows = [_row(fixed, point) for point in points]
    counts = sorted({int(row["count"] or 0) for row in rows})
    nodes = {point.summary.cell.placement.nodes for point in points}
    if len(nodes) < 2 or len(counts) < 2:
        return None
    name = name_of(work[0].summary.cell)
    unit = _unit(work[0])
    factor, prefix = scale_of(float(row["median"] or 0.0) for row in rows)
    x: Spec = {
        "field": "count",
        "type": "quantitative",
        "title": fixed,
        "scale": {"type": "log", "base": 2, "domain": [counts[0], counts[-1]], "padding": 12},
        "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
    }
    y = y_axis(f"performance ({prefix}{unit})", zero=True)
    hue = colour("ppn", rows)
    told = tooltip([("ppn", ""), ("count", fixed)], f"{prefix}{unit}")
    best = max(rows, key=lambda row: float(row["median"] or 0.0))
    paper = "a" if fixed == "nodes" else "b"
    return Figure(
        id=f"placement-speed-{fixed}-{place + 1}",
        title=f"{name}: performance for a fixed number of {fixed}",
        caption="Medians over launches with 95% intervals. After Luecke, Li & Cuma (2005), figures "
        f"1.B.{paper} to 6.B.{paper}.",
        alt=f"Lines of the performance of {name} over {fixed}, one a number of ranks a node; "
        f"highest with {best['ppn']} on {best['count']} {fixed}.",
        fields=[
            Field("count", "", f"number of {fixed}"),
            Field("ppn", "", "ranks a node"),
            *data_fields(unit),
        ],
        rows=rows,
        spec={
            "height": 230,
            "transform": scaled_fields(factor),
            "layer": [
                {
                    "mark": {"type": "line", "strokeWidth": 1.5},
                    "encoding": {"x": x, "y": y, "color": hue},
                },
                {**error_bars(), "encoding": {"x": x, "color": hue}},
                {
                    "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": hue, "tooltip": told},
                },
            ],
        },
        width="half",
    )


def _shown(work: Sequence[Point]) -> frozenset[int]:
    """The numbers of ranks a node that have a line."""
    counts = sorted({_ppn(point) for point in work})
    if len(counts) <= _MOST_LINES:
        return frozenset(counts)
    return frozenset({*counts[:2], counts[-1]})


def _ppn(point: Point) -> int:
    return point.summary.cell.placement.ppn


def _number(fixed: str, point: Point) -> int:
    placement = point.summary.cell.placement
    return placement.nodes if fixed == "nodes" else placement.ranks


def _unit(point: Point) -> str:
    """Of its performance: operations a second, or executions where nobody counts operations."""
    return "op/s" if "rate" in point.summary.metrics else "1/s"


def _row(fixed: str, point: Point) -> Row:
    ppn = counted(_ppn(point), "rank")
    value, interval, launches = _performance(point)
    low, high = interval or (None, None)
    return {
        "count": _number(fixed, point),
        "ppn": f"{ppn} a node",
        "median": value,
        "low": low,
        "high": high,
        "launches": launches,
    }


def _performance(point: Point) -> tuple[float, Interval | None, int]:
    """Its rate where it has one, else executions a second, with the 95% interval and launches."""
    metric = point.summary.metrics.get("rate")
    if metric is not None:
        return metric.median, metric.ci95, metric.n
    time = point.summary.metrics[METRIC]
    interval = None if time.ci95 is None else (1.0 / time.ci95[1], 1.0 / time.ci95[0])
    return 1.0 / time.median, interval, time.n
