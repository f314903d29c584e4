"""Scores of sequential ranks, against the normal distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.stats.changes.control_charts import score_of, width_of


@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 0.5, 0.9, 0.99, 0.9999])
def test_a_score_is_the_normal_quantile_up_to_two_and_a_half(share: float) -> None:
    expected = min(max(float(stats.norm.ppf(share)), -2.5), 2.5)
    assert score_of(share) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.45, 0.6, 0.97])
def test_a_width_is_the_score_of_the_distance_from_the_median(share: float) -> None:
    expected = min(max(float(stats.norm.ppf(2.0 * abs(share - 0.5))), -2.5), 2.5)
    assert width_of(share) == pytest.approx(expected, abs=1e-9)
    assert width_of(share) == pytest.approx(width_of(1.0 - share))


def test_the_ends_of_widths_are_finite() -> None:
    assert [width_of(share) for share in (0.5, 0.0, 1.0)] == [-2.5, 2.5, 2.5]


def test_widths_of_uniform_shares_are_normal() -> None:
    widths = [width_of(share) for share in (np.arange(2000) + 0.5) / 2000]
    inside = np.array([w for w in widths if abs(w) < 2.5])
    # As many below each quantile as the normal distribution has there.
    for z in (-2.0, -1.0, 0.0, 1.0, 2.0):
        assert np.count_nonzero(inside < z) + widths.count(-2.5) == pytest.approx(
            2000 * stats.norm.cdf(z), abs=2
        )
