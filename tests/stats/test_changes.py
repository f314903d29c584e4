"""Change points on series with planted changes, and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.stats.changes import scan
from assay.stats.changes.changes import LEVEL, changes_of, series_of
from assay.stats.changes.reordering import changed, places_of
from assay.stats.changes.scan import LEVELS, SPLITS, alarms, inflation, thresholds
from assay.stats.changes.segments import compared, segmented, shifted
from assay.stats.changes.significance import significant_steps
from found_changes import find_changes


def noise(seed: int, n: int, cov: float = 0.01) -> np.ndarray:
    return 1.0 + cov * np.random.default_rng(seed).standard_normal(n)


def steps(*parts: tuple[int, float]) -> np.ndarray:
    return np.concatenate([np.full(runs, level) for runs, level in parts])


def kinds(values: np.ndarray) -> list[str]:
    return [change.kind for change in find_changes(values).changes]


def test_a_step_is_found_at_its_place_with_its_size() -> None:
    found = find_changes(noise(1, 120) * steps((60, 1.0), (60, 1.03)))
    (change,) = found.changes
    assert change.kind == "step"
    assert change.earliest <= 60 <= change.latest
    assert abs(change.at - 60) <= 2
    assert change.size_ci95[0] < 0.03 < change.size_ci95[1]
    assert change.size_ci95[1] - change.size_ci95[0] < 0.012
    assert change.p < 1e-3
    assert 62 <= change.found <= 70
    assert [(s.start, s.stop) for s in found.segments] == [(0, change.at), (change.at, 120)]
    assert found.segments[1].level == pytest.approx(1.03, rel=0.005)
    assert found.segments[1].deviation == pytest.approx(0.01, rel=0.35)


def test_a_short_stretch_in_a_long_history_has_its_place() -> None:
    found = find_changes(noise(31, 2000) * steps((1500, 1.0), (12, 1.02), (488, 1.0)))
    places = [(c.earliest, c.latest) for c in found.changes if c.kind == "step"]
    near = [(a, b) for a, b in places if 1450 < a <= b < 1560]
    assert len(near) == 2
    assert near[0][0] <= 1500 <= near[0][1] and near[1][0] <= 1512 <= near[1][1]


def test_size_does_not_depend_on_the_unit_nor_the_way() -> None:
    values = noise(2, 100) * steps((50, 1.0), (50, 1.05))
    plain, tiny = find_changes(values), find_changes(values * 1e-9)
    assert [c.at for c in plain.changes] == [c.at for c in tiny.changes]
    assert plain.changes[0].size == pytest.approx(tiny.changes[0].size)
    rates = find_changes(1.0 / values).changes[0]
    assert rates.at == plain.changes[0].at
    assert (1.0 + rates.size) * (1.0 + plain.changes[0].size) == pytest.approx(1.0)


def test_a_report_on_a_run_depends_on_earlier_runs_alone() -> None:
    values = np.log(noise(3, 170) * steps((60, 1.0), (40, 1.05), (70, 1.01)))
    ones = np.ones(values.size)
    whole = alarms(values, ones)
    assert len(whole) >= 2
    nightly = []
    for night in range(1, values.size + 1):
        for alarm in alarms(values[:night], ones[:night]):
            if alarm not in nightly:
                nightly.append(alarm)
    assert nightly == whole


def test_one_step_up_and_back_are_two_changes() -> None:
    found = find_changes(noise(4, 145) * steps((60, 1.0), (25, 1.04), (60, 1.0)))
    assert [(c.kind, c.size > 0) for c in found.changes] == [("step", True), ("step", False)]
    assert [abs(c.at - at) <= 2 for c, at in zip(found.changes, (60, 85), strict=True)] == [
        True
    ] * 2


@pytest.mark.parametrize("place", [0, 30, 58, 59])
@pytest.mark.parametrize("size", [0.08, 0.5, -0.3])
def test_a_single_distant_run_is_no_change_but_an_outlier(place: int, size: float) -> None:
    values = noise(25, 60)
    values[place] *= 1.0 + size
    found = find_changes(values)
    assert found.changes == [] and found.alarms == []
    assert found.outliers == [place]
    assert (found.suspect is not None) == (place == 59)


def test_a_drift_is_no_staircase() -> None:
    course = 1.0 + 0.05 * np.clip((np.arange(160.0) - 40.0) / 120.0, 0.0, 1.0)
    found = find_changes(noise(6, 160) * course)
    (change,) = found.changes
    assert change.kind == "drift"
    assert change.size == pytest.approx(0.05, abs=0.012)
    assert 15 <= change.earliest <= 70 and change.latest == 160
    assert len(found.alarms) > 1
    assert found.segments[-1].drifting
    assert found.segments[-1].level == pytest.approx(1.05, rel=0.01)


def test_the_p_of_a_drift_is_that_of_the_steps_that_it_replaces() -> None:
    """Otherwise a drift could be reported whose p the correction for many cells never tests."""
    course = np.clip((np.arange(40.0) - 8.0) / 24.0, 0.0, 1.0)
    series = series_of(np.exp(0.03 * course + 0.012 * np.random.default_rng(15).normal(size=40)))
    (change,) = changes_of(series).changes
    replaced = significant_steps(series.tested, series.steps, LEVEL, 0.0)
    assert (change.kind, change.p) == ("drift", max(step.p for step in replaced))


def test_a_drift_that_ends_leaves_a_level() -> None:
    course = 1.0 - 0.06 * np.clip((np.arange(240.0) - 60.0) / 90.0, 0.0, 1.0)
    found = find_changes(noise(7, 240) * course)
    assert [c.kind for c in found.changes] == ["drift"]
    assert [s.drifting for s in found.segments] == [False, True, False]
    assert found.segments[-1].level == pytest.approx(0.94, rel=0.01)


def test_a_drift_is_measured_by_time_and_not_by_runs() -> None:
    drawn = np.random.default_rng(8)
    utc = np.sort(drawn.choice([*range(0, 50), *range(50, 400, 7)], 90, replace=False)) * 86400.0
    course = 1.0 + 0.08 * (utc - utc[0]) / (utc[-1] - utc[0])
    found = find_changes(noise(8, 90) * course, utc)
    assert [c.kind for c in found.changes] == ["drift"]
    assert found.changes[0].size == pytest.approx(0.08, abs=0.02)


def test_scatter_that_grows_is_a_change_of_scatter() -> None:
    drawn = np.random.default_rng(9)
    found = find_changes(1.0 + 0.01 * drawn.standard_normal(160) * steps((80, 1.0), (80, 4.0)))
    (change,) = found.changes
    assert change.kind == "spread"
    assert abs(change.at - 80) <= 12
    assert 1.0 < change.size < 6.0
    assert change.size_ci95[0] < 3.0 < change.size_ci95[1]
    assert len(found.segments) == 1


def test_changes_that_later_runs_refute_are_left_out() -> None:
    """A clean series in which an early night raised a false alarm."""
    found = find_changes(noise(7, 400))
    assert [alarm.kind for alarm in found.alarms] == ["step"]
    assert found.changes == []
    assert len(found.segments) == 1


def test_an_outlier_is_alone() -> None:
    z = np.array([0.0, 5.0, 4.5, 0.0, -5.0, 1.6, 6.0])
    scores = scan._scores_of(z, 3.0)
    assert scores.raw.tolist() == [0.0, 3.0, 3.0, 0.0, -3.0, 1.6, 3.0]
    assert scores.clean.tolist() == [0.0, 3.0, 3.0, 0.0, 0.0, 1.6, 3.0]
    # The second was alone until the third came.
    assert scores.newest.tolist() == [0.0, 0.0, 3.0, 0.0, 0.0, 1.6, 3.0]


def test_less_certain_runs_have_less_weight() -> None:
    values = noise(11, 60) * steps((55, 1.0), (5, 1.03))
    sure = np.full(60, 0.001)
    unsure = sure.copy()
    unsure[55:] = 0.05
    assert len(find_changes(values, scatter=sure).changes) == 1
    assert find_changes(values, scatter=unsure).changes == []
    assert len(find_changes(values, scatter=np.full(60, np.nan)).changes) == 1


def test_series_without_scatter() -> None:
    assert find_changes(np.ones(50)).changes == []
    (change,) = find_changes(steps((25, 1.0), (25, 1.001))).changes
    assert change.at == change.earliest == change.latest == 25
    assert change.size == pytest.approx(0.001)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [1.0] * 7, [3.0, 1.0, 2.0]])
def test_few_runs_say_nothing(values: list[float]) -> None:
    found = find_changes(values)
    assert found.changes == [] and found.suspect is None
    assert [(s.start, s.stop) for s in found.segments] == [(0, len(values))]


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [math.inf]])
def test_invalid_results_are_refused(values: list[float]) -> None:
    with pytest.raises(AssayError):
        find_changes(values)


def test_the_segmentation_is_optimal() -> None:
    """Against all segmentations, one by one."""
    values = np.random.default_rng(12).standard_normal(14) + steps((5, 0.0), (5, 2.0), (4, -1.0))

    def cost(places: tuple[int, ...]) -> float:
        edges = [0, *places, values.size]
        parts = [values[a:b] for a, b in itertools.pairwise(edges)]
        return sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)

    for count in (1, 2, 3):
        possible = [
            places
            for places in itertools.combinations(range(2, values.size - 1), count)
            if all(b - a >= 2 for a, b in itertools.pairwise([0, *places, values.size]))
        ]
        assert segmented(values, count) == list(min(possible, key=cost))


@pytest.mark.parametrize("pooled", [True, False])
def test_the_statistic_is_student_s(pooled: bool) -> None:
    """Running sums against Student's t written out; pooled, against scipy.stats.ttest_ind."""
    from scipy.stats import t, ttest_ind

    x = np.random.default_rng(13).standard_normal(40)
    newest = x if pooled else x + 0.25  # what is known of the newest run may differ
    scores = scan._Scores(x, x, newest)
    table = scan._exceeding(
        *(scores, np.ones(40), np.arange(20, 40), SPLITS, LEVELS, 8, np.empty(0), 0.0),
        pooled=pooled,
    )
    for row, n in enumerate(range(20, 40)):
        for column, k in enumerate(SPLITS):
            near = x[: max(n - k + 1, 0)]
            far = np.append(x[max(n - k + 1, 0) : n], newest[n])
            if near.size < 8:
                assert table.statistic[row, column] == 0.0
                continue
            error = near.std(ddof=1) * math.sqrt(1 / near.size + 1 / far.size)
            expected, freedom = (far.mean() - near.mean()) / error, near.size - 1
            if pooled:
                expected, freedom = ttest_ind(far, near).statistic, near.size + far.size - 2
            assert table.statistic[row, column] == pytest.approx(expected)
            assert table.threshold[row, column] == pytest.approx(
                t.isf(LEVELS[column] / 2, freedom), rel=1e-6
            )


