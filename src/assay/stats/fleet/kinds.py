"""Kinds of nodes: where values are bimodal, nodes are compared within their mode.

A cut through one column divides the nodes; the distance of its two sides is in units of the
deviation within them. (Ashman, Bird & Zepf 1994 call a distribution bimodal from 2 on where both
modes are fitted; a cut at the median of a single normal distribution already gives 2.65.) Up to a
quarter of the nodes may be outliers, so that a side with at most that many nodes is not a kind.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.stats.core.rounding import LEAST_DIVISOR

# A side with at most this share of the nodes, or with fewer than LEAST_NODES nodes, is not a kind.
LEAST_SHARE = 0.25
LEAST_NODES = 3
# Minimum distance of the sides of a cut in deviations, plus APART_SMALL over the square of the
# number of nodes, since few nodes look bimodal by chance: less than one in a thousand fleets of
# normal values has such a cut (simulated for 8 to 1,000 nodes).
APART = 5.0
APART_SMALL = 1500.0
# Minimum difference of the sides, in logarithms: 1%. Smaller differences don't make kinds.
LEAST_GAP = 0.01
MOST_KINDS = 4
# Values beyond this share of the nodes on either end are clipped: broken nodes.
_ENDS = 0.1


def find_kinds(
    values: Floats, known_kinds: Ints | None = None, *, split: bool = True
) -> tuple[Ints, list[int]]:
    """The kind of each node, from 0, and the columns in which kinds were distinguished.

    ``values`` [node, column]: logarithms of costs, nan where missing. ``known_kinds``: kinds known
    beforehand, which are divided further where their values are bimodal, if ``split``.
    """
    kinds = (
        np.zeros(values.shape[0], dtype=np.int64) if known_kinds is None else np.array(known_kinds)
    )
    columns: list[int] = []
    while split and len(np.unique(kinds)) < MOST_KINDS + (
        0 if known_kinds is None else int(known_kinds.max(initial=0))
    ):
        best: tuple[float, int, npt.NDArray[np.bool_]] | None = None
        for kind in np.unique(kinds):
            of_kind = kinds == kind
            found = _widest_cut(values[of_kind])
            if found is not None and (best is None or found[0] > best[0]):
                upper = np.zeros(kinds.size, dtype=bool)
                upper[np.flatnonzero(of_kind)] = found[2]
                best = (found[0], found[1], upper)
        if best is None:
            break
        kinds = np.where(best[2], kinds.max() + 1, kinds)
        columns.append(best[1])
    return kinds, columns


def _widest_cut(values: Floats) -> tuple[float, int, npt.NDArray[np.bool_]] | None:
    """The cut with the most distant sides: distance over the required one, column, nodes above it.

    Nodes without a value in the column stay below.
    """
    best: tuple[float, int, float] | None = None
    for column in range(values.shape[1]):
        ordered = np.sort(values[np.isfinite(values[:, column]), column])
        found = _cut(ordered)
        if found is not None and (best is None or found[0] > best[0]):
            best = (found[0], column, found[1])
    if best is None:
        return None
    with np.errstate(invalid="ignore"):
        return best[0], best[1], values[:, best[1]] > best[2]


def _cut(ordered: Floats) -> tuple[float, float] | None:
    """The best cut of ascending values, if its sides are far enough apart: their distance over the
    required one, and the value of the cut.
    """
    n = int(ordered.size)
    least = max(LEAST_NODES, int(np.floor(LEAST_SHARE * n)) + 1)
    if n < 2 * least:
        return None
    ends = max(1, int(_ENDS * n))
    kept = np.clip(ordered, ordered[ends], ordered[n - 1 - ends])
    kept = kept - kept.mean()
    sums, squares = np.cumsum(kept), np.cumsum(kept**2)
    below = np.arange(1, n)
    mean_below = sums[below - 1] / below
    mean_above = (sums[-1] - sums[below - 1]) / (n - below)
    within = squares[-1] - below * mean_below**2 - (n - below) * mean_above**2
    spread = np.sqrt(np.maximum(within, 0.0) / (n - 2))
    gap = mean_above - mean_below
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(gap > LEAST_GAP, gap / np.maximum(spread, LEAST_DIVISOR), 0.0)
    place = int(np.argmax(apart))
    needed = APART + APART_SMALL / n**2
    cut = int(below[place])
    # This is checked after the choice of the best cut: other cuts would make a small side part of a
    # kind.
    if apart[place] < needed or not least <= cut <= n - least:
        return None
    return float(apart[place] / needed), float((ordered[cut - 1] + ordered[cut]) / 2)
