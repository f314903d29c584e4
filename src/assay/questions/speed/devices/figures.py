"""Figures of devices: bandwidth over size, matrix products per type, transfers."""

from __future__ import annotations

from collections.abc import Mapping

from assay.charts.axes import size_axis
from assay.charts.builder import Chart, named
from assay.charts.figure import Field, Figure
from assay.charts.levels import named_level
from assay.charts.marks import Row
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point
from assay.questions.speed.devices.findings import DevicesFindings, DeviceShare, size_of
from assay.units import format_quantity, listed

_MIN_ON_A_CURVE = 3
_HOST, _DEVICE = "host's clock", "device's clock"


def figures(found: DevicesFindings) -> list[Figure]:
    """The figures of devices that have enough values."""
    drawn = (_bandwidth(found), _products(found.products), _transfers(found.transfers))
    return [figure for figure in drawn if figure is not None]


def _bandwidth(found: DevicesFindings) -> Figure | None:
    """STREAM triad against the size of an array, by both clocks, and the limit of the memory."""
    both = ((_HOST, found.curves.stream), (_DEVICE, found.curves.stream_by_device))
    sizes = sorted({size_of(point) for _, points in both for point in points})
    if len(sizes) < _MIN_ON_A_CURVE:
        return None
    rows: list[Row] = [
        {"bytes": size_of(point), "clock": clock, **statistics(point)}
        for clock, points in both
        for point in points
    ]
    limit = found.stream.limit if found.stream else None
    values = [float(row["median"] or 0.0) for row in rows]
    chart = Chart(
        rows,
        size_axis("bytes", "size of an array", sizes),
        "bandwidth",
        "B/s",
        hue="clock",
        names=[("bytes", "bytes"), ("clock", "timed by")],
        values=[*values, *([limit.rate] if limit else [])],
    ).curves()
    dashed = ""
    if limit is not None:
        chart.add(*named_level(limit.rate / chart.factor, "limit of the memory"))
        dashed = " Dashed: limit of the memory, which caches exceed."
    return chart.figure(
        "device-bandwidth",
        "Device memory: STREAM triad over the size of an array",
        caption=f"One device. Small arrays fit into its caches, and launches take most of the "
        f"host's time.{dashed} {intervals_text(rows, 'band')}",
        alt=f"Line chart of STREAM triad's bandwidth on a device for arrays of {sizes[0]} to "
        f"{sizes[-1]} bytes, up to {format_quantity(max(values), 'B/s')}.",
        fields=[
            Field("bytes", "B", "size of each of the three arrays"),
            Field("clock", "", "the clock of the host or of the device"),
        ],
    )


def _products(products: Mapping[str, DeviceShare]) -> Figure | None:
    """Bars of the rate by type, with a line at the peak of each type where it is known."""
    if len(products) < 2:
        return None
    rows: list[Row] = []
    for kind, share in products.items():
        peak = share.limit.rate if share.limit else None
        rows.append({"type": kind, "peak": peak, **statistics(share.point)})
    peaks = [share.limit.rate for share in products.values() if share.limit]
    chart = Chart(
        rows,
        named("type", title="type of the elements"),
        "rate",
        "flop/s",
        names=[("type", "type")],
        values=[*(float(row["median"] or 0.0) for row in rows), *peaks],
        logarithmic=True,
    )
    chart.points(90, opaque=True).whiskers()
    if peaks:
        chart.ticks("peak")
    lines = " Lines: peak of the type, dense." if peaks else " No peak is known for this model."
    return chart.figure(
        "device-products",
        "Matrix products on a device by type",
        caption=f"Logarithmic axis.{lines} {intervals_text(rows, 'whiskers')}",
        alt=f"Chart of the rates of matrix products on a device in {listed(list(products))}.",
        fields=[
            Field("type", "", "type of the elements"),
            Field("peak", "flop/s", "peak of the type on this device; null if unknown"),
        ],
        width="half",
    )


def _transfers(transfers: Mapping[str, DeviceShare]) -> Figure | None:
    """Bars of the bandwidth by direction, a bar per memory of the host."""
    if len(transfers) < 2:
        return None
    ways = {"to device": "to the device", "to host": "to the host", "both": "both at once"}
    rows: list[Row] = []
    for share in transfers.values():
        way, memory = _way(share.point)
        limit = share.limit.rate if share.limit else None
        rows.append(
            {"direction": ways.get(way, way), "memory": memory, "limit": limit,
             **statistics(share.point)}
        )  # fmt: skip
    single = [
        share.limit.rate
        for share in transfers.values()
        if share.limit and _way(share.point)[0] != "both"
    ]
    medians = [float(row["median"] or 0.0) for row in rows]
    chart = Chart(
        rows,
        named("direction"),
        "bandwidth",
        "B/s",
        hue="memory",
        names=[("direction", "direction"), ("memory", "memory")],
        values=[*medians, *single[:1]],
    )
    chart.bars(beside="memory").whiskers()
    lines = ""
    if single:
        chart.level(single[0] / chart.factor)
        lines = " Dashed: limit of the link in one direction."
    return chart.figure(
        "device-transfers",
        "Transfers between host and device",
        caption=f"Memory of the host: pinned or pageable.{lines} "
        f"{intervals_text(rows, 'whiskers')}",
        alt=f"Bar chart of the bandwidth of transfers between host and device, up to "
        f"{format_quantity(max(medians), 'B/s')}.",
        fields=[
            Field("direction", "", "direction of the transfers"),
            Field("memory", "", "memory of the host"),
            Field("limit", "B/s", "limit of the link to the host; null if unknown"),
        ],
        width="half",
    )


def _way(point: Point) -> tuple[str, str]:
    return str(point.parameter("direction")), str(point.parameter("memory"))
