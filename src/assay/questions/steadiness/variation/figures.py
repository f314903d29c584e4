"""Figures of variation: histograms with densities, tails, runs over time, CoV."""

from __future__ import annotations

from assay.charts.axes import power_ticks
from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, at, fixed
from assay.questions.steadiness.variation.answer import change_text, modes_text, slow_text
from assay.questions.steadiness.variation.cells import CellVariation
from assay.questions.steadiness.variation.cov_figures import cov_figure
from assay.questions.steadiness.variation.distributions import (
    CURVE_POINTS,
    CURVES,
    HISTOGRAMS,
    RunHistogram,
    SurvivalCurve,
)
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.questions.steadiness.variation.sequence_figure import sequence_figure
from assay.units import counted, format_quantity, format_share, listed

_HEIGHT = 170
_PAPER = "Kramer & Ryan 2003"


def figures(found: VariationFindings) -> list[Figure]:
    """All figures of variation, for the most notable cells."""
    cells = len(found.varied)
    drawn = [
        *(_histogram_figure(each, k, cells) for k, each in enumerate(found.histograms, 1)),
        sequence_figure(found),
        _tail_figure(found),
        cov_figure(found),
    ]
    return [figure for figure in drawn if figure is not None]


# ---- histograms ----------------------------------------------------------------------------------


def _histogram_figure(found: RunHistogram, number: int, cells: int) -> Figure:
    """Histogram of a cell's run times, as in figures 4 to 6 of Kramer & Ryan (2003)."""
    varied, modes = found.cell, found.cell.shape.modes
    count, unit = varied.spread.n, varied.unit
    shape, published = _shape_words(varied)
    outside = _outside(found)
    caption = [
        f"{counted(count, 'run')} in {found.bins.counts.size} bins, density by a Gaussian kernel.",
        f"Ticks: {found.ticked}.",
        "Dashed: the modes, with their shares of the runs." if modes else "",
        outside,
        f"Shape: {published}." if published else "",
        f"Shown are {HISTOGRAMS} of {cells} cells, the most notable first."
        if number == 1 and cells > HISTOGRAMS
        else "",
    ]
    median = format_quantity(found.median, unit) if unit else "the median"
    return _histogram_plot(found, unit).figure(
        f"variation-histogram-{number}",
        f"{varied.label}: distribution of run times",
        caption=" ".join(words for words in caption if words),
        alt=f"Histogram of {counted(count, 'run')} around {median}: {shape}. {outside}".strip(),
        width="half",
    )


def _histogram_rows(found: RunHistogram) -> list[Row]:
    edges = found.bins.edges.tolist()
    bins = zip(edges[:-1], edges[1:], found.bins.counts.tolist(), strict=True)
    return [
        *(_row("bin", low, high=high, count=count) for low, high, count in bins),
        *(_row("density", at, count=runs) for at, runs in found.density),
        *(_row("run", at) for at in found.ticks),
        *(
            _row("mode", float(mode.at), count=mode.share, text=format_share(mode.share))
            for mode in found.cell.shape.modes
            if edges[0] <= mode.at <= edges[-1]
        ),
    ]


def _row(
    kind: str,
    low: float,
    *,
    high: float | None = None,
    count: float | None = None,
    text: str | None = None,
) -> Row:
    return {"kind": kind, "low": low, "high": high, "count": count, "text": text}


def _shape_words(varied: CellVariation) -> tuple[str, str]:
    """The shape as text, and the published distribution that it resembles; empty if none."""
    if varied.shape.changes:
        return f"levels that follow each other in time: it {change_text(varied)}", ""
    if varied.shape.modes:
        return (
            f"{len(varied.shape.modes)} modes, {modes_text(varied)}",
            "several modes, most runs near the fastest and some far slower, like LU on the Cray "
            f"T3E by wall clock ({_PAPER}, figure 5 and section 11)",
        )
    if varied.shape.long_tail:
        return (
            f"one mode with a long right tail, {slow_text(varied)}",
            "one narrow mode with a long right tail, like LU on the Compaq SC "
            f"({_PAPER}, figure 4)",
        )
    return f"one mode, {format_share(varied.spread.cov, varied.spread.cov_ci95)}", ""


def _outside(found: RunHistogram) -> str:
    words = [
        f"{counted(count, 'run')} beyond the {side} edge, at most "
        f"{format_share(worst / found.median - 1.0)} from the median"
        for count, side, worst in (
            (found.bins.below, "left", found.fastest),
            (found.bins.above, "right", found.slowest),
        )
        if count
    ]
    return f"Not shown: {listed(words)}." if words else ""


