"""Nodes side by side: how far each is from the usual one, in every cell."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.nodes import CellByNode
from assay.answers.select import counted
from assay.report.marks import Row
from assay.report.model import Field, Figure

_CELLS = 40  # rows that fit; those in which nodes differ most
_NAMED = 2  # nodes named at each end of a row


def nodes_figure(cells: Sequence[CellByNode]) -> Figure:
    """A row a cell, a point a node, along the deviation from the median node; ends are named."""
    shown = sorted(cells, key=lambda cell: -cell.spread)[:_CELLS]
    rows: list[Row] = []
    for cell in shown:
        for place, value in enumerate(cell.values):
            rows.append(
                {
                    "cell": cell.label,
                    "node": value.node,
                    "value": value.value,
                    "gain": value.gain,
                    "sigmas": value.sigmas,
                    "name": value.node if place in (0, len(cell.values) - 1) else None,
                    "end": "fast" if place == 0 else "slow",
                }
            )
    x = {
        "field": "percent",
        "type": "quantitative",
        "title": "better than the median node (%)",
        "scale": {"nice": True, "zero": True, "padding": 60},
        "axis": {"grid": True, "format": "+~g"},
    }
    y = {
        "field": "cell",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 260, "ticks": False},
    }
    told = [
        {"field": "node", "title": "node"},
        {"field": "cell", "title": "cell"},
        {"field": "percent", "title": "deviation (%)", "format": "+.3~g"},
        {"field": "sigmas", "title": "robust standard deviations", "format": "+.2~f"},
    ]

    def names(end: str, align: str, offset: int) -> dict[str, object]:
        return {
            "transform": [{"filter": f"isValid(datum.name) && datum.end == '{end}'"}],
            "mark": {"type": "text", "align": align, "dx": offset, "fontSize": 11},
            "encoding": {"text": {"field": "name"}},
        }

    spec = {
        "height": {"step": 26},
        "transform": [{"calculate": "100 * datum.gain", "as": "percent"}],
        "encoding": {"x": x, "y": y},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [6, 4]},
                "encoding": {"x": {"datum": 0}, "y": {"value": 0}, "y2": {"value": "height"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.65},
                "encoding": {"tooltip": told},
            },
            names("fast", "left", 7),
            names("slow", "right", -7),
        ],
    }
    left_out = len(cells) - len(shown)
    more = (
        f" {counted(left_out, 'cell')} in which they differ less are left out." if left_out else ""
    )
    widest = shown[0]
    return Figure(
        id="nodes",
        title="Each node against the median node",
        caption="A point is a node; right is better, whether that is more or less of the metric. "
        f"The best and the worst are named.{more}",
        alt=f"Deviations of {counted(len(widest.values), 'node')} from their median in "
        f"{counted(len(shown), 'cell')}; widest in {widest.label}, from "
        f"{widest.values[-1].node} to {widest.values[0].node}.",
        fields=[
            Field("cell", "", "kernel, parameters and placement"),
            Field("node", "", "the node's name"),
            Field("value", "SI", "median of its launches, in the metric's unit"),
            Field("gain", "1", "relative deviation from the median node; positive is better"),
            Field("sigmas", "1", "the same in robust standard deviations"),
        ],
        rows=rows,
        spec=spec,
    )
