"""Words of direction: none for equal values, and the right one for different values."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.compare.directions import compared
from assay.stats.core.intervals import Estimate, median_interval, ratio_interval


def _ratio(rng, n, by):
    one, other = (1 + 0.02 * rng.standard_normal(n)), by * (1 + 0.02 * rng.standard_normal(n))
    sides = [Estimate(float(np.median(each)), median_interval(each)) for each in (other, one)]
    return sides[0].value / sides[1].value, ratio_interval(*sides)


@pytest.mark.parametrize("n", [6, 9, 20])
def test_equal_values_get_no_direction(n):
    rng = np.random.default_rng(n)
    found = [compared(*_ratio(rng, n, 1.0), launches=2 * n) for _ in range(2000)]
    # At most one in a thousand is stated.
    assert sum(each.direction != "open" for each in found) <= 6
    # 95% intervals alone would state a hundred.
    assert sum(not r[1][0] <= 1 <= r[1][1] for r in (_ratio(rng, n, 1.0) for _ in found)) > 20


@pytest.mark.parametrize(("by", "direction"), [(1.1, "more"), (0.9, "less")])
def test_values_that_differ_by_ten_percent_get_their_direction(by, direction):
    rng = np.random.default_rng(3)
    found = [compared(*_ratio(rng, 9, by), launches=18).direction for _ in range(200)]
    assert set(found) <= {direction, "open"}
    assert found.count(direction) > 150


def test_more_comparisons_widen_the_range_that_decides():
    alone, among = (compared(1.05, (1.02, 1.08), comparisons=each) for each in (1, 1000))
    assert alone.range is not None and among.range is not None
    assert among.range[0] < alone.range[0] < 1.02 and 1.08 < alone.range[1] < among.range[1]


def test_without_an_interval_there_is_no_direction():
    assert compared(2.0, None).direction == "open"
    assert compared(2.0, (0.0, 3.0)).direction == "open"


def test_a_bound_other_than_one():
    assert compared(1.2, (1.15, 1.25)).direction == "more"
    assert compared(1.2, (1.15, 1.25), equal=1.18).direction == "open"
    assert compared(1.2, (1.15, 1.25)).word("grows", "falls", "not distinguishable") == "grows"
