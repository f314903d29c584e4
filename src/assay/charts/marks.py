"""Common marks of figures: scaled data, whiskers, tooltips, colours, axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from assay.charts.figure import Datum, Field
from assay.charts.theme import LONGEST_LABEL

Row = dict[str, Datum]
Spec = dict[str, Any]

_PREFIXES = (
    (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""),
    (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"),
)  # fmt: skip
_STATISTICS = [
    Field("median", "", "median over launches of each launch's median"),
    Field("low", "", "lower end of its 95% interval; empty under six launches"),
    Field("high", "", "upper end of its 95% interval"),
    Field("launches", "", "number of launches"),
]
# Approximate width in pixels of a legend's entry without its label, and of a character of 12 px.
_ENTRY, _CHARACTER = 44, 7
# Number of decades from which on a logarithmic axis has the powers of ten alone, and of ticks up to
# which it has others.
_DECADES, _FEW_TICKS = 3, 3
# The smallest and the largest tick that can be read in one unit.
_READABLE = (0.01, 10_000.0)
# Of the labels of rows: at most half of the figure on a narrow screen. For ``room`` see
# ``_columns``.
LABEL_LIMIT: Spec = {"expr": f"min({LONGEST_LABEL}, 0.5 * room)"}
# Maximum number of measured values for an axis with a tick at each.
_MOST_TICKS = 12
# Sizes in bytes with a tick; 0 is possible because the axis is linear below 1 B.
_SIZE_TICKS = [0, 1, 8, 64, 512, *(1 << p for p in range(12, 34, 3))]
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : "
    "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)


def size_axis(field: str, title: str, sizes: Sequence[int]) -> Spec:
    """Sizes in bytes along x, logarithmic but including 0; ``sizes`` ascend."""
    ticks = [tick for tick in _SIZE_TICKS if sizes[0] <= tick <= sizes[-1]]
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "symlog", "constant": 1, "nice": False},
        "axis": {
            "values": ticks,
            "labelExpr": _SIZE_LABEL,
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }


def order_axis(orders: Sequence[int]) -> Spec:
    """Axis of orders: logarithmic if they span more than a decade, with ticks at measured ones."""
    scale: Spec = {"zero": False, "nice": True, "padding": 16}
    if orders[-1] > 10 * max(orders[0], 1):
        scale = {"type": "log", "nice": False, "padding": 16}
    axis: Spec = {"format": "d", "labelOverlap": "greedy", "labelSeparation": 17}
    if len(orders) <= _MOST_TICKS:
        axis["values"] = list(orders)
    return {"scale": scale, "axis": axis}


def count_axis(field: str, title: str, counts: Sequence[int], **scale: Spec | float) -> Spec:
    """Ascending counts, logarithmic, with a tick at each; ``scale``: further options of it."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, **scale},
        "axis": {
            "values": list(counts),
            "format": "d",
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }


def count_span(counts: Sequence[int]) -> Spec:
    """Scale options of such an axis: from the least to the greatest count, with padding."""
    return {"domain": [counts[0], counts[-1]], "padding": 12}


def log_ticks(rows: Sequence[Row], factor: float) -> list[float]:
    """Ticks around the medians and their intervals, in the axis's unit: the powers of ten, or of
    a short range 1, 2 and 5 times these.
    """
    shown = [
        float(row[name] or 0.0) / factor for row in rows for name in ("low", "median", "high")
        if row.get(name)
    ]  # fmt: skip
    least, most = min(value for value in shown if value > 0), max(shown)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    if high - low >= _DECADES:
        return [10.0**power for power in range(low, high + 1)]
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in (1, 2, 5)]
    first = max(place for place, tick in enumerate(ticks) if tick <= least * (1 + 1e-9))
    last = min(place for place, tick in enumerate(ticks) if tick >= most * (1 - 1e-9))
    return ticks[first : max(last, first + 1) + 1]


def peak_layers(hue: Spec, factor: float) -> list[Spec]:
    """A dashed line per placement at the peak of its cores, labelled at its left end."""
    return [
        {
            "transform": [
                {"filter": "isValid(datum.peak)"},
                {
                    "aggregate": [{"op": "max", "field": "peak", "as": "peak"}],
                    "groupby": ["placement"],
                },
                {"calculate": f"datum.peak / {factor!r}", "as": "y_peak"},
            ],
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
            "encoding": {
                "x": {"value": 0},
                "x2": {"value": "width"},
                "y": {"field": "y_peak", "type": "quantitative"},
                "color": hue,
            },
        },
        {
            "transform": [
                {"filter": "isValid(datum.peak)"},
                {"aggregate": [{"op": "max", "field": "peak", "as": "peak"}], "groupby": ["peak"]},
                {"calculate": f"datum.peak / {factor!r}", "as": "y_peak"},
            ],
            "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 4, "dy": -3},
            "encoding": {
                "x": {"value": 0},
                "y": {"field": "y_peak", "type": "quantitative"},
                "text": {"value": "theoretical peak"},
            },
        },
    ]


