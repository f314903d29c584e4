"""Causes of variation: shares of each cell's variance, and the cost against what it goes with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.answers.causes import Causes, CellCauses
from assay.report.marks import Row, Spec, listed, scale_of
from assay.report.model import Field, Figure
from assay.stats.attribution import Share
from assay.stats.covariates import cause_of, scaled_covariate
from assay.stats.intervals import Floats
from assay.units import counted, format_share

# Cells that fit under each other, and causes that colours tell apart; the rest goes together.
_CELLS, _COLOURS = 24, 5
_OTHERS, _REST = "other causes", "unexplained"
# Cells whose cost is shown against their leading covariate.
_AGAINST = 3
# From so many points on they are counted in boxes, of so many a side.
_POINTS, _BOXES = 1500, 48
_FORMAT = ",.6~g"


def causes_figures(causes: Causes | None) -> list[Figure | None]:
    """Every figure of causes that there is data for."""
    if causes is None:
        return []
    told = sorted(
        (cell for cell in causes.cells if _numeric(cell) is not None),
        key=lambda cell: -cell.explained,
    )
    return [
        shares_figure(causes),
        *(against_figure(cell, number) for number, cell in enumerate(told[:_AGAINST], 1)),
    ]


# ---- shares --------------------------------------------------------------------------------------


def shares_figure(causes: Causes) -> Figure | None:
    """A bar a cell, as long as all of its variance, in parts by cause; None if nothing is named."""
    cells = sorted(
        causes.cells, key=lambda cell: (cell.attribution.unexplained, -cell.attribution.deviation)
    )[:_CELLS]
    if not any(cell.attribution.shares for cell in cells):
        return None
    leading = _leading(cells)
    rows: list[Row] = []
    for cell in cells:
        start = 0.0
        for name, part, ci95 in _parts(cell, leading):
            if part <= 0.0:
                continue
            rows.append(
                {
                    "cell": cell.label,
                    "cause": name,
                    "share": part,
                    "low": ci95[0] if ci95 else None,
                    "high": ci95[1] if ci95 else None,
                    "start": start,
                    "end": min(start + part, 1.0),
                    "deviation": cell.attribution.deviation,
                    "measurements": cell.attribution.n,
                }
            )
            start += part
    along: Spec = {
        "x": {
            "field": "from",
            "type": "quantitative",
            "title": "share of the variance (%)",
            "scale": {"domain": [0, 100], "nice": False},
            "axis": {"values": [0, 20, 40, 60, 80, 100], "grid": True},
        },
        "x2": {"field": "to"},
    }
    told = [
        {"field": "cell", "title": "cell"},
        {"field": "cause", "title": "goes with"},
        {"field": "percent", "title": "share (%)", "format": ".3~g"},
        {"field": "interval", "title": "95% interval"},
        {"field": "spread", "title": "deviation of the cell (%)", "format": ".3~g"},
        {"field": "measurements", "title": "measurements"},
    ]
    spec: Spec = {
        "height": {"step": 30},
        "transform": [
            {"calculate": "100 * datum.start", "as": "from"},
            {"calculate": "100 * datum.end", "as": "to"},
            {"calculate": "100 * datum.share", "as": "percent"},
            {"calculate": "100 * datum.deviation", "as": "spread"},
            {"calculate": "(datum.from + datum.to) / 2", "as": "middle"},
            {"calculate": f"format(datum.percent, '.0f') + '% {_REST}'", "as": "told"},
            {
                "calculate": "isValid(datum.low) ? format(100 * datum.low, '.0f') + ' to ' + "
                "format(100 * datum.high, '.0f') + '%' : ''",
                "as": "interval",
            },
        ],
        "encoding": {
            "y": {
                "field": "cell",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 260, "ticks": False, "grid": False},
            },
        },
        "layer": [
            {
                "transform": [{"filter": f"datum.cause != '{_REST}'"}],
                "mark": {"type": "bar", "height": {"band": 0.7}},
                "encoding": {
                    **along,
                    "color": {
                        "field": "cause",
                        "type": "nominal",
                        "sort": None,
                        "legend": {"title": None, "columns": 3},
                    },
                    "tooltip": told,
                },
            },
            {
                # A wide rule has the colour of the text, on either ground.
                "transform": [{"filter": f"datum.cause == '{_REST}'"}],
                "mark": {"type": "rule", "strokeWidth": 21, "opacity": 0.1},
                "encoding": {**along, "tooltip": told},
            },
            {
                "transform": [{"filter": f"datum.cause == '{_REST}' && datum.share > 0.2"}],
                "mark": {"type": "text"},
                "encoding": {
                    "x": {"field": "middle", "type": "quantitative"},
                    "text": {"field": "told"},
                },
            },
        ],
    }
    best = cells[0]
    named = [cause_of(share.cause).words for share in best.attribution.shares]
    left_out = len(causes.cells) - len(cells)
    return Figure(
        id="causes-shares",
        title="What the variation of each cell goes with",
        caption="Each bar is the whole variance of a cell, however large; pale is what nothing "
        "known explains."
        + (
            f" {counted(left_out, 'cell')} of which less is explained left out." if left_out else ""
        ),
        alt=f"Shares of variance of {counted(len(cells), 'cell')}; most is explained of "
        f"{best.label}: {format_share(1.0 - best.attribution.unexplained)}, by {listed(named)}.",
        fields=[
            Field("cell", "", "kernel, parameters and placement"),
            Field("cause", "", "what it goes with"),
            Field("share", "1", "share of the variance of the logarithm of the cost"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of it"),
            Field("start", "1", "where the bar's part begins"),
            Field("end", "1", "where it ends"),
            Field("deviation", "1", "standard deviation of the logarithm of the cell's cost"),
            Field("measurements", "", "how many"),
        ],
        rows=rows,
        spec=spec,
    )


def _leading(cells: Sequence[CellCauses]) -> list[str]:
    """The causes that explain most over all cells, for which there are colours."""
    sums: dict[str, float] = {}
    for cell in cells:
        for share in cell.attribution.shares:
            sums[share.cause] = sums.get(share.cause, 0.0) + share.share
    ordered = sorted(sums, key=lambda name: -sums[name])
    return [cause_of(name).words for name in ordered[:_COLOURS]]


def _parts(
    cell: CellCauses, leading: Sequence[str]
) -> list[tuple[str, float, tuple[float, float] | None]]:
    """Name, share and interval of a bar's parts: those with a colour, the others, the rest."""
    attribution = cell.attribution
    by_words = {cause_of(share.cause).words: share for share in attribution.shares}
    parts: list[tuple[str, float, tuple[float, float] | None]] = [
        (words, by_words[words].share, by_words[words].ci95)
        for words in leading
        if words in by_words
    ]
    others = [share.share for words, share in by_words.items() if words not in leading]
    if others:
        parts.append((_OTHERS, sum(others), None))
    parts.append((_REST, attribution.unexplained, attribution.unexplained_ci95))
    return parts


