"""Figure of the TOP500 lists over time with the machine's rate."""

from __future__ import annotations

import json

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour, level
from assay.questions.common.selection import quantity_text
from assay.questions.speed.linpack.top500_places import Top500Places, standing
from assay.reference.top500 import SOURCE

_STROKES: Spec = {"symbolType": "stroke", "symbolStrokeWidth": 3}
# For a rate that is on the lists until this year or later, the label has more room on the left.
_HIGH_FROM = 2009
_LINE_HEIGHT = 16
# Up to this width (px) the label has one line: others would cover the curves.
_NARROW = 420
# A label fits between a higher rate (flop/s) and the lower end of the axis.
_LOWEST_ABOVE = 6e9
# The lines drawn through the lists, by rank.
RANKS = (1, 10, 100, 500)


def lists_figure(found: Top500Places) -> Figure:
    """The rates of some ranks over all lists, with an Rmax as a level line."""
    rate = quantity_text(found.rate, "flop/s")
    rows: list[Row] = [
        {
            "list": one.found.date,
            "date": f"{one.found.date}-01",
            "line": f"rank {rank}",
            "rmax": one.found.rmax[rank - 1],
            "place": one.place,
        }
        for rank in RANKS
        for one in found.lists
    ]
    fastest, listed = found.on(found.fastest_until), found.on(found.listed_until)
    lines = [f"this machine, {rate}"]
    if fastest is not None:
        lines.append(f"the fastest until {fastest.name}")
    if found.last_rank is not None:
        lines.append(f"rank {found.last_rank} in {found.last_list}")
    elif listed is not None:
        lines.append(f"on the list until {listed.name}")
    # The curves rise from lower left to upper right: the right of a low level line is free, and
    # below it also on narrow screens.
    right = listed is None or listed.year < _HIGH_FROM
    below = right and found.rate > _LOWEST_ABOVE
    x: Spec = {
        "field": "date",
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc"},
        "axis": {"format": "%Y", "tickCount": {"interval": "year", "step": 4}},
    }
    y = numbers(
        "rmax", "Rmax (flop/s)", scale={"type": "log"}, axis={"format": "~s", "tickCount": 10}
    )
    label: Spec = {
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "text": {"expr": f"room < {_NARROW} ? {json.dumps(lines[:1])} : {json.dumps(lines)}"},
            "lineHeight": _LINE_HEIGHT,
            "align": "right" if right else "left",
            "baseline": "top" if below else "bottom",
            "dx": -4 if right else 4,
            "dy": 6 if below else -6 - _LINE_HEIGHT * (len(lines) - 1),
        },
        "encoding": {"x": {"value": "width" if right else 0}, "y": {"datum": found.rate}},
    }
    last_lists = [{"date": f"{one.date}-01"} for one in (fastest, listed) if one is not None]
    drops: Spec = {
        "data": {"values": last_lists},
        "mark": {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1.5},
        "encoding": {"y": {"datum": found.rate}, "y2": {"value": "height"}},
    }
    lists: Spec = {
        "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-after"},
        "encoding": {
            "y": y,
            "color": {**colour("line", rows), "legend": {"title": None, **_STROKES}},
            "tooltip": [
                {"field": "list", "title": "list"},
                {"field": "line", "title": "rank on the list"},
                {
                    "field": "rmax",
                    "type": "quantitative",
                    "title": "Rmax (flop/s)",
                    "format": ".4~s",
                },
                {"field": "place", "title": "this machine's rank"},
            ],
        },
    }
    return Figure(
        id="linpack-top500",
        title="Linpack among the TOP500",
        caption="Rmax of some ranks on every list from June 1993 to June 2021; the dashed line is "
        f"this machine's. {SOURCE}.",
        alt="Line chart of Rmax at ranks 1, 10, 100 and 500 of every TOP500 list on a logarithmic "
        f"axis; this machine's {rate} would have been {standing(found)}.",
        fields=[
            Field("list", "", "year and month of the list"),
            Field("date", "", "the same as a day"),
            Field("line", "", "which rank of the list"),
            Field("rmax", "flop/s", "its Rmax"),
            Field("place", "", "rank that this machine would have had; empty beyond the list"),
        ],
        rows=rows,
        spec={
            "height": 320,
            "encoding": {"x": x},
            "layer": [level(found.rate), label, drops, lists],
        },
    )
