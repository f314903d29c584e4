"""The fabric: the matrix of pairs, the hops of rings, bisections by cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.answers.fabric_data import (
    BISECTION,
    Hop,
    PairMatrix,
    RingHops,
    active_pairs,
    cut_of,
    is_lone,
    message_bytes,
    pair_matrices,
    ring_hops,
)
from assay.answers.select import points
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    error_bars,
    scale_of,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.intervals import median_interval
from assay.stats.model import CellSummary
from assay.units import format_size

_BOTH_TRIANGLES = 64  # members; of more one triangle is drawn, for the report's sake
_NAMED = 40  # members or hops whose names still fit an axis
_DECADES = 10.0  # ratio of times from which on colours are logarithmic
_BARS_IN_HALF = 16


def fabric_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure | None]:
    """A heat map for each matrix, bars for each ring, and the bisections in one figure."""
    return [
        *(matrix_figure(found, k) for k, found in enumerate(pair_matrices(cells, run), 1)),
        *(ring_figure(found, k) for k, found in enumerate(ring_hops(cells, run), 1)),
        bisection_figure(cells),
    ]


def matrix_figure(found: PairMatrix, number: int = 1) -> Figure:
    """Every pair's time as a colour, alike members side by side."""
    size = format_size(message_bytes(found.point))
    order = found.topology.order
    both = len(order) <= _BOTH_TRIANGLES
    rows: list[Row] = [
        {
            "one": found.names[one],
            "other": found.names[other],
            "time": float(found.times[one, other]),
            "one_place": k,
            "other_place": j,
        }
        for k, one in enumerate(order)
        for j, other in enumerate(order)
        if (j > k or (both and j < k)) and not np.isnan(found.times[one, other])
    ]
    times = [float(row["time"] or 0.0) for row in rows]
    factor, prefix = scale_of([float(np.median(times))])
    named = len(order) <= _NAMED
    levels = found.topology.levels
    unit = "nodes" if found.point.parameter("between") == "nodes" else "ranks"
    seen = f"{len(levels[-1].groups)} groups" if levels else "no groups"
    spec: Spec = {
        "height": {"step": 14} if named else 420,
        "transform": [{"calculate": f"datum.time / {factor!r}", "as": "shown"}],
        "mark": {"type": "rect"},
        "encoding": {
            "x": _members("other", named, by="other_place"),
            "y": _members("one", named, by="one_place"),
            "color": {
                "field": "shown",
                "type": "quantitative",
                "title": f"{prefix}s",
                "scale": {
                    "scheme": "viridis",
                    "reverse": True,
                    "type": "log" if max(times) > _DECADES * min(times) else "linear",
                    "zero": False,
                },
            },
            "tooltip": [
                {"field": "one", "title": "one"},
                {"field": "other", "title": "other"},
                {"field": "shown", "title": f"one way ({prefix}s)", "format": ".4~g"},
            ],
        },
    }
    together = ", a round together" if found.point.parameter("concurrent") == "yes" else ""
    return Figure(
        id=f"pairs-{number}",
        title=f"Every pair of {unit}: {size}{together}",
        caption="Half a round trip, median over launches; the darker the slower. Members that are "
        "alike stand side by side, in the order of average linkage.",
        alt=f"Heat map of the times between {len(order)} {unit}; {seen} were found, "
        f"{len(found.topology.slow_nodes)} slow {unit} and {len(found.topology.slow_pairs)} slow "
        "pairs.",
        fields=[
            Field("one", "", "the one"),
            Field("other", "", "the other"),
            Field("time", "s", "half a round trip between them, median over launches"),
            Field("one_place", "", "where the one stands in the figure, from 0"),
            Field("other_place", "", "where the other stands"),
        ],
        rows=rows,
        spec=spec,
        width="full",
    )


