"""Figures of a group: each node's deviation from the median node, in every cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour
from assay.hostnames import short_names
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.group_figures import groups_figure
from assay.subjects.nodes.map_figures import node_map
from assay.subjects.nodes.model import CellByNode
from assay.units import counted

_MAX_CELLS = 40  # rows that fit; the cells in which nodes differ most are shown
_MAX_POINTS = 900  # more are not legible: nodes that are not to check are drawn as a bar
_QUANTILES = {"least": 0.0, "low": 0.05, "high": 0.95, "most": 1.0}  # that bars show

_ROOMY = "room > 500"  # a figure wide enough for names beside points
_BARS = (
    " The other nodes are a bar, from their 5% to their 95% quantile, on a line from the slowest "
    "to the fastest."
)


def figures(found: NodesFindings) -> list[Figure]:
    """Groups of nodes if any is slow, the heat map of nodes and cells if nodes were examined, then
    every node in every cell.
    """
    suspects = [each.member for each in found.suspects]
    return [
        *([groups_figure(found.groups)] if found.slow_groups else []),
        *([node_map(found.deviations, suspects)] if found.deviations else []),
        *([nodes_figure(found.cells, suspects)] if found.cells else []),
    ]


def nodes_figure(cells: Sequence[CellByNode], suspects: Iterable[int] = ()) -> Figure:
    """A row per cell, a point per node, over the deviation from the median node.

    The fastest and the slowest node of each cell are labelled. ``suspects``: members to check. If
    there are too many points, the other nodes are drawn as a bar from their 5% to their 95%
    quantile on a line from the slowest to the fastest.
    """
    shown = sorted(cells, key=lambda cell: -cell.spread)[:_MAX_CELLS]
    named = short_names(value.node for cell in shown for value in cell.values)
    checked = set(suspects)
    together = sum(len(cell.values) for cell in shown) > _MAX_POINTS
    rows: list[Row] = []
    for cell in shown:
        ends = {cell.values[0].member, cell.values[-1].member}
        # The others come first: nodes to check are drawn over them, in the second colour.
        ordered = sorted(enumerate(cell.values), key=lambda each: each[1].member in checked)
        for place, value in ordered:
            if together and value.member not in checked | ends:
                continue
            rows.append(
                {
                    "cell": cell.label,
                    "node": value.node,
                    "value": value.value,
                    "gain": value.gain,
                    "sigmas": value.sigmas,
                    "who": "to check" if value.member in checked else "the others",
                    "name": named[value.node] if place in (0, len(cell.values) - 1) else None,
                    "end": "fast" if place == 0 else "slow",
                }
            )
        others = [value.gain for value in cell.values if value.member not in checked]
        if together and others:
            quantiles = np.quantile(others, list(_QUANTILES.values())).tolist()
            rows.append(
                {
                    "cell": cell.label,
                    "node": f"the other {len(others):,}",
                    "who": "the others",
                    **dict(zip(_QUANTILES, quantiles, strict=True)),
                }
            )
    x = {
        "field": "percent",
        "type": "quantitative",
        "title": "difference from the median node (%)",
        "scale": {"nice": True, "zero": True, "padding": {"expr": f"{_ROOMY} ? 110 : 20"}},
        "axis": {"grid": True, "format": "+.6~g"},
    }
    y = {
        "field": "cell",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 260, "ticks": False},
    }
    shown_values = [
        {"field": "node", "title": "node"},
        {"field": "cell", "title": "cell"},
        {"field": "percent", "title": "deviation (%)", "format": "+.3~g"},
        {"field": "sigmas", "title": "robust standard deviations", "format": "+.2~f"},
    ]

    def names(end: str, align: str, offset: int) -> dict[str, object]:
        return {
            "transform": [{"filter": f"isValid(datum.name) && datum.end == '{end}'"}],
            "mark": {
                "type": "text",
                "align": align,
                "dx": offset,
                "fontSize": 11,
                "opacity": {"expr": f"{_ROOMY} ? 1 : 0"},
            },
            "encoding": {"text": {"field": "name"}},
        }

    spec = {
        "height": {"step": 26},
        "transform": [
            {"calculate": "isValid(datum.gain) ? 100 * datum.gain : null", "as": "percent"},
            *(
                {"calculate": f"isValid(datum.{n}) ? 100 * datum.{n} : null", "as": f"shown_{n}"}
                for n in _QUANTILES
            ),
        ],
        "encoding": {"x": x, "y": y},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [6, 4]},
                "encoding": {"x": {"datum": 0}, "y": {"value": 0}, "y2": {"value": "height"}},
            },
            *(_bars(x) if together else []),
            {
                "transform": [{"filter": "isValid(datum.percent)"}],
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.65},
                "encoding": {"tooltip": shown_values, "color": colour("who", rows)},
            },
            names("fast", "left", 7),
            names("slow", "right", -7),
        ],
    }
    left_out = len(cells) - len(shown)
    more = f" {counted(left_out, 'cell')} with smaller differences not shown." if left_out else ""
    widest = shown[0]
    return Figure(
        id="nodes",
        title="Each node against the median node",
        caption="Each point is a node. Further right is better, for rates and for times. "
        "Where there is room, the fastest and the slowest node have their names."
        f"{_BARS if together else ''}{more}",
        alt=f"Deviations of {counted(len(widest.values), 'node')} from their median in "
        f"{counted(len(shown), 'cell')}; widest in {widest.label}, from "
        f"{widest.values[-1].node} to {widest.values[0].node}.",
        fields=[
            Field("cell", "", "kernel, parameters and placement"),
            Field("node", "", "the node's name"),
            Field("value", "SI", "median of its launches, in the metric's unit"),
            Field("gain", "1", "relative deviation from the median node; positive is better"),
            Field("sigmas", "1", "the same in robust standard deviations"),
            Field("who", "", "to check, or the others"),
            *(
                Field(name, "1", f"{share:.0%} quantile of the other nodes' gain")
                for name, share in _QUANTILES.items()
                if together
            ),
        ],
        rows=rows,
        spec=spec,
    )


def _bars(x: Spec) -> list[Spec]:
    """The other nodes of each cell: a line over their range, a bar between the quantiles."""
    return [
        {
            "transform": [{"filter": "isValid(datum.least)"}],
            "mark": {"type": "rule", "strokeWidth": width, "opacity": 0.35},
            "encoding": {
                "x": {**x, "field": f"shown_{low}"},
                "x2": {"field": f"shown_{high}"},
                "tooltip": [
                    {"field": "node", "title": "nodes"},
                    {"field": f"shown_{low}", "title": "from (%)", "format": "+.3~g"},
                    {"field": f"shown_{high}", "title": "to (%)", "format": "+.3~g"},
                ],
            },
        }
        for low, high, width in (("least", "most", 1.5), ("low", "high", 9))
    ]
