"""Storage: bandwidth against record size, ways of writing in parallel, operations on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median as middle

from assay.answers.select import Point, best, labeller, points
from assay.answers.storage import FILE, METADATA, OPERATION_TITLES, PARALLEL, way_of
from assay.kernels.storage import LAYOUTS, READS, WRITES
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    error_bars,
    line,
    logarithmic_axis,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

_COLUMNS_IN_HALF = 16  # bars that stay wide enough to tell apart in half of the text's width


def record_figures(cells: Sequence[CellSummary]) -> list[Figure | None]:
    """IOzone's curves: bandwidth against record size, of what writes and of what reads."""
    found = [point for point in points(cells, FILE, "bandwidth") if point.metric.median > 0]
    return [
        _record_figure([p for p in found if p.parameter("op") in ops], name)
        for name, ops in (("writing", WRITES), ("reading", READS))
    ]


def _record_figure(found: list[Point], name: str) -> Figure | None:
    """A line for each operation and method."""
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
    strokes = {
        "field": "method",
        "type": "nominal",
        "sort": None,
        "legend": {
            "title": None,
            "symbolType": "stroke",
            "symbolStrokeColor": "gray",
            "symbolStrokeWidth": 2,
        },
    }
    x = size_axis("record", "record size", sizes)
    x["scale"] = {"type": "log", "base": 2, "nice": False}
    x["axis"]["values"] = sizes
    hue = colour("operation", rows)
    unit = f"{prefix}B/s"
    names = [(field, field) for field in ("operation", "method", "record")]
    y = logarithmic_axis(f"bandwidth ({unit})", rows, factor)
    spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {"x": x},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative", "scale": y["scale"]},
                    "y2": {"field": "y_high"},
                    "color": hue,
                },
            },
            line(y, hue, tooltip(names, unit), strokeDash=strokes, detail={"field": "file_size"}),
        ],
    }
    return Figure(
        id=f"storage-{name}",
        title=f"Storage: {name}, bandwidth against record size",
        caption="Both axes logarithmic; the whiskers are 95% intervals. Buffered operations may be "
        "answered by the page cache.",
        alt=f"Line chart of storage bandwidth in {name}, for records from {sizes[0]} "
        f"to {sizes[-1]} bytes.",
        fields=[
            Field("record", "B", "bytes of a read or write"),
            Field("operation", "", "what is done to the file"),
            Field("method", "", "how it is written or read; ranks where they differ"),
            Field("file_size", "B", "size of each rank's file"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def parallel_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of bandwidth for each way of sharing the work, one a number of ranks."""
    found = points(cells, PARALLEL, "bandwidth")
    if not found:
        return None
    found.sort(
        key=lambda p: (p.parameter("op") != "write", LAYOUTS.index(str(p.parameter("layout"))))
    )
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
    columns = _columns(rows, ("way", "ranks"), factor, f"bandwidth ({prefix}B/s)", f"{prefix}B/s")
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
        spec=columns,
        width="half" if len(rows) <= _COLUMNS_IN_HALF else "full",
    )


def metadata_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Operations on files a second, by directories and ranks: they differ by powers of ten."""
    found = points(cells, METADATA, "rate")
    if not found:
        return None
    factor, prefix = scale_of([middle(point.metric.median for point in found)])
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
    columns = _columns(
        rows,
        ("operation", "who"),
        factor,
        f"files ({prefix}op/s)",
        f"{prefix}op/s",
        logarithmic=True,
    )
    return Figure(
        id="storage-metadata",
        title="Storage: files created, looked at, removed",
        caption="Logarithmic. Operations of all ranks together; the whiskers are 95% intervals.",
        alt=f"Chart of file operations a second; the highest is "
        f"{top.parameter('op')} on {counted(top.cores, 'rank')}.",
        fields=[
            Field("operation", "", "what is done to each file"),
            Field("who", "", "ranks at once, and their directories"),
            *data_fields("op/s"),
        ],
        rows=rows,
        spec=columns,
        width="half" if len(rows) <= _COLUMNS_IN_HALF else "full",
    )


def _record(point: Point) -> int:
    size = point.parameter("record")
    return int(size) if isinstance(size, (int, float)) else 0


def _method(point: Point) -> str:
    return str(point.parameter("method"))


def _one_of_each(found: Sequence[Point], key: Callable[[Point], object]) -> list[Point]:
    """The best point of each kind, in the order that the kinds appear in."""
    kinds: dict[object, list[Point]] = {}
    for point in found:
        kinds.setdefault(key(point), []).append(point)
    return [best(points) for points in kinds.values()]


def _columns(
    rows: list[Row],
    names: tuple[str, str],
    factor: float,
    axis: str,
    shown: str,
    *,
    logarithmic: bool = False,
) -> Spec:
    """Groups by the first name and in them a bar for each second; dots on a logarithmic axis."""
    group, bar = names
    several = len({row[group] for row in rows}) > 4  # labels that don't fit side by side
    mark: Spec = {"type": "bar", "cornerRadiusEnd": 2}
    y = y_axis(axis, zero=True)
    if logarithmic:
        mark = {"type": "point", "filled": True, "size": 70, "opacity": 1}
        y = logarithmic_axis(axis, rows, factor)
    return {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": group,
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": -30 if several else 0, "labelLimit": 260, "ticks": False},
                "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
            },
            "xOffset": {"field": bar, "sort": None, "scale": {"paddingInner": 0.08}},
        },
        "layer": [
            {
                "mark": mark,
                "encoding": {
                    "y": y,
                    "color": colour(bar, rows),
                    "tooltip": tooltip([(group, group), (bar, bar)], shown),
                },
            },
            error_bars(),
        ],
    }
