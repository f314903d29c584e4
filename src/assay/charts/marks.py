"""Common marks of figures: scaled data, whiskers, tooltips, colours, axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from assay.charts.figure import Datum, Field
from assay.charts.theme import LONGEST_LABEL

Row = dict[str, Datum]
Spec = dict[str, Any]

PREFIXES = (
    (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""),
    (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"),
)  # fmt: skip
_STATISTICS = [
    Field("median", "", "median over launches of each launch's median"),
    Field("low", "", "lower end of its 95% interval; empty for fewer than six launches"),
    Field("high", "", "upper end of its 95% interval"),
    Field("launches", "", "number of launches"),
]
# Approximate width in pixels of a legend's entry without its label, and of a character at 12 px.
_ENTRY, _CHARACTER = 44, 7
# Maximum width of the labels of rows: half of the figure on a narrow screen. For ``room`` see
# ``_columns``.
LABEL_LIMIT: Spec = {"expr": f"min({LONGEST_LABEL}, 0.5 * room)"}


def error_bars() -> Spec:
    """Whiskers over the 95% interval, if there is one."""
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


def scaled_fields(factor: float) -> list[Spec]:
    """Transforms that add the drawn fields in the axis's unit to the fields in SI base units."""
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


def colour(field: str, rows: Sequence[Row], title: str | None = None) -> Spec:
    """Colour by a field in the order of the rows; no legend if there is only one value.

    The values may be any user input, so they are not part of the specification: Vega-Lite inserts
    given sort orders into expressions.
    """
    labels = {str(row[field]) for row in rows}
    # The legend stays opaque even if a band is transparent.
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
    """Number of columns in a legend: all entries in one line if they fit into the figure's width,
    otherwise fewer.

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
        Field("launches", "", "number of launches, the smaller of the two"),
    ]


def scale_of(values: Iterable[float]) -> tuple[float, str]:
    """The factor and SI prefix for the largest value."""
    top = max((abs(value) for value in values if math.isfinite(value)), default=1.0)
    return next(((f, p) for f, p in PREFIXES if top >= f), (1.0, ""))
