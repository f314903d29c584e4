"""Stretches between changes: each piece against a slow version of its definition."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import stats

from assay.stats.changes.scan import Alarm
from assay.stats.changes.segments import (
    Rows,
    bounded,
    compared,
    difference_of,
    drift_of,
    place_interval,
    placed,
    residuals_of,
    tidied,
)


def rows(x: np.ndarray, weights: np.ndarray | None = None) -> Rows:
    weights = np.ones(x.size) if weights is None else weights
    return Rows(x, x.copy(), weights, np.arange(x.size, dtype=np.float64))


def noise(seed: int, n: int, deviation: float = 0.01) -> np.ndarray:
    return deviation * np.random.default_rng(seed).standard_normal(n)


def test_tidied_values_are_clipped_around_their_own_stretch() -> None:
    x = np.concatenate([noise(1, 30), 1.0 + noise(2, 20)])
    x[10], x[11] = 0.2, 0.19  # two together are no outlier, but clipped
    x[35] = 0.5  # alone, far from its neighbours
    tidy, outliers = tidied(x, [30])
    assert outliers == [35]
    for place in range(50):
        part = x[:30].tolist() if place < 30 else x[30:].tolist()
        centre = statistics.median(part)
        scale = 1.4826 * statistics.median(abs(v - centre) for v in part)
        beyond = sum(abs(v - centre) > 2.5 * scale for v in part)
        clip = 2.25 if (beyond + 0.5) / (len(part) + 1) > 0.035 else 3.0
        expected = min(max(x[place], centre - clip * scale), centre + clip * scale)
        expected = centre if place == 35 else expected
        assert tidy[place] == pytest.approx(expected, abs=1e-15)


def test_one_or_two_values_are_left_as_they_are() -> None:
    x = np.array([0.0, 0.01, 0.02, 5.0, 9.0, 7.0])
    tidy, outliers = tidied(x, [3, 5])
    assert tidy[3:].tolist() == [5.0, 9.0, 7.0]
    assert outliers == []


def test_bounded_clips_beyond_the_outermost_levels_alone() -> None:
    x = np.concatenate([noise(3, 20), 1.0 + noise(4, 20)])
    x[5], x[12], x[30] = -0.8, 0.5, 3.0
    values = x.tolist()
    values[12] = (x[11] + x[13]) / 2.0
    levels = statistics.median(values[:20]), statistics.median(values[20:])
    rest = [v - levels[place >= 20] for place, v in enumerate(values)]
    robust = 3.0 * 1.4826 * statistics.median(map(abs, rest))
    scale = math.sqrt(statistics.mean(min(max(r, -robust), robust) ** 2 for r in rest))
    expected = [min(max(v, levels[0] - 3 * scale), levels[1] + 3 * scale) for v in values]
    assert bounded(x, [12], [0, 20, 40]) == pytest.approx(expected, abs=1e-14)
    # What lies between the two levels stays where it is.
    assert bounded(x, [], [0, 20, 40])[12] == 0.5
    # Of a part of the series only that is given.
    assert bounded(x, [], [20, 30, 40]).size == 20


def test_near_steps_are_placed_where_least_squares_has_them_together() -> None:
    """Of all pairs of places in the 150 runs before the first, and up to the series' end."""
    x = np.concatenate([noise(5, 185), 0.05 + noise(6, 15), 0.12 + noise(7, 20)])
    noticed = [Alarm("step", 192, 195, 1e-4), Alarm("step", 203, 210, 1e-5)]
    first = 192 - 150
    values = bounded(x, [], [first, 192, 203, 220])
    sums = list(itertools.accumulate(values.tolist(), initial=0.0))

    def fitted(a: int, b: int) -> float:
        bounds = itertools.pairwise((0, a, b, values.size))
        return sum((sums[high] - sums[low]) ** 2 / (high - low) for low, high in bounds)

    pairs = itertools.combinations(range(2, values.size - 1), 2)
    best = max((ab for ab in pairs if ab[1] - ab[0] >= 2), key=lambda ab: fitted(*ab))
    found = placed(x, [], noticed)
    assert tuple(each.at - first for each in found) == best
    assert abs(found[0].at - 185) < 3 and abs(found[1].at - 200) < 3
    assert [(each.found, each.p) for each in found] == [(195, 1e-4), (210, 1e-5)]


def test_too_few_runs_leave_a_step_where_it_was_noticed() -> None:
    noticed = [Alarm("step", 1, 2, 1e-4)]
    assert placed(np.array([0.0, 1.0, 1.1]), [], noticed) == noticed
    assert placed(np.zeros(5), [], []) == []


def test_the_difference_of_two_stretches_is_students() -> None:
    x = np.concatenate([noise(8, 12), 0.03 + noise(9, 17), noise(10, 5)])
    found = difference_of(rows(x), [0, 12, 29], 0.0)
    expected = stats.ttest_ind(x[12:29], x[:12])
    assert found.size == pytest.approx(x[12:29].mean() - x[:12].mean(), rel=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-9)


