"""Ratios: the quotient of two points' medians, its direction, and its row of evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, ratio
from assay.stats.compare.directions import Comparison, compared
from assay.units import Interval

# 97.5% quantile of the normal distribution.
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Ratio:
    """The median of ``above`` over the median of ``below``, two points of one metric."""

    #: The numerator.
    above: Point
    #: The denominator.
    below: Point
    #: The ratio, without unit.
    value: float
    #: 95% interval of the ratio; None if either point has no interval.
    ci95: Interval | None

    @property
    def launches(self) -> int:
        """Number of launches of the point with fewer launches."""
        return min(self.above.metric.n, self.below.metric.n)

    def compared(self, *, comparisons: int = 1, equal: float = 1.0) -> Comparison:
        """Its direction (``stats.compare.directions``), among this many comparisons."""
        return compared(
            self.value,
            self.ci95,
            launches=self.above.metric.n + self.below.metric.n,
            comparisons=comparisons,
            equal=equal,
        )


def ratio_of(above: Point, below: Point) -> Ratio:
    """The first point's median over the second's."""
    return Ratio(above, below, *ratio(above.metric, below.metric))


def ratio_row(
    label: str, found: Ratio, *, metric: str = "ratio", note: str = "", above_first: bool = False
) -> Evidence:
    """A ratio as evidence without a limit; ``above_first``: the order of its cells."""
    cells = [found.below.summary.id, found.above.summary.id]
    return Evidence(
        label=label,
        metric=metric,
        unit="",
        value=found.value,
        ci95=found.ci95,
        cells=cells[::-1] if above_first else cells,
        note=note,
    )


def range_text(found: Comparison, interval: Interval | None) -> str:
    """``0.981 to 1.034``: the range of a ratio that has no direction.

    It is the 95% interval if that contains equality, else the range that decided.
    """
    shown = found.range if interval is None or not interval[0] <= 1.0 <= interval[1] else interval
    if shown is None:
        return "no interval, since launches are too few"
    digits = 2 if shown[1] >= 10.0 else 3
    return f"{shown[0]:.{digits}f} to {shown[1]:.{digits}f}"


def chosen_interval(
    values: Sequence[float], intervals: Sequence[Interval | None], chosen: int
) -> tuple[Interval | None, int]:
    """The 95% interval of the least or the greatest of several ratios, and among how many.

    The interval allows for the choice (``stats.compare.chosen``). ``values`` are positive, and
    ``chosen`` is a place among them. The number counts the chosen ratio and the ones that are
    comparable to it; it is 1 if the chosen ratio was clearly the greatest.
    """
    import numpy as np

    from assay.stats.compare.chosen import chosen_factor, extended

    own = intervals[chosen]
    known = [
        (place, math.log(ends[1] / ends[0]) / (2.0 * _NORMAL_95))
        for place, ends in enumerate(intervals)
        if ends is not None and 0.0 < ends[0] <= values[place] <= ends[1]
    ]
    places = [place for place, _ in known]
    if len(known) < 2 or chosen not in places:
        return own, 1
    logs = np.log([values[place] for place in places])
    errors = np.array([error**2 for _, error in known])
    by, among = chosen_factor(logs, errors, places.index(chosen))
    return extended(own, by), among


def chosen_note(among: int, noun: str) -> str:
    """``chosen among 4 similar pairs; the interval allows for the choice``; empty for one."""
    if among < 2:
        return ""
    return f"chosen among {among} similar {noun}; the interval allows for the choice"
