"""The conclusions of a paper, tested on this machine.

A statement on a number holds if the number's whole 95% interval meets its bounds, does not hold if
none of it does, and is undecided otherwise, as of a number of too few launches for an interval. A
property of the machine is known, and decides without one. A trend is Kendall's tau of the points of
each line over x: it rises or falls if tau is at least ``_CLEAR``, and the first and the last point
differ by their intervals in that direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from assay.questions.common.selection import Interval, quantity_text
from assay.questions.papers.curves import CurvePoint, PaperCurve
from assay.questions.papers.model import Statement
from assay.questions.papers.quantities import PaperValue
from assay.units import format_share

Outcome = Literal["holds", "does not hold", "undecided", "not measured"]
# Of all pairs of points, three quarters more in order than not.
_CLEAR = 0.5
_FEWEST = 3
# Bytes of memory per flop/s, and of a network per flop.
_BALANCES = ("B/(flop/s)", "B/flop")


@dataclass(frozen=True)
class StatementFound:
    """A conclusion of the paper on this machine.

    ``says``: the conclusion; ``section``: of the paper. ``outcome``: holds, does not hold,
    undecided (the 95% interval spans the bound, or there is none) or not measured. ``here``: the
    number that decided, in words; empty if nothing was measured. ``cells``: ids of the cells it is
    based on.
    """

    says: str
    section: str
    outcome: Outcome
    here: str
    cells: tuple[str, ...]


def judged(
    statement: Statement,
    values: Mapping[str, PaperValue | None],
    curves: Mapping[str, PaperCurve | None],
) -> StatementFound:
    """The statement tested on what was found; ``values`` and ``curves`` by name."""
    if statement.curve:
        return _trend(statement, curves[statement.curve])
    value = values[statement.quantity]
    bounds = [_bound(each, values) for each in (statement.above, statement.below)]
    if value is None or None in bounds:
        return StatementFound(statement.says, statement.section, "not measured", "", ())
    low, high = statement.within or (-math.inf, math.inf)
    above, below = bounds
    if statement.above is not None and above is not None:
        low = above.value
    if statement.below is not None and below is not None:
        high = below.value
    outcome = _within(value, low, high)
    return StatementFound(
        statement.says, statement.section, outcome, value_text(value), value.cells
    )


def value_text(value: PaperValue) -> str:
    """A number with its unit and interval."""
    return number_text(value.value, value.unit, value.ci95)


def number_text(value: float, unit: str, interval: Interval | None = None) -> str:
    """As ``quantity_text``, with shares in per cent, counts whole, and balances in B/flop.

    The unit "1" is that of shares, and "count" that of numbers of things.
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
    """Whole from a hundred on, as measured orders of matrices between two others are not."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.4g}"


def _bound(bound: float | str | None, values: Mapping[str, PaperValue | None]) -> PaperValue | None:
    """A bound as a number; one that is not asked for is 0, which is not used."""
    if isinstance(bound, str):
        return values[bound]
    return PaperValue(bound or 0.0, None, "", "")


def _within(value: PaperValue, low: float, high: float) -> Outcome:
    if value.ci95 is None and value.launches is not None:
        return "undecided"
    ends = value.ci95 or (value.value, value.value)
    if low <= ends[0] and ends[1] <= high:
        return "holds"
    return "does not hold" if ends[1] < low or ends[0] > high else "undecided"


def _trend(statement: Statement, curve: PaperCurve | None) -> StatementFound:
    lines: dict[str, list[CurvePoint]] = {}
    for point in curve.points if curve is not None else ():
        if isinstance(point.x, int | float):
            lines.setdefault(point.line, []).append(point)
    tested = {name: line for name, line in lines.items() if len(line) >= _FEWEST}
    if not tested:
        return StatementFound(statement.says, statement.section, "not measured", "", ())
    sign = 1 if statement.trend == "rises" else -1
    outcomes = {name: _line_trend(line, sign) for name, line in tested.items()}
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


def _line_trend(line: Sequence[CurvePoint], sign: int) -> Outcome:
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
    if tau >= _CLEAR and last.ci95[0] > first.ci95[1]:
        return "holds"
    return "does not hold" if tau <= 0.0 else "undecided"
