"""Why a placement takes as long: what its time is made of, and what a model predicted."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.placement_data import name_of
from assay.answers.placement_outside import PARTS, Seen, seen_from_outside
from assay.answers.placement_why_data import Spot, Why, whys
from assay.records.model import RunData
from assay.report.marks import Row, Spec, colour, data_fields, level, listed, scaled_fields
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

# Of the time at one rank a node: a part that is smaller everywhere is left out.
LEAST = 0.005
# What is unexplained has no colour of its own.
_GREY = "#8a8f98"
# The others take a theme's colours in this order: those that every placement can have come first.
_HUES = (
    "compute",
    "memory contention",
    "cache effect",
    "imbalance",
    "messages within nodes",
    "messages between nodes",
    "threads",
    "shared cores",
)


def why_figures(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> list[Figure | None]:
    """A figure for each number of nodes, and one for the user's commands."""
    from assay.report.figures.placement_ways import ways_figure

    found = whys(cells, run, history)
    groups = [
        [why for why in found if why.nodes == nodes]
        for nodes in sorted({why.nodes for why in found})
    ]
    return [
        *(figure for group in groups for figure in (why_figure(group), ways_figure(group))),
        outside_figure(seen_from_outside(cells, run)),
    ]


def why_figure(found: Sequence[Why]) -> Figure:
    """Bars of time × cores by what it is spent on, over that at one rank a node; of some nodes."""
    nodes = counted(found[0].nodes, "node")
    rows = [row for why in found for spot in why.spots for row in _rows(why, spot)]
    kept = {row["part"] for row in rows if abs(float(row["cost"] or 0.0)) >= LEAST}
    rows = [row for row in rows if row["part"] in kept]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    spec: Spec = {
        "height": 280,
        "transform": [
            {"calculate": f"indexof({parts!r}, datum.part)", "as": "order"},
            *scaled_fields(1.0),
        ],
        "layer": [
            _bars(rows, "time × cores, 1 rank a node = 1", hue_of_parts(rows)),
            _ranks("compute"),
            _foreseen("compute"),
            level(1.0),
        ],
    }
    worst = max(rows, key=lambda row: float(row["whole"] or 0.0))
    return Figure(
        id=f"placement-why-{found[0].nodes}",
        title=f"What the time is spent on, {nodes}",
        caption="Numbers above bars: ranks a node. Along the dashed line further ranks are worth "
        "as much as the first; what stands above it is lost. Below 0: what caches save. Grey: "
        "unexplained. Diamonds: predicted by the contention model, where it was not made from it.",
        alt=f"Stacked bars of time by {listed(parts)} on {nodes}; time × cores grows most for "
        f"{worst['work']} with {worst['ppn']} ranks a node, to {worst['whole']:.2f} times.",
        fields=[
            Field("work", "", "benchmark and class"),
            Field("ppn", "", "ranks a node"),
            Field("part", "", "what the time is spent on"),
            Field("cost", "", "that time × cores over all time × cores at 1 rank a node"),
            Field("whole", "", "all time × cores over that at 1 rank a node"),
            Field("predicted", "s", "all time by the contention model; empty where not predicted"),
            Field("foreseen", "", "the same × cores over time × cores at 1 rank a node"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=spec,
    )


def _rows(why: Why, spot: Spot) -> list[Row]:
    """A row for each part of a placement's time."""
    from assay.models.placement_time import COMPONENTS

    alone = why.spots[0]
    per = alone.split.time / spot.split.placed.cores  # of time × cores at one rank a node
    predicted = next((found.time for of, found in why.predictions if of is spot), None)
    above = float(spot.split.seconds.clip(min=0.0).sum())
    top = max(spot.split.time, above, predicted or 0.0) / per  # of all that is drawn there
    rows: list[Row] = []
    for number, name in enumerate(COMPONENTS):
        part = spot.split.component(number)
        low, high = part.ci95 or (None, None)
        rows.append(
            {
                "work": why.name,
                "ppn": spot.placement.ppn,
                "part": name,
                "cost": part.value / per,
                "whole": spot.split.time / per,
                "top": top,
                "predicted": predicted,
                "foreseen": None if predicted is None else predicted / per,
                "median": part.value,
                "low": low,
                "high": high,
                "launches": len(spot.split.placed.launches),
            }
        )
    return rows


def _place() -> Spec:
    return {
        "x": {
            "field": "work",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8, "labelLimit": 240},
            "scale": {"paddingInner": 0.25, "paddingOuter": 0.12},
        },
        "xOffset": {
            "field": "ppn",
            "type": "ordinal",
            "sort": "ascending",
            "scale": {"paddingInner": 0.12},
        },
    }


def hue_of_parts(rows: Sequence[Row]) -> Spec:
    """A colour for each part of a placement's time, the same in all figures; grey: unexplained."""
    hue = colour("part", rows)
    present = {row["part"] for row in rows}
    hue["scale"] = {"domain": list(_HUES)}
    if hue["legend"] is not None:
        hue["legend"] = {**hue["legend"], "values": [part for part in _HUES if part in present]}
    hue["condition"] = {"test": "datum.part === 'unexplained'", "value": _GREY}
    return hue


def _bars(rows: Sequence[Row], title: str, hue: Spec) -> Spec:
    return {
        "mark": {"type": "bar"},
        "encoding": {
            **_place(),
            "y": {
                "field": "cost",
                "type": "quantitative",
                "title": title,
                "axis": {"tickCount": 6},
            },
            "color": hue,
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": "work", "title": "work"},
                {"field": "ppn", "title": "ranks a node"},
                {"field": "part", "title": "spent on"},
                {"field": "y", "type": "quantitative", "title": "median (s)", "format": ".4~g"},
                {"field": "interval", "title": "95% interval (s)"},
                {"field": "launches", "title": "launches"},
            ],
        },
    }


