"""Figures of devices of a node: the matrix of pairs, and collectives over the size."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from assay.charts.axes import size_axis
from assay.charts.builder import Chart
from assay.charts.columns import DataColumn
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, scale_of
from assay.charts.plot import Plot
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point
from assay.questions.network.devices.findings import DeviceNetworkFindings, PeerMatrix, size_of
from assay.units import format_size, listed

_MIN_ON_A_CURVE = 3
# Heights in px: of a matrix, and of each of its rows.
_LEAST_HEIGHT, _ROW = 200, 24


def figures(found: DeviceNetworkFindings) -> list[Figure]:
    """A heat map of each matrix with several pairs, and the collectives."""
    drawn = [_matrix(each, k) for k, each in enumerate(found.matrices, 1) if len(each.pairs) > 2]
    collectives = _collectives(found.measured)
    return [*drawn, *([collectives] if collectives else [])]


def _matrix(matrix: PeerMatrix, number: int) -> Figure:
    """The bandwidth from each device (row) to each other one (column)."""
    both = matrix.direction == "both"
    rows: list[Row] = []
    for pair in matrix.pairs:
        ends = [(pair.sender, pair.receiver)]
        ends += [(pair.receiver, pair.sender)] if both else []
        rows += [
            {"sender": str(one), "receiver": str(other),
             "bandwidth": pair.bandwidth, "latency": pair.latency,
             "path": {True: "direct", False: "host", None: "unknown"}[pair.direct],
             "sender_place": one, "receiver_place": other}
            for one, other in ends
        ]  # fmt: skip
    values = [pair.bandwidth for pair in matrix.pairs]
    factor, prefix = scale_of([median(values)])
    columns = [
        DataColumn("sender", "the device that the copy comes from", kind="name"),
        DataColumn("receiver", "the device that the copy goes to", kind="name"),
        DataColumn("bandwidth", "bandwidth, median over launches", "B/s",
                   f"bandwidth ({prefix}B/s)", ".4~g", factor=factor),
        DataColumn("latency", "time of a copy of 8 B, median over launches", "s",
                   "copy of 8 B (µs)", ".3~g", factor=1e-6),
        DataColumn("path", "direct, or through the memory of the host", kind="name"),
        DataColumn("sender_place", "number of the sending device"),
        DataColumn("receiver_place", "number of the receiving device"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=max(_LEAST_HEIGHT, _ROW * len(matrix.devices)))
    plot.boxes(
        x=plot.axis("receiver", "to device", sort={"field": "receiver_place", "op": "min"},
                    ticks=False, grid=False, label_angle=0),
        y=plot.axis("sender", "from device", sort={"field": "sender_place", "op": "min"},
                    ticks=False, grid=False, label_angle=0),
        colour=plot.shade("bandwidth", f"{prefix}B/s", scheme="viridis", reverse=True,
                          zero=False),
        tips=("sender", "receiver", "bandwidth", "latency", "path"),
    )  # fmt: skip
    what = "both directions together" if both else "rows send, columns receive"
    path = {"host": ", through the host", "direct": ", directly"}.get(matrix.path, "")
    return plot.figure(
        f"device-pairs-{number}",
        f"Copies between devices: {format_size(matrix.bytes)}{path}"
        f"{', both directions' if both else ''}",
        caption=f"Bandwidth, median over launches; {what}. Darker is faster.",
        alt=f"Heat map of the bandwidth between {len(matrix.devices)} devices, from "
        f"{min(values):.3g} to {max(values):.3g} B/s.",
        width="half" if len(matrix.devices) <= 8 else "full",
    )


def _collectives(found: Sequence[Point]) -> Figure | None:
    """Bus bandwidth over the bytes of the vector, a line per operation."""
    most = max((point.summary.cell.placement.ranks for point in found), default=0)
    alike = [point for point in found if point.summary.cell.placement.ranks == most]
    sizes = sorted({size_of(point) for point in alike})
    if len(sizes) < _MIN_ON_A_CURVE:
        return None
    rows: list[Row] = [
        {"bytes": size_of(point), "operation": str(point.parameter("op")), **statistics(point)}
        for point in sorted(alike, key=size_of)
    ]
    operations = list(dict.fromkeys(str(row["operation"]) for row in rows))
    chart = Chart(
        rows,
        size_axis("bytes", "bytes of the vector", sizes),
        "bus bandwidth",
        "B/s",
        hue="operation",
        names=[("operation", "operation"), ("bytes", "bytes")],
    ).curves()
    return chart.figure(
        "device-collectives",
        f"Collectives on {most} devices: bus bandwidth over size",
        caption=intervals_text(rows, "band"),
        alt=f"Line chart of the bus bandwidth of {listed(operations)} on {most} devices.",
        fields=[
            Field("bytes", "B", "bytes of the whole vector"),
            Field("operation", "", "collective operation"),
        ],
    )
