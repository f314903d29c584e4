"""The NAS Parallel Benchmarks as Edmundsson et al. (2004), figures 4 to 6: rates, and speedups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.answers.benchmarks import TITLES
from assay.answers.scaling import Curve, curves
from assay.answers.select import Point, best_by, placement_text, points, ratio, scaled
from assay.kernels.npb import CLASS_ORDER
from assay.report.figures.phases import phase_figure
from assay.report.marks import (
    Row,
    Spec,
    by_size,
    colour,
    count_axis,
    curve_layers,
    data_fields,
    error_bars,
    listed,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Datum, Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

_MEGA = 1e6  # NPB's official unit is Mop/s, whatever the size
_FEWEST_ON_A_CURVE = 3
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]]
_SHAPES = [
    *("circle", "square", "diamond", "triangle-up"),
    *("triangle-down", "cross", "triangle-right", "triangle-left"),
]


def benchmark_figures(cells: Sequence[CellSummary]) -> list[Figure | None]:
    """Each benchmark's rate, the speedup of all of them, and where their time goes."""
    return [
        *(rate_figure(cells, kernel) for kernel in TITLES),
        speedup_figure(cells),
        *(phase_figure(cells, kernel) for kernel in TITLES),
    ]


def rate_figure(cells: Sequence[CellSummary], kernel: str) -> Figure | None:
    """Mop/s per core of one benchmark: lines over core counts, bars where those are few."""
    found = points(cells, kernel, "rate")
    if not found:
        return None
    if len({point.cores for point in found}) < _FEWEST_ON_A_CURVE:
        return _bars(found, kernel)
    return _lines(found, kernel)


