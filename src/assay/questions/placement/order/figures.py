"""Figure of rank orders: the time of each work relative to block order."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour, vertical_level
from assay.questions.common.figure_rows import intervals_text
from assay.questions.placement.order.findings import OrderEffect, OrderFindings

# Maximum number of works; height of a comparison and of a work's margin, in pixels.
_WORKS, _STEP, _MARGIN = 24, 14, 12


def figures(found: OrderFindings) -> list[Figure]:
    """Times in each order over those in block order, after Barczak et al. (2003), figures 5, 6."""
    effects = found.effects
    groups: dict[str, list[OrderEffect]] = {}
    for effect in effects:
        groups.setdefault(f"{effect.work}, {effect.where} ranks", []).append(effect)
    left_out = max(len(groups) - _WORKS, 0)
    groups = dict(list(groups.items())[:_WORKS])
    rows = [_row(name, effect) for name, group in groups.items() for effect in group]
    orders = len({row["order"] for row in rows})
    low = min(effect.value for effect in effects)
    high = max(effect.value for effect in effects)
    return [
        Figure(
            id="placement-order",
            title="Rank orders: time over that in block order",
            caption="Left of the dashed line an order is faster than block order. "
            f"{intervals_text(rows, 'whiskers')} Hollow: no significant difference."
            + (f" {left_out} more works are in the table." if left_out else ""),
            alt=f"Times over those in block order, from {low:.2f} to {high:.2f}, for "
            f"{len(groups)} works and {orders} orders.",
            fields=[
                Field("work", "", "work, and nodes × ranks per node"),
                Field("order", "", "order of ranks over nodes"),
                Field("ratio", "", "median time over that in block order"),
                Field("low", "", "lower end of its 95% interval"),
                Field("high", "", "upper end of its 95% interval"),
                Field("p", "", "p of no difference, corrected for all comparisons"),
                Field("sure", "", "whether the difference is significant"),
                Field("between", "1", "share of bytes between nodes; empty: unknown"),
                Field("between_block", "1", "the same in block order"),
                Field("launches", "", "the smaller number of launches of the two"),
            ],
            rows=rows,
            spec=_spec(rows, len(groups), orders),
            width="full",
        )
    ]


def _row(name: str, effect: OrderEffect) -> Row:
    return {
        "work": name,
        "order": effect.order,
        "ratio": effect.value,
        "low": effect.interval[0],
        "high": effect.interval[1],
        "p": effect.p_corrected,
        "sure": effect.significant,
        "between": effect.sent.share if effect.sent else None,
        "between_block": effect.sent_in_block.share if effect.sent_in_block else None,
        "launches": min(effect.point.metric.n, effect.block.metric.n),
    }


def _spec(rows: Sequence[Row], works: int, orders: int) -> Spec:
    """A band for each work, with a line for each order."""
    y: Spec = {
        "field": "work",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 320, "ticks": False, "grid": False},
        "scale": {"paddingInner": 0.25, "paddingOuter": 0.1},
    }
    offset: Spec = {"field": "order", "sort": None}
    x: Spec = {
        "type": "quantitative",
        "title": "time over that in block order",
        "scale": {"type": "log", "nice": False, "padding": 16},
        "axis": {"format": ".6~g", "grid": True, "tickCount": 8},
    }
    shown = [
        {"field": "work", "title": "work"},
        {"field": "order", "title": "order"},
        {"field": "ratio", "title": "time over block order's", "format": ".4~g"},
        {"field": "low", "title": "from", "format": ".4~g"},
        {"field": "high", "title": "to", "format": ".4~g"},
        {"field": "p", "title": "p, corrected", "format": ".2~g"},
        {"field": "between", "title": "bytes between nodes", "format": ".1~%"},
        {"field": "between_block", "title": "in block order", "format": ".1~%"},
        {"field": "launches", "title": "launches"},
    ]
    hue = colour("order", rows, "order")
    return {
        "height": works * (_STEP * orders + _MARGIN),
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "y": y,
                    "yOffset": offset,
                    "x": {"field": "low", **x},
                    "x2": {"field": "high"},
                    "color": hue,
                },
            },
            {
                "mark": {"type": "point", "size": 70, "opacity": 1, "strokeWidth": 2},
                "encoding": {
                    "y": y,
                    "yOffset": offset,
                    "x": {"field": "ratio", **x},
                    "color": hue,
                    "fill": {
                        "condition": {
                            "test": "datum.sure",
                            "field": "order",
                            "type": "nominal",
                            "sort": None,
                            "legend": None,
                        },
                        "value": "transparent",
                    },
                    "tooltip": shown,
                },
            },
            vertical_level(1.0),
        ],
    }