def test_the_comparison_of_two_stretches_is_student_s_test() -> None:
    from scipy.stats import ttest_ind

    drawn = np.random.default_rng(14)
    before, after = drawn.standard_normal(12), drawn.standard_normal(9) + 0.7
    mine = compared((before, np.ones(12)), (after, np.ones(9)))
    theirs = ttest_ind(after, before)
    interval = theirs.confidence_interval(0.95)
    assert mine.p == pytest.approx(theirs.pvalue)
    assert mine.interval == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.6])
def test_inflation_is_the_variance_of_a_mean_of_dependent_values(rho: float) -> None:
    for n in (1, 2, 5, 40):
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        exact = float(np.sum(rho**distance)) / n
        assert inflation(rho, np.array([n]))[0] == pytest.approx(exact)


def test_thresholds_are_student_s_quantiles() -> None:
    from scipy.stats import t

    assert thresholds(0.001)[[1, 7, 300]] == pytest.approx([t.isf(0.0005, d) for d in (1, 7, 300)])


@settings(max_examples=40)
@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=80),
    st.integers(0, 2**32 - 1),
)
def test_anything_positive_has_a_history(values: list[float], seed: int) -> None:
    """For any input: places in order, segments that cover it without a gap, valid intervals."""
    drawn = np.random.default_rng(seed)
    utc = np.cumsum(drawn.exponential(86400.0, len(values)))
    found = find_changes(values, utc)
    edges = [(s.start, s.stop) for s in found.segments]
    assert edges[0][0] == 0 and edges[-1][1] == len(values)
    assert all(a < b for a, b in edges)
    assert all(left[1] == right[0] for left, right in itertools.pairwise(edges))
    for change in found.changes:
        assert 0 <= change.earliest <= change.at <= change.latest <= len(values)
        assert change.size_ci95[0] <= change.size <= change.size_ci95[1]
        assert 0.0 <= change.p <= 1.0
    for segment in found.segments:
        if segment.level_ci95 is not None:
            assert segment.level_ci95[0] <= segment.level <= segment.level_ci95[1]


