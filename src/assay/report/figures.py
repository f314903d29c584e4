"""The figures, as Vega-Lite specifications over plain rows.

Specifications are plain dictionaries: altair would build the same ones, but costs a second to
import and brings a validator that nobody needs for five fixed figures. Data stay in SI base units,
so that what is downloaded is what was measured; a specification scales them for the eye.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import arriving_order, theoretical_peak
from assay.answers.benchmarks import TITLES
from assay.answers.select import Point, best, counted, labeller, placement_text, points
from assay.kernels.memory import STREAM_WORK
from assay.kernels.npb import CLASSES
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    by_size,
    colour,
    data_fields,
    decades,
    error_bars,
    peak_layers,
    scale_of,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary

# Message sizes worth a tick; 0 has its place because the axis is linear below 1 B.
_SIZE_TICKS = [0, 1, 8, 64, 512, *(1 << p for p in range(12, 31, 3))]
_SIZE_LABEL = (
    "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)
_BARS_IN_HALF = 16  # bars that stay wide enough to tell apart in half of the text's width
_TICKS = 12  # measured values up to which an axis ticks each of them


def speed_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure]:
    """Every figure for which this run holds data."""
    made = [
        stream_figure(cells),
        dgemm_figure(cells, run),
        *(benchmark_figure(cells, kernel) for kernel in TITLES),
        latency_figure(cells),
        bandwidth_figure(cells),
    ]
    return [figure for figure in made if figure is not None]


def stream_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of bandwidth: operations side by side, one bar a placement."""
    found = points(cells, "memory.stream", "bandwidth")
    if not found:
        return None
    label = labeller(found)
    rows = [
        {"operation": str(point.parameter("op")), "placement": label(point), **statistics(point)}
        for point in sorted(found, key=by_size)
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    operations = [op for op in STREAM_WORK if any(row["operation"] == op for row in rows)]
    x = {
        "field": "operation",
        "type": "nominal",
        "sort": operations,
        "title": None,
        "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
        "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
    }
    offset = {"field": "placement", "sort": None, "scale": {"paddingInner": 0.08}}
    spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {"x": x, "xOffset": offset},
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"bandwidth ({prefix}B/s)", zero=True),
                    "color": colour("placement", rows),
                    "tooltip": tooltip(
                        [("operation", "operation"), ("placement", "placement")],
                        f"{prefix}B/s",
                    ),
                },
            },
            error_bars(),
        ],
    }
    top = best(found)
    return Figure(
        id="stream",
        title="STREAM: sustained memory bandwidth",
        caption="Median over launches; the whiskers are 95% intervals.",
        alt=f"Bar chart of STREAM bandwidth for {_listed(operations)}; the highest bar is "
        f"{top.parameter('op')} on {counted(top.cores, 'core')}.",
        fields=[
            Field("operation", "", "STREAM operation"),
            Field("placement", "", "ranks and threads"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=spec,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )


def dgemm_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Rate against N; the theoretical peak as a line, a ring where 95% of the best is reached."""
    found = points(cells, "compute.dgemm", "rate")
    if not found:
        return None
    label = labeller(found)
    orders = {
        point.cores: {p.parameter("n") for p in found if p.cores == point.cores} for point in found
    }
    arrived = {count: arriving_order(found, count) for count in orders}
    peaks = {
        count: limit.rate
        for count in orders
        if (limit := theoretical_peak(run, [p for p in found if p.cores == count]))
    }
    rows: list[Row] = [
        {
            "n": int(point.parameter("n") or 0),
            "placement": label(point),
            **statistics(point),
            "peak": peaks.get(point.cores),
            "arrives": point.parameter("n") == arrived[point.cores]
            and len(orders[point.cores]) > 1,
        }
        for point in sorted(found, key=by_size)
    ]
    factor, prefix = scale_of([*(p.metric.median for p in found), *peaks.values()])
    x = {
        "field": "n",
        "type": "quantitative",
        "title": "order N of the matrices",
        **_order_axis(sorted({int(row["n"] or 0) for row in rows})),
    }
    hue = colour("placement", rows)
    layers: list[Spec] = [
        error_bars(),
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 45}},
            "encoding": {
                "y": y_axis(f"rate ({prefix}flop/s)", zero=True),
                "color": hue,
                "tooltip": tooltip([("n", "N"), ("placement", "placement")], f"{prefix}flop/s"),
            },
        },
        {
            "transform": [{"filter": "datum.arrives"}],
            "mark": {"type": "point", "size": 220, "strokeWidth": 2, "filled": False},
            "encoding": {"y": {"field": "y", "type": "quantitative"}, "color": hue},
        },
    ]
    if peaks:
        layers += peak_layers(hue, factor)
    spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {"x": x},
        "layer": layers,
    }
    where = [
        f"on {counted(count, 'core')} 95% of the best from N = {order}"
        for count, order in sorted(arrived.items())
        if len(orders[count]) > 1
    ] or ["one order alone"]
    rings = "A ring marks the smallest N within 5% of the best."
    lines = " Dashed: theoretical peak of as many cores." if peaks else ""
    return Figure(
        id="dgemm",
        title="DGEMM: floating-point rate against matrix order",
        caption=f"Median over launches with 95% intervals. {rings}{lines}",
        alt=f"Line chart of the DGEMM rate against matrix order N; {_listed(where)}.",
        fields=[
            Field("n", "", "order of the matrices"),
            Field("placement", "", "ranks and threads"),
            *data_fields("flop/s"),
            Field("peak", "flop/s", "theoretical peak of the cores in use"),
            Field("arrives", "", "whether this is the smallest N at 95% of the best"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _order_axis(orders: Sequence[int]) -> Spec:
    """Logarithmic where the orders span more than a decade; ticks where something was measured."""
    scale: Spec = {"zero": False, "nice": True, "padding": 16}
    if orders[-1] > 10 * max(orders[0], 1):
        scale = {"type": "log", "nice": False, "padding": 16}
    axis: Spec = {"format": "d", "labelOverlap": "greedy"}
    if len(orders) <= _TICKS:
        axis["values"] = list(orders)
    return {"scale": scale, "axis": axis}


def benchmark_figure(cells: Sequence[CellSummary], kernel: str) -> Figure | None:
    """Mop/s per core of one NPB against cores, by class: level bars are perfect scaling."""
    found = points(cells, kernel, "rate")
    if not found:
        return None
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
    factor, prefix = 1e6, "M"  # NPB's official unit, whatever the size
    spec = {
        "height": 240,
        "transform": scaled_fields(factor),
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
                    "y": y_axis(f"{prefix}op/s per core", zero=True),
                    "color": colour("class", rows, title="class"),
                    "tooltip": tooltip(
                        [("placement", "placement"), ("class", "class")],
                        f"{prefix}op/s per core",
                    ),
                },
            },
            error_bars(),
        ],
    }
    classes = [name for name in CLASSES if any(p.parameter("class") == name for p in found)]
    return Figure(
        id=kernel.replace(".", "-"),
        title=f"NPB {title}: rate per core",
        caption="Bars of equal height would be perfect scaling. Whiskers: 95% intervals.",
        alt=f"Bar chart of NPB {title} Mop/s per core for class {_listed(classes)} on "
        f"{_listed([counted(n, 'core') for n in sorted({p.cores for p in found})])}.",
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


def latency_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Ping-pong latency against message size, both logarithmic."""
    found = [p for p in points(cells, "network.pingpong", "latency") if p.metric.median > 0]
    return _message_figure(
        found,
        id="latency",
        title="Ping-pong: latency against message size",
        axis="half a round trip (µs)",
        unit="s",
        factor=1e-6,
        shown="µs",
    )


def bandwidth_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Ping-pong bandwidth against message size, both logarithmic."""
    found = [
        point
        for point in points(cells, "network.pingpong", "bandwidth")
        if _message_size(point) > 0 and point.metric.median > 0
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    return _message_figure(
        found,
        id="bandwidth",
        title="Ping-pong: bandwidth against message size",
        axis=f"bandwidth ({prefix}B/s)",
        unit="B/s",
        factor=factor,
        shown=f"{prefix}B/s",
    )


def _message_figure(
    found: Sequence[Point],
    *,
    id: str,  # noqa: A002 - the figure's own word
    title: str,
    axis: str,
    unit: str,
    factor: float,
    shown: str,
) -> Figure | None:
    if len({_message_size(point) for point in found}) < 2:
        return None
    label = labeller(found)
    rows = [
        {"bytes": _message_size(point), "placement": label(point), **statistics(point)}
        for point in sorted(found, key=lambda point: (*by_size(point)[:2], _message_size(point)))
    ]
    sizes = sorted({_message_size(point) for point in found})
    ticks = [tick for tick in _SIZE_TICKS if sizes[0] <= tick <= sizes[-1]]
    hue = colour("placement", rows)
    logarithmic = {"type": "log", "nice": True}
    y = {
        "field": "y",
        "type": "quantitative",
        "title": axis,
        "scale": logarithmic,
        "axis": {"values": decades(rows, factor), "format": "~g"},
    }
    spec = {
        "height": 240,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": "bytes",
                "type": "quantitative",
                "title": "message size",
                "scale": {"type": "symlog", "constant": 1, "nice": False},
                "axis": {"values": ticks, "labelExpr": _SIZE_LABEL, "labelOverlap": "greedy"},
            },
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "area", "opacity": 0.25},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative", "scale": logarithmic},
                    "y2": {"field": "y_high"},
                    "color": hue,
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 30}},
                "encoding": {
                    "y": y,
                    "color": hue,
                    "tooltip": tooltip([("bytes", "bytes"), ("placement", "placement")], shown),
                },
            },
        ],
    }
    return Figure(
        id=id,
        title=title,
        caption="Both axes logarithmic. The band is the 95% interval.",
        alt=f"Line chart: {title.lower()}, from {sizes[0]} to {sizes[-1]} bytes.",
        fields=[
            Field("bytes", "B", "message size"),
            Field("placement", "", "the two ranks' placement"),
            *data_fields(unit),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _message_size(point: Point) -> int:
    size = point.parameter("bytes")
    return int(size) if isinstance(size, (int, float)) else 0


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
