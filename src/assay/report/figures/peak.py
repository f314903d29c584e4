"""The measured peak by vector width."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import PEAK
from assay.answers.select import labeller, points
from assay.report.marks import (
    by_size,
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
from assay.stats.model import CellSummary


def peak_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Bars of multiply-add rate: widths side by side, one bar a placement."""
    found = points(cells, PEAK, "rate")
    widths = sorted({int(point.parameter("width") or 0) for point in found})
    if len(widths) < 2:
        return None
    label = labeller(found)
    rows = [
        {
            "width": f"{point.parameter('width')} bit",
            "placement": label(point),
            **statistics(point),
        }
        for point in sorted(found, key=lambda p: (int(p.parameter("width") or 0), by_size(p)))
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    spec = {
        "height": 240,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": "width",
                "type": "nominal",
                "sort": None,
                "title": "vector width",
                "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
                "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
            },
            "xOffset": {"field": "placement", "sort": None, "scale": {"paddingInner": 0.08}},
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"rate ({prefix}flop/s)", zero=True),
                    "color": colour("placement", rows),
                    "tooltip": tooltip(
                        [("width", "width"), ("placement", "placement")], f"{prefix}flop/s"
                    ),
                },
            },
            error_bars(),
        ],
    }
    return Figure(
        id="peak",
        title="Measured peak: multiply-adds out of registers",
        caption="Median over launches; the whiskers are 95% intervals.",
        alt=f"Bar chart of the multiply-add rate at {', '.join(map(str, widths))} bit.",
        fields=[
            Field("width", "", "bits of a vector register"),
            Field("placement", "", "ranks and threads"),
            *data_fields("flop/s"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )
