"""The scales and scores that changes are noticed by, against their definitions."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import stats

from assay.stats.changes.scan import (
    FLOOR,
    clip_of,
    clipped_scale,
    dependence,
    robust_scale,
)


def test_the_robust_scale_is_scipys_median_absolute_deviation() -> None:
    residuals = np.random.default_rng(1).standard_t(3, 101) * 0.02
    # Around 0, for residuals are; scipy's factor has more digits.
    expected = stats.median_abs_deviation(residuals, center=lambda x, axis: 0.0, scale="normal")
    assert robust_scale(residuals) == pytest.approx(expected, rel=1e-4)


def test_the_robust_scale_of_mostly_equal_values_is_by_their_mean_distance() -> None:
    residuals = np.array([0.0] * 8 + [0.3, -0.1])
    # A normal distribution's mean distance is sqrt(2 / pi) of its standard deviation.
    assert robust_scale(residuals) == pytest.approx(0.04 * math.sqrt(math.pi / 2.0), rel=1e-4)
    assert robust_scale(np.zeros(5)) == FLOOR


def test_the_clipped_scale_is_the_root_of_the_mean_of_clipped_squares() -> None:
    residuals = [0.4, -0.5, 0.1, 0.9, -0.2, 0.3, -25.0]
    reach = 3.0 * 1.4826 * statistics.median(abs(r) for r in residuals)
    squares = [min(max(r, -reach), reach) ** 2 for r in residuals]
    expected = math.sqrt(sum(squares) / len(squares))
    assert clipped_scale(np.array(residuals)) == pytest.approx(expected, rel=1e-12)
    assert expected < 2.0 < float(np.std(residuals))
    assert clipped_scale(np.zeros(4)) == FLOOR


@pytest.mark.parametrize(("far", "clip"), [(0, 3.0), (2, 3.0), (3, 3.0), (4, 2.25), (10, 2.25)])
def test_scores_with_heavy_tails_are_clipped_nearer(far: int, clip: float) -> None:
    """Of 100 values: (far + 1/2) / 101 is above 3.5% from 4 on."""
    z = np.array([2.6, -2.6] * 50)
    z[far:] = 2.4
    assert clip_of(z) == clip


def test_dependence_is_the_first_autocorrelation_corrected_for_its_bias() -> None:
    rng = np.random.default_rng(3)
    scores = [0.0]
    for shock in rng.standard_normal(199):
        scores.append(0.6 * scores[-1] + shock)
    mean = sum(scores) / 200
    products = sum((a - mean) * (b - mean) for a, b in itertools.pairwise(scores))
    expected = products / sum((a - mean) ** 2 for a in scores) + 1 / 200
    assert dependence(np.array(scores)) == pytest.approx(expected, rel=1e-12)


def test_dependence_that_may_be_chance_is_none_and_its_size_has_an_end() -> None:
    assert dependence(np.array([1.0, -1.0] * 20)) == 0.0
    assert dependence(np.arange(7.0)) == 0.0  # under eight runs
    assert dependence(np.full(30, 2.0)) == 0.0
    assert dependence(np.arange(400.0)) == 0.9
    # One-sided 5%: a correlation just under and just over 1.645 / sqrt(n).
    n, rng = 100, np.random.default_rng(4)
    found = []
    for _ in range(200):
        values = rng.standard_normal(n)
        centred = values - values.mean()
        r = float(centred[1:] @ centred[:-1] / (centred @ centred)) + 1 / n
        assert (dependence(values) > 0.0) == (r > 1.645 / math.sqrt(n))
        found.append(dependence(values) > 0.0)
    assert 2 <= sum(found) <= 24  # 10 expected; either end is under 1 in 10,000
