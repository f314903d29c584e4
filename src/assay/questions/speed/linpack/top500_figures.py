"""Figure of the TOP500 lists over time, with the machine's rate."""

from __future__ import annotations

import json

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, at, fixed
from assay.questions.common.selection import quantity_text
from assay.questions.speed.linpack.top500_places import Top500Places, standing
from assay.reference.top500 import SOURCE

# If a rate is on the lists until this year or later, the label has more room on the left.
_HIGH_FROM = 2009
_LINE_HEIGHT = 16
# Up to this width (px) the label has one line, since further lines would cover the curves.
_NARROW = 420
# A label fits below a rate (flop/s) above this value.
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
    # The curves rise from lower left to upper right. So there is room to the right of a low level
    # line, and below it also on narrow screens.
    right = listed is None or listed.year < _HIGH_FROM
    below = right and found.rate > _LOWEST_ABOVE
    columns = [
        DataColumn("list", "year and month of the list", kind="name"),
        DataColumn("date", "date of the list", kind="time"),
        DataColumn("line", "which rank of the list", title="rank on the list", kind="name"),
        DataColumn("rmax", "its Rmax", "flop/s", "Rmax (flop/s)", ".4~s"),
        DataColumn("place", "rank that this machine would have had; empty beyond the list",
                   title="this machine's rank"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=320)
    years = {"interval": "year", "step": 4}
    plot.share(x=plot.axis("date", "", format="%Y", tick_count=years)).level(y=found.rate)
    plot.text(
        fixed({"expr": f"room < {_NARROW} ? {json.dumps(lines[:1])} : {json.dumps(lines)}"}),
        data=[{}],
        x=fixed("width" if right else 0),
        y=at(found.rate),
        line_height=_LINE_HEIGHT,
        align="right" if right else "left",
        baseline="top" if below else "bottom",
        dx=-4 if right else 4,
        dy=6 if below else -6 - _LINE_HEIGHT * (len(lines) - 1),
    )
    last_lists = [{"date": f"{one.date}-01"} for one in (fastest, listed) if one is not None]
    down: Spec = {"y": at(found.rate), "y2": fixed("height")}
    plot.rules(data=last_lists, stroke_dash=[2, 3], stroke_width=1.5, **down)
    plot.line(
        stroke_width=2,
        interpolate="step-after",
        y=plot.axis("rmax", scale="log", format="~s", tick_count=10),
        colour=plot.hue("line", strokes=True),
        tips=("list", "line", "rmax", "place"),
    )
    return plot.figure(
        "linpack-top500",
        "Linpack among the TOP500",
        caption="Rmax of some ranks on every list from June 1993 to June 2021; the dashed line "
        f"is this machine's Rmax. {SOURCE}.",
        alt="Line chart of Rmax at ranks 1, 10, 100 and 500 of every TOP500 list on a logarithmic "
        f"axis; this machine's {rate} would have been {standing(found)}.",
    )