def _ranks(part: str) -> Spec:
    """Above each bar its ranks a node, once: where ``part`` is told."""
    return {
        "transform": [{"filter": f"datum.part === {part!r}"}],
        "mark": {"type": "text", "dy": -14, "fontSize": 10},
        "encoding": {
            **_place(),
            "y": {"field": "top", "type": "quantitative"},
            "text": {"field": "ppn"},
        },
    }


def _foreseen(part: str) -> Spec:
    """A diamond at what was predicted."""
    return {
        "transform": [
            {"filter": f"datum.part === {part!r}"},
            {"filter": "isValid(datum.foreseen)"},
        ],
        "mark": {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 2},
        "encoding": {
            **_place(),
            "y": {"field": "foreseen", "type": "quantitative"},
            "stroke": {"value": _GREY},
            "tooltip": [
                {"field": "work", "title": "work"},
                {"field": "ppn", "title": "ranks a node"},
                {"field": "predicted", "title": "predicted (s)", "format": ".4~g"},
            ],
        },
    }


def outside_figure(found: Sequence[Sequence[Seen]]) -> Figure | None:
    """Bars of what the cores in use did while each of the user's commands ran."""
    rows = [
        {
            "work": name_of(seen.point.summary.cell),
            "ppn": seen.placement.ppn,
            "part": part,
            "cost": float(seen.shares[number]),
            "whole": 1.0,
            "top": 1.0,
            "median": float(seen.shares[number]),
            "low": None if seen.intervals is None else seen.intervals[number][0],
            "high": None if seen.intervals is None else seen.intervals[number][1],
            "launches": seen.point.metric.n,
        }
        for group in found
        for seen in group
        for number, part in enumerate(PARTS)
    ]
    if not rows:
        return None
    names = {str(row["work"]) for row in rows}
    bars = _bars(rows, "share of wall time × cores", colour("part", rows))
    bars["encoding"]["color"]["legend"]["offset"] = 28  # room for the numbers
    return Figure(
        id="placement-outside",
        title="What the cores in use did, seen from outside",
        caption="Shares of wall time × cores in use; numbers above bars: ranks. What CPU "
        "time is spent on can't be seen from outside.",
        alt=f"Stacked bars of {listed(list(PARTS))} for {counted(len(names), 'command')}.",
        fields=[
            Field("work", "", "the command"),
            Field("ppn", "", "ranks a node"),
            Field("part", "", "what the cores did"),
            Field("cost", "", "share of wall time × cores"),
            Field("whole", "", "of all that the cores did"),
            *data_fields(""),
        ],
        rows=rows,
        spec={
            "height": 240,
            "transform": [
                {"calculate": f"indexof({list(PARTS)!r}, datum.part)", "as": "order"},
                *scaled_fields(1.0),
            ],
            "layer": [bars, _ranks(PARTS[0])],
        },
        width="half",
    )
