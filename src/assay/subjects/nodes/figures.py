"""Figures of a group: each node's deviation from the median node, in every cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot
from assay.hostnames import short_names
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.group_figures import groups_figure
from assay.subjects.nodes.map_figures import node_map
from assay.subjects.nodes.model import CellByNode
from assay.units import counted

_MAX_CELLS = 40  # maximum number of rows; the cells in which nodes differ most are shown
# Maximum number of legible points; with more, nodes that are not to check are drawn as a bar.
_MAX_POINTS = 900
_QUANTILES = {"least": 0.0, "low": 0.05, "high": 0.95, "most": 1.0}  # the quantiles that bars show

_ROOMY = "room > 500"  # whether the figure is wide enough for names beside points
_BARS = (
    " The other nodes are drawn as a bar from their 5% to their 95% quantile, on a line from "
    "the slowest to the fastest."
)


def figures(found: NodesFindings) -> list[Figure]:
    """The figures of a group of nodes.

    Groups of nodes if any is slow, the heat map of nodes and cells if nodes were examined, then
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
        # The other nodes come first. Nodes to check are drawn over them in the second colour.
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
    columns = [
        DataColumn("cell", "kernel, parameters and placement", kind="name"),
        DataColumn("node", "the node's name", kind="name"),
        DataColumn("value", "median of its launches, in the metric's unit", "SI"),
        in_percent("gain", "relative deviation from the median node; positive is better",
                   "deviation (%)", format="+.3~g"),
        DataColumn("sigmas", "deviation in robust standard deviations", "1",
                   title="robust standard deviations", format="+.2~f"),
        DataColumn("who", "to check, or the others", kind="name"),
        *(
            in_percent(name, f"{share:.0%} quantile of the other nodes' gain", "", format="+.3~g")
            for name, share in _QUANTILES.items()
            if together
        ),
        DataColumn("name", kind="name"),
    ]  # fmt: skip
    plot = Plot(columns, rows, step=26)
    x = plot.axis("gain", "difference from the median node (%)", nice=True, zero=True,
                  padding={"expr": f"{_ROOMY} ? 110 : 20"}, grid=True, format="+.6~g")  # fmt: skip
    plot.share(x=x, y=plot.names("cell", label_limit=260, ticks=False)).level(x=0, width=1)
    if together:
        _bars(plot, x)
    plot.dots(
        only="isValid(datum.gain)", size=45, opacity=0.65, colour=plot.hue("who"),
        tips=("node", "cell", "gain", "sigmas"),
    )  # fmt: skip
    for end, align, offset in (("fast", "left", 7), ("slow", "right", -7)):
        plot.text(
            "name", only=f"isValid(datum.name) && datum.end == '{end}'", align=align, dx=offset,
            font_size=11, opacity={"expr": f"{_ROOMY} ? 1 : 0"},
        )  # fmt: skip
    left_out = len(cells) - len(shown)
    more = f" {counted(left_out, 'cell')} with smaller differences not shown." if left_out else ""
    widest = shown[0]
    return plot.figure(
        "nodes",
        "Each node against the median node",
        caption="Each point is a node. Further right is better, for rates and for times. "
        "If there is room, the fastest and the slowest node are named."
        f"{_BARS if together else ''}{more}",
        alt=f"Deviations of {counted(len(widest.values), 'node')} from their median in "
        f"{counted(len(shown), 'cell')}; widest in {widest.label}, from "
        f"{widest.values[-1].node} to {widest.values[0].node}.",
    )


def _bars(plot: Plot, x: Spec) -> None:
    """The other nodes of each cell: a line over their range, a bar between the quantiles."""
    for low, high, width in (("least", "most", 1.5), ("low", "high", 9)):
        plot.intervals(
            low, high, x=x, width=width, only="isValid(datum.least)", opacity=0.35,
            tips=(("node", "nodes"), (low, "from (%)"), (high, "to (%)")),
        )  # fmt: skip
