"""Figures of storage: bandwidth against record size, parallel access, operations on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from assay.charts.axes import size_axis
from assay.charts.builder import Chart, named
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row
from assay.kernels.storage.files import LAYOUTS, OPERATIONS, READS, WRITES
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point, best, labeller
from assay.questions.speed.storage.findings import StorageFindings, number
from assay.questions.speed.storage.sharing import operation_name, way_of
from assay.units import counted

_COLUMNS_IN_HALF = 16  # at most this number of bars fits half of the text's width


def figures(found: StorageFindings) -> list[Figure]:
    """IOzone's curves of writing and of reading, all ranks concurrently, operations on files."""
    files = [point for point in found.curves.files if point.metric.median > 0]
    drawn = (
        _records([p for p in files if p.parameter("op") in WRITES], "writing"),
        _records([p for p in files if p.parameter("op") in READS], "reading"),
        _parallel(found.curves.parallel),
        _metadata(found.curves.metadata),
    )
    return [figure for figure in drawn if figure is not None]


def _records(found: list[Point], name: str) -> Figure | None:
    """A line for each operation and method."""
    sizes = sorted({number(point, "record") for point in found})
    if len(sizes) < 2:
        return None
    label = labeller(found)
    several = len({label(point) for point in found}) > 1
    order = list(OPERATIONS)
    found.sort(key=lambda p: (order.index(str(p.parameter("op"))), _method(p), number(p, "record")))
    rows: list[Row] = [
        {
            "record": number(point, "record"),
            "operation": operation_name(point),
            "method": _method(point) + (f", {label(point)}" if several else ""),
            "file_size": number(point, "file_size"),
            **statistics(point),
        }
        for point in found
    ]
    x = size_axis("record", "record size", sizes)
    x["scale"] = {"type": "log", "base": 2, "nice": False}
    x["axis"]["values"] = sizes
    chart = Chart(
        rows,
        x,
        "bandwidth",
        "B/s",
        hue="operation",
        names=[(field, field) for field in ("operation", "method", "record")],
        logarithmic=True,
    )
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
    return (
        chart.rules()
        .lines(0, strokeDash=strokes, detail={"field": "file_size"})
        .points(30, opaque=True)
        .figure(
            f"storage-{name}",
            f"Storage: {name}, bandwidth against record size",
            caption=f"Both axes logarithmic. {intervals_text(chart.rows, 'whiskers')} The page "
            "cache may serve buffered operations.",
            alt=f"Line chart of storage bandwidth in {name}, for records from {sizes[0]} "
            f"to {sizes[-1]} bytes.",
            fields=[
                Field("record", "B", "bytes of a read or write"),
                Field("operation", "", "operation on the file"),
                Field("method", "", "how it is written or read; ranks where they differ"),
                Field("file_size", "B", "size of each rank's file"),
            ],
        )
    )


def _parallel(found: Sequence[Point]) -> Figure | None:
    """Bars of bandwidth, grouped by layout and interface, with one bar per number of ranks."""
    if not found:
        return None
    ordered = sorted(
        found,
        key=lambda p: (p.parameter("op") != "write", LAYOUTS.index(str(p.parameter("layout")))),
    )
    rows: list[Row] = [
        {
            "way": f"{point.parameter('op')}: {way_of(point)}",
            "ranks": counted(point.cores, "rank"),
            **statistics(point),
        }
        for point in _one_of_each(ordered, lambda p: (p.parameter("op"), way_of(p), p.cores))
    ]
    top = best(ordered)
    chart = Chart(
        rows,
        named("way"),
        "bandwidth",
        "B/s",
        hue="ranks",
        names=[("way", "way"), ("ranks", "ranks")],
    )
    return (
        chart.bars(beside="ranks")
        .whiskers()
        .figure(
            "storage-parallel",
            "Storage: all ranks concurrently",
            caption="Total bandwidth of all ranks, median over launches. "
            f"{intervals_text(chart.rows, 'whiskers')}",
            alt=f"Bar chart of parallel storage bandwidth; the highest bar is "
            f"{top.parameter('op')}, {way_of(top)}, on {counted(top.cores, 'rank')}.",
            fields=[
                Field("way", "", "operation, files and interface"),
                Field("ranks", "", "concurrent ranks"),
            ],
            width=_width(rows),
        )
    )


def _metadata(found: Sequence[Point]) -> Figure | None:
    """Operations on files per second, by directories and ranks, on a logarithmic axis."""
    if not found:
        return None
    rows: list[Row] = [
        {
            "operation": str(point.parameter("op")),
            "who": f"{counted(point.cores, 'rank')}, "
            + ("one directory" if point.parameter("layout") == "shared" else "directory per rank"),
            **statistics(point),
        }
        for point in _one_of_each(
            found, lambda p: (p.parameter("op"), p.parameter("layout"), p.cores)
        )
    ]
    top = best(found)
    chart = Chart(
        rows,
        named("operation"),
        "files",
        "op/s",
        hue="who",
        names=[("operation", "operation"), ("who", "who")],
        values=[median(point.metric.median for point in found)],
        logarithmic=True,
    )
    return (
        chart.points(70, beside="who", opaque=True)
        .whiskers()
        .figure(
            "storage-metadata",
            "Storage: files created, examined, removed",
            caption="Logarithmic axis. Operations of all ranks in total. "
            f"{intervals_text(chart.rows, 'whiskers')}",
            alt=f"Chart of file operations per second; the highest is {top.parameter('op')} on "
            f"{counted(top.cores, 'rank')}.",
            fields=[
                Field("operation", "", "operation on each file"),
                Field("who", "", "concurrent ranks, and their directories"),
            ],
            width=_width(rows),
        )
    )


def _method(point: Point) -> str:
    return str(point.parameter("method"))


def _one_of_each(found: Sequence[Point], key: Callable[[Point], object]) -> list[Point]:
    """The best point of each kind, in the order of first appearance."""
    kinds: dict[object, list[Point]] = {}
    for point in found:
        kinds.setdefault(key(point), []).append(point)
    return [best(points) for points in kinds.values()]


def _width(rows: Sequence[Row]) -> Literal["full", "half"]:
    return "half" if len(rows) <= _COLUMNS_IN_HALF else "full"