# Bounds of the binomial distribution: with the stated rates, a test fails by chance less than once
# in 1,000 seeds; the seeds are fixed. benchmarks/rates/changes.py has rates with narrow intervals.


@pytest.mark.parametrize("family", ["normal", "lognormal", "t3", "modes"])
def test_false_alarms_come_less_than_once_in_1000_runs(family: str) -> None:
    drawn = np.random.default_rng(15)
    shapes = {
        "normal": lambda n: drawn.standard_normal(n),
        "lognormal": lambda n: np.exp(0.5 * drawn.standard_normal(n)),
        "t3": lambda n: drawn.standard_t(3, n) / math.sqrt(3.0),
        "modes": lambda n: 3.0 * (drawn.random(n) < 0.5) + drawn.standard_normal(n),
    }
    runs = 20 * 300
    found = sum(len(find_changes(1.0 + 0.01 * shapes[family](300)).alarms) for _ in range(20))
    from scipy.stats import binom

    assert found <= binom.isf(1e-3, runs, 1e-3)


@pytest.mark.parametrize(
    ("before", "stated"), [(20, 0.60), pytest.param(50, 0.80, marks=pytest.mark.long)]
)
def test_a_step_of_two_deviations_is_noticed_within_eight_runs(before: int, stated: float) -> None:
    drawn = np.random.default_rng(16)
    trials, found = 60, 0
    for _ in range(trials):
        noise = 1.0 + 0.01 * drawn.standard_normal(before + 8)
        found += bool(find_changes(noise * steps((before, 1.0), (8, 1.02))).changes)
    from scipy.stats import binom

    assert found >= binom.ppf(1e-3, trials, stated)


