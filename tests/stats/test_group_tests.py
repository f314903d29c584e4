"""The pieces of comparisons of groups, against their formulas and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.stats.compare.group_tests import Check, checks_text, one_way
from assay.stats.core.summary import thinned


def test_f_between_groups_is_the_ratio_of_mean_squares() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.standard_normal(n) + 0.5 * k for k, n in enumerate((5, 9, 7))]
    values = [float(v) for group in groups for v in group]
    grand = sum(values) / 21
    between = sum(g.size * (float(g.mean()) - grand) ** 2 for g in groups) / 2
    within = sum(sum((float(v) - float(g.mean())) ** 2 for v in g) for g in groups) / 18
    statistic, p = one_way(groups)
    assert statistic == pytest.approx(between / within, rel=1e-9)
    assert p == pytest.approx(stats.f.sf(between / within, 2, 18), rel=1e-9)


def test_f_of_groups_that_do_not_vary() -> None:
    same, other = np.full(3, 1.0), np.full(4, 2.0)
    assert one_way([same, other]) == (math.inf, 0.0)
    assert one_way([same, same]) == (0.0, 1.0)
    assert one_way([np.array([1.0, 3.0]), np.array([2.0, 2.0])]) == (0.0, 1.0)  # equal means
    assert one_way([np.array([1.0]), np.array([2.0])]) == (0.0, 1.0)  # a value each


def test_checks_are_listed_in_order_with_their_p() -> None:
    checks = [
        Check("normal", "Shapiro–Wilk", 0.34567, True),
        Check("equal spread", "Brown–Forsythe", 0.1234, False),
        Check("equal spread", "F", 0.0009876, False),
    ]
    assert checks_text(checks) == (
        "Shapiro–Wilk: normal not rejected (p = 0.35); "
        "Brown–Forsythe: equal spread doubtful (p = 0.12); "
        "F: equal spread rejected (p = 0.00099)."
    )


@pytest.mark.parametrize("most", [1, 7, 50])
def test_thinned_values_are_evenly_spaced_quantiles(most: int) -> None:
    values = np.random.default_rng(2).exponential(size=61)
    expected = np.quantile(values, [(k + 0.5) / most for k in range(most)])
    assert thinned(values, most) == pytest.approx(expected)
    assert thinned(values, 61) is values
