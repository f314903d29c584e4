"""Lines that don't depend on the rows: levels, ideals, peaks, limits."""

from __future__ import annotations

from assay.charts.marks import Spec


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


def level(at: float) -> Spec:
    """A dashed horizontal line across the figure at y = ``at``, independent of the data."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
        "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": {"datum": at}},
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


def corner(x: str, at: tuple[float, float], name: str) -> list[Spec]:
    """Dotted lines from the vertical axis to a point and from there down, labelled at the foot.

    ``x``: the field of the horizontal axis. ``at``: x, and y in the axis's unit.
    """
    data = {"values": [{x: at[0], "at": at[1], "zero": 0}]}
    rule: Spec = {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1.5}
    y = {"field": "at", "type": "quantitative"}
    foot = {"field": "zero", "type": "quantitative"}
    text = {"type": "text", "align": "left", "baseline": "bottom", "dx": 5, "dy": -4}
    return [
        {"data": data, "mark": rule, "encoding": {"x2": {"value": 0}, "y": y}},
        {"data": data, "mark": rule, "encoding": {"y": y, "y2": {"field": "zero"}}},
        {"data": data, "mark": text, "encoding": {"y": foot, "text": {"value": name}}},
    ]
