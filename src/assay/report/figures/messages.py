"""Ping-pong against message size, with the LogGP lines that its times follow."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.select import Point
from assay.answers.sweeps import MessageSweep, size_of, sweeps
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    band,
    colour,
    data_fields,
    listed,
    logarithmic_axis,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import format_size

_FEWEST_SIZES = 2


def latency_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Ping-pong latency against message size, both logarithmic."""
    return _message_figure(
        [sweep for sweep in sweeps(cells, run) if sweep.one_way],
        metric="latency",
        title="Ping-pong: latency against message size",
        axis="half a round trip (µs)",
        scale=(1e-6, "µs"),
    )


def bandwidth_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Ping-pong bandwidth against message size, both logarithmic."""
    found = sweeps(cells, run)
    rates = (p.summary.metrics.get("bandwidth") for sweep in found for p in sweep.points)
    factor, prefix = scale_of(rate.median for rate in rates if rate)
    return _message_figure(
        found,
        metric="bandwidth",
        title="Ping-pong: bandwidth against message size",
        axis=f"bandwidth ({prefix}B/s)",
        scale=(factor, f"{prefix}B/s"),
    )


def _message_figure(
    found: Sequence[MessageSweep],
    *,
    metric: str,
    title: str,
    axis: str,
    scale: tuple[float, str],
) -> Figure | None:
    rows = [row for sweep in reversed(found) for row in _rows(sweep, metric)]
    sizes = sorted({int(row["bytes"] or 0) for row in rows})
    if len(sizes) < _FEWEST_SIZES:
        return None
    factor, shown = scale
    hue = colour("placement", rows)
    if hue["legend"]:
        hue["legend"] |= {"symbolType": "circle"}
    y = logarithmic_axis(axis, rows, factor)
    line = {**y, "field": "y_line"}
    spec = {
        "height": 260,
        "transform": [
            *scaled_fields(factor),
            # Where there is no model, the line joins what was measured.
            {
                "calculate": f"isValid(datum.model) ? datum.model / {factor!r} : datum.y",
                "as": "y_line",
            },
        ],
        "encoding": {"x": size_axis("bytes", "message size", sizes)},
        "layer": [
            *_threshold_layers(hue, rows),
            # Here as below, a layer without data would have no extent.
            *([band(y, hue)] if any(row["low"] is not None for row in rows) else []),
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"y": line, "color": hue, "detail": {"field": "piece"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
                "encoding": {
                    "y": y,
                    "color": hue,
                    "tooltip": tooltip([("bytes", "bytes"), ("placement", "placement")], shown),
                },
            },
            *_dip_layers(hue, rows, above=metric == "latency"),
        ],
    }
    return Figure(
        id=metric,
        title=title,
        caption=_caption(found),
        alt=f"Line chart: {title.lower()}, from {sizes[0]} to {sizes[-1]} bytes{_in_words(found)}.",
        fields=[
            Field("bytes", "B", "message size"),
            Field("placement", "", "the two ranks' placement, toolchain and way of sending"),
            *data_fields("s" if metric == "latency" else "B/s"),
            Field("model", "s" if metric == "latency" else "B/s", "by the LogGP line"),
            Field("piece", "", "number of the LogGP line, from 1"),
            Field("threshold", "B", "between the sizes where the protocol changes"),
            Field("dip", "", "missing share of the bandwidth expected, where it dips"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _rows(sweep: MessageSweep, metric: str) -> list[Row]:
    model = sweep.model
    dips = {dip.bytes: dip.depth for dip in model.dips} if model else {}
    steps = (
        {c.at: (max(c.below, 1) * c.at) ** 0.5 for c in model.changes if c.protocol}
        if model
        else {}
    )
    made: list[Row] = []
    for point in sweep.points:
        size, summary = size_of(point), point.summary.metrics.get(metric)
        if summary is None or summary.median <= 0:
            continue
        seconds = model.seconds(size) if model else None
        made.append(
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
    return made


def _modelled(seconds: float | None, size: int, metric: str) -> float | None:
    """The line's value; none where it leaves what a logarithmic axis can show."""
    if seconds is None or seconds <= 0:
        return None
    return seconds if metric == "latency" else size / seconds


def _threshold_layers(hue: Spec, rows: Sequence[Row]) -> list[Spec]:
    """A dashed rule where the protocol changes; one alone is named at its top."""
    only = [{"filter": "isValid(datum.threshold)"}]
    x = {"field": "threshold", "type": "quantitative"}
    rule = {
        "transform": only,
        "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5},
        "encoding": {"x": x, "color": hue},
    }
    name = {
        "transform": only,
        "mark": {"type": "text", "align": "right", "baseline": "top", "dx": -4, "dy": 2},
        "encoding": {"x": x, "y": {"value": 0}, "text": {"value": "protocol changes"}},
    }
    rules = sum(row["threshold"] is not None for row in rows)
    return [rule, name] if rules == 1 else [rule] if rules else []


def _dip_layers(hue: Spec, rows: Sequence[Row], *, above: bool) -> list[Spec]:
    """A ring around a size at which the bandwidth dips, with how deep."""
    if all(row["dip"] is None for row in rows):
        return []
    only = [{"filter": "isValid(datum.dip)"}]
    y = {"field": "y", "type": "quantitative"}
    return [
        {
            "transform": only,
            "mark": {"type": "point", "filled": False, "size": 180, "strokeWidth": 2},
            "encoding": {"y": y, "color": hue},
        },
        {
            "transform": [*only, {"calculate": "format(-datum.dip, '.0%')", "as": "depth"}],
            "mark": {"type": "text", "dy": -16 if above else 18},
            "encoding": {"y": y, "text": {"field": "depth"}},
        },
    ]


def _caption(found: Sequence[MessageSweep]) -> str:
    models = [sweep.model for sweep in found if sweep.model]
    said = ["Both axes logarithmic. Points: median over launches; the band is the 95% interval."]
    if models:
        said.append("Lines: the LogGP model in pieces.")
    if any(change.protocol for model in models for change in model.changes):
        said.append("Dashed: where the protocol changes.")
    if any(model.dips for model in models):
        said.append("Rings: dips, with the bandwidth missing there.")
    return " ".join(said)


def _in_words(found: Sequence[MessageSweep]) -> str:
    models = [sweep.model for sweep in found if sweep.model]
    steps = {c.at for model in models for c in model.changes if c.protocol}
    dips = {dip.bytes for model in models for dip in model.dips}
    said = [
        f"{what} at {listed([format_size(size) for size in sorted(sizes)])}"
        for what, sizes in (("time steps", steps), ("bandwidth dips", dips))
        if sizes
    ]
    return "".join(f"; {clause}" for clause in said)
