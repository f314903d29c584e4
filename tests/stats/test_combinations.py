"""Numbers of combinations against exact integers, beyond the range of a float too."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from assay.stats.core.combinations import can_reach, least_p, log_combinations


@pytest.mark.parametrize("n", [0, 1, 2, 7, 30, 999, 1000, 1001, 1029, 1030, 2000, 20_000])
def test_logarithms_are_those_of_the_exact_numbers(n: int) -> None:
    for chosen in {0, min(n, 1), n // 3, n // 2, n}:
        exact = math.log(math.comb(n, chosen))
        assert log_combinations(n, chosen) == pytest.approx(exact, rel=1e-11, abs=1e-9)
        if exact < 700.0:
            share = float(Fraction(1, math.comb(n, chosen)))
            assert least_p(n, chosen) == pytest.approx(share, rel=1e-9)
            assert n > 1000 or least_p(n, chosen) == pytest.approx(share, rel=4e-16)
    assert 0.0 <= least_p(100_000, 50_000) < 1e-300


def test_a_level_is_reached_exactly_where_the_integers_say() -> None:
    for n in range(2, 40):
        for level in (0.05, 0.5, 0.01, 1e-5):
            exact = math.comb(n, n // 2) * Fraction(str(level)) >= 1
            assert can_reach(n, n // 2, level) == exact
    assert can_reach(1030, 515, 1e-9)
    assert can_reach(100_000, 50_000, 1e-300)
