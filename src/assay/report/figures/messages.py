"""Ping-pong against message size."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.select import Point, labeller, points
from assay.report.marks import (
    by_size,
    colour,
    data_fields,
    decades,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary


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
        {
            "bytes": _message_size(point),
            "placement": label(point) + _mode(point),
            **statistics(point),
        }
        for point in sorted(
            found, key=lambda point: (*by_size(point)[:2], _mode(point), _message_size(point))
        )
    ]
    sizes = sorted({_message_size(point) for point in found})
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
            "x": size_axis("bytes", "message size", sizes),
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


def _mode(point: Point) -> str:
    mode = point.parameter("mode")
    return "" if mode in (None, "blocking") else f" · {mode}"
