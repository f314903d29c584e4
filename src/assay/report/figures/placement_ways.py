"""Threads, bindings and shared cores beside a rank on every core: what each spends its time on."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.placement_data import how_text
from assay.answers.placement_why_data import Spot, Why
from assay.plans.model import Placement
from assay.report.figures.placement_why import LEAST, hue_of_parts
from assay.report.marks import Row, Spec, data_fields, listed, scaled_fields
from assay.report.model import Field, Figure
from assay.units import counted

# Of each work: how many of the quickest placements are drawn; and works that have room.
_QUICKEST, _WORKS = 3, 12
# A bar's height, and what all of them leave for axis and legend.
_STEP, _MARGIN = 17, 24


def ways_figure(found: Sequence[Why]) -> Figure | None:
    """Bars of time by what it is spent on, over that of a rank on every core; on some nodes.

    None where no other placement could be split.
    """
    drawn = [why for why in found if why.ways and len(why.spots) > 1]
    if not drawn:
        return None
    left_out = len(drawn) - _WORKS
    rows = [row for why in drawn[:_WORKS] for spot in _chosen(why) for row in _rows(why, spot)]
    kept = {row["part"] for row in rows if abs(float(row["share"] or 0.0)) >= LEAST}
    rows = [row for row in rows if row["part"] in kept]
    bars = list(dict.fromkeys(str(row["label"]) for row in rows))
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    nodes = counted(found[0].nodes, "node")
    best = min(rows, key=lambda row: float(row["whole"] or 0.0))
    more = f" {counted(left_out, 'more work')} are in the table." if left_out > 0 else ""
    return Figure(
        id=f"placement-ways-{found[0].nodes}",
        title=f"Threads and bindings beside a rank on every core, {nodes}",
        caption="Of each work the most ranks a node, the quickest other placements measured, and "
        "the most threads a rank (16 × 8: 16 ranks a node of 8 threads). Ticks and numbers: the "
        "whole time; left of the dashed line it is less. Threads: what the threads of a rank take "
        "longer than ranks on the same cores. Below 0: what caches and hardware threads save. "
        f"Grey: unexplained.{more}",
        alt=f"Stacked bars of time by {listed(parts)} for {len(bars)} placements on {nodes}; the "
        f"shortest over that of a rank on every core is {best['label']}, {best['whole']:.2f}.",
        fields=[
            Field("work", "", "benchmark and class"),
            Field("how", "", "ranks a node, threads a rank and binding"),
            Field("part", "", "what the time is spent on"),
            Field("share", "", "that time over the whole time of a rank on every core"),
            Field("whole", "", "all time over the same"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=_spec(rows, len(bars), parts),
    )


def _chosen(why: Why) -> list[Spot]:
    """A rank on every core, then the quickest others, then the most threads a rank."""
    most = None if why.by_threads is None else why.by_threads.split
    last = [spot for spot in why.ways if spot.split is most]
    return list(dict.fromkeys([why.full, *why.ways[:_QUICKEST], *last]))


def _short(placement: Placement) -> str:
    """A placement in few letters: ``64 ranks``, ``16 × 8, spread``."""
    counts = f"{placement.ppn} ranks"
    if placement.threads > 1:
        counts = f"{placement.ppn} × {placement.threads}"
    words = [
        counts,
        placement.binding if placement.binding != "compact" else "",
        "SMT" if placement.smt == "on" else "",
        "fitted" if "," in placement.order else placement.order.replace("block", ""),
    ]
    return ", ".join(filter(None, words))


def _rows(why: Why, spot: Spot) -> list[Row]:
    from assay.models.placement_time import COMPONENTS

    whole = why.full.split.time
    how = how_text(spot.placement)
    # Where all that is drawn ends, the dashed line included.
    above = max(float(spot.split.seconds.clip(min=0.0).sum()), spot.split.time, whole)
    rows: list[Row] = []
    for number, name in enumerate(COMPONENTS):
        part = spot.split.component(number)
        low, high = part.ci95 or (None, None)
        rows.append(
            {
                "label": f"{why.name}: {_short(spot.placement)}",
                "work": why.name,
                "how": how,
                "part": name,
                "share": part.value / whole,
                "whole": spot.split.time / whole,
                "end": above / whole,
                "median": part.value,
                "low": low,
                "high": high,
                "launches": len(spot.split.placed.launches),
            }
        )
    return rows


def _spec(rows: Sequence[Row], bars: int, parts: Sequence[str]) -> Spec:
    y: Spec = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 240, "ticks": False, "grid": False},
        "scale": {"paddingInner": 0.25, "paddingOuter": 0.12},
    }
    x: Spec = {
        "type": "quantitative",
        "title": "time, a rank on every core = 1",
        "axis": {"grid": True, "tickCount": 8},
    }
    return {
        "height": _STEP * bars + _MARGIN,
        "transform": [
            {"calculate": f"indexof({list(parts)!r}, datum.part)", "as": "order"},
            *scaled_fields(1.0),
        ],
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "y": y,
                    "x": {"field": "share", **x},
                    "color": hue_of_parts(rows),
                    "order": {"field": "order", "type": "quantitative"},
                    "tooltip": [
                        {"field": "work", "title": "work"},
                        {"field": "how", "title": "placement"},
                        {"field": "part", "title": "spent on"},
                        {
                            "field": "y",
                            "type": "quantitative",
                            "title": "median (s)",
                            "format": ".4~g",
                        },
                        {"field": "interval", "title": "95% interval (s)"},
                        {"field": "launches", "title": "launches"},
                    ],
                },
            },
            {
                "transform": [
                    {"filter": f"datum.part === {parts[0]!r}"},
                    {"calculate": "format(datum.whole, '.2f')", "as": "told"},
                ],
                "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 11},
                "encoding": {
                    "y": y,
                    "x": {"field": "end", "type": "quantitative"},
                    "text": {"field": "told"},
                },
            },
            {
                "transform": [{"filter": f"datum.part === {parts[0]!r}"}],
                "mark": {
                    "type": "tick",
                    "thickness": 3,
                    "size": _STEP - 2,
                    "orient": "vertical",
                    "opacity": 1,
                },
                "encoding": {"y": y, "x": {"field": "whole", "type": "quantitative"}},
            },
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "encoding": {
                    "y": {"value": 0},
                    "y2": {"value": "height"},
                    "x": {"datum": 1, "type": "quantitative"},
                },
            },
        ],
    }
