"""Figure of a comparison: each cell's factor of speed with its interval."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import LABEL_LIMIT, Row
from assay.charts.plot import Plot, at
from assay.subjects.compare.labels import brief_labels
from assay.subjects.compare.model import ComparedCell, CompareFindings
from assay.subjects.compare.tables import origin_words
from assay.units import format_limit

# Maximum number of cells in the figure, and height of one in pixels.
_MOST, _STEP = 40, 18
_NARROW = 560  # pixels below which the legend has two columns
_GREY = "#8a8a8a"
_COLOURS = {
    "faster": "#2a7f62",
    "slower": "#b3392f",
    "same": "#4c6a92",
    "open": "#8a8a8a",
    "none": "#b08d57",
}


def figures(found: CompareFindings) -> list[Figure]:
    """The cells with a known ratio, the largest changes first."""
    known = [cell for cell in found.cells if cell.speed]
    if len(known) < 2:
        return []
    sides = [run.name for run in found.runs[1:]]
    each = max(1, _MOST // len(sides))
    shown = [cell for side in sides for cell in [c for c in known if c.side == side][:each]]
    labels = brief_labels(found.cells)
    several = len(found.runs) > 2
    rows = [_row(cell, labels[cell.name], several) for cell in shown]
    left_out = len(known) - len(shown)
    return [
        _plot(rows, found.margin).figure(
            "compare-speed",
            "Speed relative to run A",
            caption="Right of the dashed line, the other run is faster. Whiskers: 95% intervals "
            "where there are enough launches. The grey area marks cells that are the same "
            f"within {format_limit(found.margin)}.{origin_words(found)}"
            + (f" {left_out} more comparisons are in the table." if left_out else ""),
            alt=f"Speeds relative to run A of {len(shown)} cells, from "
            f"{min(cell.speed or 1.0 for cell in shown):.3g} to "
            f"{max(cell.speed or 1.0 for cell in shown):.3g}.",
        )
    ]


def _row(cell: ComparedCell, label: str, several: bool) -> Row:
    low, high = cell.speed_ci95 or (None, None)
    return {
        "side": cell.side,
        "cell": cell.name,
        "label": f"{cell.side}: {label}" if several else label,
        "speed": cell.speed,
        "low": low,
        "high": high,
        "p": cell.p_corrected,
        "verdict": cell.verdict,
    }


def _plot(rows: list[Row], margin: float) -> Plot:
    columns = [
        DataColumn("side", "run that is compared with A", kind="name"),
        DataColumn("cell", "kernel, parameters and placement", kind="name"),
        DataColumn(
            "label", "what distinguishes the cell from other cells of its kernel", kind="name"
        ),
        DataColumn("speed", "speed relative to A", title="speed over A", format=".4f"),
        DataColumn("low", "lower end of its 95% interval", title="from", format=".4f"),
        DataColumn("high", "upper end of its 95% interval", title="to", format=".4f"),
        DataColumn("p", "p of no difference, corrected", format=".3g"),
        DataColumn("verdict", "faster, slower, same, open or none (another code)", kind="name"),
    ]
    plot = Plot(columns, rows, step=_STEP)
    # Without an expression, a logarithmic axis lacks most labels below 1.
    x = plot.axis(
        "speed", scale="log", nice=False, padding=12, label_expr="format(datum.value, '.3~g')",
        label_overlap="greedy", label_flush=True,
    )  # fmt: skip
    y = plot.names("label", ticks=False, label_limit=LABEL_LIMIT, grid=False)
    verdicts = [verdict for verdict in _COLOURS if any(row["verdict"] == verdict for row in rows)]
    hue = plot.key(
        "verdict",
        {
            "title": "verdict",
            "columns": {"expr": f"room < {_NARROW} ? 2 : {len(verdicts)}"},
            "label_expr": "({open: 'undecided', none: 'another code'})[datum.label] || datum.label",
        },
        domain=verdicts,
        range=[_COLOURS[verdict] for verdict in verdicts],
    )
    ends = {"x": at(1.0 / (1.0 + margin)), "x2": at(1.0 + margin)}
    plot.boxes(data=[{}], color=_GREY, opacity=0.18, **ends)
    plot.rules(data=[{}], color=_GREY, stroke_dash=[4, 3], x=at(1.0))
    plot.intervals("low", "high", x=x, y=y, colour=hue)
    tips = ("cell", "speed", "low", "high", "p", "verdict")
    return plot.dots(size=60, opacity=1, x=x, y=y, colour=hue, tips=tips)
