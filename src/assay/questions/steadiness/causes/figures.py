"""Causes of variation: shares of each cell's variance, and cost against the leading covariate."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec, scale_of
from assay.charts.plot import Plot, at
from assay.questions.steadiness.causes.findings import CauseFindings, CellCauses
from assay.questions.steadiness.causes.scatter import CovariateScatter
from assay.stats.attribution.attribution import CauseShare
from assay.stats.attribution.covariates import cause_of
from assay.units import Interval, counted, format_share, listed

# Maximum number of cells; maximum number of causes with their own colour (others are pooled).
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
    rows = [row for cell in cells for row in _bar(cell, leading)]
    return _shares_plot(rows).figure(
        "causes-shares",
        "Variance of each cell by cause",
        caption="Each bar is 100% of the variance of a cell; pale: unexplained."
        + (
            f" Not shown: {counted(left_out, 'cell')} with a smaller explained share."
            if left_out
            else ""
        ),
        alt=f"Shares of variance of {counted(len(cells), 'cell')}; the largest explained share is "
        f"{format_share(1.0 - first.attribution.unexplained)} ({first.label}), by {listed(named)}.",
    )


def _leading(cells: Sequence[CellCauses]) -> list[str]:
    """The causes that explain most over all cells; each has its own colour."""
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


def _shares_plot(rows: Sequence[Row]) -> Plot:
    columns = [
        DataColumn("cell", "kernel, parameters and placement", kind="name"),
        DataColumn("cause", "the cause that the variance is associated with", kind="name"),
        in_percent("share", "share of the variance of the logarithm of the cost", "share (%)"),
        DataColumn("low", "lower end of its 95% interval", "1"),
        DataColumn("high", "upper end of its 95% interval", "1"),
        in_percent("start", "start of the bar's segment", "share of the variance (%)"),
        in_percent("end", "end of the bar's segment", "to (%)"),
        in_percent(
            "deviation",
            "standard deviation of the logarithm of the cell's cost",
            "standard deviation of the cell (%)",
        ),
        DataColumn("measurements", "number of measurements"),
        DataColumn("middle", shown="(datum.shown_start + datum.shown_end) / 2"),
        DataColumn("label", shown=f"format(datum.shown_share, '.0f') + '% {_UNEXPLAINED}'"),
        DataColumn(
            "interval",
            title="95% interval",
            shown="isValid(datum.low) ? "
            "format(100 * datum.low, '.0f') + ' to ' + format(100 * datum.high, '.0f') + '%' "
            ": ''",
        ),
    ]
    plot = Plot(columns, rows, step=30)
    plot.share(y=plot.names("cell", label_limit=260, ticks=False, grid=False))
    ticks = [0, 20, 40, 60, 80, 100]
    along = {
        "x": plot.axis("start", domain=[0, 100], nice=False, values=ticks, grid=True),
        "x2": "end",
        "tips": ("cell", "cause", "share", "interval", "deviation", "measurements"),
    }
    unexplained = f"datum.cause == '{_UNEXPLAINED}'"
    hue = plot.key("cause", {"columns": 3})
    plot.bars(**along, only=f"!({unexplained})", height={"band": 0.7}, colour=hue)
    # A wide rule has the colour of the text on a light and on a dark background.
    plot.rules(**along, only=unexplained, stroke_width=21, opacity=0.1)
    return plot.text("label", only=f"{unexplained} && datum.share > 0.2", x="middle")


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
    plot = Plot(_scatter_columns(share, factor, title, slower, boxed=boxed), _scatter_rows(found),
                height=260)  # fmt: skip
    style: Spec = {"zero": False, "nice": True, "tick_count": 6}
    place = {
        "x": plot.axis("x", title, format=_FORMAT, **style),
        "y": plot.axis("y", slower, format=f"+{_FORMAT}", **style),
        "colour": {**at(found.label), "legend": None},
    }
    if boxed:
        fade = plot.shade("count", scale="log", range=[0.2, 1])
        plot.boxes(**place, x2="x_end", y2="y_end", fade=fade, tips=("x", "y", "count"))
    else:
        plot.dots(**place, size=30, opacity=0.6, tips=("x", "y"))
    return plot.figure(
        f"causes-against-{number}",
        f"{found.label} against {words}",
        caption=f"{counted(found.launches, 'launch')}. {format_share(share.share, share.ci95)} of "
        f"their variance is associated with {words}."
        + (" Launches are counted in boxes; darker: more launches." if boxed else ""),
        alt=f"Cost of {found.label} against {share.covariate}, which is "
        f"{'higher' if share.sign >= 0 else 'lower'} in slower launches.",
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


def _scatter_columns(
    share: CauseShare, factor: float, title: str, slower: str, *, boxed: bool
) -> list[DataColumn]:
    meaning = f"{share.covariate}, per second of sampling if it is a delta"
    excess = "excess of the launch over the median, as a share of the median"
    edge = ": lower edge of the box" if boxed else ""
    columns = [
        DataColumn("x", f"{meaning}{edge}", share.unit, title, ".4~g", factor=factor),
        in_percent("y", f"{excess}{edge}", slower, format="+.3~g"),
    ]
    if not boxed:
        return columns
    return [
        columns[0],
        DataColumn("x_end", "upper edge of the box", share.unit, factor=factor),
        columns[1],
        in_percent("y_end", "upper edge of the box", ""),
        DataColumn("count", "launches in the box", title="launches"),
    ]