def test_the_difference_goes_by_clipped_values_weights_and_dependence() -> None:
    x = np.concatenate([noise(11, 10), 0.02 + noise(12, 14)])
    weights = np.random.default_rng(13).uniform(0.5, 2.0, 24)
    own = Rows(np.zeros(24), x, weights, np.arange(24.0))
    rho, means, errors, squares = 0.4, [], 0.0, 0.0
    for part in (slice(0, 10), slice(10, 24)):
        n, w, total = len(x[part]), weights[part], sum(weights[part])
        means.append(sum(w * x[part]) / total)
        squares += sum(w * (x[part] - means[-1]) ** 2)
        # The variance of a mean of n neighbours, by the sum of all their correlations.
        grown = sum(rho ** abs(i - j) for i in range(n) for j in range(n)) / n
        errors += grown / total
    error = math.sqrt(squares / 22 * errors)
    found = difference_of(own, [0, 10, 24], rho)
    assert found.size == pytest.approx(means[1] - means[0], rel=1e-12)
    assert found.p == pytest.approx(2 * stats.t.sf(found.size / error, 22), rel=1e-9)
    parts = (x[:10], weights[:10]), (x[10:], weights[10:])
    assert found == compared(*parts, rho=rho)


def test_residuals_are_the_clipped_values_less_the_means_of_their_stretches() -> None:
    x = np.array([1.0, 3.0, 10.0, 11.0, 15.0, 7.0])
    own = Rows(np.zeros(6), x, np.ones(6), np.arange(6.0))
    steps = [Alarm("step", 2, 3, 0.0), Alarm("step", 5, 5, 0.0)]
    assert residuals_of(own, steps).tolist() == [-1.0, 1.0, -2.0, -1.0, 3.0, 0.0]
    assert residuals_of(own, []) == pytest.approx(x - x.mean())


@pytest.mark.parametrize(("size", "rho"), [(0.01, 0.0), (0.02, 0.0), (0.02, 0.3)])
def test_the_set_of_places_holds_95_percent_of_the_likelihood(size: float, rho: float) -> None:
    values = np.concatenate([noise(14, 20), size + noise(15, 25)])
    n = values.size
    rest = {
        at: sum((values[:at] - values[:at].mean()) ** 2)
        + sum((values[at:] - values[at:].mean()) ** 2)
        for at in range(1, n)
    }
    least = min(rest.values())
    variance = least / (n - 3) * (1 + rho) / (1 - rho)
    weight = {at: math.exp(-(r - least) / (2 * variance)) for at, r in rest.items()}
    inside, total = [], 0.0
    for at in sorted(weight, key=lambda at: -weight[at]):
        inside.append(at)
        total += weight[at]
        if total >= 0.95 * sum(weight.values()):
            break
    assert len(inside) > 1
    assert place_interval(values, 100, rho) == (100 + min(inside), 100 + max(inside))


def ramp(n: int, first: int, last: int, height: float) -> np.ndarray:
    return height * np.clip((np.arange(n) - first) / (last - first), 0.0, 1.0)


def test_a_drift_is_the_ramp_of_least_squares() -> None:
    """All ramps between the places that are tried, each fitted by numpy's least squares."""
    n, rho = 100, 0.2
    y = ramp(n, 30, 78, 0.08) + noise(16, n)
    tried = sorted({round(k * (n - 1) / 23) for k in range(24)})
    best = None
    pairs = [(a, b) for a in tried for b in tried if b - a >= 8]
    grown = (1 + rho) / (1 - rho)
    for a, b in pairs:
        design = np.column_stack([np.ones(n), ramp(n, a, b, 1.0)])
        solved, squares, _, _ = np.linalg.lstsq(design, y, rcond=None)
        free = 2 + (a > 0) + (b < n - 1)
        criterion = n / grown * math.log(squares[0]) + free * math.log(n / grown)
        if best is None or criterion < best[0]:
            best = criterion, a, b, solved[1], squares[0], design
    assert best is not None
    _, a, b, slope, rest, design = best
    found = drift_of(rows(y), [0, 50, n], rho)
    assert found is not None
    assert (found.first, found.last) == (a, b)
    assert found.size == pytest.approx(slope, rel=1e-9)
    error = math.sqrt(rest / (n - 4) * grown * np.linalg.inv(design.T @ design)[1, 1])
    reach = stats.t.ppf(0.975, n - 4) * error
    assert found.interval == pytest.approx((slope - reach, slope + reach), rel=1e-9)


def test_steps_are_no_drift() -> None:
    step = np.repeat([0.0, 0.08], 50) + noise(17, 100)
    assert drift_of(rows(step), [0, 50, 100], 0.0) is None
    # Fewer runs than two of the shortest drifts.
    assert drift_of(rows(ramp(15, 0, 14, 1.0)), [0, 7, 15], 0.0) is None


def test_a_drift_to_the_last_run_ends_with_the_series_or_before_the_next_change() -> None:
    y = ramp(120, 40, 79, 0.1) + noise(18, 120)
    y[80:] += 0.5
    assert drift_of(rows(y), [0, 60, 80], 0.0)[1] == 77
    assert drift_of(rows(y[:80]), [0, 60, 80], 0.0)[1] == 80
