"""Variation: histograms with density per cell, the tails of all cells, their runs over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.answers.steadiness import Steadiness
from assay.answers.study import Study, Varied
from assay.answers.variation import notable, shape_of
from assay.report.figures.variation_compared import cov_figure, factor_figure
from assay.report.figures.variation_time import sequence_figure
from assay.report.marks import Row, Spec, colour, listed
from assay.report.model import Field, Figure
from assay.stats.histogram import Histogram, density, histogram
from assay.stats.intervals import Floats
from assay.units import counted, format_quantity, format_share

# Histograms that a reader looks at one by one; lines that colours tell apart.
_HISTOGRAMS, _LINES = 8, 6
# Places at which a density is drawn; ticks of single runs that are still told apart.
_PLACES, _TICKS = 120, 200
# Points of a survival curve, evenly spaced by the logarithm of how many runs are slower.
_POINTS = 120
# Runs so little over the median are no tail, and have no place on a logarithmic axis.
_LEAST_EXCESS = 1e-4
_HEIGHT = 170


def variation_figures(found: Steadiness) -> list[Figure | None]:
    """Every figure of how results vary, for the cells most worth a look."""
    study = found.study
    shown = notable(study, _HISTOGRAMS)
    return [
        *(
            histogram_figure(each, number, of=len(study.varied))
            for number, each in enumerate(shown, 1)
        ),
        sequence_figure(study),
        tail_figure(study),
        cov_figure(study),
        factor_figure(found.factors.comparisons) if found.factors else None,
    ]


def histogram_figure(varied: Varied, number: int = 1, *, of: int = 1) -> Figure | None:
    """How often a cell took how long, as figures 4 to 6 of Kramer & Ryan (2003) show it."""
    found = histogram(varied.times)
    if found is None:
        return None
    times, edges = varied.times, found.edges
    median = float(np.median(times))
    places = _places(times, edges)
    curve = density(times, places) * times.size * (edges[1] - edges[0])
    ticks, ticked = _ticks(times, found)
    rows: list[Row] = [
        _row("bin", float(low), high=float(high), count=float(count))
        for low, high, count in zip(edges[:-1], edges[1:], found.counts, strict=True)
    ]
    rows += [_row("density", float(x), count=float(y)) for x, y in zip(places, curve, strict=True)]
    rows += [_row("run", float(value)) for value in ticks]
    modes = varied.shape.modes
    rows += [
        _row("mode", float(mode.at), count=mode.share, text=format_share(mode.share))
        for mode in modes
        if edges[0] <= mode.at <= edges[-1]
    ]
    shape, like = shape_of(varied)
    outside = _outside(found, times)
    caption = [
        f"{counted(times.size, 'run')} in {found.counts.size} bins, density by a Gaussian kernel.",
        f"Ticks: {ticked}.",
        "Dashed: the groups, with their shares of the runs." if modes else "",
        outside,
        f"Shape: {like}." if like else "",
        f"Shown are {_HISTOGRAMS} of {of} cells, those with something to see first."
        if number == 1 and of > _HISTOGRAMS
        else "",
    ]
    middle = format_quantity(median, varied.unit) if varied.unit else "the median"
    return Figure(
        id=f"variation-histogram-{number}",
        title=f"{varied.label}: how often a run took how long",
        caption=" ".join(words for words in caption if words),
        alt=f"Histogram of {counted(times.size, 'run')} around {middle}: {shape}. "
        f"{outside}".strip(),
        fields=[
            Field("kind", "", "bin, density (a point of the curve), run (a tick) or mode"),
            Field("low", varied.unit, "where a bin begins; where the point, the run, the mode is"),
            Field("high", varied.unit, "where a bin ends"),
            Field("count", "", "runs in the bin; density in runs a bin; share of the mode"),
            Field("text", "", "what is written there"),
        ],
        rows=rows,
        spec=_histogram_spec(median, bool(modes)),
        width="half",
    )


def _places(times: Floats, edges: Floats) -> Floats:
    """Where the density is drawn: evenly from edge to edge, and closely where the runs are."""
    evenly = np.linspace(edges[0], edges[-1], _PLACES)
    closely = np.clip(np.quantile(times, np.linspace(0.0, 1.0, _PLACES)), edges[0], edges[-1])
    return np.unique(np.concatenate([evenly, closely]))


def _row(
    kind: str,
    low: float,
    *,
    high: float | None = None,
    count: float | None = None,
    text: str | None = None,
) -> Row:
    return {"kind": kind, "low": low, "high": high, "count": count, "text": text}


def _ticks(times: Floats, found: Histogram) -> tuple[list[float], str]:
    """The runs that get a tick, and which they are: all if few, or else the outlying ones."""
    inside = times[(times >= found.edges[0]) & (times <= found.edges[-1])]
    if inside.size <= _TICKS:
        return inside.tolist(), "single runs"
    low, high = np.quantile(times, (0.25, 0.75))
    fence = 1.5 * (high - low)  # Tukey (1977)
    outlying = inside[(inside < low - fence) | (inside > high + fence)]
    words = "runs beyond 1.5 times the quartiles' distance from them"
    if outlying.size > _TICKS:
        order = np.argsort(-np.abs(outlying - np.median(times)))[:_TICKS]
        outlying = outlying[np.sort(order)]
        words = f"the {_TICKS} runs furthest from the median"
    return outlying.tolist(), words


def _outside(found: Histogram, times: Floats) -> str:
    median = float(np.median(times))
    words = [
        f"{counted(count, 'run')} beyond the {side} edge, {format_share(worst / median - 1.0)} "
        "from the median at most"
        for count, side, worst in (
            (found.below, "left", float(times.min())),
            (found.above, "right", float(times.max())),
        )
        if count
    ]
    return f"Not shown: {listed(words)}." if words else ""


def _histogram_spec(median: float, modes: bool) -> Spec:
    x: Spec = {
        "type": "quantitative",
        "title": "slower than the median",
        "axis": {"format": "~%", "tickCount": 7, "labelOverlap": "greedy"},
        "scale": {"zero": False, "nice": False, "padding": 8},
    }
    y: Spec = {
        "field": "count",
        "type": "quantitative",
        "title": "runs",
        "axis": {"tickCount": 4, "format": "~s"},
        "scale": {"nice": True},
    }

    def of(kind: str) -> list[Spec]:
        return [{"filter": f"datum.kind === '{kind}'"}]

    layers: list[Spec] = [
        {
            "transform": of("bin"),
            "mark": {"type": "bar", "opacity": 0.45},
            "encoding": {
                "x": {"field": "shown_low", **x},
                "x2": {"field": "shown_high"},
                "y": y,
                "y2": {"datum": 0},
                "tooltip": [
                    {"field": "shown_low", "title": "slower from", "format": "+.3~%"},
                    {"field": "shown_high", "title": "to", "format": "+.3~%"},
                    {"field": "count", "title": "runs"},
                ],
            },
        },
        {
            "transform": of("density"),
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": {"field": "shown_low", **x}, "y": y},
        },
        {
            "transform": of("run"),
            "mark": {"type": "tick", "orient": "vertical", "size": 9, "thickness": 1},
            "encoding": {"x": {"field": "shown_low", **x}, "y": {"value": _HEIGHT - 5}},
        },
    ]
    if modes:
        at: Spec = {"x": {"field": "shown_low", **x}}
        text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "dy": 1}
        layers += [
            {
                "transform": of("mode"),
                "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5},
                "encoding": at,
            },
            {
                "transform": of("mode"),
                "mark": text,
                "encoding": {**at, "y": {"value": 0}, "text": {"field": "text"}},
            },
        ]
    return {
        "height": _HEIGHT,
        "transform": [
            {"calculate": f"datum.low / {median!r} - 1", "as": "shown_low"},
            {
                "calculate": f"isValid(datum.high) ? datum.high / {median!r} - 1 : null",
                "as": "shown_high",
            },
        ],
        "layer": layers,
    }


def tail_figure(study: Study) -> Figure | None:
    """The share of runs that are slower by more than so much: straight lines are heavy tails."""
    chosen = notable(study, _LINES)
    rows = [row for each in chosen for row in _survival(each)]
    if not rows:
        return None
    shares = [float(row["share"] or 0.0) for row in rows]
    excesses = [float(row["slower"] or 0.0) for row in rows]
    few = f" The {_LINES} cells with most to see of {len(study.varied)}."
    x: Spec = {
        "field": "slower",
        "type": "quantitative",
        "title": "slower than the median by more than",
        **_decades(excesses),
    }
    y: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": "share of the runs",
        **_decades(shares),
    }
    return Figure(
        id="variation-tails",
        title="How many runs are how much slower",
        caption="Both axes logarithmic. A bell curve falls off ever more steeply, a long tail "
        f"keeps straight. At most {_POINTS} points a line."
        + (few if len(study.varied) > _LINES else ""),
        alt="Share of runs slower than the median by more than so much, of "
        f"{listed([each.label for each in chosen])}.",
        fields=[
            Field("cell", "", "what was measured"),
            Field("slower", "1", "by more than which share of the median"),
            Field("share", "1", "share of the runs that are slower than that"),
            Field("runs", "", "how many these are"),
        ],
        rows=rows,
        spec={
            "height": 240,
            "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-before"},
            "encoding": {
                "x": x,
                "y": y,
                "color": _stroked(colour("cell", rows)),
                "tooltip": [
                    {"field": "cell", "title": "what"},
                    {"field": "slower", "title": "slower by more than", "format": ".3~%"},
                    {"field": "share", "title": "share of the runs", "format": ".3~%"},
                    {"field": "runs", "title": "runs"},
                ],
            },
        },
        width="half",
    )


def _stroked(hue: Spec) -> Spec:
    """A colour whose legend shows lines, not dots."""
    legend = hue["legend"]
    return {
        **hue,
        "legend": legend and {**legend, "symbolType": "stroke", "symbolStrokeWidth": 3},
    }


def _survival(varied: Varied) -> list[Row]:
    """From the median to the slowest run, thinned evenly by the logarithm of the number of runs."""
    descending = np.sort(varied.slower)[::-1]
    slow = int((descending > _LEAST_EXCESS).sum())
    if slow < 2:
        return []
    places = np.unique(np.geomspace(1, slow, min(_POINTS, slow)).astype(int))
    return [
        {
            "cell": varied.label,
            "slower": float(descending[place - 1]),
            "share": place / descending.size,
            "runs": int(place),
        }
        for place in places.tolist()
    ]


def _decades(values: Sequence[float]) -> Spec:
    """A logarithmic axis of shares, ticked at 1, 2 and 5 of each power where these are few."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if high - low < 3 else (1,)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    return {
        "scale": {"type": "log", "nice": False, "padding": 6},
        "axis": {"values": ticks, "format": "~%", "labelOverlap": "greedy"},
    }
