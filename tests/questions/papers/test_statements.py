"""Statements: bounds against intervals, and trends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.questions.papers.curves import CurvePoint, PaperCurve, up_to
from assay.questions.papers.model import ExhibitCurve, Statement
from assay.questions.papers.quantities import PaperValue
from assay.questions.papers.statements import judged, number_text

CURVE = ExhibitCurve(name="c", kernel=("memory.strided",), metric="access", x="stride")


def value(at: float, interval: tuple[float, float] | None = None) -> PaperValue:
    return PaperValue(at, interval, "", "", ("cell",), ("npb.cg",), launches=6)


def outcome(statement: Statement, **values: PaperValue | None) -> str:
    return judged(statement, values, {}).outcome


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((1.1, 1.3), "holds"),
        ((0.9, 1.3), "undecided"),
        ((0.75, 0.85), "does not hold"),
        (None, "undecided"),
    ],
)
def test_the_whole_interval_decides(interval: tuple[float, float] | None, expected: str) -> None:
    measured = value(1.2 if interval is None else sum(interval) / 2, interval)
    above = Statement(says="…", quantity="q", above=1.0)
    assert outcome(above, q=measured) == expected
    # The opposite bound has the opposite outcome.
    below = Statement(says="…", quantity="q", below=1.0)
    opposite = {"holds": "does not hold", "does not hold": "holds"}
    assert outcome(below, q=measured) == opposite.get(expected, expected)


def test_equality_needs_more_than_a_95_percent_interval() -> None:
    """One in a thousand statements on equal numbers is decided, not one in twenty."""
    narrow = value(1.1, (1.01, 1.2))
    assert outcome(Statement(says="…", quantity="q", above=1.0), q=narrow) == "undecided"
    # Another bound is no equality.
    assert outcome(Statement(says="…", quantity="q", above=0.9), q=narrow) == "holds"
    assert outcome(Statement(says="…", quantity="q", below=1.3), q=narrow) == "holds"


def test_a_property_of_the_machine_decides_without_an_interval() -> None:
    known = PaperValue(1.2, None, "", "")
    assert outcome(Statement(says="…", quantity="q", above=1.0), q=known) == "holds"
    assert outcome(Statement(says="…", quantity="q", above=1.3), q=known) == "does not hold"


def test_both_bounds_and_names_of_quantities() -> None:
    between = Statement(says="…", quantity="q", within=(1.0, 2.0))
    assert outcome(between, q=value(1.5, (1.3, 1.9))) == "holds"
    assert outcome(between, q=value(1.5, (1.2, 2.1))) == "undecided"
    assert outcome(between, q=value(2.5, (2.2, 2.6))) == "does not hold"
    named = Statement(says="…", quantity="q", above="low", below="high")
    ends = {"low": PaperValue(1.0, None, "", ""), "high": PaperValue(2.0, None, "", "")}
    assert outcome(named, q=value(1.5, (1.3, 1.8)), **ends) == "holds"
    assert outcome(named, q=value(1.5, (1.3, 1.8)), **{**ends, "high": None}) == "not measured"
    assert outcome(named, q=None, **ends) == "not measured"


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (value(1.0, (0.95, 1.05)), "holds"),
        (value(1.0, (0.2, 9.0)), "undecided"),  # the bound is uncertain
        (value(1.0), "undecided"),  # of too few launches
        (value(2.0, (1.9, 2.1)), "does not hold"),
        # Overlapping intervals, whose difference excludes 0 at 95%: 0.1 - hypot(0.06, 0.06).
        (value(1.1, (1.04, 1.16)), "undecided"),
        (value(1.0, (0.97, 1.03)), "holds"),
    ],
)
def test_a_measured_bound_is_uncertain_too(bound: PaperValue, expected: str) -> None:
    statement = Statement(says="…", quantity="q", above="other")
    found = judged(statement, {"q": value(1.2, (1.14, 1.26)), "other": bound}, {})
    assert found.outcome == expected
    assert " against " in found.here
    opposite = Statement(says="…", quantity="other", below="q")
    assert outcome(opposite, q=value(1.2, (1.14, 1.26)), other=bound) == expected


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (0.304, "B/(flop/s)", "0.304 B/(flop/s)"),
        (16.0, "count", "16"),
        (116_100.0, "count", "116,100"),
        (702.5444306, "count", "703"),
        (2.5, "count", "2.5"),
        (0.601, "1", "60.1%"),
        (1.75, "", "1.75×"),
        (2.664e9, "flop/s", "2.66 Gflop/s"),
    ],
)
def test_numbers_as_text(number: float, unit: str, text: str) -> None:
    assert number_text(number, unit) == text


def curve(*lines: list[float], half_width: float = 0.01) -> PaperCurve:
    points = [
        CurvePoint(f"line {number}", x, y, (y - half_width, y + half_width), 6, ("cell",))
        for number, line in enumerate(lines)
        for x, y in enumerate(line, 1)
    ]
    return PaperCurve("c", "", "stride", "", tuple(points), CURVE)


@pytest.mark.parametrize(
    ("lines", "rises", "falls"),
    [
        ([[1.0, 1.2, 1.4, 1.5]], "holds", "does not hold"),
        ([[1.5, 1.4, 1.2, 1.0]], "does not hold", "holds"),
        ([[1.0, 1.2, 1.1, 1.5, 1.4]], "holds", "does not hold"),
        ([[1.0, 1.001, 1.002, 1.003]], "undecided", "undecided"),  # within the intervals
        ([[1.0, 1.2, 1.4], [1.4, 1.2, 1.0]], "undecided", "undecided"),
        ([[1.0, 1.2]], "not measured", "not measured"),
    ],
)
def test_trends(lines: list[list[float]], rises: str, falls: str) -> None:
    for trend, expected in (("rises", rises), ("falls", falls)):
        statement = Statement(says="…", curve="c", trend=trend)  # type: ignore[arg-type]
        assert judged(statement, {}, {"c": curve(*lines)}).outcome == expected
    assert judged(Statement(says="…", curve="c", trend="rises"), {}, {"c": None}).outcome == (
        "not measured"
    )


def test_a_trend_is_told_in_the_unit_of_its_curve() -> None:
    falling = replace(curve([8.77e6, 5e6, 2.99e6]), unit="B/s")
    statement = Statement(says="…", curve="c", trend="falls")
    assert judged(statement, {}, {"c": falling}).here == "line 0: 8.77 MB/s to 2.99 MB/s"


def test_up_to_where_a_curve_is_above_1() -> None:
    found = up_to(curve([1.5, 1.2, 1.01, 0.9, 1.1]))
    assert found is not None and found.value == 3
    none = up_to(curve([0.9, 1.2]))
    assert none is not None and none.value == 0
    assert up_to(None) is None
