"""Figures of ping-pong against message size, with the fitted LogGP lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.charts.axes import size_axis
from assay.charts.builder import STATISTICS, Chart
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point
from assay.questions.network.messages.findings import PingpongFindings
from assay.questions.network.messages.sweeps import MessageSweep
from assay.questions.network.parameters import message_bytes
from assay.units import format_size, listed

_MIN_SIZES = 2


@dataclass(frozen=True)
class _Quantity:
    """A quantity drawn against the message size."""

    metric: Literal["latency", "bandwidth"]
    axis: str
    unit: str
    #: Scale of the axis; None to derive it from the rows.
    scale: tuple[float, str] | None


_LATENCY = _Quantity("latency", "half a round trip", "s", (1e-6, "µ"))
_BANDWIDTH = _Quantity("bandwidth", "bandwidth", "B/s", None)


def figures(found: PingpongFindings) -> list[Figure]:
    """Latency and bandwidth of ping-pong against message size."""
    drawn = [
        _message_figure([sweep for sweep in found.sweeps if sweep.one_way], _LATENCY),
        _message_figure(found.sweeps, _BANDWIDTH),
    ]
    return [figure for figure in drawn if figure is not None]


def _message_figure(found: Sequence[MessageSweep], quantity: _Quantity) -> Figure | None:
    """Both axes logarithmic; None for fewer than two sizes."""
    metric = quantity.metric
    rows = [row for sweep in reversed(found) for row in _rows(sweep, metric)]
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    if len(sizes) < _MIN_SIZES:
        return None
    chart = Chart(
        rows,
        size_axis("bytes", "message size", sizes),
        quantity.axis,
        quantity.unit,
        hue="placement",
        names=[("bytes", "bytes"), ("placement", "placement")],
        scale=quantity.scale,
        logarithmic=True,
    )
    if chart.hue is not None and chart.hue["legend"]:
        chart.hue["legend"] |= {"symbolType": "circle"}
    # Without a model, the line joins the measured points.
    modelled = f"isValid(datum.model) ? datum.model / {chart.factor!r} : datum.y"
    chart.calculate("y_line", modelled).verticals("threshold", "protocol changes")
    if any(row["low"] is not None for row in rows):  # a layer without data has no extent
        chart.bands()
    chart.line("y_line", detail="piece").points(34, opaque=True)
    if any(row["dip"] is not None for row in rows):  # rings with the missing share
        chart.calculate("depth", "isValid(datum.dip) ? format(-datum.dip, '.0%') : ''")
        below = -16 if metric == "latency" else 18
        chart.rings("dip", 180).words({"field": "depth"}, "isValid(datum.dip)", dy=below)
    title = f"Ping-pong: {metric} against message size"
    return chart.figure(
        metric,
        title,
        caption=_caption(found, rows),
        alt=f"Line chart: {title.lower()}, from {sizes[0]} to {sizes[-1]} bytes{_features(found)}.",
        fields=[
            Field("bytes", "B", "message size"),
            Field("placement", "", "the two ranks' placement, toolchain and mode of sending"),
            STATISTICS,
            Field("model", quantity.unit, "by the LogGP line"),
            Field("piece", "", "number of the LogGP line, from 1"),
            Field("threshold", "B", "geometric mean of the sizes where the protocol changes"),
            Field("dip", "", "share of the expected bandwidth that is missing at a dip"),
        ],
    )


def _rows(sweep: MessageSweep, metric: str) -> list[Row]:
    model = sweep.model
    dips = {dip.bytes: dip.depth for dip in model.dips} if model else {}
    steps = (
        {c.at: (max(c.below, 1) * c.at) ** 0.5 for c in model.changes if c.protocol}
        if model
        else {}
    )
    rows: list[Row] = []
    for point in sweep.points:
        size, summary = message_bytes(point), point.summary.metrics.get(metric)
        if summary is None or summary.median <= 0:
            continue
        seconds = model.seconds(size) if model else None
        rows.append(
            {
                "bytes": size,
                "placement": sweep.name,
                **statistics(Point(point.summary, summary)),
                "model": _modelled(seconds, size, metric),
                "piece": sum(piece.first <= size for piece in model.pieces) if model else 1,
                "threshold": steps.get(size),
                "dip": dips.get(size),
            }
        )
    return rows


def _modelled(seconds: float | None, size: int, metric: str) -> float | None:
    """The value on the line; None if a logarithmic axis can't show it."""
    if seconds is None or seconds <= 0:
        return None
    return seconds if metric == "latency" else size / seconds


def _caption(found: Sequence[MessageSweep], rows: Sequence[Row]) -> str:
    models = [sweep.model for sweep in found if sweep.model]
    sentences = [
        f"Both axes logarithmic. Points: median over launches. {intervals_text(rows, 'band')}"
    ]
    if len(models) == len(found):
        sentences.append("Lines: the piecewise LogGP model.")
    elif models:
        sentences.append("Lines: the piecewise LogGP model, where it was fitted.")
    if any(change.protocol for model in models for change in model.changes):
        sentences.append("Dashed: where the protocol changes.")
    if any(model.dips for model in models):
        sentences.append("Rings: dips, with the missing share of bandwidth.")
    return " ".join(sentences)


def _features(found: Sequence[MessageSweep]) -> str:
    """Steps of time and dips of bandwidth, as the end of a sentence."""
    models = [sweep.model for sweep in found if sweep.model]
    steps = {c.at for model in models for c in model.changes if c.protocol}
    dips = {dip.bytes for model in models for dip in model.dips}
    clauses = [
        f"{what} at {listed([format_size(size) for size in sorted(sizes)])}"
        for what, sizes in (("time steps", steps), ("bandwidth dips", dips))
        if sizes
    ]
    return "".join(f"; {clause}" for clause in clauses)