def _bars(found: Sequence[Point], kernel: str) -> Figure:
    title = TITLES[kernel]
    toolchains = len({point.summary.cell.toolchain for point in found}) > 1
    rows: list[Row] = [
        {
            "placement": placement_text(point.summary.cell.placement),
            "cores": point.cores,
            "class": str(point.parameter("class"))
            + (f" · {point.summary.cell.toolchain}" if toolchains else ""),
            **statistics(point, per=point.cores),
        }
        for point in sorted(found, key=by_size)
    ]
    spec = {
        "height": 240,
        "transform": scaled_fields(_MEGA),
        "encoding": {
            "x": {
                "field": "placement",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
                "scale": {"paddingInner": 0.5, "paddingOuter": 0.3},
            },
            "xOffset": {"field": "class", "sort": None, "scale": {"paddingInner": 0.08}},
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis("Mop/s per core", zero=True),
                    "color": colour("class", rows, title="class"),
                    "tooltip": tooltip(
                        [("placement", "placement"), ("class", "class")], "Mop/s per core"
                    ),
                },
            },
            error_bars(),
        ],
    }
    return Figure(
        id=kernel.replace(".", "-"),
        title=f"NPB {title}: rate per core",
        caption="Bars of equal height would be perfect scaling. Whiskers: 95% intervals.",
        alt=f"Bar chart of NPB {title} Mop/s per core for class {listed(_classes(found))} on "
        f"{listed([counted(n, 'core') for n in sorted({p.cores for p in found})])}.",
        fields=[
            Field("placement", "", "ranks and threads"),
            Field("cores", "", "cores in use"),
            Field("class", "", "problem class"),
            *data_fields("op/s", " per core"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _lines(found: Sequence[Point], kernel: str) -> Figure:
    """A line a class and way of keeping cores busy; of equal ones on as many cores the best."""
    title = TITLES[kernel]
    plain = all(point.summary.cell.placement.threads == 1 for point in found)
    noun = "process" if plain else "core"
    lines: dict[tuple[str, str, str], list[Point]] = {}
    for point in found:
        line = (str(point.parameter("class")), _kind(point), point.summary.cell.toolchain)
        lines.setdefault(line, []).append(point)
    toolchains = len({toolchain for *_, toolchain in lines}) > 1
    rows: list[Row] = [
        {
            "cores": count,
            "class": size,
            "kind": kind + (f" · {toolchain}" if toolchains else ""),
            "placement": placement_text(point.summary.cell.placement),
            **statistics(point, per=count),
        }
        for (size, kind, toolchain), of_line in sorted(lines.items(), key=_by_class)
        for count, point in best_by(of_line, lambda point: point.cores).items()
    ]
    kinds = len(_values("kind", rows)) > 1
    legend = {"title": "cores kept busy by", "symbolSize": 60} if kinds else None
    by_kind = {
        "strokeDash": _marked("kind", rows, _DASHES, legend),
        "shape": _marked("kind", rows, _SHAPES, legend),
    }
    counts = sorted({point.cores for point in found})
    several = len({row["class"] for row in rows}) > 1
    spec: Spec = {
        "height": 260,
        "transform": scaled_fields(_MEGA),
        "encoding": {"x": count_axis(counts, "processes" if plain else "cores")},
        "layer": curve_layers(
            y_axis(f"Mop/s per {noun}", zero=True),
            {**colour("class", rows), "legend": {"title": "class"} if several else None},
            tooltip(
                [("cores", "cores"), ("class", "class"), ("placement", "placement")],
                f"Mop/s per {noun}",
            ),
            **by_kind,
        ),
    }
    return Figure(
        id=kernel.replace(".", "-"),
        title=f"NPB {title}: rate per {noun}",
        caption="A level line would be perfect scaling; where one rises, it is "
        "superlinear. The band is the 95% interval. The axis of counts is logarithmic.",
        alt=f"Line chart of NPB {title} Mop/s per {noun} for class {listed(_classes(found))} on "
        f"{counts[0]} to {counts[-1]} {'processes' if plain else 'cores'}.",
        fields=[
            Field("cores", "", "cores in use"),
            Field("class", "", "problem class"),
            Field("kind", "", "what kept the cores busy"),
            Field("placement", "", "ranks and threads"),
            *data_fields("op/s", f" per {noun}"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _kind(point: Point) -> str:
    """What keeps the cores busy: processes, the threads of each, or both; and how many a node."""
    placement = point.summary.cell.placement
    if placement.threads == 1:
        return "processes" if placement.nodes == 1 else f"processes, {placement.ppn} a node"
    if placement.ranks == 1:
        return "threads"
    return f"processes of {placement.threads} threads"


def _by_class(line: tuple[tuple[str, str, str], list[Point]]) -> tuple[int, bool, str, str]:
    """Sorting key: large classes first, then plain processes, then the rest by name."""
    (size, kind, toolchain), _ = line
    return -CLASS_ORDER.index(size), kind != "processes", kind, toolchain


def _classes(found: Sequence[Point]) -> list[str]:
    return [name for name in CLASS_ORDER if any(p.parameter("class") == name for p in found)]


def _marked(field: str, rows: Sequence[Row], ranges: list[Any], legend: Spec | None) -> Spec:
    """A shape or dash by a field; the same domain as others of it merges their legends."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": _values(field, rows), "range": ranges},
        "legend": legend,
    }


def _values(field: str, rows: Sequence[Row]) -> list[Datum]:
    return list(dict.fromkeys(row[field] for row in rows))


def speedup_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Speedup over processes with the ideal, a line a benchmark and class.

    The fewest processes of a line count as many times one; their own ratio is 1 by definition, so
    they have no interval.
    """
    known = [curve for kernel in TITLES for curve in curves(cells, kernel)]
    known = [curve for curve in known if len(curve.points) > 1]
    if not known:
        return None
    plain = all(curve.processes for curve in known)
    leading = {curve.kernel: curve.size for curve in reversed(known)}
    rows = [
        row
        for curve in known
        for row in _speedups(curve, leads=curve.size == leading[curve.kernel])
    ]
    counts = sorted({count for curve in known for count in curve.points})
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "title": "speedup",
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 12},
        "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
    }
    x = count_axis(counts, "processes" if plain else "cores")
    hue = colour("benchmark", rows)
    hue["scale"] = {"domain": _values("benchmark", rows)}
    shape = _marked("benchmark", rows, _SHAPES, hue["legend"])
    dashed = any(curve.size != leading[curve.kernel] for curve in known)
    line: Spec = {
        "color": hue,
        "y": y,
        "detail": [{"field": "class", "type": "nominal"}],
        "strokeDash": {
            "condition": {"test": "datum.leads", "value": [1, 0]},
            "value": [5, 4],
        },
    }
    ends: Spec = {"cores": counts[0], "y": counts[0], "to": counts[-1]}
    last: Spec = {"cores": counts[-1], "y": counts[-1]}
    names = [("benchmark", "benchmark"), ("class", "class"), ("cores", "cores")]
    spec: Spec = {
        "height": 360,
        "transform": scaled_fields(1.0),
        "encoding": {"x": x},
        "layer": [
            {
                "data": {"values": [ends]},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {"y": y, "x2": {"field": "to"}, "y2": {"field": "to"}},
            },
            {
                "data": {"values": [last]},
                "mark": {"type": "text", "align": "right", "baseline": "bottom", "dx": -8},
                "encoding": {"y": y, "text": {"value": "ideal"}},
            },
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": line},
            error_bars(),
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "y": y,
                    "color": hue,
                    "shape": shape,
                    "tooltip": tooltip(names, "times"),
                },
            },
        ],
    }
    noun = "process" if plain else "core"
    return Figure(
        id="npb-speedup",
        title=f"NPB: speedup over {'processes' if plain else 'cores'}",
        caption=f"Against the fewest of each line, of which each {noun} counts as one; above the "
        "ideal line is superlinear. "
        + ("Solid: the largest class of each benchmark, dashed: the others. " if dashed else "")
        + "Both axes logarithmic. Whiskers: 95% intervals.",
        alt="Line chart of the speedup of "
        + listed([f"{TITLES[curve.kernel]} class {curve.size}" for curve in known])
        + f" from {counts[0]} to {counts[-1]}, beside the ideal line.",
        fields=[
            Field("benchmark", "", "benchmark"),
            Field("class", "", "problem class"),
            Field("leads", "", "whether it is the largest class of its benchmark"),
            Field("cores", "", "cores in use"),
            Field("placement", "", "ranks and threads"),
            *data_fields(""),
        ],
        rows=rows,
        spec=spec,
    )


def _speedups(curve: Curve, *, leads: bool) -> list[Row]:
    base = curve.points[curve.few]
    rows: list[Row] = []
    for count, point in curve.points.items():
        value, interval = ratio(point.metric, base.metric)
        low, high = scaled(interval, curve.few) or (None, None)
        itself = count == curve.few
        rows.append(
            {
                "benchmark": TITLES[curve.kernel],
                "class": curve.size,
                "leads": leads,
                "cores": count,
                "placement": placement_text(point.summary.cell.placement),
                "median": value * curve.few,
                "low": None if itself else low,
                "high": None if itself else high,
                "launches": point.metric.n,
            }
        )
    return rows
