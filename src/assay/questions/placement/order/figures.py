"""Figure of rank orders: the time of each work relative to block order."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot, where
from assay.questions.common.figure_rows import intervals_text
from assay.questions.placement.order.findings import OrderEffect, OrderFindings
from assay.units import counted

# Maximum number of works; height of a comparison and of a work's margin, in pixels.
_WORKS, _STEP, _MARGIN = 24, 14, 12


def figures(found: OrderFindings) -> list[Figure]:
    """The time in each order over block order, after Barczak et al. (2003), figures 5 and 6."""
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
        _plot(rows, len(groups), orders).figure(
            "placement-order",
            "Rank orders: time relative to block order",
            caption="Left of the dashed line, an order takes less time than block order. "
            f"{intervals_text(rows, 'whiskers')} Hollow: not distinguishable from block order."
            + (f" The table has {counted(left_out, 'more work')}." if left_out else ""),
            alt=f"Times relative to block order, from {low:.2f} to {high:.2f}, for "
            f"{len(groups)} works and {orders} orders.",
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


def _plot(rows: Sequence[Row], works: int, orders: int) -> Plot:
    """A band for each work, with a line for each order."""
    columns = [
        DataColumn("work", "work, and nodes × ranks per node", kind="name"),
        DataColumn("order", "order of ranks over nodes", kind="name"),
        DataColumn("ratio", "median time over the median time in block order",
                   title="time over block order",
                   format=".4~g"),
        DataColumn("low", "lower end of its 95% interval", title="from", format=".4~g"),
        DataColumn("high", "upper end of its 95% interval", title="to", format=".4~g"),
        DataColumn("p", "p of no difference, corrected for all comparisons", title="p, corrected",
                   format=".2~g"),
        DataColumn("sure", "whether the difference is significant"),
        DataColumn("between", "share of bytes between nodes; empty: unknown", "1",
                   "bytes between nodes", ".1~%"),
        DataColumn("between_block", "the same in block order", "1", "in block order", ".1~%"),
        DataColumn("launches", "the smaller number of launches of the two"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=works * (_STEP * orders + _MARGIN))
    x = plot.axis(
        "ratio", "time over that in block order", scale="log", nice=False, padding=16,
        format=".6~g", grid=True, tick_count=8,
    )  # fmt: skip
    place = {
        "y": plot.names("work", label_limit=320, ticks=False, grid=False, padding_inner=0.25,
                        padding_outer=0.1),
        "beside_y": "order",
        "colour": plot.hue("order", "order"),
    }  # fmt: skip
    plot.intervals("low", "high", x=x, width=2, **place)
    fill = where("datum.sure", plot.key("order"), "transparent")
    tips = tuple(name for name in plot.columns if name != "sure")
    plot.rings(**place, x=x, size=70, opacity=1, stroke_width=2, fill=fill, tips=tips)
    return plot.level(x=1.0)