def error_bars() -> Spec:
    """Whiskers over the 95% interval, where there is one."""
    return {
        "transform": [{"filter": "isValid(datum.low)"}],
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative"},
                    "y2": {"field": "y_high"},
                },
            },
            *(
                {
                    "mark": {"type": "tick", "size": 9, "thickness": 1.5, "orient": "horizontal"},
                    "encoding": {"y": {"field": end, "type": "quantitative"}},
                }
                for end in ("y_low", "y_high")
            ),
        ],
    }


def band(y: Spec, hue: Spec, **channels: Spec) -> Spec:
    """The 95% interval as an area, on the scale of ``y``; ``channels`` as in ``line``."""
    scale = {"scale": y["scale"]} if "scale" in y else {}
    details = [{"field": channel["field"], "type": "nominal"} for channel in channels.values()]
    return {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "area", "opacity": 0.25},
        "encoding": {
            "y": {"field": "y_low", "type": "quantitative", **scale},
            "y2": {"field": "y_high"},
            "color": hue,
            **({"detail": details} if details else {}),
        },
    }


def line(y: Spec, hue: Spec, tooltip: Sequence[Spec], **channels: Spec) -> Spec:
    """A line through the medians. ``channels``: further encodings, such as ``strokeDash``."""
    return {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 30}},
        "encoding": {"y": y, "color": hue, "tooltip": list(tooltip), **channels},
    }


def logarithmic_axis(
    what: str, si_unit: str, rows: Sequence[Row], scale: tuple[float, str]
) -> Spec:
    """A logarithmic vertical axis of the scaled median.

    ``scale``: factor and prefix of its unit. Where one prefix would need zeros at an end, each tick
    has its own.
    """
    factor, prefix = scale
    ticks = log_ticks(rows, factor)
    # Vega divides a range that has few of these ticks evenly.
    values: Spec = {"values": ticks} if len(ticks) > _FEW_TICKS else {"tickCount": 5}
    readable = _READABLE[0] <= ticks[0] and ticks[-1] <= _READABLE[1]
    unit = f"{prefix}{si_unit}"
    labels = {"format": ".6~g"} if readable else {"labelExpr": prefixed_label(factor, si_unit)}
    return {
        "field": "y",
        "type": "quantitative",
        "title": f"{what} ({unit})" if unit and readable else what,
        "scale": {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False},
        "axis": {**values, **labels},
    }


def prefixed_label(factor: float, si_unit: str) -> str:
    """The Vega expression of a tick's label with a prefix of its own: ``10 µs``, ``1 ms``.

    ``factor``: of the axis's unit, in which the tick's value is.
    """
    value = f"(datum.value * {factor!r})"
    *others, (least, last) = _PREFIXES
    label = f"format({value} / {least!r}, '.3~g') + ' {last}{si_unit}'"
    for size, prefix in reversed(others):
        # Ticks are powers of ten but for rounding.
        shown = f"format({value} / {size!r}, '.3~g') + ' {prefix}{si_unit}'"
        label = f"{value} >= {0.9999 * size!r} ? {shown} : {label}"
    return f"datum.value == 0 ? '0' : {label}"


def level(at: float) -> Spec:
    """A dashed horizontal line across the figure at y = ``at``, independent of the data."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
        "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": {"datum": at}},
    }


def vertical_level(at: float) -> Spec:
    """A dashed vertical line across the figure at x = ``at``, independent of the data."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
        "encoding": {
            "y": {"value": 0},
            "y2": {"value": "height"},
            "x": {"datum": at, "type": "quantitative"},
        },
    }


def named_level(at: float, name: str, *, below: bool = False) -> list[Spec]:
    """The line of ``level``, labelled above its left end, or ``below`` it."""
    place = {"baseline": "top", "dy": 4} if below else {"baseline": "bottom", "dy": -3}
    text = {"align": "left", "dx": 4, **place}
    return [
        level(at),
        {
            "data": {"values": [{}]},
            "mark": {"type": "text", **text},
            "encoding": {
                "x": {"value": 0},
                "y": {"datum": at},
                "text": {"value": name},
            },
        },
    ]


def vertical_rule(field: str, at: float, name: str) -> list[Spec]:
    """A dashed vertical line at ``field`` = ``at``, labelled at its upper end."""
    data = {"values": [{field: at}]}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5, "opacity": 0.6},
        },
        {
            "data": data,
            "mark": {"type": "text", "align": "right", "baseline": "top", "dx": -4, "dy": 2},
            "encoding": {"y": {"value": 0}, "text": {"value": name}},
        },
    ]


def ideal_line(x: str, start: tuple[float, float], end: tuple[float, float]) -> list[Spec]:
    """A dashed line from ``start`` to ``end``, labelled ``ideal`` at its end.

    ``x``: the field of the horizontal axis. Both points: x, and y in the axis's unit.
    """
    data = {"values": [{x: start[0], "x_end": end[0], "y_start": start[1], "y_end": end[1]}]}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5, "opacity": 0.6},
            "encoding": {
                "x2": {"field": "x_end"},
                "y": {"field": "y_start", "type": "quantitative"},
                "y2": {"field": "y_end"},
            },
        },
        {
            "data": {"values": [{x: end[0], "y_end": end[1]}]},
            "mark": {"type": "text", "align": "right", "baseline": "bottom", "dx": -8},
            "encoding": {
                "y": {"field": "y_end", "type": "quantitative"},
                "text": {"value": "ideal"},
            },
        },
    ]


