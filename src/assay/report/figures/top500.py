"""The course of the TOP500, and where on it a machine stands."""

from __future__ import annotations

from assay.answers.linpack_places import standing
from assay.answers.select import quantity_text
from assay.reference.top500 import SOURCE, last_within, top_lists
from assay.report.marks import Row, Spec, colour, level
from assay.report.model import Field, Figure

_STROKES: Spec = {"symbolType": "stroke", "symbolStrokeWidth": 3}
# From such a year on the list, a rate is so high that there is more room on the left.
_HIGH_FROM = 2009
_LINE_HEIGHT = 16
# The lines drawn through the lists, by rank.
RANKS = (1, 10, 100, 500)


def lists_figure(rate: float) -> Figure:
    """The rates of some ranks over all lists, and an Rmax in flop/s among them."""
    rows: list[Row] = [
        {
            "list": found.date,
            "date": f"{found.date}-01",
            "line": f"rank {rank}",
            "rmax": found.rmax[rank - 1],
            "place": found.place(rate),
        }
        for rank in RANKS
        for found in top_lists()
    ]
    fastest, listed_until = last_within(rate, 1), last_within(rate, 500)
    until = [found for found in (fastest, listed_until) if found is not None]
    last = top_lists()[-1]
    told = [
        f"this machine, {quantity_text(rate, 'flop/s')}",
        f"the fastest until {fastest.name}" if fastest else "",
        f"rank {last.place(rate)} in {last.name}"
        if listed_until is last
        else f"on the list until {listed_until.name}"
        if listed_until
        else "",
    ]
    words = [word for word in told if word]
    # The lists rise from the lower left to the upper right: above a low rate the right is free.
    right = listed_until is None or listed_until.year < _HIGH_FROM
    x: Spec = {
        "field": "date",
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc"},
        "axis": {"format": "%Y", "tickCount": {"interval": "year", "step": 4}},
    }
    y: Spec = {
        "field": "rmax",
        "type": "quantitative",
        "title": "Rmax (flop/s)",
        "scale": {"type": "log"},
        "axis": {"format": "~s", "tickCount": 10},
    }
    return Figure(
        id="linpack-top500",
        title="Linpack among the TOP500",
        caption="Rmax of some ranks on every list from June 1993 to June 2021; the dashed line is "
        f"this machine's. {SOURCE}.",
        alt="Line chart of Rmax at ranks 1, 10, 100 and 500 of every TOP500 list on a logarithmic "
        f"axis; this machine's {quantity_text(rate, 'flop/s')} would have been {standing(rate)}.",
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
            "layer": [
                level(rate),
                {
                    "data": {"values": [{}]},
                    "mark": {
                        "type": "text",
                        "text": words,
                        "lineHeight": _LINE_HEIGHT,
                        "align": "right" if right else "left",
                        "baseline": "bottom",
                        "dx": -4 if right else 4,
                        "dy": -6 - _LINE_HEIGHT * (len(words) - 1),
                    },
                    "encoding": {
                        "x": {"value": "width" if right else 0},
                        "y": {"datum": rate},
                    },
                },
                {
                    "data": {"values": [{"date": f"{found.date}-01"} for found in until]},
                    "mark": {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1.5},
                    "encoding": {"y": {"datum": rate}, "y2": {"value": "height"}},
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-after"},
                    "encoding": {
                        "y": y,
                        "color": {**colour("line", rows), "legend": {"title": None, **_STROKES}},
                        "tooltip": [
                            {"field": "list", "title": "list"},
                            {"field": "line", "title": "of the list"},
                            {
                                "field": "rmax",
                                "type": "quantitative",
                                "title": "Rmax (flop/s)",
                                "format": ".4~s",
                            },
                            {"field": "place", "title": "this machine's rank"},
                        ],
                    },
                },
            ],
        },
    )
