"""The best of several results is estimated without the luck that made it the best."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.arrays import Floats
from assay.stats.compare.chosen import (
    chosen_estimate,
    chosen_factor,
    chosen_interval,
    extended,
    squared_errors,
)
from assay.stats.core.intervals import Estimate, median_interval


def best_of(rows: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Relative errors, and whether the interval holds the truth: as measured, and corrected."""
    chosen = int(np.argmin(np.median(rows, axis=1)))
    own = Estimate(float(np.median(rows[chosen])), median_interval(rows[chosen]))
    found = chosen_estimate(own, list(rows), chosen)
    errors = np.array([own.value, found.value]) / truth[chosen] - 1.0
    held = [low <= truth[chosen] <= high for low, high in (own.interval, found.interval)]
    return errors, np.array(held)


def simulated(trials: int, spread: float, seed: int, count: int = 30) -> tuple[Floats, Floats]:
    """Means over simulated choices of one of ``count`` cells with six launches, CoV 2%."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(trials):
        truth = 10.0 * np.exp(spread * random.normal(size=count))
        found.append(best_of(truth[:, None] * np.exp(0.02 * random.normal(size=(count, 6))), truth))
    return np.mean([errors for errors, _ in found], 0), np.mean([held for _, held in found], 0)


def test_the_best_of_thirty_equal_cells_does_not_look_better() -> None:
    errors, held = simulated(400, 0.0, 1)
    assert errors[0] < -0.015 and held[0] < 0.86  # as measured
    assert abs(errors[1]) < 0.001 and held[1] >= 0.92


@pytest.mark.parametrize("spread", [0.004, 0.02, 0.2])
def test_of_cells_that_differ_the_interval_holds_the_truth_too(spread: float) -> None:
    errors, held = simulated(150, spread, 2)
    assert held[1] >= 0.92
    assert abs(errors[1]) < 0.008


def test_a_clear_choice_and_one_without_scatter_are_left_alone() -> None:
    own = Estimate(10.0, (9.9, 10.1))
    clear = [[10.0, 9.9, 10.1, 10.05, 9.95, 10.0], [12.0, 12.1, 11.9, 12.0, 12.05, 11.95]]
    assert chosen_estimate(own, clear, 0) == (10.0, (9.9, 10.1), 1)
    assert chosen_estimate(own, clear[:1], 0) == (*own, 1)
    assert chosen_estimate(own, [[10.0], [10.1]], 0) == (*own, 1)
    assert chosen_estimate(own, [[10.0] * 6, [10.0] * 6], 0) == (*own, 1)


def test_the_estimate_lies_between_the_chosen_and_the_comparable() -> None:
    random = np.random.default_rng(4)
    rows = 10.0 * np.exp(0.02 * random.normal(size=(8, 6)))
    chosen = int(np.argmin(np.median(rows, axis=1)))
    median = float(np.median(rows[chosen]))
    found = chosen_estimate(Estimate(median, (9.0, 10.0)), list(rows), chosen)
    assert found.among == 8
    common = float(np.exp(np.log(np.median(rows, axis=1)).mean()))
    assert median < found.value <= common * (1.0 + 1e-12)
    assert found.interval == (9.0, pytest.approx(10.0 * found.value / median))
    # The unit of the estimate is free, as node-seconds; without an interval none is made.
    twice = chosen_estimate(Estimate(2.0 * median, None), list(rows), chosen)
    assert twice.interval is None and twice.value == pytest.approx(2.0 * found.value)
    # A candidate far off changes nothing.
    more = chosen_estimate(Estimate(median, None), [*rows, 30.0 * np.ones(6)], chosen)
    assert more.among == 8


def test_a_candidate_of_few_launches_counts_for_less() -> None:
    random = np.random.default_rng(5)
    best = 10.0 * np.exp(0.02 * random.normal(size=12))
    own = Estimate(float(np.median(best)), None)
    by_many = chosen_estimate(own, [best, 1.01 * best], 0)
    by_one = chosen_estimate(own, [best, [1.01 * float(np.median(best))]], 0)
    assert by_many.among == by_one.among == 2
    assert math.log(by_one.value / own.value) < math.log(by_many.value / own.value)


def test_the_interval_of_the_greatest_of_equal_ratios_holds_the_true_ratio() -> None:
    """Twenty equal ratios with an error of 1%: the interval of the greatest one alone misses it."""
    random = np.random.default_rng(4)
    held = np.zeros(2)
    for _ in range(400):
        logs = 0.01 * random.normal(size=20)
        ratios = [Estimate(math.exp(x), (math.exp(x - 0.0196), math.exp(x + 0.0196))) for x in logs]
        top = int(np.argmax(logs))
        for place, interval in enumerate((ratios[top].interval, chosen_interval(ratios, top)[0])):
            assert interval is not None
            held[place] += interval[0] <= 1.0 <= interval[1]
    assert held[0] / 400 < 0.7
    assert held[1] / 400 > 0.97


def test_the_interval_of_a_clearly_greatest_ratio_stays() -> None:
    ratios = [Estimate(1.0, (0.99, 1.01)), Estimate(1.5, (1.49, 1.51)), Estimate(1.0, None)]
    assert chosen_interval(ratios, 1) == ((1.49, 1.51), 1)
    assert chosen_interval(ratios, 2) == (None, 1)
    assert chosen_interval(ratios[:1], 0) == ((0.99, 1.01), 1)
    near = [Estimate(1.0, (0.99, 1.01)), Estimate(1.005, (0.995, 1.015)), ratios[1]]
    assert chosen_interval(near, 0)[1] == 2  # the third one is not comparable


def test_the_factor_draws_a_chosen_result_to_the_mean_of_those_that_are_alike() -> None:
    """Without a variance between them, all of the distance is luck."""
    medians = np.array([0.0, 0.001, -0.001, 0.5])
    by, among = chosen_factor(medians, np.full(4, 1e-4), 1)
    assert among == 3
    assert math.log(by) == pytest.approx(-0.001)
    assert chosen_factor(medians, np.full(4, 1e-4), 3) == (1.0, 1)
    assert extended((1.0, 2.0), 0.9) == (0.9, 2.0)
    assert extended((1.0, 2.0), 1.1) == (1.0, 2.2)
    assert extended(None, 1.1) is None


def test_the_factor_of_two_equal_results_leads_to_their_mean() -> None:
    # Both differ by less than their errors: the expectation is the mean of the logarithms.
    by, among = chosen_factor([0.0, 0.001], np.array([1e-4, 1e-4]), 1)
    assert among == 2 and by == pytest.approx(math.exp(-0.0005))
    # A result far off doesn't count as comparable.
    assert chosen_factor([0.0, 1.0], np.array([1e-4, 1e-4]), 1) == (1.0, 1)


def test_an_interval_is_only_extended() -> None:
    assert extended((9.0, 11.0), 0.9) == (pytest.approx(8.1), 11.0)
    assert extended((9.0, 11.0), 1.1) == (9.0, pytest.approx(12.1))
    assert extended(None, 0.9) is None


def test_errors_come_from_the_scatter_near_the_chosen_one() -> None:
    near = squared_errors([0.0, 0.01], [0.02, 0.04], [6, 6], 0)
    # pi/2 times the pooled variance over the number of launches.
    assert near == pytest.approx([math.pi / 2.0 * (0.02**2 + 0.04**2) / 2.0 / 6.0] * 2)
    # The scatter of a result far away does not count, and few launches have a larger error.
    far = squared_errors([0.0, 0.01, 2.0], [0.02, 0.02, 0.5], [6, 24, 6], 0)
    assert far[:2] == pytest.approx([math.pi / 2.0 * 0.02**2 / n for n in (6, 24)])
