"""The stop rule for launches of a cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.model.replication import Replication
from assay.stats.cells.launch_rule import (
    FAR_BELOW,
    expected_launches,
    launch_half_width,
    looks,
    needs_more,
)
from assay.stats.core.intervals import relative_half_width
from assay.stats.core.launches import launch_interval

RULE = Replication()


def spread(n: int, width: float) -> list[float]:
    """Launch values about 100 whose every prefix from 6 on has a half-width of about ``width``."""
    return [100.0 * (1.0 + width * (-1.0) ** k) for k in range(n)]


def literal(values: list[float], rule: Replication) -> bool:
    """The rule of the docstring, without shortcuts: more needed?"""
    narrow = []
    for look in looks(rule):
        if look <= len(values):
            low, high = launch_interval(values[:look], rule.confidence)
            narrow.append((high - low) / 2 / abs(float(np.median(values[:look]))))
    held_twice = any(max(pair) <= rule.precision for pair in itertools.pairwise(narrow))
    clearly = any(FAR_BELOW * width <= rule.precision for width in narrow)
    return not (held_twice or clearly or len(values) >= rule.max_launches)


def test_looks_are_geometric_from_the_fewest_to_the_most() -> None:
    assert looks(RULE) == (6, 9, 14, 21, 30)
    assert looks(Replication(min_launches=1, max_launches=8)) == (6, 8)
    assert looks(Replication(min_launches=10, max_launches=10)) == (10,)
    assert looks(Replication(confidence=0.99, max_launches=12)) == (8, 12)
    assert looks(Replication(min_launches=1, max_launches=3)) == ()


@pytest.mark.parametrize(
    "noise",
    [
        0.015,
        *(pytest.param(each, marks=pytest.mark.long) for each in (0.001, 0.004, 0.008, 0.05)),
    ],
)
def test_decisions_are_the_literal_rules(noise: float) -> None:
    decisions = set()
    for seed in range(40):
        values = np.random.default_rng([9, seed]).normal(1.0, noise, size=30).tolist()
        for n in range(31):
            more = needs_more(values[:n], RULE).more
            assert more == literal(values[:n], RULE)
            decisions.add(more)
    assert decisions == {True, False}


def test_a_stop_is_final() -> None:
    for seed in range(50):
        values = np.random.default_rng([10, seed]).normal(1.0, 0.01, size=30).tolist()
        more = [needs_more(values[:n], RULE).more for n in range(31)]
        assert more == sorted(more, reverse=True)
        assert more[-1] is False


def test_far_better_than_asked_stops_at_the_first_look() -> None:
    assert needs_more(spread(5, 0.001), RULE).more
    decision = needs_more(spread(6, 0.001), RULE)
    assert (decision.more, decision.stop) == (False, "precision")


def test_just_good_enough_must_hold_once_more() -> None:
    decision = needs_more(spread(6, 0.008), RULE)
    assert decision.more
    assert decision.next_check == 9
    assert "must hold again" in decision.why
    assert needs_more(spread(8, 0.008), RULE).more
    decision = needs_more(spread(9, 0.008), RULE)
    assert (decision.more, decision.stop) == (False, "precision")


def test_noise_continues_to_the_maximum() -> None:
    assert needs_more(spread(29, 0.1), RULE).more
    decision = needs_more(spread(30, 0.1), RULE)
    assert (decision.more, decision.stop) == (False, "launches")
    assert decision.half_width == pytest.approx(0.1, rel=0.05)


def test_too_few_for_any_interval() -> None:
    decision = needs_more([], RULE)
    assert decision.more
    assert decision.half_width is None
    assert "0 of at least 6" in decision.why
    single = Replication(min_launches=1, max_launches=1)
    assert needs_more([], single).more
    assert needs_more([5.0], single).stop == "launches"


def test_relative_half_width() -> None:
    assert relative_half_width((9.0, 11.0), 10.0) == pytest.approx(0.1)
    assert relative_half_width((-11.0, -9.0), -10.0) == pytest.approx(0.1)
    assert relative_half_width(None, 10.0) is None
    assert relative_half_width((-1.0, 1.0), 0.0) is None


def test_launch_half_width() -> None:
    values = np.random.default_rng(2).normal(50.0, 5.0, size=15).tolist()
    low, high = launch_interval(values)
    expected = (high - low) / 2 / float(np.median(values))
    assert launch_half_width(values) == pytest.approx(expected)
    assert launch_half_width([1.0] * 5) is None
    assert launch_half_width([]) is None
    assert launch_half_width([0.0] * 9) is None
    # The same for costs and, to first order, for rates.
    assert launch_half_width([1 / v for v in values]) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("sigma", [0.001, 0.01, 0.02, 0.05])
def test_expected_launches_are_those_after_which_it_stops(sigma: float) -> None:
    """By the spread of a few values, within a factor of two of the middle of simulated cells."""
    rule = Replication(min_launches=6, max_launches=30, precision=0.02)
    generator = np.random.default_rng(7)
    ends, expected = [], []
    for _ in range(60):
        values = generator.normal(1.0, sigma, rule.max_launches).tolist()
        expected.append(expected_launches(values[:6], rule))
        ends.append(next(n for n in range(1, 31) if not needs_more(values[:n], rule).more))
    assert 0.5 <= np.median(expected) / np.median(ends) <= 2.0
    assert max(expected) <= rule.max_launches and min(expected) >= rule.min_launches


def test_expected_launches_without_a_spread() -> None:
    rule = Replication(min_launches=6, max_launches=30, precision=0.02)
    for values in ([], [1.0], [1.0, 1.1]):
        assert expected_launches(values, rule) == looks(rule)[1]
    assert expected_launches([1.0] * 6, rule) == looks(rule)[1]
    assert expected_launches([0.0] * 3, rule) >= rule.min_launches
    few = Replication(min_launches=2, max_launches=2, precision=0.02)
    assert expected_launches([], few) == 2