def _histogram_plot(found: RunHistogram, unit: str) -> Plot:
    median = found.median
    columns = [
        DataColumn(
            "kind", "bin, density (a point of the curve), run (a tick) or mode", kind="name"
        ),
        DataColumn(
            "low",
            "lower edge of the bin; time of the point, the run or the mode",
            unit,
            "slower from",
            "+.3~%",
            shown=f"datum.low / {median!r} - 1",
        ),
        DataColumn(
            "high",
            "upper edge of the bin",
            unit,
            "to",
            "+.3~%",
            shown=f"isValid(datum.high) ? datum.high / {median!r} - 1 : null",
        ),
        DataColumn(
            "count", "runs in the bin; density in runs per bin; share of the mode", title="runs"
        ),
        DataColumn("text", "label of a mode", kind="name"),
    ]
    plot = Plot(columns, _histogram_rows(found), height=_HEIGHT)
    x = plot.axis("low", "slower than the median", format="~%", tick_count=7,
                  label_overlap="greedy", zero=False, nice=False, padding=8)  # fmt: skip
    y = plot.axis("count", tick_count=4, format="~s", nice=True)
    bins, density, runs, modes = (
        f"datum.kind === '{kind}'" for kind in ("bin", "density", "run", "mode")
    )
    plot.bars(only=bins, opacity=0.45, x=x, x2="high", y=y, y2=at(0), tips=("low", "high", "count"))
    plot.line(only=density, stroke_width=2, x=x, y=y)
    short = {"orient": "vertical", "size": 9, "thickness": 1}
    plot.ticks(only=runs, x=x, y=fixed(_HEIGHT - 5), **short)
    if found.cell.shape.modes:
        place = {"align": "left", "baseline": "top", "dx": 4, "dy": 1}
        plot.rules(only=modes, stroke_dash=[5, 4], stroke_width=1.5, x=x)
        plot.text("text", only=modes, x=x, y=fixed(0), **place)
    return plot


# ---- tails ---------------------------------------------------------------------------------------


def _tail_figure(found: VariationFindings) -> Figure | None:
    """The share of runs that are slower by a given amount; a heavy tail is a straight line."""
    rows = [row for curve in found.survival for row in _survival_rows(curve)]
    if not rows:
        return None
    columns = [
        DataColumn("cell", "what was measured", kind="name"),
        DataColumn("slower", "excess over the median, as a share of the median", "1",
                   "slower by at least", ".3~%"),
        DataColumn("share", "share of the runs with at least this excess", "1", "share of the runs",
                   ".3~%"),
        DataColumn("runs", "number of these runs"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=240)
    plot.steps(
        stroke_width=2,
        # Labels of x would reach beyond the figure.
        x=_share_axis(plot, "slower", "slower than the median by at least", label_bound=True),
        y=_share_axis(plot, "share", "share of the runs"),
        colour=plot.hue("cell", strokes=True),
        tips=tuple(plot.columns),
    )
    count = len(found.varied)
    return plot.figure(
        "variation-tails",
        "Share of runs slower than a given amount",
        caption="Both axes are logarithmic. The line of a normal distribution gets steeper; a "
        f"long tail stays straight. Lines have at most {CURVE_POINTS} points."
        + (f" Drawn: the {CURVES} most notable of {count} cells." if count > CURVES else ""),
        alt="Share of runs slower than the median by at least a given amount, of "
        f"{listed([curve.cell.label for curve in found.survival])}.",
        width="half",
    )


def _survival_rows(curve: SurvivalCurve) -> list[Row]:
    return [
        {
            "cell": curve.cell.label,
            "slower": slower,
            "share": runs / curve.cell.spread.n,
            "runs": runs,
        }
        for slower, runs in curve.points
    ]


def _share_axis(plot: Plot, column: str, title: str, **options: object) -> Spec:
    """A logarithmic axis of shares; a short axis has ticks at 1, 2 and 5 of each power."""
    values = [float(row[column] or 0.0) for row in plot.rows]
    ticks = power_ticks(values)
    if len(ticks) <= 3:
        ticks = power_ticks(values, (1, 2, 5))
    return plot.axis(
        column, title, scale="log", nice=False, padding=6, values=ticks, format="~%",
        label_overlap="greedy", **options,
    )  # fmt: skip
