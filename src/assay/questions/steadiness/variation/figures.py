"""Figures of variation: histograms with densities, tails, runs over time, CoV."""

from __future__ import annotations

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import calculated, layer, logarithmic, power_ticks, tips
from assay.charts.marks import Row, Spec, colour
from assay.questions.steadiness.variation.answer import modes_text, slow_text
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
    return Figure(
        id=f"variation-histogram-{number}",
        title=f"{varied.label}: distribution of run times",
        caption=" ".join(words for words in caption if words),
        alt=f"Histogram of {counted(count, 'run')} around {median}: {shape}. {outside}".strip(),
        fields=[
            Field("kind", "", "bin, density (a point of the curve), run (a tick) or mode"),
            Field("low", unit, "lower edge of the bin; time of the point, the run or the mode"),
            Field("high", unit, "upper edge of the bin"),
            Field("count", "", "runs in the bin; density in runs per bin; share of the mode"),
            Field("text", "", "label of a mode"),
        ],
        rows=_histogram_rows(found),
        spec=_histogram_spec(found.median, bool(modes)),
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


def _histogram_spec(median: float, modes: bool) -> Spec:
    x = numbers(
        "shown_low",
        "slower than the median",
        axis={"format": "~%", "tickCount": 7, "labelOverlap": "greedy"},
        scale={"zero": False, "nice": False, "padding": 8},
    )
    y = numbers("count", "runs", axis={"tickCount": 4, "format": "~s"}, scale={"nice": True})
    dashed = {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5}
    text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "dy": 1}
    named = {"x": x, "y": {"value": 0}, "text": {"field": "text"}}
    layers = [
        layer(
            {"type": "bar", "opacity": 0.45},
            {
                "x": x,
                "x2": {"field": "shown_high"},
                "y": y,
                "y2": {"datum": 0},
                "tooltip": tips(
                    ("shown_low", "slower from", "+.3~%"),
                    ("shown_high", "to", "+.3~%"),
                    ("count", "runs"),
                ),
            },
            only="datum.kind === 'bin'",
        ),
        layer(
            {"type": "line", "strokeWidth": 2}, {"x": x, "y": y}, only="datum.kind === 'density'"
        ),
        layer(
            {"type": "tick", "orient": "vertical", "size": 9, "thickness": 1},
            {"x": x, "y": {"value": _HEIGHT - 5}},
            only="datum.kind === 'run'",
        ),
    ]
    if modes:
        layers.append(layer(dashed, {"x": x}, only="datum.kind === 'mode'"))
        layers.append(layer(text, named, only="datum.kind === 'mode'"))
    return {
        "height": _HEIGHT,
        "transform": calculated(
            {
                "shown_low": f"datum.low / {median!r} - 1",
                "shown_high": f"isValid(datum.high) ? datum.high / {median!r} - 1 : null",
            }
        ),
        "layer": layers,
    }


# ---- tails ---------------------------------------------------------------------------------------


def _tail_figure(found: VariationFindings) -> Figure | None:
    """The share of runs slower than a given amount; a heavy tail is a straight line."""
    rows = [row for curve in found.survival for row in _survival_rows(curve)]
    if not rows:
        return None
    count = len(found.varied)
    return Figure(
        id="variation-tails",
        title="Share of runs slower than a given amount",
        caption="Both axes are logarithmic. A normal distribution gets steeper with the amount, a "
        f"long tail stays straight. At most {CURVE_POINTS} points per line."
        + (f" The {CURVES} most notable cells of {count}." if count > CURVES else ""),
        alt="Share of runs slower than the median by at least a given amount, of "
        f"{listed([curve.cell.label for curve in found.survival])}.",
        fields=[
            Field("cell", "", "what was measured"),
            Field("slower", "1", "excess over the median, as a share of the median"),
            Field("share", "1", "share of the runs with at least this excess"),
            Field("runs", "", "number of these runs"),
        ],
        rows=rows,
        spec={
            "height": 240,
            "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-before"},
            "encoding": {
                "x": _bounded(_share_axis("slower", "slower than the median by at least", rows)),
                "y": _share_axis("share", "share of the runs", rows),
                "color": _outlined(colour("cell", rows)),
                "tooltip": tips(
                    ("cell", "cell"),
                    ("slower", "slower by at least", ".3~%"),
                    ("share", "share of the runs", ".3~%"),
                    ("runs", "runs"),
                ),
            },
        },
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


def _share_axis(field: str, title: str, rows: list[Row]) -> Spec:
    """A logarithmic axis of shares, ticked at 1, 2 and 5 of each power where these are few."""
    values = [float(row[field] or 0.0) for row in rows]
    ticks = power_ticks(values)
    if len(ticks) <= 3:
        ticks = power_ticks(values, (1, 2, 5))
    style = logarithmic(ticks, "~%", padding=6)
    style["axis"]["labelOverlap"] = "greedy"
    return numbers(field, title, **style)


def _bounded(x: Spec) -> Spec:
    """The axis without labels that would reach beyond the figure."""
    return {**x, "axis": {**x["axis"], "labelBound": True}}


def _outlined(hue: Spec) -> Spec:
    """A colour whose legend shows lines, not dots."""
    legend = hue["legend"]
    return {
        **hue,
        "legend": legend and {**legend, "symbolType": "stroke", "symbolStrokeWidth": 3},
    }
