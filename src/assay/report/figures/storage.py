"""Storage: bandwidth against record size, ways of writing in parallel, operations on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.answers.select import Point, best, counted, labeller, points
from assay.answers.storage import FILE, METADATA, OPERATION_TITLES, PARALLEL, way_of
from assay.report.marks import (
    Row,
    Spec,
    by_size,
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

_BARS_IN_HALF = 16  # bars that stay wide enough to tell apart in half of the text's width


def record_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """IOzone's curves: bandwidth against record size, a line for each operation and method."""
    found = [point for point in points(cells, FILE, "bandwidth") if point.metric.median > 0]
    sizes = sorted({_record(point) for point in found})
    if len(sizes) < 2:
        return None
    label = labeller(found)
    several = len({label(point) for point in found}) > 1
    order = list(OPERATION_TITLES)
    found.sort(key=lambda p: (order.index(str(p.parameter("op"))), _method(p), _record(p)))
    rows: list[Row] = [
        {
            "record": _record(point),
            "operation": OPERATION_TITLES[str(point.parameter("op"))].lower(),
            "method": _method(point) + (f", {label(point)}" if several else ""),
            "file_size": int(point.parameter("file_size") or 0),
            **statistics(point),
        }
        for point in found
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    logarithmic = {"type": "log", "nice": True}
    strokes = {"field": "method", "type": "nominal", "sort": None, "title": "method"}
    hue = colour("operation", rows)
    spec = {
        "height": 300,
        "transform": scaled_fields(factor),
        "encoding": {"x": size_axis("record", "record size", sizes)},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative", "scale": logarithmic},
                    "y2": {"field": "y_high"},
                    "color": hue,
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 30}},
                "encoding": {
                    "y": {
                        "field": "y",
                        "type": "quantitative",
                        "title": f"bandwidth ({prefix}B/s)",
                        "scale": logarithmic,
                        "axis": {"values": decades(rows, factor), "format": "~g"},
                    },
                    "color": hue,
                    "strokeDash": strokes,
                    "detail": {"field": "file_size"},
                    "tooltip": tooltip(
                        [("operation", "operation"), ("method", "method"), ("record", "record")],
                        f"{prefix}B/s",
                    ),
                },
            },
        ],
    }
    return Figure(
        id="storage-records",
        title="Storage: bandwidth against record size",
        caption="Both axes logarithmic; the whiskers are 95% intervals. Buffered operations may be "
        "answered by the page cache.",
        alt=f"Line chart of storage bandwidth for records from {sizes[0]} to {sizes[-1]} bytes.",
        fields=[
            Field("record", "B", "bytes of a read or write"),
            Field("operation", "", "what is done to the file"),
            Field("method", "", "how it is written or read; ranks where they differ"),
            Field("file_size", "B", "size of each rank's file"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=spec,
        width="full",
    )


def parallel_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of bandwidth for each way of sharing the work, one a number of ranks."""
    found = points(cells, PARALLEL, "bandwidth")
    if not found:
        return None
    factor, prefix = scale_of(point.metric.median for point in found)
    rows: list[Row] = [
        {
            "way": f"{point.parameter('op')}: {way_of(point)}",
            "ranks": counted(point.cores, "rank"),
            **statistics(point),
        }
        for point in _one_of_each(found, lambda p: (p.parameter("op"), way_of(p), p.cores))
    ]
    top = best(found)
    bars = _bars(rows, ("way", "ranks"), factor, f"bandwidth ({prefix}B/s)", f"{prefix}B/s")
    return Figure(
        id="storage-parallel",
        title="Storage: all ranks at once",
        caption="Bandwidth of all ranks together, median over launches; the whiskers are 95% "
        "intervals.",
        alt=f"Bar chart of parallel storage bandwidth; the highest bar is "
        f"{top.parameter('op')}, {way_of(top)}, on {counted(top.cores, 'rank')}.",
        fields=[
            Field("way", "", "operation, files and interface"),
            Field("ranks", "", "ranks at once"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=bars,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )


def metadata_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of operations on files a second, one a directory layout and number of ranks."""
    found = points(cells, METADATA, "rate")
    if not found:
        return None
    factor, prefix = scale_of(point.metric.median for point in found)
    rows: list[Row] = [
        {
            "operation": str(point.parameter("op")),
            "who": f"{counted(point.cores, 'rank')}, "
            + ("one directory" if point.parameter("layout") == "shared" else "a directory each"),
            **statistics(point),
        }
        for point in _one_of_each(
            found, lambda p: (p.parameter("op"), p.parameter("layout"), p.cores)
        )
    ]
    top = best(found)
    bars = _bars(rows, ("operation", "who"), factor, f"files ({prefix}op/s)", f"{prefix}op/s")
    return Figure(
        id="storage-metadata",
        title="Storage: files created, looked at, removed",
        caption="Operations of all ranks together, median over launches; the whiskers are 95% "
        "intervals.",
        alt=f"Bar chart of file operations a second; the highest bar is "
        f"{top.parameter('op')} on {counted(top.cores, 'rank')}.",
        fields=[
            Field("operation", "", "what is done to each file"),
            Field("who", "", "ranks at once, and their directories"),
            *data_fields("op/s"),
        ],
        rows=rows,
        spec=bars,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )


def _record(point: Point) -> int:
    size = point.parameter("record")
    return int(size) if isinstance(size, (int, float)) else 0


def _method(point: Point) -> str:
    return str(point.parameter("method"))


def _one_of_each(found: Sequence[Point], key: Callable[[Point], object]) -> list[Point]:
    """The best point of each kind, in the order of the cells, few ranks first."""
    kinds: dict[object, list[Point]] = {}
    for point in sorted(found, key=lambda point: by_size(point)[0]):
        kinds.setdefault(key(point), []).append(point)
    return [best(points) for points in kinds.values()]


def _bars(rows: list[Row], names: tuple[str, str], factor: float, axis: str, shown: str) -> Spec:
    """Groups of bars by the first name, a bar each by the second."""
    group, bar = names
    return {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": group,
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": -30, "labelLimit": 260, "ticks": False},
                "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
            },
            "xOffset": {"field": bar, "sort": None, "scale": {"paddingInner": 0.08}},
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(axis, zero=True),
                    "color": colour(bar, rows),
                    "tooltip": tooltip([(group, group), (bar, bar)], shown),
                },
            },
            error_bars(),
        ],
    }
