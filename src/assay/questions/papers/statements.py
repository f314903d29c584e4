"""The conclusions of a paper, tested on this machine.

A statement on a number holds if the number's whole 95% interval meets the bounds, and does not hold
if the whole interval misses them. Otherwise it is undecided; this includes numbers with too few
launches for an interval. If the bound is another measured number, the interval of their difference
decides (MOVER, Zou & Donner 2008: the distances to the ends add in quadrature). Where the bound is
equality, of two measured numbers or of a ratio with 1, the range of the ratio must exclude it, too
(``stats.compare.directions``), among all such statements of the paper. A property of the machine is
exact, and decides without an interval. A trend is Kendall's tau of the points of each line over x:
it rises or falls if tau is at least ``_CLEAR`` and the last point over the first has that
direction. It does not if that ratio has the opposite direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from assay.questions.common.selection import quantity_text
from assay.questions.papers.curves import CurvePoint, PaperCurve
from assay.questions.papers.model import Statement
from assay.questions.papers.quantities import PaperValue
from assay.stats.compare.directions import Direction, compared
from assay.stats.core.intervals import Estimate, difference_interval, ratio_interval
from assay.units import Interval, format_share

Outcome = Literal["holds", "does not hold", "undecided", "not measured"]
# Minimum tau of a trend: three quarters of all pairs of points are in order.
_CLEAR = 0.5
_FEWEST = 3
# Units of balances: bytes of memory per flop/s, and bytes of a network per flop.
_BALANCES = ("B/(flop/s)", "B/flop")


@dataclass(frozen=True)
class StatementFound:
    """A conclusion of the paper on this machine."""

    #: Conclusion, in our words.
    says: str
    #: Section of the paper.
    section: str
    #: Whether the conclusion holds, does not hold, is undecided (the 95% interval spans the bound,
    #: or there is no interval), or was not measured.
    outcome: Outcome
    #: Number that decided, with its interval, as text; empty if none was measured.
    here: str
    #: Ids of the cells on which the outcome is based.
    cells: tuple[str, ...]


def judged(
    statement: Statement,
    values: Mapping[str, PaperValue | None],
    curves: Mapping[str, PaperCurve | None],
    comparisons: int = 1,
) -> StatementFound:
    """The outcome of a statement, given ``values`` and ``curves`` by name.

    ``comparisons``: number of the paper's statements on a direction (``states_direction``).
    """
    if statement.curve:
        return _trend(statement, curves[statement.curve], comparisons)
    value = values[statement.quantity]
    low, high = statement.within or (statement.above, statement.below)
    bounds = [
        (_bound(each, values), sign) for each, sign in ((low, 1), (high, -1)) if each is not None
    ]
    known = [(bound, sign) for bound, sign in bounds if bound is not None]
    if value is None or len(known) < len(bounds):
        return StatementFound(statement.says, statement.section, "not measured", "", ())
    outcomes = [_beyond(value, bound, sign, comparisons) for bound, sign in known]
    outcome: Outcome = "undecided"
    if all(each == "holds" for each in outcomes):
        outcome = "holds"
    elif "does not hold" in outcomes:
        outcome = "does not hold"
    measured = [bound for bound, _ in known if bound.cells]
    against = f" against {' and '.join(map(value_text, measured))}" if measured else ""
    cells = (*value.cells, *(cell for bound in measured for cell in bound.cells))
    return StatementFound(
        statement.says,
        statement.section,
        outcome,
        value_text(value) + against,
        tuple(dict.fromkeys(cells)),
    )


def value_text(value: PaperValue) -> str:
    """A number with its unit and interval."""
    return number_text(value.value, value.unit, value.ci95)


def number_text(value: float, unit: str, interval: Interval | None = None) -> str:
    """Like ``quantity_text``, but with shares in percent, whole counts, and balances in B/flop.

    Shares have the unit "1", and numbers of things the unit "count".
    """
    if unit == "count":
        ends = "" if interval is None else f" [{', '.join(map(_count, interval))}]"
        return _count(value) + ends
    if unit == "1":
        return format_share(value, interval)
    if unit in _BALANCES:
        ends = "" if interval is None else f" [{interval[0]:.3g}, {interval[1]:.3g}]"
        return f"{value:.3g} {unit}{ends}"
    return quantity_text(value, unit, interval)


def _count(number: float) -> str:
    """A count, rounded from a hundred upwards, because interpolated orders of matrices aren't
    whole.
    """
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.4g}"


def _bound(bound: float | str, values: Mapping[str, PaperValue | None]) -> PaperValue | None:
    """A bound with its interval: another number of the exhibits, or a constant."""
    return values[bound] if isinstance(bound, str) else PaperValue(bound, None, "", "")


def states_direction(statement: Statement) -> bool:
    """Whether a statement says that one number is above another, or that a curve rises or falls."""
    bounds = (*(statement.within or ()), statement.above, statement.below)
    return bool(statement.curve) or any(isinstance(each, str) or each == 1.0 for each in bounds)


def _beyond(value: PaperValue, bound: PaperValue, sign: int, comparisons: int) -> Outcome:
    """Whether a number is above the bound (``sign`` 1), or below it (-1)."""
    if any(each.ci95 is None and each.launches is not None for each in (value, bound)):
        return "undecided"
    difference = value.value - bound.value
    ends = difference_interval(
        Estimate(value.value, value.ci95), Estimate(bound.value, bound.ci95)
    ) or (difference, difference)
    nearest, farthest = sorted(sign * end for end in ends)
    outcome: Outcome = "undecided"
    if nearest >= 0.0:
        outcome = "holds"
    elif farthest < 0.0:
        outcome = "does not hold"
    equality = bound.launches is not None or (bound.value == 1.0 and not value.unit)
    if not equality or outcome == "undecided" or value.ci95 is None:
        return outcome
    return outcome if _direction(value, bound, comparisons) != "open" else "undecided"


def _direction(
    value: PaperValue | CurvePoint, bound: PaperValue | CurvePoint, comparisons: int
) -> Direction:
    """The direction of a number over another; of one that is not positive, by the intervals."""
    ends = (*(value.ci95 or ()), *(bound.ci95 or ()))
    if min(value.value, bound.value, *ends) <= 0.0:
        return "more" if value.value > bound.value else "less"
    one, other = Estimate(value.value, value.ci95), Estimate(bound.value, bound.ci95)
    # The launches of both sides; a ratio has two sides itself.
    launches = 2 * (value.launches or 0) if value.launches else None
    ratio = value.value / bound.value
    found = compared(ratio, ratio_interval(one, other), launches=launches, comparisons=comparisons)
    return found.direction


def _trend(statement: Statement, curve: PaperCurve | None, comparisons: int) -> StatementFound:
    lines: dict[str, list[CurvePoint]] = {}
    for point in curve.points if curve is not None else ():
        if isinstance(point.x, int | float):
            lines.setdefault(point.line, []).append(point)
    tested = {name: line for name, line in lines.items() if len(line) >= _FEWEST}
    if not tested:
        return StatementFound(statement.says, statement.section, "not measured", "", ())
    sign = 1 if statement.trend == "rises" else -1
    number = comparisons * len(tested)
    outcomes = {name: _line_trend(line, sign, number) for name, line in tested.items()}
    agreeing = [name for name, outcome in outcomes.items() if outcome == "holds"]
    opposed = [name for name, outcome in outcomes.items() if outcome == "does not hold"]
    outcome: Outcome = "undecided"
    if len(agreeing) == len(tested):
        outcome = "holds"
    elif len(opposed) > len(tested) / 2:
        outcome = "does not hold"
    unit = curve.unit if curve is not None else ""
    words = ", ".join(
        f"{name + ': ' if name else ''}"
        f"{number_text(line[0].value, unit)} to {number_text(line[-1].value, unit)}"
        for name, line in list(tested.items())[:4]
    )
    cells = tuple(dict.fromkeys(c for line in tested.values() for p in line for c in p.cells))
    return StatementFound(statement.says, statement.section, outcome, words, cells)


def _line_trend(line: Sequence[CurvePoint], sign: int, comparisons: int) -> Outcome:
    """Whether a line goes in the direction of ``sign``: 1 up, -1 down."""
    order = sum(
        (late.value > early.value) - (late.value < early.value)
        for early, late in combinations(line, 2)
    )
    tau = sign * order / math.comb(len(line), 2)
    first, last = line[0], line[-1]
    if sign < 0:
        first, last = last, first
    if first.ci95 is None or last.ci95 is None:
        return "undecided"
    direction = _direction(last, first, comparisons)
    if tau >= _CLEAR and direction == "more":
        return "holds"
    return "does not hold" if tau <= 0.0 and direction == "less" else "undecided"
