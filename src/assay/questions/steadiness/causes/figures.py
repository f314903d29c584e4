"""Causes of variation: shares of each cell's variance, and cost against the leading covariate."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import calculated, layer, shown_in, tips
from assay.charts.marks import Row, Spec, scale_of
from assay.questions.steadiness.causes.findings import CauseFindings, CellCauses
from assay.questions.steadiness.causes.scatter import CovariateScatter
from assay.stats.attribution.attribution import CauseShare
from assay.stats.attribution.covariates import cause_of
from assay.units import Interval, counted, format_share, listed

# Maximum number of cells, and of causes with a colour of their own; the others are pooled.
_CELLS, _COLOURS = 24, 5
_OTHERS, _UNEXPLAINED = "other causes", "unexplained"
_FORMAT = ",.6~g"


def figures(found: CauseFindings) -> list[Figure]:
    """The shares, if any cause was found, and cost against covariates."""
    shares = _shares_figure(found)
    scatters = [_scatter_figure(each, number) for number, each in enumerate(found.scatters, 1)]
    return [*([shares] if shares else []), *scatters]


# ---- shares --------------------------------------------------------------------------------------


def _shares_figure(found: CauseFindings) -> Figure | None:
    """A bar per cell for its variance, divided by cause; None without any cause."""
    cells = sorted(
        found.cells, key=lambda cell: (cell.attribution.unexplained, -cell.attribution.deviation)
    )[:_CELLS]
    if not any(cell.attribution.shares for cell in cells):
        return None
    leading = _leading(cells)
    first = cells[0]
    named = [cause_of(share.cause).words for share in first.attribution.shares]
    left_out = len(found.cells) - len(cells)
    return Figure(
        id="causes-shares",
        title="Variance of each cell by cause",
        caption="Each bar is 100% of the variance of a cell; pale: unexplained."
        + (
            f" {counted(left_out, 'cell')} with a smaller explained share not shown."
            if left_out
            else ""
        ),
        alt=f"Shares of variance of {counted(len(cells), 'cell')}; the largest explained share is "
        f"{format_share(1.0 - first.attribution.unexplained)} ({first.label}), by {listed(named)}.",
        fields=[
            Field("cell", "", "kernel, parameters and placement"),
            Field("cause", "", "the cause that the variance is associated with"),
            Field("share", "1", "share of the variance of the logarithm of the cost"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of its 95% interval"),
            Field("start", "1", "start of the bar's segment"),
            Field("end", "1", "end of the bar's segment"),
            Field("deviation", "1", "standard deviation of the logarithm of the cell's cost"),
            Field("measurements", "", "number of measurements"),
        ],
        rows=[row for cell in cells for row in _bar(cell, leading)],
        spec=_shares_spec(),
    )


def _leading(cells: Sequence[CellCauses]) -> list[str]:
    """The causes that explain most over all cells, which get a colour of their own."""
    sums: dict[str, float] = {}
    for cell in cells:
        for share in cell.attribution.shares:
            sums[share.cause] = sums.get(share.cause, 0.0) + share.share
    ordered = sorted(sums, key=lambda name: -sums[name])
    return [cause_of(name).words for name in ordered[:_COLOURS]]


def _bar(cell: CellCauses, leading: Sequence[str]) -> list[Row]:
    """The segments of a cell's bar, from 0 to 1."""
    rows: list[Row] = []
    start = 0.0
    for name, share, ci95 in _parts(cell, leading):
        if share <= 0.0:
            continue
        rows.append(
            {
                "cell": cell.label,
                "cause": name,
                "share": share,
                "low": ci95[0] if ci95 else None,
                "high": ci95[1] if ci95 else None,
                "start": start,
                "end": min(start + share, 1.0),
                "deviation": cell.attribution.deviation,
                "measurements": cell.attribution.n,
            }
        )
        start += share
    return rows


def _parts(cell: CellCauses, leading: Sequence[str]) -> list[tuple[str, float, Interval | None]]:
    """Name, share and interval of each segment: leading causes, other causes, unexplained."""
    attribution = cell.attribution
    by_words = {cause_of(share.cause).words: share for share in attribution.shares}
    parts: list[tuple[str, float, Interval | None]] = [
        (words, by_words[words].share, by_words[words].ci95)
        for words in leading
        if words in by_words
    ]
    others = [share.share for words, share in by_words.items() if words not in leading]
    if others:
        parts.append((_OTHERS, sum(others), None))
    parts.append((_UNEXPLAINED, attribution.unexplained, attribution.unexplained_ci95))
    return parts