# ---- against the leading covariate ---------------------------------------------------------------


def _numeric(cell: CellCauses) -> Share | None:
    """The greatest named share that is a covariate's."""
    return next((share for share in cell.named if share.quick is not None), None)


def against_figure(cell: CellCauses, number: int = 1) -> Figure | None:
    """The cost of each launch over the median against the covariate that explains most of it."""
    share = _numeric(cell)
    if share is None:
        return None
    raw = scaled_covariate(cell.repeats, share.covariate)
    known = np.isfinite(raw)
    x = raw[known]
    cost = cell.repeats.cost
    y = cost[known] / float(np.median(cost)) - 1.0
    boxed = x.size > _POINTS
    rows = _boxes(x, y) if boxed else _points(x, y)
    factor, unit = (0.01, "%") if share.unit == "1" else _prefixed(x, share.unit)
    words = cause_of(share.cause).words
    title = f"{share.covariate} ({unit})" if unit else share.covariate
    if share.unit == "1":
        title = f"{share.covariate} a second of sampling (%)"
    x_axis = {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": True},
        "axis": {"tickCount": 6, "format": _FORMAT},
    }
    y_axis = {
        "type": "quantitative",
        "title": "slower than the median (%)",
        "scale": {"zero": False, "nice": True},
        "axis": {"tickCount": 6, "format": f"+{_FORMAT}"},
    }
    scaled = [
        {"calculate": f"datum.{name} / {by!r}", "as": f"shown_{name}"}
        for name, by in (("x", factor), ("x_end", factor), ("y", 0.01), ("y_end", 0.01))
        if boxed or not name.endswith("_end")
    ]
    told = [
        {"field": "shown_x", "title": title, "format": ".4~g"},
        {"field": "shown_y", "title": "slower than the median (%)", "format": "+.3~g"},
    ]
    encoding: Spec = {
        "x": {"field": "shown_x", **x_axis},
        "y": {"field": "shown_y", **y_axis},
        "color": {"datum": cell.label, "type": "nominal", "legend": None},
        "tooltip": [*told, {"field": "count", "title": "launches"}] if boxed else told,
    }
    mark: Spec = {"type": "point", "filled": True, "size": 30, "opacity": 0.6}
    if boxed:
        encoding |= {
            "x2": {"field": "shown_x_end"},
            "y2": {"field": "shown_y_end"},
            "opacity": {
                "field": "count",
                "type": "quantitative",
                "title": "launches",
                "scale": {"type": "log", "range": [0.2, 1]},
                "legend": None,
            },
        }
        mark = {"type": "rect"}
    return Figure(
        id=f"causes-against-{number}",
        title=f"{cell.label} against {words}",
        caption=f"{x.size} launches, "
        f"{format_share(share.share, share.ci95)} of whose variance goes with {words}."
        + (" Counted in boxes: the darker, the more launches." if boxed else ""),
        alt=f"Cost of {cell.label} against {share.covariate}: slower launches have "
        f"{'more' if share.sign >= 0 else 'less'} of it.",
        fields=_fields(share, boxed),
        rows=rows,
        spec={"height": 260, "transform": scaled, "mark": mark, "encoding": encoding},
        width="half",
    )


