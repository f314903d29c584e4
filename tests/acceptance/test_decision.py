"""Decisions on launches with planted medians."""

from __future__ import annotations

import numpy as np
import pytest

from acceptance_runs import normal_times
from assay.acceptance.boundaries import looks_of, required_counts
from assay.acceptance.contract import PromisedRange
from assay.acceptance.decision import Dependence, PromiseDecision, corrected_outcomes, decide

# Enough other cells, whose launches are independent.
FREE = Dependence(10.0, 0.0)
AT_LEAST, AT_MOST = PromisedRange(100.0, None), PromisedRange(None, 100.0)


def decided(
    values: np.ndarray,
    limits: PromisedRange = AT_LEAST,
    dependence: Dependence = FREE,
    launches: int = 30,
    risk: float = 0.05,
) -> PromiseDecision:
    return decide(values, limits, 0.02, lambda size: dependence, risk, 0.05, launches)


@pytest.mark.parametrize(
    ("limits", "median", "expected"),
    [
        (AT_LEAST, 110.0, "accepted"),
        (AT_LEAST, 100.0, "accepted"),
        (AT_LEAST, 98.0, "rejected"),
        (AT_LEAST, 90.0, "rejected"),
        (AT_MOST, 90.0, "accepted"),
        (AT_MOST, 100.0, "accepted"),
        (AT_MOST, 102.0, "rejected"),
        (AT_MOST, 110.0, "rejected"),
        (PromisedRange(95.0, 105.0), 100.0, "accepted"),
        (PromisedRange(95.0, 105.0), 92.0, "rejected"),
        (PromisedRange(95.0, 105.0), 108.0, "rejected"),
    ],
)
def test_the_verdict_follows_the_median(
    limits: PromisedRange, median: float, expected: str
) -> None:
    found = decided(normal_times(1, median, cov=0.003), limits)
    assert found.outcome == expected
    assert found.used < 30


def test_the_interval_agrees_with_the_verdict() -> None:
    """A test decides exactly if the interval excludes its limit."""
    for seed in range(30):
        for median in (97.0, 98.0, 99.0, 100.0, 101.0):
            found = decided(normal_times(seed, median, cov=0.01))
            if found.outcome == "rejected":
                assert found.high is not None
                assert found.high < 100.0
            if found.outcome == "accepted":
                assert found.low is not None
                assert found.low > 98.0
            if found.outcome == "undecided":
                assert found.low is None or found.low <= 98.0
                assert found.high is None or found.high >= 100.0


def test_a_decision_is_not_reopened_by_later_launches() -> None:
    good, bad = np.full(14, 101.0), np.full(16, 50.0)
    found = decided(np.concatenate([good, bad]))
    assert (found.outcome, found.used) == ("accepted", 9)


def test_a_slow_mode_of_few_launches_does_not_move_the_median() -> None:
    values = normal_times(2, 101.0)
    values[::4] *= 0.6
    assert decided(values).outcome == "accepted"


def test_dependence_that_cannot_be_excluded_leaves_it_undecided() -> None:
    values = normal_times(3, 110.0, 14)
    assert decided(values).outcome == "accepted"
    unknown = decided(values, dependence=Dependence())
    assert unknown.outcome == "undecided"
    assert unknown.assumed
    strong = decided(values, dependence=Dependence(10.0, 0.7))
    assert strong.outcome == "undecided"
    # The launches themselves show it from twenty on.
    own = decided(normal_times(3, 110.0, 30), dependence=Dependence())
    assert (own.outcome, own.assumed) == ("accepted", False)


def test_dependent_launches_are_worth_less() -> None:
    rng = np.random.default_rng(5)
    slow = np.repeat(rng.standard_normal(5), 6)
    found = decided(100.0 + slow, dependence=Dependence())
    assert found.worth < 15.0


def test_too_few_launches_say_how_many_would_decide() -> None:
    found = decided(normal_times(4, 110.0, 7))
    assert (found.outcome, found.used, found.needed) == ("undecided", 6, 9)
    none = decided(np.full(3, 110.0))
    assert (none.outcome, none.used, none.needed, none.low) == ("undecided", 0, 6, None)


def test_launches_beyond_the_contract_do_not_count() -> None:
    values = np.concatenate([np.full(6, 99.0), np.full(60, 50.0)])
    found = decided(values, launches=6)
    assert found.used == 6
    assert found.low == 99.0


def test_conforming_machines_are_rejected_as_rarely_as_stated_with_many_promises() -> None:
    """By simulation: five promises exactly kept, 400 contracts."""
    rng = np.random.default_rng(6)
    sizes = looks_of(30)
    rejected = 0
    for _ in range(400):
        cells = rng.standard_normal((5, 30)) * 0.5 + 100.0

        def at(place: int, risk: float, cells: np.ndarray = cells) -> PromiseDecision:
            return decided(cells[place], risk=risk)

        found = corrected_outcomes([1.0] * 5, at, lambda each: each.outcome == "rejected", 0.05)
        rejected += any(each.outcome == "rejected" for each in found)
    assert rejected / 400 <= 0.05
    assert required_counts(sizes, 0.05 / 5)[-1] == 23


def test_the_supplier_bears_half_of_the_risk_at_each_end_of_a_range() -> None:
    """Eight of nine launches too low: enough at 5% for one limit, too few at 2.5%."""
    values = np.array([90.0] * 5 + [96.0] + [90.0] * 3)
    assert required_counts(looks_of(12), 0.05)[1] == 8
    assert required_counts(looks_of(12), 0.025)[1] == 9
    assert decided(values, PromisedRange(95.0, None), launches=12).outcome == "rejected"
    assert decided(values, PromisedRange(95.0, 105.0), launches=12).outcome == "undecided"


def test_holm_lets_the_others_have_the_risk_of_a_rejected_promise() -> None:
    """At 1% six launches decide nothing; at 5%, 1/64 decides."""
    asked: list[tuple[int, float]] = []

    def at(place: int, risk: float) -> str:
        asked.append((place, risk))
        return "rejected" if place == 0 or risk > 0.02 else "undecided"

    assert (
        corrected_outcomes([1.0, 1.0], at, lambda each: each == "rejected", 0.03)
        == ["rejected"] * 2
    )
    assert asked == [(0, 0.015), (1, 0.015), (1, 0.03)]
