"""What the cells of a run show about successive launches: limits, lasting modes, coverage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.stats.cells.dependence import NEEDED, LaunchSeries, dependence_limits
from assay.stats.cells.expected_coverage import UNKNOWN, expected_coverage
from assay.stats.core.intervals import median_interval
from assay.stats.core.launches import (
    autoregressive_size,
    effective_launches,
    launch_interval,
    mode_split,
)


def autoregressive(rng: np.random.Generator, cells: int, n: int, rho: float) -> np.ndarray:
    rows = rng.standard_normal((cells, n))
    for launch in range(1, n):
        rows[:, launch] = rho * rows[:, launch - 1] + (1 - rho**2) ** 0.5 * rows[:, launch]
    return 100.0 + rows


def lasting(rng: np.random.Generator, cells: int, n: int, share: float = 0.5) -> np.ndarray:
    """Two modes that last five launches."""
    slow = rng.random((cells, n // 5 + 2)) < share
    begun = rng.integers(0, 5, (cells, 1))
    modes = np.take_along_axis(slow, (np.arange(n) + begun) // 5, axis=1)
    return 100.0 + 4.0 * modes + 0.3 * rng.standard_normal((cells, n))


def limits(rows: np.ndarray) -> list[float]:
    series = [LaunchSeries(range(row.size), row) for row in rows]
    return [each.autocorrelation for each in dependence_limits(series)]


@pytest.mark.parametrize(("n", "rho"), [(6, 0.3), (12, 0.3), (12, 0.5), (30, 0.7)])
def test_the_limit_is_above_the_autocorrelation_in_most_runs_and_not_far(
    n: int, rho: float
) -> None:
    rng = np.random.default_rng(n)
    found = np.array([limits(autoregressive(rng, 30, n, rho))[0] for _ in range(100)])
    assert np.mean(found >= rho) >= 0.75
    assert np.median(found) <= rho + 0.35
    independent = [limits(autoregressive(rng, 30, n, 0.0))[0] for _ in range(50)]
    assert np.median(independent) < 0.25


def test_cells_that_share_their_disturbances_count_as_few() -> None:
    rng = np.random.default_rng(4)
    common = rng.standard_normal(12)
    rows = 100.0 + common + 0.2 * rng.standard_normal((40, 12))
    found = dependence_limits([LaunchSeries(range(12), row) for row in rows])
    assert all(each.cells < NEEDED and each.autocorrelation == UNKNOWN for each in found)
    # The same launches in other orders are independent cells.
    apart = np.array([rng.permutation(row) for row in rows])
    found = dependence_limits([LaunchSeries(range(12), row) for row in apart])
    assert min(each.cells for each in found) > 15


def test_a_cell_does_not_testify_for_itself() -> None:
    rng = np.random.default_rng(5)
    rows = autoregressive(rng, 12, 20, 0.0)
    before = limits(rows)
    rows[3] = np.sort(rows[3])
    after = limits(rows)
    assert after[3] == pytest.approx(before[3])
    assert after[4] > before[4]


def test_few_constant_and_short_cells_show_nothing() -> None:
    rng = np.random.default_rng(6)
    assert limits(autoregressive(rng, 1, 30, 0.0)) == [UNKNOWN]
    assert set(limits(np.ones((9, 8)))) == {UNKNOWN}
    assert set(limits(autoregressive(rng, 9, 5, 0.0))) == {UNKNOWN}
    assert dependence_limits([]) == []


def test_launches_are_compared_by_their_number_in_the_run() -> None:
    """Cells measured in different launches share nothing."""
    rng = np.random.default_rng(7)
    common = rng.standard_normal(24)
    early = [LaunchSeries(range(12), common[:12] + 0.1 * rng.standard_normal(12))]
    late = [LaunchSeries(range(12, 24), common[:12] + 0.1 * rng.standard_normal(12))]
    (found, *_) = dependence_limits([early[0], *late * 5])
    (same, *_) = dependence_limits([early[0]] * 6)
    assert same.cells < 2.0
    assert found.cells < 2.0  # the five late ones are alike


def test_modes_that_last_are_seen_in_six_launches_of_many_cells() -> None:
    rng = np.random.default_rng(8)
    seen = [limits(lasting(rng, 40, 6))[0] for _ in range(40)]
    drawn = [limits(rng.permuted(lasting(rng, 40, 6), axis=1))[0] for _ in range(40)]
    assert np.mean(np.array(seen) >= 0.75) > 0.9
    assert np.mean(np.array(drawn) >= 0.75) < 0.25


@pytest.mark.parametrize("order", [(0, 0, 0, 1, 1, 1), (0, 1, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1)])
def test_stays_in_a_mode_against_all_orders(order: tuple[int, ...]) -> None:
    def stays(sides: tuple[int, ...]) -> int:
        return 1 + sum(one != other for one, other in itertools.pairwise(sides))

    scatter = 0.001 * np.arange(6)
    split = mode_split(np.array(order) + scatter)
    every = [stays(each) for each in itertools.permutations(order)]
    assert split is not None and split.stays == stays(order)
    assert split.chance == pytest.approx(np.mean([each <= split.stays for each in every]))
    assert split.expected == pytest.approx(np.mean(every))
    assert split.variance == pytest.approx(np.var(every))


def test_one_mode_has_no_stays() -> None:
    rng = np.random.default_rng(9)
    found = [mode_split(row, least=2) for row in rng.standard_normal((200, 20))]
    assert sum(each is not None for each in found) < 20
    assert mode_split(np.ones(8)) is None
    assert mode_split(np.array([1.0, 2.0])) is None


def test_autoregressive_launches_are_worth_fewer_independent_ones() -> None:
    """The variance of the median of 30 launches, against independent series of other lengths."""
    rows = autoregressive(np.random.default_rng(11), 6000, 30, 0.5)
    worth = autoregressive_size(30, 0.5)
    alone = np.random.default_rng(12).standard_normal((6000, round(worth)))
    assert np.median(rows, axis=1).std() == pytest.approx(np.median(alone, axis=1).std(), rel=0.08)
    assert autoregressive_size(30, 0.0) == 30.0


def test_the_interval_spans_both_modes_if_they_last() -> None:
    rows = lasting(np.random.default_rng(10), 150, 30)
    holds = [low <= 102.0 <= high for low, high in map(launch_interval, rows)]
    plain = [low <= 102.0 <= high for low, high in map(median_interval, rows)]
    assert np.mean(holds) > 0.93
    assert np.mean(plain) < 0.8
    stays = np.repeat([100.0, 104.0, 100.0], 10) + 0.1 * np.arange(30) / 30
    assert effective_launches(stays) <= 3.0


@pytest.mark.parametrize(("n", "rho"), [(6, 0.0), (6, 0.3), (8, 0.5), (12, 0.7), (19, 0.5)])
def test_expected_coverage_of_few_launches(n: int, rho: float) -> None:
    rows = autoregressive(np.random.default_rng(n), 1500, n, rho)
    holds = [low <= 100.0 <= high for low, high in map(launch_interval, rows)]
    assert expected_coverage(n, rho) == pytest.approx(np.mean(holds), abs=0.03)


@pytest.mark.parametrize(("n", "rho"), [(20, 0.7), (30, 0.3), (30, 0.7)])
def test_expected_coverage_from_twenty_launches_on(n: int, rho: float) -> None:
    rows = autoregressive(np.random.default_rng(n), 400, n, rho)
    holds = [low <= 100.0 <= high for low, high in map(launch_interval, rows)]
    assert expected_coverage(n, rho) == pytest.approx(np.mean(holds), abs=0.035)
    assert expected_coverage(n, rho) > expected_coverage(19, rho)
