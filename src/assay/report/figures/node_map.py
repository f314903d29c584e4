"""Nodes by cells, as colours: those to look at by name, all others together."""

from __future__ import annotations

import numpy as np

from assay.answers.fleet import Examined
from assay.hostnames import natural
from assay.report.marks import Row, Spec
from assay.report.model import Field, Figure
from assay.stats.fleet import LEVEL
from assay.stats.intervals import Floats
from assay.units import counted

# Nodes and cells that fit; of more nodes those to look at, of more cells those in which they are
# furthest behind.
_NODES = 40
_CELLS = 40
# The colours' ends, relative deviations: what is further off is as dark.
_LEAST_END, _MOST_END = 0.02, 0.3


def node_map(examined: Examined) -> Figure:
    """A row a node, a column a cell, coloured by how far the node is from its kind's usual one.

    In a fleet that doesn't fit, nodes that aren't to be looked at share rows: the median of them,
    and the cell by cell worst of them.
    """
    fleet, nodes = examined.fleet, examined.nodes
    places = {node.member: row for row, node in enumerate(nodes)}
    suspects = [places[each.member] for each in examined.suspects]
    shown = suspects[:_NODES]
    everybody = sorted(set(range(len(nodes))) - set(suspects), key=lambda r: natural(nodes[r].name))
    single = len(nodes) <= _NODES
    if single:
        shown = shown + everybody
    shift = fleet.shift[:, : fleet.cells]
    better = np.array([cell.better == "more" for cell in examined.cells])
    gains = np.where(better, np.expm1(-shift), -np.expm1(shift))  # as gain_of
    columns = _columns(gains, suspects or everybody)
    rows: list[Row] = []

    def add(name: str, place: int, column: int, gain: float, surely: bool) -> None:
        if np.isfinite(gain):
            rows.append(
                {
                    "node": name,
                    "node_place": place,
                    "cell": examined.cells[column].label,
                    "cell_place": columns.index(column),
                    "gain": float(gain),
                    "outlier": surely,
                }
            )

    for place, row in enumerate(shown):
        for column in columns:
            surely = bool(fleet.p_columns[row, column] <= LEVEL) and row in suspects
            add(nodes[row].name, place, column, gains[row, column], surely)
    rest = [] if single else everybody
    if rest:
        others = gains[rest]
        for place, (words, share) in enumerate((("median", 0.5), ("slowest", 0.0))):
            name = f"{words} of the other {len(rest):,}"
            for column in columns:
                if np.isfinite(others[:, column]).any():
                    gain = float(np.nanquantile(others[:, column], share))
                    add(name, len(shown) + place, column, gain, False)
    return Figure(
        id="node-map",
        title="Nodes by cells",
        caption="How far each node is from its kind's usual one: the redder the slower, the bluer "
        "the faster. A cross: slower there than chance and what nodes differ by explain."
        + _left_out(len(suspects) - _NODES, len(examined.cells) - len(columns)),
        alt=f"Heat map of {counted(len(nodes), 'node')} in {counted(len(columns), 'cell')}; "
        f"{counted(len(suspects), 'node')} to look at.",
        fields=[
            Field("node", "", "the node's name, or what the row stands for"),
            Field("node_place", "", "its row, from 0"),
            Field("cell", "", "kernel, parameters and placement"),
            Field("cell_place", "", "its column, from 0"),
            Field("gain", "1", "relative deviation from the usual node; positive is better"),
            Field("outlier", "", "whether it is slower than chance explains"),
        ],
        rows=rows,
        spec=_spec(rows),
    )


def _left_out(nodes: int, cells: int) -> str:
    more = [counted(nodes, "further node") + " to look at"] if nodes > 0 else []
    more += [counted(cells, "cell") + " in which they are less behind"] if cells > 0 else []
    return f" Left out: {' and '.join(more)}." if more else ""


def _columns(gains: Floats, rows: list[int]) -> list[int]:
    """The cells shown, in the plan's order: those in which one of the rows is furthest behind."""
    if gains.shape[1] <= _CELLS or not rows:
        return list(range(min(gains.shape[1], _CELLS)))
    worst = np.nan_to_num(gains[rows], nan=0.0).min(axis=0)
    return sorted(np.argsort(worst, kind="stable")[:_CELLS].tolist())


def _spec(rows: list[Row]) -> Spec:
    far = max((abs(float(row["gain"] or 0.0)) for row in rows), default=0.0)
    end = 100 * min(max(far, _LEAST_END), _MOST_END)
    cells = len({row["cell_place"] for row in rows})
    x = {
        "field": "cell",
        "type": "nominal",
        "sort": {"field": "cell_place", "op": "min"},
        "title": None,
        "axis": {"labelAngle": -40, "labelLimit": 300, "ticks": False, "grid": False},
    }
    y = {
        "field": "node",
        "type": "nominal",
        "sort": {"field": "node_place", "op": "min"},
        "title": None,
        "axis": {"labelLimit": 220, "ticks": False, "grid": False},
    }
    return {
        "height": {"step": 18},
        "transform": [
            {"calculate": "100 * datum.gain", "as": "percent"},
            {"calculate": f"min(max(datum.percent, {-end!r}), {end!r})", "as": "shade"},
        ],
        "encoding": {"x": x, "y": y},
        "layer": [
            {
                "mark": {"type": "rect"},
                "encoding": {
                    "color": {
                        "field": "shade",
                        "type": "quantitative",
                        "title": "better than the usual node (%)",
                        "scale": {"scheme": "redblue", "domain": [-end, end]},
                        "legend": {"gradientLength": 200, "format": "+.3~g"},
                    },
                    "tooltip": [
                        {"field": "node", "title": "node"},
                        {"field": "cell", "title": "cell"},
                        {"field": "percent", "title": "deviation (%)", "format": "+.3~g"},
                    ],
                },
            },
            {
                "transform": [{"filter": "datum.outlier"}],
                "mark": {"type": "point", "shape": "cross", "filled": True, "size": 40},
                "encoding": {"color": {"value": "#ffffff"}, "opacity": {"value": 0.9}},
            },
        ],
        **({} if cells > 8 else {"width": {"step": 60}}),
    }
