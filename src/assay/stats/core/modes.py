"""How many modes a distribution has, where they are and what each holds.

A long tail is no mode, and neither is an outlier, so mass decides: unimodality is refuted by the
dip (Hartigan & Hartigan 1985), and what is split off must hold a share that counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from assay.stats.core.intervals import Floats, checked

# Under so many values nothing is said but that there may be one mode.
MIN_VALUES = 10
# Least share of the values that a mode holds.
LEAST_SHARE = 0.05
# Level of each dip test; that of two modes where there is one stays below it, for the uniform
# distribution, which the dip is calibrated with, is the hardest unimodal one to tell.
LEVEL = 0.05
# Points of the density on which two modes are distinguished, and how bandwidths shrink meanwhile.
_GRID = 512
_SHRINK = 0.85
_NARROWEST = 40
# Of the greatest density: below it rounding errors make valleys where the density is nothing.
_NOTHING = 1e-9
# One point of so many is looked at first, where the convex minorant of many is sought.
_COARSE = 16

# Quantiles of sqrt(n) * dip of n uniform values: by size, for these probabilities of a greater one.
# Made by benchmarks/dip_quantiles.py.
_P = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
_SIZES: tuple[int, ...] = (10, 15, 20, 30, 50, 100, 200, 500, 1000)
_QUANTILES: tuple[tuple[float, ...], ...] = (
    (0.3091, 0.3748, 0.4112, 0.4405, 0.4752, 0.5038, 0.5258, 0.5667),
    (0.3239, 0.3853, 0.4258, 0.4575, 0.4982, 0.5238, 0.5487, 0.6097),
    (0.3283, 0.3947, 0.4352, 0.47, 0.5124, 0.541, 0.5681, 0.6196),
    (0.3375, 0.4059, 0.4469, 0.4833, 0.5266, 0.56, 0.5927, 0.6548),
    (0.345, 0.415, 0.4569, 0.4961, 0.5419, 0.5714, 0.5992, 0.6789),
    (0.3542, 0.4256, 0.4714, 0.5107, 0.5569, 0.5889, 0.6152, 0.6855),
    (0.3623, 0.4365, 0.482, 0.5214, 0.5677, 0.6029, 0.6299, 0.7),
    (0.3689, 0.444, 0.4903, 0.5312, 0.5812, 0.6104, 0.645, 0.6992),
    (0.3709, 0.4464, 0.4916, 0.5316, 0.5851, 0.6242, 0.6556, 0.7199),
)


class Mode(msgspec.Struct, frozen=True):
    """One mode: its densest place ``at``, from ``low`` to ``high``, with ``n`` values there.

    ``at`` is the median of the shortest interval with half of the mode's values. ``share``: of all
    values.
    """

    at: float
    low: float
    high: float
    n: int
    share: float


def find_modes(values: Sequence[float] | Floats) -> list[Mode]:
    """The modes of ``values`` from low to high; their order doesn't matter. At least one.

    While the dip test refutes a part's unimodality it is split in two, at the emptiest place
    between two modes of an estimated density (kernel estimate with the widest bandwidth that shows
    two modes of at least 5% of the values each). Raises AssayError for no values, NaN or infinity.
    """
    ordered = np.sort(checked(values))
    least = max(2, math.ceil(LEAST_SHARE * ordered.size))
    parts = _split(ordered, least)
    return [
        Mode(
            at=_densest(part),
            low=float(part[0]),
            high=float(part[-1]),
            n=int(part.size),
            share=part.size / ordered.size,
        )
        for part in parts
    ]


def dip(values: Sequence[float] | Floats) -> float:
    """Greatest distance of the values' distribution from the nearest unimodal one.

    By the algorithm of Hartigan & Hartigan (1985), section 3: within a shrinking interval the
    greatest convex minorant and the least concave majorant of the distribution are compared.
    Between 1 / (2n) and 1 / 4.
    """
    x = _untied(np.sort(checked(values)))
    first, last = 0, x.size - 1
    found = 1.0  # in steps of the distribution; the interval's ends stand for both sides of a step
    while True:
        places = np.arange(first, last + 1, dtype=np.float64)
        at = x[first : last + 1]
        below = first + _lower_hull(at, places)
        above = first + _lower_hull(at, -places)
        minorant = np.interp(at, x[below], below)
        majorant = np.interp(at, x[above], above)
        gap = majorant - minorant
        under, over = gap[below - first], gap[above - first]
        if under.max() > over.max():
            low = int(below[int(under.argmax())])
            high = int(above[np.searchsorted(above, low)])
        else:
            high = int(above[int(over.argmax())])
            low = int(below[np.searchsorted(below, high, side="right") - 1])
        if max(under.max(), over.max()) + 1.0 <= found:
            break
        before, after = slice(0, low - first + 1), slice(high - first, None)
        found = max(
            found,
            float((places - minorant)[before].max()) + 1.0,
            float((majorant - places)[after].max()) + 1.0,
        )
        if (low, high) == (first, last):
            break
        first, last = low, high
    return found / (2.0 * x.size)


def dip_p(distance: float, n: int) -> float:
    """Probability of so great a dip of ``n`` values from one uniform mode.

    Interpolated in simulated quantiles; 0.001 stands for that and all below it, 0.5 for all above.
    """
    sizes = np.log(_SIZES)
    place = min(max(math.log(n), float(sizes[0])), float(sizes[-1]))
    quantiles = [float(np.interp(place, sizes, column)) for column in np.transpose(_QUANTILES)]
    return float(np.exp(np.interp(math.sqrt(n) * distance, quantiles, np.log(_P))))


def _split(ordered: Floats, least: int) -> list[Floats]:
    if ordered.size < max(MIN_VALUES, 2 * least) or ordered[0] == ordered[-1]:
        return [ordered]
    if dip_p(dip(ordered), ordered.size) > LEVEL:
        return [ordered]
    border = _emptiest(ordered, least)
    if border is None:
        return [ordered]
    count = int(np.searchsorted(ordered, border))
    return [*_split(ordered[:count], least), *_split(ordered[count:], least)]


def _emptiest(ordered: Floats, least: int) -> float | None:
    """Where to split: between two modes with at least so many values on either side."""
    low, high = (float(q) for q in np.quantile(ordered, (0.01, 0.99)))
    if high <= low:
        return None
    step = (high - low) / (_GRID // 2)
    # As much empty space as the values take up, so that the transform's ends don't meet.
    grid = low + step * (np.arange(_GRID, dtype=np.float64) - _GRID // 4)
    counts = np.histogram(
        np.clip(ordered, low, high), bins=_GRID, range=(grid[0] - step / 2, grid[-1] + step / 2)
    )[0]
    spectrum = np.fft.rfft(counts)
    frequency = 2.0 * np.pi * np.fft.rfftfreq(_GRID)
    width = _GRID / 8.0
    for _ in range(_NARROWEST):
        smooth = np.exp(-0.5 * (width * frequency) ** 2)
        density = np.asarray(np.fft.irfft(spectrum * smooth, _GRID), dtype=np.float64)
        border = _valley(density, grid, ordered, least)
        if border is not None:
            return border
        width *= _SHRINK
    return None


def _valley(density: Floats, grid: Floats, ordered: Floats, least: int) -> float | None:
    """The deepest valley that has enough values on both sides, up to the next one; else None."""
    inner = (density[1:-1] < density[:-2]) & (density[1:-1] <= density[2:])
    inner &= density[1:-1] > _NOTHING * density.max()
    empty = _gaps(density)
    places = np.unique(np.concatenate([np.flatnonzero(inner) + 1, empty]))
    if not places.size:
        return None
    below = np.searchsorted(ordered, grid[places])
    sizes = np.diff(np.concatenate([[0], below, [ordered.size]]))
    enough = (sizes[:-1] >= least) & (sizes[1:] >= least)
    if not enough.any():
        return None
    candidates = places[enough]
    return float(grid[candidates[int(density[candidates].argmin())]])


def _gaps(density: Floats) -> np.ndarray:
    """The middles of stretches within the values where the density is nothing."""
    some = np.flatnonzero(density > _NOTHING * density.max())
    wide = np.flatnonzero(np.diff(some) > 1)
    return np.asarray((some[wide] + some[wide + 1]) // 2)


def _densest(ordered: Floats) -> float:
    """The median of the shortest interval that holds half of the values."""
    half = ordered.size // 2 + 1
    widths = ordered[half - 1 :] - ordered[: ordered.size - half + 1]
    first = int(widths.argmin())
    return float(np.median(ordered[first : first + half]))


def _untied(ordered: Floats) -> Floats:
    """Equal values spread evenly over the smallest step between different ones.

    Those of a coarse clock lay somewhere within it; as they are they would be modes, each of them.
    """
    different, counts = np.unique(ordered, return_counts=True)
    if different.size == ordered.size:
        return ordered
    step = float(np.diff(different).min()) if different.size > 1 else 1.0
    # What numbers of this size can distinguish at all, for as many of them.
    step = max(step, 2.0 * float(counts.max() * np.spacing(np.abs(different).max())))
    first = np.repeat(np.cumsum(counts) - counts, counts)
    within = np.arange(ordered.size) - first
    count = np.repeat(counts, counts)
    return np.sort(np.repeat(different, counts) + step * ((within + 0.5) / count - 0.5))


def _lower_hull(x: Floats, y: Floats) -> np.ndarray:
    """Indices of the points on the greatest convex minorant of (x, y); x ascends.

    What lies above the minorant of some of many points can't be on that of all, and most do.
    """
    if x.size <= 8 * _COARSE:
        return _chain(x, y)
    some = np.append(np.arange(0, x.size - 1, _COARSE), x.size - 1)
    some = some[_chain(x[some], y[some])]
    left = y <= np.interp(x, x[some], y[some])
    left[some] = True
    near = np.flatnonzero(left)
    return np.asarray(near[_chain(x[near], y[near])])


def _chain(x: Floats, y: Floats) -> np.ndarray:
    """The same, point by point: one that lies above the line between its neighbours goes."""
    at, height = x.tolist(), y.tolist()
    hull: list[int] = []
    for place in range(len(at)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            rise = (height[b] - height[a]) * (at[place] - at[b])
            if rise < (height[place] - height[b]) * (at[b] - at[a]):
                break
            hull.pop()
        hull.append(place)
    return np.array(hull)
