"""Corrections for many tests, against R, statsmodels and their definitions."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.stats.core.multiple import corrected
from assay.stats.core.proportions import (
    clopper_pearson,
    clopper_pearson_all,
    rate_ratios,
    rates_differ,
)
from recorded_statistics import recorded

P = [0.01, 0.04, 0.03, 0.005, 0.6, 0.04, 0.9]
SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("method", "calls"),
    [
        ("holm", ["p.adjust(p, 'holm')", f"multipletests({P}, method='holm')"]),
        ("bh", ["p.adjust(p, 'BH')", f"multipletests({P}, method='fdr_bh')"]),
    ],
)
def test_agrees_with_r_and_statsmodels(method: str, calls: list[str]) -> None:
    for call in calls:
        assert corrected(P, method) == pytest.approx(recorded(call), rel=1e-12)


@given(SHARES)
def test_holm_rejects_what_its_steps_reject(p: list[float]) -> None:
    level, rejected = 0.05, set()
    for step, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[place] * (len(p) - step) > level:
            break
        rejected.add(place)
    assert {i for i, q in enumerate(corrected(p)) if q <= level} == rejected


@given(SHARES)
def test_bh_rejects_what_its_step_up_rejects(p: list[float]) -> None:
    level, ordered = 0.05, sorted(p)
    passed = [k for k, q in enumerate(ordered, 1) if q * len(p) / k <= level]
    bound = ordered[max(passed) - 1] if passed else -1.0
    assert [q <= level for q in corrected(p, "bh")] == [q <= bound for q in p]


@given(SHARES, st.randoms(use_true_random=False))
def test_their_order_does_not_matter(p: list[float], random) -> None:
    order = list(range(len(p)))
    random.shuffle(order)
    for method in ("holm", "bh"):
        shuffled = corrected([p[i] for i in order], method)
        assert shuffled == pytest.approx(corrected(p, method)[order])
        assert (shuffled >= np.array(p)[order]).all()


def test_tests_that_were_not_made_do_not_count() -> None:
    assert corrected([0.01, float("nan"), 0.02]) == pytest.approx([0.02, np.nan, 0.02], nan_ok=True)
    assert corrected([]).size == 0


@pytest.mark.parametrize("p", [[-0.1], [1.1]])
def test_invalid_probabilities_are_refused(p: list[float]) -> None:
    with pytest.raises(AssayError, match="between 0 and 1"):
        corrected(p)


def test_the_interval_of_a_share_is_rs() -> None:
    for found, interval in zip((0, 3, 17), recorded("binom.test"), strict=True):
        assert clopper_pearson(found, 17) == pytest.approx(interval, rel=1e-9, abs=1e-12)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    with pytest.raises(AssayError):
        clopper_pearson(4, 3)


def test_many_proportions_are_as_single_ones() -> None:
    found, of = np.array([0, 3, 17, 5]), np.array([17, 17, 17, 0 + 9])
    low, high = clopper_pearson_all(found, of)
    for at in range(4):
        assert (low[at], high[at]) == pytest.approx(clopper_pearson(int(found[at]), int(of[at])))
    low, high = clopper_pearson_all(np.array([0]), np.array([0]))
    assert (low[0], high[0]) == (0.0, 1.0)
    with pytest.raises(AssayError, match="not a proportion"):
        clopper_pearson_all(np.array([4]), np.array([3]))


def test_ratios_of_rates_by_the_binomial_distribution() -> None:
    """Against sums of the binomial probabilities, and the coverage of equal rates."""
    one, other = np.array([12]), np.array([5])
    n, p = 17, 0.5
    tail = sum(comb(n, k) * p**n for k in range(12, n + 1))
    assert rates_differ(one, other, 1.0)[0] == pytest.approx(2 * tail)
    low, high = rate_ratios(one, other, 2.0)
    share = clopper_pearson(12, 17)
    assert low[0] == pytest.approx(2.0 * share[0] / (1 - share[0]))
    assert high[0] == pytest.approx(2.0 * share[1] / (1 - share[1]))
    assert rate_ratios(np.array([3]), np.array([0]), 1.0)[1][0] == np.inf
    # A margin makes the p-value larger; an exact ratio of 1 is no difference.
    assert rates_differ(one, other, 1.0, 0.5)[0] > 2 * tail
    assert rates_differ(np.array([9]), np.array([9]), 1.0)[0] == 1.0
    generator = np.random.default_rng(1)
    counts = generator.poisson(40, (2, 2000))
    low, high = rate_ratios(counts[0], counts[1], 1.0)
    assert ((low <= 1.0) & (high >= 1.0)).mean() >= 0.95
    assert (rates_differ(counts[0], counts[1], 1.0) < 0.05).mean() <= 0.05
