"""Heat map of nodes and cells: a row for each node to check, the other nodes combined."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, fixed
from assay.hostnames import natural, short_names
from assay.subjects.nodes.model import NodeDeviations
from assay.units import counted

# Maximum numbers of nodes and cells. With more nodes, only those to check are shown; with more
# cells, those in which they are slowest.
_MAX_NODES, _MAX_CELLS = 40, 40
# Minimum and maximum of the relative deviation at the ends of the colour scale; larger deviations
# have the same colour.
_MIN_END, _MAX_END = 0.02, 0.3
_LEVEL_LABEL = 220  # width of a column (px) from which its label is horizontal
_GRADIENT: Spec = {"expr": "min(200, 0.45 * room)"}


def node_map(deviations: NodeDeviations, suspected: Sequence[int]) -> Figure:
    """A row per node, a column per cell, coloured by the deviation from the kind's typical node.

    ``suspected``: members to check. In a fleet that doesn't fit, the other nodes share two rows:
    their median, and the slowest of them in each cell.
    """
    names, gains = deviations.nodes, deviations.gain
    places = {member: row for row, member in enumerate(deviations.members)}
    suspects = [places[member] for member in suspected]
    shown = suspects[:_MAX_NODES]
    others = sorted(set(range(len(names))) - set(suspects), key=lambda row: natural(names[row]))
    single = len(names) <= _MAX_NODES
    if single:
        shown = shown + others
    columns = _columns(gains, suspects or others)
    rows: list[Row] = []

    def add(name: str, place: int, column: int, gain: float, outlier: bool) -> None:
        if np.isfinite(gain):
            rows.append(
                {
                    "node": name,
                    "node_place": place,
                    "cell": deviations.cells[column],
                    "cell_place": columns.index(column),
                    "gain": float(gain),
                    "outlier": outlier,
                }
            )

    for place, row in enumerate(shown):
        for column in columns:
            outlier = bool(deviations.slower[row, column]) and row in suspects
            add(names[row], place, column, gains[row, column], outlier)
    if others and not single:
        together = gains[others]
        for place, (words, share) in enumerate((("median", 0.5), ("slowest", 0.0))):
            name = f"{words} of the other {len(others):,}"
            for column in columns:
                if np.isfinite(together[:, column]).any():
                    gain = float(np.nanquantile(together[:, column], share))
                    add(name, len(shown) + place, column, gain, False)
    return _plot(rows).figure(
        "node-map",
        "Nodes and cells",
        caption="Deviation of each node from the typical node of its kind: red is slower, blue is "
        "faster. A cross marks a node that is significantly slower in that cell, given the "
        "variation between nodes."
        + _left_out(len(suspects) - _MAX_NODES, len(deviations.cells) - len(columns)),
        alt=f"Heat map of {counted(len(names), 'node')} in {counted(len(columns), 'cell')}; "
        f"{counted(len(suspects), 'node')} to check.",
    )


def _left_out(nodes: int, cells: int) -> str:
    more = [counted(nodes, "further node") + " to check"] if nodes > 0 else []
    more += [counted(cells, "cell") + " with smaller deviations"] if cells > 0 else []
    return f" Left out: {' and '.join(more)}." if more else ""


def _columns(gains: Floats, rows: list[int]) -> list[int]:
    """The shown cells in the plan's order: those in which one of the rows is slowest."""
    if gains.shape[1] <= _MAX_CELLS or not rows:
        return list(range(min(gains.shape[1], _MAX_CELLS)))
    worst = np.nan_to_num(gains[rows], nan=0.0).min(axis=0)
    return sorted(np.argsort(worst, kind="stable")[:_MAX_CELLS].tolist())


def _short(rows: list[Row]) -> dict[str, str]:
    """Labels in place of long names."""
    short = {
        name: of for name, of in short_names(str(r["node"]) for r in rows).items() if name != of
    }
    return {"label_expr": f"({json.dumps(short)})[datum.value] || datum.value"} if short else {}


def _plot(rows: list[Row]) -> Plot:
    """The cells of the map, and crosses."""
    far = max((abs(float(row["gain"] or 0.0)) for row in rows), default=0.0)
    end = 100 * min(max(far, _MIN_END), _MAX_END)
    cells = len({row["cell_place"] for row in rows})
    level = f"room > {_LEVEL_LABEL * cells}"
    columns = [
        DataColumn("node", "name of the node, or what the row represents", kind="name"),
        DataColumn("node_place", "row, from 0"),
        DataColumn("cell", "kernel, parameters and placement", kind="name"),
        DataColumn("cell_place", "column, from 0"),
        in_percent("gain", "relative deviation from the typical node; positive is better",
                   "deviation (%)", format="+.3~g"),
        DataColumn("outlier", "whether it is significantly slower"),
        DataColumn("shade", shown=f"min(max(100 * datum.gain, {-end!r}), {end!r})"),
    ]  # fmt: skip
    plot = Plot(columns, rows, step=18, column_step=None if cells > 8 else 60)
    x = plot.names(
        "cell", sort={"field": "cell_place", "op": "min"}, ticks=False, grid=False,
        label_angle={"expr": f"{level} ? 0 : -40"},
        label_align={"expr": f"{level} ? 'center' : 'right'"},
        label_baseline={"expr": f"{level} ? 'top' : 'middle'"},
        label_limit={"expr": f"{level} ? 0.7 * room / {cells} : min(300, 0.32 * room)"},
    )  # fmt: skip
    y = plot.names(
        "node", sort={"field": "node_place", "op": "min"}, label_limit=220, ticks=False, grid=False,
        **_short(rows),
    )  # fmt: skip
    legend = {"gradient_length": _GRADIENT, "format": "+.3~g", "tick_count": 3}
    shade = plot.shade("shade", "deviation (%)", legend, scheme="redblue", domain=[-end, end])
    plot.share(x=x, y=y).boxes(colour=shade, tips=("node", "cell", "gain"))
    white = {"colour": fixed("#ffffff"), "fade": fixed(0.9)}
    return plot.dots(only="datum.outlier", shape=fixed("cross"), size=40, **white)
