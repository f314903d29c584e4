"""Data of the histograms and tail curves of run times: bins, densities, ticks, shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.questions.steadiness.variation.cells import CellVariation, notable
from assay.stats.core.histogram import Histogram, density, histogram

# Maximum number of histograms; maximum number of curves whose colours can be distinguished.
HISTOGRAMS, CURVES = 8, 6
# Maximum number of points of a survival curve, evenly spaced in the logarithm of the number of
# slower runs.
CURVE_POINTS = 120
# Points at which a density is drawn; maximum number of ticks of single runs.
_DENSITY_PLACES, _TICKS = 120, 200
# Runs that exceed the median by less than this share are not drawn on the logarithmic axis.
_MIN_EXCESS = 1e-4
# A value is an outlier beyond this many interquartile ranges from the quartiles (Tukey 1977).
_FENCE = 1.5


@dataclass(frozen=True)
class RunHistogram:
    """One cell's histogram."""

    #: The cell.
    cell: CellVariation
    #: Median of the times, in the cell's unit.
    median: float
    #: Time of the fastest run.
    fastest: float
    #: Time of the slowest run.
    slowest: float
    #: Edges and counts of bins, and the number of runs outside.
    bins: Histogram
    #: Pairs of a time and the runs per bin at that time, by a Gaussian kernel.
    density: tuple[tuple[float, float], ...]
    #: Times of single runs that are drawn as ticks.
    ticks: tuple[float, ...]
    #: Text that says which runs have ticks.
    ticked: str


@dataclass(frozen=True)
class SurvivalCurve:
    """The survival curve of one cell."""

    #: The cell.
    cell: CellVariation
    #: Pairs of a slowness (share of the median) and the number of runs with at least this slowness.
    points: tuple[tuple[float, int], ...]


def histograms_of(varied: Sequence[CellVariation]) -> list[RunHistogram]:
    """The histograms of the most notable cells whose times are not all equal."""
    return [
        _histogram(each, bins)
        for each in notable(varied, HISTOGRAMS)
        if (bins := histogram(each.times)) is not None
    ]


def _histogram(varied: CellVariation, bins: Histogram) -> RunHistogram:
    times, edges = varied.times, bins.edges
    places = _places(times, edges)
    curve = density(times, places) * times.size * (edges[1] - edges[0])
    ticks, ticked = _ticks(times, bins)
    return RunHistogram(
        cell=varied,
        median=float(np.median(times)),
        fastest=float(times.min()),
        slowest=float(times.max()),
        bins=bins,
        density=tuple(zip(places.tolist(), curve.tolist(), strict=True)),
        ticks=tuple(ticks),
        ticked=ticked,
    )


def _places(times: Floats, edges: Floats) -> Floats:
    """Points at which the density is drawn: evenly spaced ones, and quantiles of the times."""
    evenly = np.linspace(edges[0], edges[-1], _DENSITY_PLACES)
    levels = np.linspace(0.0, 1.0, _DENSITY_PLACES)
    closely = np.clip(np.quantile(times, levels), edges[0], edges[-1])
    return np.unique(np.concatenate([evenly, closely]))


def _ticks(times: Floats, bins: Histogram) -> tuple[list[float], str]:
    """The times with a tick, and a text on them: all runs if there are few, else outliers."""
    inside = times[(times >= bins.edges[0]) & (times <= bins.edges[-1])]
    if inside.size <= _TICKS:
        return inside.tolist(), "single runs"
    low, high = np.quantile(times, (0.25, 0.75))
    fence = _FENCE * (high - low)
    outlying = inside[(inside < low - fence) | (inside > high + fence)]
    words = "runs more than 1.5 interquartile ranges outside the quartiles"
    if outlying.size > _TICKS:
        order = np.argsort(-np.abs(outlying - np.median(times)))[:_TICKS]
        outlying = outlying[np.sort(order)]
        words = f"the {_TICKS} runs furthest from the median"
    return outlying.tolist(), words


def survival_of(varied: Sequence[CellVariation]) -> list[SurvivalCurve]:
    """The survival curves of the most notable cells that have two slow runs or more."""
    curves = [SurvivalCurve(each, _survival(each.slower)) for each in notable(varied, CURVES)]
    return [curve for curve in curves if curve.points]


def _survival(slower: Floats) -> tuple[tuple[float, int], ...]:
    """From the slowest run to the median, evenly spaced in the logarithm of the number of runs."""
    descending = np.sort(slower)[::-1]
    slow = int((descending > _MIN_EXCESS).sum())
    if slow < 2:
        return ()
    places = np.unique(np.geomspace(1, slow, min(CURVE_POINTS, slow)).astype(int))
    return tuple((float(descending[place - 1]), int(place)) for place in places.tolist())