def ring_figure(found: RingHops, number: int = 1) -> Figure:
    """The hops in the ring's order as bars, those that stand out marked."""
    size = format_size(message_bytes(found.point))
    rows = [_hop_row(hop) for hop in found.hops]
    factor, prefix = scale_of(hop.time for hop in found.hops)
    named = len(rows) <= _NAMED
    kind = colour("kind", rows)
    spec: Spec = {
        "height": 240,
        "transform": scaled_fields(factor),
        "encoding": {"x": _members("hop", named)},
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"hop ({prefix}s)", zero=True),
                    "color": kind,
                    "tooltip": tooltip([("hop", "hop"), ("kind", "kind")], f"{prefix}s"),
                },
            },
            error_bars(),
        ],
    }
    odd = [row for row in rows if row["stands_out"]]
    mode, route = found.point.parameter("mode"), found.point.parameter("route")
    return Figure(
        id=f"ring-{number}",
        title=f"Ring, {'all at once' if mode == 'together' else 'token'}, {route} order: {size}",
        caption="Each hop, median over launches; the whiskers are 95% intervals. A switch that is "
        "crossed, or a slow cable, makes its hop higher.",
        alt=f"Bar chart of {len(rows)} hops around a ring; {len(odd)} of them stand out.",
        fields=[
            Field("hop", "", "from whom to whom"),
            Field("kind", "", "within a node, between nodes, and whether it stands out"),
            *data_fields("s"),
            Field("stands_out", "", "whether chance would hardly put it so far above its kind"),
        ],
        rows=rows,
        spec=spec,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )


def bisection_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """What a rank sends across each cut while all do, beside what one pair has alone."""
    found = points(cells, BISECTION, "bandwidth")
    if not found:
        return None
    rows: list[Row] = []
    for point in sorted(found, key=lambda p: (is_lone(p), message_bytes(p))):
        cut = cut_of(point)
        name = f"{cut} {point.parameter('draw')}" if cut == "random" else cut
        rows.append(
            {
                "cut": f"{name}, one pair" if is_lone(point) else name,
                "message": format_size(message_bytes(point)),
                "toolchain": point.summary.cell.toolchain,
                **statistics(point, per=2 * active_pairs(point)),
            }
        )
    factor, prefix = scale_of(float(row["median"] or 0.0) for row in rows)
    spec: Spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": "cut",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
            },
            "xOffset": {"field": "message", "sort": None},
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"a rank, each way ({prefix}B/s)", zero=True),
                    "color": colour("message", rows, "message"),
                    "tooltip": tooltip(
                        [("cut", "cut"), ("message", "message"), ("toolchain", "toolchain")],
                        f"{prefix}B/s",
                    ),
                },
            },
            error_bars(),
        ],
    }
    low = min(rows, key=lambda row: float(row["median"] or 0.0))
    return Figure(
        id="bisection",
        title="Bisection: what each rank gets while half of them exchange with the other half",
        caption="The slowest pair's bandwidth, each way; the whiskers are 95% intervals.",
        alt=f"Bar chart of bandwidth by cut; the lowest is {low['cut']} with {low['message']}.",
        fields=[
            Field("cut", "", "who exchanges with whom"),
            Field("message", "", "message size each way"),
            Field("toolchain", "", "toolchain"),
            *data_fields("B/s", ", of a rank each way"),
        ],
        rows=rows,
        spec=spec,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )


def _members(field: str, named: bool, by: str | None = None) -> Spec:
    """An axis in the order of the rows or of a field; without names where they would not fit."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None if by is None else {"field": by, "op": "min"},
        "title": None,
        "axis": {"ticks": False, "grid": False, "labels": named, "labelLimit": 260},
    }


def _hop_row(hop: Hop) -> Row:
    low, high = median_interval(np.array(hop.times)) or (None, None)
    kind = "between nodes" if hop.crosses else "within a node"
    return {
        "hop": f"{hop.sender} → {hop.receiver}",
        "kind": f"{kind}, stands out" if hop.stands_out else kind,
        "median": hop.time,
        "low": low,
        "high": high,
        "launches": len(hop.times),
        "stands_out": hop.stands_out,
    }