def test_kinds_on_the_whole() -> None:
    assert kinds(noise(18, 400)) == []


def two_levels(seed: int, runs: int, share: float) -> np.ndarray:
    """CoV 0.5%, with this share of the runs 3% slower."""
    drawn = np.random.default_rng(seed)
    return 1.0 + 0.005 * drawn.standard_normal(runs) + 0.03 * (drawn.random(runs) < share)


def test_no_step_is_found_before_it_happened() -> None:
    """In this series the whole places the step after the run by which it was noticed."""
    found = find_changes(two_levels(47, 80, 0.3) * steps((50, 1.0), (30, 1.015)))
    assert all(change.found >= change.at for change in found.changes)
    assert any(alarm.found < 50 for alarm in found.alarms)


@pytest.mark.parametrize("seed", [20, 61, 85, 165, 178, 250])
def test_runs_at_two_levels_have_no_steps(seed: int) -> None:
    assert kinds(two_levels(seed, 90, 0.3)) == []


def test_a_change_of_the_share_of_slow_runs_is_called_that() -> None:
    values = np.concatenate([two_levels(1, 50, 0.15), two_levels(2, 50, 0.8)])
    (change,) = find_changes(values).changes
    assert change.kind == "modes" and change.modes is not None
    assert change.modes.apart == pytest.approx(0.03, abs=0.004)
    assert change.modes.before == pytest.approx(0.15, abs=0.1)
    assert change.modes.after == pytest.approx(0.8, abs=0.12)
    assert change.size_ci95[0] < 0.65 * 0.03 < change.size_ci95[1]
    # A step of both levels is none of their shares.
    (step,) = find_changes(two_levels(3, 100, 0.2) * steps((50, 1.0), (50, 1.04))).changes
    assert (step.kind, step.modes) == ("step", None)


@pytest.mark.parametrize("family", ["normal", "two levels", "lognormal", "Pareto", "AR 0.6"])
def test_the_chance_of_the_best_split_is_one(family: str) -> None:
    """Of flat series p is at most 10% in about 10%, of whatever distribution."""
    from scipy.stats import binom

    drawn = np.random.default_rng(6)
    below, trials, rho = 0, 80, 0.6 if "AR" in family else 0.0
    for _ in range(trials):
        x = {
            "two levels": lambda: 0.1 * drawn.standard_normal(40) + (drawn.random(40) < 0.3),
            "lognormal": lambda: drawn.lognormal(0.0, 1.0, 40),
            "Pareto": lambda: drawn.pareto(1.5, 40),
        }.get(family, lambda: drawn.standard_normal(40))()
        for run in range(1, 40 * (rho > 0)):
            x[run] = rho * x[run - 1] + math.sqrt(1 - rho**2) * x[run]
        below += changed(x, rho) <= 0.1
    assert below <= binom.isf(1e-3, trials, 0.12)


def test_the_place_and_the_shift_are_by_ranks_and_orders() -> None:
    drawn = np.random.default_rng(8)
    before, after = drawn.pareto(1.5, 25), 8.0 + drawn.pareto(1.5, 20)
    found = shifted(before, after)
    assert found.size == pytest.approx(np.median(np.subtract.outer(after, before)))
    assert found.interval[0] < 8.0 < found.interval[1] and found.p < 1e-6
    first, last = places_of(np.concatenate([before, after]), 100)
    assert 100 < first <= 125 <= last < 145


@pytest.mark.parametrize("seed", [1, 2])
def test_one_series_serves_all_levels(seed: int) -> None:
    """What a series keeps of one question changes no answer to the next."""
    values = noise(seed, 150) * steps((60, 1.0), (50, 1.02), (40, 1.005))
    series = series_of(values)
    for level, dependence in ((0.01, 0.0), (0.001, 0.3), (0.01, 0.0), (0.05, 0.6)):
        assert changes_of(series, level, dependence) == find_changes(
            values, level=level, least_dependence=dependence
        )
