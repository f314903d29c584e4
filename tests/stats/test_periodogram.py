"""The periodogram: against a literal transform, SciPy's distributions and lines of known size."""

from __future__ import annotations

import cmath
import math
import statistics

import numpy as np
import pytest
from scipy import integrate, stats

from assay.stats.noise.periodogram import (
    LEAST_CYCLES,
    PADDING,
    Layout,
    cutting,
    line_over_floor,
    nearest,
    view_of,
    whitened,
)


def layout(length: int, segments: int = 1) -> Layout:
    return Layout(length, 1e-4, np.arange(LEAST_CYCLES, (length + 1) // 2 - 2), segments)


def test_losses_are_cut_off_ten_robust_deviations_over_the_median() -> None:
    table = np.random.default_rng(1).exponential(1e-6, (2, 50))
    values = table.ravel().tolist()
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(v - middle) for v in values)
    assert cutting(table) == pytest.approx(middle + 10.0 * deviation, rel=1e-12)
    # Where most values are the same, by the mean distance from them.
    assert cutting(np.array([[2.0] * 8 + [3.0, 5.0]])) == pytest.approx(2.0 + 0.4)


@pytest.mark.parametrize("cut", [math.inf, 1.5])
def test_the_periodogram_is_the_transform_written_out(cut: float) -> None:
    """Each row cut off, less its line, under Hann's window; the mean of the rows' power."""
    length = 64
    table = np.random.default_rng(2).exponential(1.0, (3, length)) + 0.01 * np.arange(length)
    found = view_of(table, cut, layout(length, 3))
    window = [math.sin(math.pi * (k + 0.5) / length) ** 2 for k in range(length)]
    for place in (8, 64, 101, 203):  # of frequencies of an eighth of a bin each
        expected = 0.0
        for row in table:
            values = [min(float(v), cut) for v in row]
            slope, level = np.polyfit(range(length), values, 1)
            total = sum(
                w * (v - level - slope * k) * cmath.exp(-2j * math.pi * place * k / (8 * length))
                for k, (w, v) in enumerate(zip(window, values, strict=True))
            )
            expected += abs(total / sum(window)) ** 2 / 3
        assert found.fine[place] == pytest.approx(expected, rel=1e-9)
    assert found.cut == cut and found.table is table


def test_power_is_over_a_floor_whose_mean_is_that_of_its_gamma_distribution() -> None:
    length, segments = 4096, 4
    where = layout(length, segments)
    table = np.random.default_rng(3).standard_normal((segments, length))
    found = view_of(table, math.inf, where)
    median = stats.gamma.median(segments)
    expected = found.fine[PADDING * where.bins] * segments / median
    assert found.power * found.mean_floor == pytest.approx(expected, rel=1e-9)
    # White noise of variance 1 has the power sum w^2 / (sum w)^2 at every frequency.
    window = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** 2
    level = (window**2).sum() / window.sum() ** 2
    assert np.mean(found.mean_floor) == pytest.approx(level, rel=0.05)
    assert np.median(found.power) == pytest.approx(1.0, rel=0.05)


def test_a_sine_s_line_is_its_amplitude_over_two_squared() -> None:
    length = 1024
    noise = 1e-6 * np.random.default_rng(4).standard_normal(length)
    sine = 3e-3 * np.sin(2 * np.pi * 100 * np.arange(length) / length)
    where = layout(length)
    found = view_of((sine + noise)[None, :], math.inf, where)
    assert found.fine[PADDING * 100] == pytest.approx(1.5e-3**2, rel=1e-3)
    assert int(where.bins[np.argmax(found.power)]) == 100


@pytest.mark.parametrize(
    ("segments", "neighbours", "wanted"), [(1, 16, 1e-3), (1, 128, 1e-6), (4, 32, 1e-5)]
)
def test_what_white_noise_exceeds_rarely(segments: int, neighbours: int, wanted: float) -> None:
    """The chance integrated over the median's distribution: an order statistic of Gamma values.

    Neighbouring frequencies are tied by the window: 1.944 of them make one independent one.
    """
    found = line_over_floor(segments, neighbours, wanted)
    half = (neighbours / (1.0 + 2.0 * (4.0 / 9.0 + 1.0 / 36.0)) + 1.0) / 2.0

    def tail(u: float) -> float:
        median = stats.gamma.ppf(u, segments)
        return float(stats.beta.pdf(u, half, half) * stats.gamma.sf(found * median, segments))

    chance, _ = integrate.quad(tail, 0.0, 1.0, limit=200, epsabs=1e-12, points=[0.1, 0.3, 0.5])
    assert chance == pytest.approx(wanted, rel=1e-3)


def test_the_nearest_tested_frequency() -> None:
    where = layout(64)
    bins = np.array([-3.0, 7.9, 8.4, 12.6, 20.0, 28.2, 99.0])
    expected = [int(np.argmin(np.abs(where.bins - each))) for each in bins]
    assert nearest(where, bins).tolist() == expected


def test_whitened_power_is_that_of_the_fine_frequency_over_the_floor_of_the_nearest() -> None:
    where = layout(256)
    view = view_of(np.random.default_rng(5).standard_normal((1, 256)), math.inf, where)
    bins = np.array([[8.0, 9.3], [40.12, 77.55]])
    found = whitened(view, where, bins)
    for place, each in np.ndenumerate(bins):
        fine = min(range(view.fine.size), key=lambda k, each=each: abs(k / 8.0 - each))
        near = min(range(where.bins.size), key=lambda k, each=each: abs(where.bins[k] - each))
        assert found[place] == pytest.approx(view.fine[fine] / view.mean_floor[near])
    assert whitened(view, where, where.bins.astype(float)) == pytest.approx(
        view.power * stats.gamma.median(1)
    )