def _points(x: Floats, y: Floats) -> list[Row]:
    return [{"x": float(a), "y": float(b)} for a, b in zip(x, y, strict=True)]


def _boxes(x: Floats, y: Floats) -> list[Row]:
    """Counts in boxes over the range of all points."""
    counts, at_x, at_y = np.histogram2d(x, y, bins=_BOXES)
    return [
        {
            "x": float(at_x[i]),
            "x_end": float(at_x[i + 1]),
            "y": float(at_y[j]),
            "y_end": float(at_y[j + 1]),
            "count": int(counts[i, j]),
        }
        for i, j in np.argwhere(counts > 0)
    ]


def _prefixed(values: Floats, unit: str) -> tuple[float, str]:
    if not unit:
        return 1.0, ""
    factor, prefix = scale_of(np.abs(values).tolist())
    # A count a second below one needs no prefix.
    return (1.0, unit) if unit == "1/s" else (factor, f"{prefix}{unit}")


def _fields(share: Share, boxed: bool) -> list[Field]:
    unit = share.unit
    meaning = f"{share.covariate}, a second of sampling where it is a delta"
    if not boxed:
        return [
            Field("x", unit, meaning),
            Field("y", "1", "by which share of the median the launch is slower"),
        ]
    return [
        Field("x", unit, f"{meaning}: a box from"),
        Field("x_end", unit, "to"),
        Field("y", "1", "by which share of the median its launches are slower: from"),
        Field("y_end", "1", "to"),
        Field("count", "", "launches in the box"),
    ]
