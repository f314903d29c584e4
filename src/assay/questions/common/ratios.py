"""Ratios: the quotient of two points' medians, its direction, and its row of evidence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, choice_note, ratio
from assay.units import Interval

if TYPE_CHECKING:
    from assay.stats.compare.directions import Comparison


@dataclass(frozen=True)
class Ratio:
    """The median of ``above`` over the median of ``below``, two points of one metric."""

    #: The numerator.
    above: Point
    #: The denominator.
    below: Point
    #: The ratio, without unit.
    value: float
    #: 95% interval of the ratio; None if either point has no interval. If the ratio was chosen for
    #: its value, the interval allows for the choice.
    ci95: Interval | None
    #: Number of comparable ratios among which it was chosen, itself included; 1 if it was not
    #: chosen, or clearly is the largest.
    among: int = 1

    @property
    def launches(self) -> int:
        """Number of launches of the point with fewer launches."""
        return min(self.above.metric.n, self.below.metric.n)

    def compared(self, *, equal: float = 1.0, comparisons: int = 1) -> Comparison:
        """The direction of the ratio from ``equal`` (``stats.compare.directions``)."""
        from assay.stats.compare.directions import compared

        launches = self.above.metric.n + self.below.metric.n
        return compared(
            self.value, self.ci95, launches=launches, comparisons=comparisons, equal=equal
        )


def ratio_of(above: Point, below: Point) -> Ratio:
    """The first point's median over the second's."""
    return Ratio(above, below, *ratio(above.metric, below.metric))


def largest_ratio(found: Sequence[Ratio]) -> Ratio:
    """The largest ratio, with an interval that allows for the choice, as ``chosen_best``.

    Raises ValueError when there is none.
    """
    from assay.stats.compare.chosen import chosen_factor, extended, squared_errors

    top = max(found, key=lambda each: each.value)
    known = [each for each in found if _is_known(each)]
    place = next((at for at, each in enumerate(known) if each is top), None)
    if len(known) < 2 or place is None:
        return top
    values = [math.log(each.value) for each in known]
    above, below = (
        squared_errors(
            values,
            [each.metric.cov or 0.0 for each in side],
            [each.metric.n for each in side],
            place,
        )
        for side in ([each.above for each in known], [each.below for each in known])
    )
    by, among = chosen_factor(values, above + below, place)
    return dataclasses.replace(top, ci95=extended(top.ci95, by), among=among)


def _is_known(found: Ratio) -> bool:
    """Whether the ratio has a standard error."""
    sides = (found.above.metric, found.below.metric)
    return found.value > 0.0 and all(side.n > 1 and side.cov for side in sides)


def range_text(found: Comparison, interval: Interval | None) -> str:
    """``0.99 to 1.04``: the values that a ratio without a direction may have.

    It is the 95% interval if this contains equality, else the range that decides.
    """
    if interval is None or found.range is None:
        return "too few launches for an interval"
    shown = interval if interval[0] <= 1.0 <= interval[1] else found.range
    texts: list[str] = []
    for digits in (2, 3, 4):
        texts = [f"{end:.{digits}f}" for end in shown]
        if texts[0] != texts[1]:
            break
    return " to ".join(texts)


def ratio_row(
    label: str, found: Ratio, *, metric: str = "ratio", note: str = "", above_first: bool = False
) -> Evidence:
    """A ratio as evidence without a limit; ``above_first``: the order of its cells."""
    cells = [found.below.summary.id, found.above.summary.id]
    chosen = choice_note(found.among, "largest of {} comparable ratios")
    return Evidence(
        label=label,
        metric=metric,
        unit="",
        value=found.value,
        ci95=found.ci95,
        cells=cells[::-1] if above_first else cells,
        note="; ".join(filter(None, (note, chosen))),
    )
