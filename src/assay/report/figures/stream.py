"""STREAM's bars."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.select import best, labeller, points
from assay.kernels.memory import STREAM_WORK
from assay.report.marks import (
    by_size,
    colour,
    data_fields,
    error_bars,
    listed,
    scale_of,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

_BARS_IN_HALF = 16  # bars that stay wide enough to tell apart in half of the text's width


def stream_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of bandwidth: operations side by side, one bar a placement."""
    found = points(cells, "memory.stream", "bandwidth")
    if not found:
        return None
    label = labeller(found)
    rows = [
        {"operation": str(point.parameter("op")), "placement": label(point), **statistics(point)}
        for point in sorted(found, key=by_size)
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    operations = [op for op in STREAM_WORK if any(row["operation"] == op for row in rows)]
    x = {
        "field": "operation",
        "type": "nominal",
        "sort": operations,
        "title": None,
        "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
        "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
    }
    offset = {"field": "placement", "sort": None, "scale": {"paddingInner": 0.08}}
    spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {"x": x, "xOffset": offset},
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"bandwidth ({prefix}B/s)", zero=True),
                    "color": colour("placement", rows),
                    "tooltip": tooltip(
                        [("operation", "operation"), ("placement", "placement")],
                        f"{prefix}B/s",
                    ),
                },
            },
            error_bars(),
        ],
    }
    top = best(found)
    return Figure(
        id="stream",
        title="STREAM: sustained memory bandwidth",
        caption="Median over launches; the whiskers are 95% intervals.",
        alt=f"Bar chart of STREAM bandwidth for {listed(operations)}; the highest bar is "
        f"{top.parameter('op')} on {counted(top.cores, 'core')}.",
        fields=[
            Field("operation", "", "STREAM operation"),
            Field("placement", "", "ranks and threads"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=spec,
        width="half" if len(rows) <= _BARS_IN_HALF else "full",
    )
