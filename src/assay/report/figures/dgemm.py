"""DGEMM's rate against the order of the matrices."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import arriving_order, theoretical_peak
from assay.answers.select import labeller, points
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    by_size,
    colour,
    data_fields,
    error_bars,
    listed,
    order_axis,
    peak_layers,
    scale_of,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted


def dgemm_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Rate against N; the theoretical peak as a line, a ring where 95% of the best is reached."""
    found = points(cells, "compute.dgemm", "rate")
    if not found:
        return None
    label = labeller(found)
    orders = {
        point.cores: {p.parameter("n") for p in found if p.cores == point.cores} for point in found
    }
    arrived = {count: arriving_order(found, count) for count in orders}
    peaks = {
        count: limit.rate
        for count in orders
        if (limit := theoretical_peak(run, [p for p in found if p.cores == count]))
    }
    rows: list[Row] = [
        {
            "n": int(point.parameter("n") or 0),
            "placement": label(point),
            **statistics(point),
            "peak": peaks.get(point.cores),
            "arrives": point.parameter("n") == arrived[point.cores]
            and len(orders[point.cores]) > 1,
        }
        for point in sorted(found, key=by_size)
    ]
    factor, prefix = scale_of([*(p.metric.median for p in found), *peaks.values()])
    x = {
        "field": "n",
        "type": "quantitative",
        "title": "order N of the matrices",
        **order_axis(sorted({int(row["n"] or 0) for row in rows})),
    }
    hue = colour("placement", rows)
    layers: list[Spec] = [
        error_bars(),
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 45}},
            "encoding": {
                "y": y_axis(f"rate ({prefix}flop/s)", zero=True),
                "color": hue,
                "tooltip": tooltip([("n", "N"), ("placement", "placement")], f"{prefix}flop/s"),
            },
        },
    ]
    rings_drawn = any(row["arrives"] for row in rows)
    if rings_drawn:
        layers.append(
            {
                "transform": [{"filter": "datum.arrives"}],
                "mark": {"type": "point", "size": 220, "strokeWidth": 2, "filled": False},
                "encoding": {"y": {"field": "y", "type": "quantitative"}, "color": hue},
            }
        )
    if peaks:
        layers += peak_layers(hue, factor)
    spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {"x": x},
        "layer": layers,
    }
    where = [
        f"on {counted(count, 'core')} 95% of the best from N = {order}"
        for count, order in sorted(arrived.items())
        if len(orders[count]) > 1
    ] or ["one order alone"]
    rings = " A ring marks the smallest N within 5% of the best." if rings_drawn else ""
    lines = " Dashed: theoretical peak of as many cores." if peaks else ""
    return Figure(
        id="dgemm",
        title="DGEMM: floating-point rate against matrix order",
        caption=f"Median over launches with 95% intervals.{rings}{lines}",
        alt=f"Line chart of the DGEMM rate against matrix order N; {listed(where)}.",
        fields=[
            Field("n", "", "order of the matrices"),
            Field("placement", "", "ranks and threads"),
            *data_fields("flop/s"),
            Field("peak", "flop/s", "theoretical peak of the cores in use"),
            Field("arrives", "", "whether this is the smallest N at 95% of the best"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )
