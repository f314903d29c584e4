"""Histograms and densities, against direct sums and known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.core.histogram import MAX_BINS, MIN_BINS, density, histogram


def test_the_width_is_freedman_and_diaconis():
    values = np.random.default_rng(1).uniform(0.0, 1.0, 1000)
    found = histogram(values)
    low, high = np.quantile(values, (0.25, 0.75))
    width = 2.0 * (high - low) / 10.0
    assert found.counts.size == int(np.ceil((values.max() - values.min()) / width))
    assert (found.below, found.above) == (0, 0)
    assert found.counts.sum() == 1000


def test_far_outliers_are_counted_and_do_not_flatten_the_rest():
    values = np.concatenate([np.random.default_rng(2).normal(1.0, 0.01, 500), [3.0, 5.0]])
    found = histogram(values)
    assert found.above == 2 and found.below == 0
    assert found.counts.sum() == 500
    assert found.counts.max() < 100  # the bell is resolved
    assert found.edges[-1] < 1.5


def test_equal_values_have_no_histogram_and_no_density():
    values = np.full(20, 2.5)
    assert histogram(values) is None
    assert not density(values, np.array([2.5])).any()


def test_many_equal_values_and_a_few_others():
    values = np.array([1.0] * 90 + [1.1] * 10)
    found = histogram(values)
    assert found.counts.size == MAX_BINS
    assert (found.counts[0], found.counts[-1]) == (90, 10)


@given(st.lists(st.floats(0.1, 100.0), min_size=2, max_size=200))
def test_every_value_is_counted_once(values):
    array = np.array(values)
    found = histogram(array)
    if found is None:
        assert np.ptp(array) == 0.0
        return
    assert found.counts.sum() + found.below + found.above == array.size
    assert MIN_BINS <= found.counts.size <= MAX_BINS
    assert found.edges[0] >= array.min() and found.edges[-1] <= array.max()


def test_the_density_is_the_kernels_sum():
    values = np.random.default_rng(3).exponential(1.0, 300)
    at = np.linspace(0.0, 6.0, 50)
    spread = min(values.std(ddof=1), np.subtract(*np.quantile(values, (0.75, 0.25))) / 1.34)
    h = 0.9 * spread * values.size**-0.2
    direct = [
        sum(np.exp(-0.5 * ((x - v) / h) ** 2) for v in values) / (values.size * h * 2.506628)
        for x in at
    ]
    assert density(values, at) == pytest.approx(np.array(direct), rel=1e-4, abs=1e-9)


def test_counted_on_a_grid_it_stays_the_same():
    values = np.random.default_rng(4).normal(0.0, 1.0, 20_000)
    at = np.linspace(-3.0, 3.0, 31)
    found = density(values, at)
    truth = np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi)
    assert found == pytest.approx(truth, abs=0.02)
    assert np.trapezoid(density(values, wide := np.linspace(-6, 6, 400)), wide) == pytest.approx(
        1.0, abs=1e-3
    )