def _shares_spec() -> Spec:
    style: Spec = {
        "scale": {"domain": [0, 100], "nice": False},
        "axis": {"values": [0, 20, 40, 60, 80, 100], "grid": True},
    }
    along: Spec = {
        "x": numbers("from", "share of the variance (%)", **style),
        "x2": {"field": "to"},
        "tooltip": tips(
            ("cell", "cell"),
            ("cause", "cause"),
            ("percent", "share (%)", ".3~g"),
            ("interval", "95% interval"),
            ("spread", "standard deviation of the cell (%)", ".3~g"),
            ("measurements", "measurements"),
        ),
    }
    hue = {"field": "cause", "type": "nominal", "sort": None}
    unexplained = f"datum.cause == '{_UNEXPLAINED}'"
    return {
        "height": {"step": 30},
        "transform": calculated(
            {
                "from": "100 * datum.start",
                "to": "100 * datum.end",
                "percent": "100 * datum.share",
                "spread": "100 * datum.deviation",
                "middle": "(datum.from + datum.to) / 2",
                "label": f"format(datum.percent, '.0f') + '% {_UNEXPLAINED}'",
                "interval": "isValid(datum.low) ? format(100 * datum.low, '.0f') + ' to ' + "
                "format(100 * datum.high, '.0f') + '%' : ''",
            }
        ),
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
            layer(
                {"type": "bar", "height": {"band": 0.7}},
                {**along, "color": {**hue, "legend": {"title": None, "columns": 3}}},
                only=f"datum.cause != '{_UNEXPLAINED}'",
            ),
            # A wide rule has the colour of the text on a light and on a dark background.
            layer({"type": "rule", "strokeWidth": 21, "opacity": 0.1}, along, only=unexplained),
            layer(
                {"type": "text"},
                {
                    "x": {"field": "middle", "type": "quantitative"},
                    "text": {"field": "label"},
                },
                only=f"{unexplained} && datum.share > 0.2",
            ),
        ],
    }


# ---- against the leading covariate ---------------------------------------------------------------


def _scatter_figure(found: CovariateScatter, number: int) -> Figure:
    """The cost of each launch over the median against the covariate that explains most of it."""
    share, boxed = found.share, bool(found.boxes)
    factor, unit = _scale(share, found.largest)
    words = cause_of(share.cause).words
    title = f"{share.covariate} ({unit})" if unit else share.covariate
    if share.unit == "1":
        title = f"{share.covariate} per second of sampling (%)"
    slower = "slower than the median (%)"
    zero_free = {"zero": False, "nice": True}
    x = numbers("shown_x", title, scale=zero_free, axis={"tickCount": 6, "format": _FORMAT})
    y = numbers("shown_y", slower, scale=zero_free, axis={"tickCount": 6, "format": f"+{_FORMAT}"})
    ends = ("x", "x_end", "y", "y_end") if boxed else ("x", "y")
    encoding: Spec = {
        "x": x,
        "y": y,
        "color": {"datum": found.label, "type": "nominal", "legend": None},
        "tooltip": tips(("shown_x", title, ".4~g"), ("shown_y", slower, "+.3~g")),
    }
    mark: Spec = {"type": "point", "filled": True, "size": 30, "opacity": 0.6}
    if boxed:
        mark = {"type": "rect"}
        encoding["tooltip"] += tips(("count", "launches"))
        encoding |= {
            "x2": {"field": "shown_x_end"},
            "y2": {"field": "shown_y_end"},
            "opacity": {
                **numbers("count", "launches", scale={"type": "log", "range": [0.2, 1]}),
                "legend": None,
            },
        }
    return Figure(
        id=f"causes-against-{number}",
        title=f"{found.label} against {words}",
        caption=f"{found.launches} launches. {format_share(share.share, share.ci95)} of their "
        f"variance is associated with {words}."
        + (" Counted in boxes; darker: more launches." if boxed else ""),
        alt=f"Cost of {found.label} against {share.covariate}, which is "
        f"{'higher' if share.sign >= 0 else 'lower'} in slower launches.",
        fields=_scatter_fields(share, boxed),
        rows=_scatter_rows(found),
        spec={
            "height": 260,
            "transform": shown_in({name: factor if name[0] == "x" else 0.01 for name in ends}),
            "mark": mark,
            "encoding": encoding,
        },
        width="half",
    )


def _scatter_rows(found: CovariateScatter) -> list[Row]:
    if found.boxes:
        return [
            {"x": box.x, "x_end": box.x_end, "y": box.y, "y_end": box.y_end, "count": box.count}
            for box in found.boxes
        ]
    return [{"x": x, "y": y} for x, y in found.points]


def _scale(share: CauseShare, largest: float) -> tuple[float, str]:
    """The factor and the unit of the covariate's axis."""
    if share.unit == "1":
        return 0.01, "%"
    if not share.unit:
        return 1.0, ""
    factor, prefix = scale_of([largest])
    # A rate of events below one per second needs no prefix.
    return (1.0, share.unit) if share.unit == "1/s" else (factor, f"{prefix}{share.unit}")


def _scatter_fields(share: CauseShare, boxed: bool) -> list[Field]:
    unit = share.unit
    meaning = f"{share.covariate}, per second of sampling where it is a delta"
    slower = "excess of the launch over the median, as a share of the median"
    if not boxed:
        return [Field("x", unit, meaning), Field("y", "1", slower)]
    return [
        Field("x", unit, f"{meaning}: lower edge of the box"),
        Field("x_end", unit, "upper edge of the box"),
        Field("y", "1", f"{slower}: lower edge of the box"),
        Field("y_end", "1", "upper edge of the box"),
        Field("count", "", "launches in the box"),
    ]
