"""The NAS Parallel Benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.benchmarks import TITLES
from assay.answers.select import counted, placement_text, points
from assay.kernels.npb import CLASS_ORDER
from assay.report.marks import (
    Row,
    by_size,
    colour,
    data_fields,
    error_bars,
    listed,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary


def benchmark_figure(cells: Sequence[CellSummary], kernel: str) -> Figure | None:
    """Mop/s per core of one NPB against cores, by class: level bars are perfect scaling."""
    found = points(cells, kernel, "rate")
    if not found:
        return None
    title = TITLES[kernel]
    toolchains = len({point.summary.cell.toolchain for point in found}) > 1
    rows: list[Row] = [
        {
            "placement": placement_text(point.summary.cell.placement),
            "cores": point.cores,
            "class": str(point.parameter("class"))
            + (f" · {point.summary.cell.toolchain}" if toolchains else ""),
            **statistics(point, per=point.cores),
        }
        for point in sorted(found, key=by_size)
    ]
    factor, prefix = 1e6, "M"  # NPB's official unit, whatever the size
    spec = {
        "height": 240,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": "placement",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
                "scale": {"paddingInner": 0.5, "paddingOuter": 0.3},
            },
            "xOffset": {"field": "class", "sort": None, "scale": {"paddingInner": 0.08}},
        },
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": y_axis(f"{prefix}op/s per core", zero=True),
                    "color": colour("class", rows, title="class"),
                    "tooltip": tooltip(
                        [("placement", "placement"), ("class", "class")],
                        f"{prefix}op/s per core",
                    ),
                },
            },
            error_bars(),
        ],
    }
    classes = [name for name in CLASS_ORDER if any(p.parameter("class") == name for p in found)]
    return Figure(
        id=kernel.replace(".", "-"),
        title=f"NPB {title}: rate per core",
        caption="Bars of equal height would be perfect scaling. Whiskers: 95% intervals.",
        alt=f"Bar chart of NPB {title} Mop/s per core for class {listed(classes)} on "
        f"{listed([counted(n, 'core') for n in sorted({p.cores for p in found})])}.",
        fields=[
            Field("placement", "", "ranks and threads"),
            Field("cores", "", "cores in use"),
            Field("class", "", "problem class"),
            *data_fields("op/s", " per core"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )
