"""Figure of a comparison: each cell's factor of speed with its interval."""

from __future__ import annotations

from assay.charts.figure import Field, Figure
from assay.charts.marks import LABEL_LIMIT, Row, Spec
from assay.subjects.compare.labels import brief_labels
from assay.subjects.compare.model import ComparedCell, CompareFindings
from assay.subjects.compare.tables import origin_words
from assay.units import format_limit

# Maximum number of cells in the figure, and height of one in pixels.
_MOST, _STEP = 40, 18
_NARROW = 560  # pixels below which the legend has two columns
_COLOURS = {
    "faster": "#2a7f62",
    "slower": "#b3392f",
    "same": "#4c6a92",
    "open": "#8a8a8a",
    "none": "#b08d57",
}


def figures(found: CompareFindings) -> list[Figure]:
    """The cells with a known ratio, the greatest changes first."""
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
        Figure(
            id="compare-speed",
            title="Speed relative to run A",
            caption="Right of the dashed line the other run is faster. Whiskers: 95% intervals "
            "where there are enough launches. Grey area: the same within "
            f"{format_limit(found.margin)}.{origin_words(found)}"
            + (f" {left_out} more comparisons are in the table." if left_out else ""),
            alt=f"Speeds relative to run A of {len(shown)} cells, from "
            f"{min(cell.speed or 1.0 for cell in shown):.3g} to "
            f"{max(cell.speed or 1.0 for cell in shown):.3g}.",
            fields=[
                Field("side", "", "run that is compared with A"),
                Field("cell", "", "kernel, parameters and placement"),
                Field("label", "", "what distinguishes the cell from others of its kernel"),
                Field("speed", "", "factor by which it is faster than A"),
                Field("low", "", "lower end of its 95% interval"),
                Field("high", "", "upper end of its 95% interval"),
                Field("p", "", "p of no difference, corrected"),
                Field("verdict", "", "faster, slower, same, open or none (another code)"),
            ],
            rows=rows,
            spec=_spec(rows, found.margin),
            width="full",
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


def _spec(rows: list[Row], margin: float) -> Spec:
    y: Spec = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"ticks": False, "labelLimit": LABEL_LIMIT, "grid": False},
    }
    scale = {"type": "log", "zero": False, "nice": False, "padding": 12}
    # Without an expression a logarithmic axis has no labels at most values below 1.
    axis = {
        "labelExpr": "format(datum.value, '.3~g')",
        "labelOverlap": "greedy",
        "labelFlush": True,
    }
    x: Spec = {
        "field": "speed",
        "type": "quantitative",
        "scale": scale,
        "axis": axis,
        "title": "speed over A",
    }
    verdicts = [verdict for verdict in _COLOURS if any(row["verdict"] == verdict for row in rows)]
    colour: Spec = {
        "field": "verdict",
        "type": "nominal",
        "title": "verdict",
        "scale": {"domain": verdicts, "range": [_COLOURS[verdict] for verdict in verdicts]},
        "legend": {
            "columns": {"expr": f"room < {_NARROW} ? 2 : {len(verdicts)}"},
            "labelExpr": "({open: 'undecided', none: 'another code'})[datum.label] || datum.label",
        },
    }
    band = {"low": 1.0 / (1.0 + margin), "high": 1.0 + margin}
    layers: list[Spec] = [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "color": "#8a8a8a", "opacity": 0.18},
            "encoding": {
                "x": {"field": "low", "type": "quantitative", "scale": scale},
                "x2": {"field": "high"},
            },
        },
        {
            "data": {"values": [{"one": 1.0}]},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#8a8a8a"},
            "encoding": {"x": {"field": "one", "type": "quantitative", "scale": scale}},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "tooltip": [
                    {"field": "cell", "title": "cell"},
                    {"field": "speed", "title": "speed over A", "format": ".4f"},
                    {"field": "low", "title": "from", "format": ".4f"},
                    {"field": "high", "title": "to", "format": ".4f"},
                    {"field": "p", "title": "p", "format": ".3g"},
                    {"field": "verdict", "title": "verdict"},
                ],
            },
        },
    ]
    return {
        "height": {"step": _STEP},
        "layer": layers,
    }