def scaled_fields(factor: float) -> list[Spec]:
    """Transforms that add the drawn fields in the axis's unit to those in SI base units."""
    fields = {"y": "median", "y_low": "low", "y_high": "high"}
    layers: list[Spec] = [
        {
            "calculate": f"isValid(datum.{source}) ? datum.{source} / {factor!r} : null",
            "as": target,
        }
        for target, source in fields.items()
    ]
    interval = "format(datum.y_low, '.4~g') + ' to ' + format(datum.y_high, '.4~g')"
    layers.append(
        {"calculate": f"isValid(datum.low) ? {interval} : 'too few launches'", "as": "interval"}
    )
    return layers


def tooltip(names: Sequence[tuple[str, str]], unit: str) -> list[Spec]:
    """The tooltip of a point: names, median, interval, launches."""
    return [
        *({"field": field, "title": title} for field, title in names),
        {"field": "y", "type": "quantitative", "title": f"median ({unit})", "format": ".4~g"},
        {"field": "interval", "title": f"95% interval ({unit})"},
        {"field": "launches", "title": "launches"},
    ]


def ratio_tooltip(names: Sequence[tuple[str, str]]) -> list[Spec]:
    """The tooltip of a ratio of two medians."""
    return [
        *({"field": field, "title": title} for field, title in names),
        {"field": "y", "type": "quantitative", "title": "ratio", "format": ".4~g"},
        {"field": "interval", "title": "95% interval"},
        {"field": "launches", "title": "launches"},
    ]


def y_axis(title: str, *, zero: bool) -> Spec:
    """A linear vertical axis of the scaled median."""
    return {
        "field": "y",
        "type": "quantitative",
        "title": title,
        "scale": {"zero": zero, "nice": True},
        "axis": {"tickCount": 6},
    }


def colour(field: str, rows: Sequence[Row], title: str | None = None) -> Spec:
    """Colour by a field in the order of the rows; no legend if there is only one value.

    The values, which may be arbitrary user input, are not part of the specification: Vega-Lite
    inserts given sort orders into expressions.
    """
    labels = {str(row[field]) for row in rows}
    # The legend stays opaque even if a band is not.
    legend = {
        "title": title,
        "symbolOpacity": 1,
        "columns": _columns(labels),
        "labelLimit": {"expr": f"min({LONGEST_LABEL}, room - {_ENTRY})"},
    }
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "legend": legend if len(labels) > 1 else None,
    }


def fitting_legend(labels: Collection[str], encoding: Spec) -> Spec:
    """The legend of an encoding, with as many columns as fit into the figure's width."""
    return {
        **(encoding.get("legend") or {}),
        "columns": _columns(labels),
        "labelLimit": {"expr": f"min({LONGEST_LABEL}, room - {_ENTRY})"},
    }


def _columns(labels: Collection[str]) -> Spec:
    """Columns of a legend: all entries in one line if they fit into the figure's width, else fewer.

    By default Vega-Lite puts all into one line and cuts off the rest. ``room``, the available
    pixels, is a parameter set by the program that draws, since Vega's ``width`` changes during
    layout.
    """
    if not labels:
        return {"expr": "1"}
    widths = [_ENTRY + min(_CHARACTER * len(label), LONGEST_LABEL) for label in labels]
    return {"expr": f"room < {sum(widths)} ? max(1, floor(room / {max(widths)})) : {len(widths)}"}


def data_fields(unit: str, suffix: str = "") -> list[Field]:
    """The fields of a median's statistics, in the unit of the metric."""
    *of_metric, launches = _STATISTICS
    return [*(Field(field.name, unit, field.meaning + suffix) for field in of_metric), launches]


def ratio_fields(meaning: str) -> list[Field]:
    """The fields of the statistics of a ratio of two medians."""
    return [
        Field("median", "", meaning),
        *_STATISTICS[1:3],
        Field("launches", "", "number of launches, the lesser of the two"),
    ]


def scale_of(values: Iterable[float]) -> tuple[float, str]:
    """The factor and SI prefix for the greatest of the values."""
    top = max((abs(value) for value in values if math.isfinite(value)), default=1.0)
    return next(((f, p) for f, p in _PREFIXES if top >= f), (1.0, ""))


_DURATIONS = [1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000]
_DURATION_LABEL = (
    "datum.value >= 86400 ? datum.value / 86400 + ' d' : datum.value >= 3600 ? "
    "datum.value / 3600 + ' h' : datum.value >= 60 ? datum.value / 60 + ' min' : "
    "datum.value + ' s'"
)


def duration_axis(field: str, title: str | None) -> Spec:
    """A logarithmic axis of a field in s (1 at least), from seconds to months."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "nice": False},
        "axis": {
            "values": _DURATIONS,
            "labelExpr": _DURATION_LABEL,
            "labelOverlap": "greedy",
            "labelSeparation": 17,
        },
    }
