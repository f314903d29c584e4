"""Sequential sign tests, against every sequence of launches."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.acceptance.boundaries import (
    decision_chances,
    looks_of,
    required_counts,
    widened,
)


def _crossed(coins: tuple[int, ...], sizes: tuple[int, ...], needs: tuple[int | None, ...]) -> bool:
    return any(
        need is not None and sum(coins[:size]) >= need
        for size, need in zip(sizes, needs, strict=True)
    )


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("sizes", [(6,), (6, 9), (4, 7, 12)])
def test_the_risk_holds_over_all_looks_for_every_sequence(
    sizes: tuple[int, ...], risk: float
) -> None:
    needs = required_counts(sizes, risk)
    every = list(itertools.product((0, 1), repeat=sizes[-1]))
    reached = sum(_crossed(each, sizes, needs) for each in every) / len(every)
    assert reached <= risk
    # A count less at any look would exceed the risk that is spent until there.
    for place, need in enumerate(needs):
        if need is None:
            continue
        less = (*needs[:place], need - 1)
        sequences = list(itertools.product((0, 1), repeat=sizes[place]))
        share = sum(_crossed(each, sizes[: place + 1], less) for each in sequences)
        assert share / len(sequences) > risk * sizes[place] / sizes[-1]


@given(st.integers(6, 120), st.floats(0.001, 0.3))
def test_the_risk_of_any_contract_holds(launches: int, risk: float) -> None:
    sizes = looks_of(launches)
    assert sizes[-1] == launches
    needs = required_counts(sizes, risk)
    never = (None,) * len(sizes)
    # All launches on the counted side with one half.
    rejected, accepted, _ = decision_chances(sizes, needs, never, 0.5, 0.0)
    assert rejected <= risk + 1e-9
    assert accepted == 0.0


def test_chances_agree_with_every_sequence() -> None:
    sizes, reject, accept = (3, 5), (3, 4), (None, 4)
    below, between = 0.2, 0.3
    rejected = accepted = expected = 0.0
    for launches in itertools.product("wbg", repeat=5):
        chance = math.prod(
            {"w": below, "b": between, "g": 1 - below - between}[x] for x in launches
        )
        used = 5
        for size, bad, good in zip(sizes, reject, accept, strict=True):
            first = launches[:size]
            over = size - first.count("g") - bad
            fine = -1 if good is None else size - first.count("w") - good
            if over >= 0 and over > fine:
                rejected += chance
                used = size
                break
            if fine >= 0:
                accepted += chance
                used = size
                break
        expected += used * chance
    found = decision_chances(sizes, reject, accept, below, between)
    assert found == pytest.approx((rejected, accepted, expected))


def test_dependent_launches_need_more_of_them_on_one_side() -> None:
    assert widened(12, 14, 14.0) == 12
    assert widened(12, 14, 10.0) == 13  # 7 + 5 * sqrt(1.4) = 12.9
    assert widened(12, 14, 4.0) is None
    assert widened(None, 14, 14.0) is None


def test_fewer_launches_than_the_risk_takes_decide_nothing() -> None:
    assert required_counts((6,), 0.05) == (6,)  # 1/64
    assert required_counts((6,), 0.01) == (None,)
    assert np.isclose(0.5**6, 1 / 64)
