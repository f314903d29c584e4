"""Statistics under reordering of runs: scores, dependence, modes, against slow versions."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from scipy import stats

from assay.stats.changes import reordering
from assay.stats.changes.mode_share import mean_shift, mode_share
from assay.stats.changes.reordering import (
    ORDERS,
    changed,
    estimated_dependence,
    places_of,
    remaining_dependence,
    scores_of,
)
from assay.stats.changes.scan import clip_of


def test_scores_don_t_depend_on_the_order() -> None:
    x = np.random.default_rng(1).standard_normal(80)
    x[7] = 50.0
    order = np.random.default_rng(2).permutation(80)
    assert scores_of(x)[order] == pytest.approx(scores_of(x[order]))
    middle = statistics.median(x)
    scale = 1.4826 * statistics.median(abs(v - middle) for v in x)
    assert scores_of(x)[3] == pytest.approx((x[3] - middle) / scale)
    assert scores_of(x)[7] == clip_of((x - middle) / scale)


def test_the_same_series_has_the_same_chance() -> None:
    x = np.random.default_rng(3).standard_normal(30)
    assert changed(x) == changed(x.copy())
    assert changed(x[:5]) == 1.0
    step = np.concatenate([x[:15], x[15:] + 6.0])
    assert 1e-12 < changed(step) < 1e-4
    # A stretch in the middle is no split.
    middle = x.copy()
    middle[12:18] += 4.0
    assert changed(middle, passing=True) < 0.1 * changed(middle)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
def test_what_a_best_split_took_of_the_dependence_is_put_back(rho: float) -> None:
    drawn = np.random.default_rng(4)
    found = []
    for _ in range(60):
        x = drawn.standard_normal(100)
        for run in range(1, 100):
            x[run] = rho * x[run - 1] + np.sqrt(1 - rho**2) * x[run]
        places = range(6, 94)
        best = max(places, key=lambda at: (x[:at].mean() - x[at:].mean()) ** 2 * at * (100 - at))
        rest = np.concatenate([x[:best] - x[:best].mean(), x[best:] - x[best:].mean()])
        found.append(remaining_dependence(rest, 1))
    assert rho - 0.02 < np.mean(found) < rho + 0.15
    assert remaining_dependence(np.zeros(20), 0) == remaining_dependence(np.ones(3), 0) == 0.0


def test_dependence_of_short_series_is_that_counted_by_hand() -> None:
    alternating = np.tile([1.0, -1.0], 4)
    halves = np.repeat([1.0, -1.0], 4)
    # -7 ÷ 8, corrected by (1 + 3 steps) ÷ 8; 5 ÷ 8 by (1 + 8 · 5 ÷ 8) ÷ 8.
    assert estimated_dependence(alternating, 0) == pytest.approx(-0.75)
    assert estimated_dependence(alternating, 1) == pytest.approx(-0.375)
    assert estimated_dependence(halves, 0) == pytest.approx(0.625 + 0.75)
    assert estimated_dependence(halves[:7], 0) == estimated_dependence(np.ones(9), 0) == 0.0
    # What other cells show is the least; what is within one standard error does not count.
    assert remaining_dependence(alternating, 0, least=0.3) == 0.3
    assert remaining_dependence(alternating, 0) == 0.0


def test_the_means_difference_is_welch_s() -> None:
    drawn = np.random.default_rng(5)
    before, after = drawn.standard_normal(12), 3.0 * drawn.standard_normal(20) + 1.0
    expected = stats.ttest_ind(after, before, equal_var=False)
    found = mean_shift(before, after, 0.0)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_shares_are_counted_at_the_gap_between_modes() -> None:
    drawn = np.random.default_rng(6)

    def runs(low: int, high: int, offset: float = 0.0) -> np.ndarray:
        levels = np.repeat([0.0, 1.0], [low, high]) + offset
        return levels + 0.03 * drawn.standard_normal(low + high)

    found = mode_share(runs(24, 6), runs(5, 15))
    assert found is not None
    assert (found.before, found.after) == (0.2, 0.75)
    assert found.apart == pytest.approx(np.expm1(1.0), rel=0.1)
    assert mode_share(runs(30, 0), runs(0, 20)) is None  # a step
    assert mode_share(runs(24, 6), runs(16, 4)) is None  # the same shares
    assert mode_share(runs(24, 6), runs(16, 4, 1.0)) is None  # both levels stepped
    assert mode_share(runs(6, 2), runs(2, 6)) is None  # too few


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_ending_a_test_early_changes_no_decision(
    rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(3)
    series = [
        drawn.standard_normal(60) + step * (np.arange(60) >= 25)
        for step in (0.0, 0.3, 0.6, 0.9, 1.2, 2.0)
        for _ in range(4)
    ]
    parts = [(changed(x, rho), places_of(x, 0, rho)) for x in series]
    monkeypatch.setattr(reordering, "_PARTS", (ORDERS,))
    monkeypatch.setattr(reordering, "_PLACE_PARTS", (199,))
    early = 0
    for x, (p, places) in zip(series, parts, strict=True):
        whole = changed(x, rho)
        early += p != whole
        assert p == whole or min(p, whole) >= 0.1
        if rho > 0.0:  # without dependence the sides are drawn in another order
            assert places == places_of(x, 0, rho)
    assert early > 0
