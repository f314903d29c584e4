"""Distributions of nodes' values: natural differences and launches' errors, convolved."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from assay.stats.fleet.tails import medians, models, places, tails

FAMILIES = 15
# Rows of the families at a scale, in the order of the tables.
NORMAL, T3, T3_WIDER, LOGNORMAL_1 = 0, 8, 9, 13
# The natural scale of row ``FAMILIES * 12`` on: exp(0).
UNIT = 12 * FAMILIES


@pytest.mark.parametrize("error", [0.1, 0.5, 0.9])
def test_normal_differences_and_errors_have_the_sum_of_both_variances(error: float) -> None:
    x = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 6.0])
    known = stats.norm(scale=np.hypot(1.0, error))
    found = tails(error)
    assert found.tail[UNIT + NORMAL, places(x)] == pytest.approx(known.logsf(x), rel=1e-3, abs=2e-3)
    assert found.density[UNIT + NORMAL, places(x)] == pytest.approx(
        known.logpdf(x), rel=1e-3, abs=2e-3
    )


def lognormal_density(x: float) -> float:
    return float(stats.lognorm.pdf(x + 1.0, 1.0))


def wider_t3_density(x: float) -> float:
    return float(stats.t.pdf(x / 2.0 if x > 0.0 else x, 3) * 2.0 / 3.0)


@pytest.mark.parametrize(
    ("row", "density"), [(LOGNORMAL_1, lognormal_density), (T3_WIDER, wider_t3_density)]
)
def test_skewed_differences_are_convolved_as_an_integral_is(row: int, density: object) -> None:
    """Tails at two points, by numerical integration over the error; the median is 0."""
    assert callable(density)
    error = 0.5

    def beyond(point: float) -> float:
        inside = [-30.0, point - 3.0, point, point + 3.0, 200.0]
        parts = [
            integrate.quad(lambda x: density(x) * stats.norm.sf((point - x) / error), low, high)[0]
            for low, high in pairwise(inside)
        ]
        return float(sum(parts))

    median = float(
        np.interp(0.5, *np.array([(beyond(m), m) for m in np.arange(1.5, -0.6, -0.1)]).T)
    )
    found = tails(error)
    assert float(found.tail[UNIT + row, places(np.zeros(1))[0]]) == pytest.approx(
        np.log(0.5), abs=0.01
    )
    for point in (2.0, 8.0):
        at = float(found.tail[UNIT + row, places(np.array([point]))[0]])
        assert at == pytest.approx(np.log(beyond(point + median)), abs=0.03)


def test_the_far_tail_is_that_of_the_natural_differences() -> None:
    """At 40 scales the error is negligible, and the tail of t with 3 is its series' first term."""
    point = np.array([40.0])
    found = float(tails(0.3).tail[UNIT + T3, places(point)[0]])
    assert found == pytest.approx(float(stats.t.logsf(40.0, 3)), abs=0.02)


def test_values_beyond_the_tables_count_as_at_their_ends() -> None:
    first, last, middle = places(np.array([-1e9, 1e9, 0.0]))
    assert (first, last) == (0, tails(0.5).tail.shape[1] - 1)
    assert first < middle < last


def test_models_are_the_distributions_of_every_third_scale() -> None:
    few, every = models(0.4), tails(0.4)
    assert few.families == FAMILIES
    assert np.log(few.density[FAMILIES + 3]) == pytest.approx(every.density[3 * FAMILIES + 3])
    assert few.spread[4 * FAMILIES] == pytest.approx(np.hypot(1.0, 0.4))


def test_medians_are_within_one_and_a_half_standard_errors() -> None:
    """The median of n normal values has the standard error sqrt(pi / 2 n)."""
    low, middle, high = medians(64)
    assert (-low, middle, high) == pytest.approx((high, 0.0, 1.5 * np.sqrt(np.pi / 128)), rel=1e-3)


def test_the_longest_lognormal_distributions_count_three_times_as_much() -> None:
    weight = np.exp(tails(0.5).weight).reshape(-1, FAMILIES)
    assert weight[:, :-2] == pytest.approx(1.0)
    assert weight[:, -2:] == pytest.approx(3.0)
