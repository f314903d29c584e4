"""Online monitoring of step times: exact properties, planted changes, theoretical rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.changes.control_charts import ControlChart, Reference, limit
from assay.stats.changes.online import Monitor, period
from assay.stats.changes.step_change import Settings, StepChange
from assay.stats.core.proportions import clopper_pearson
from assay.stats.core.totals import total_time
from step_series import CLEAN, autocorrelated, lognormal, normal

SEED = 20031
BEFORE = 200


def changes(values, settings=None):
    monitor = Monitor(settings)
    found = [change for value in values if (change := monitor.add(float(value)))]
    return found, monitor


def alarms(values, settings=None):
    return [change for change in changes(values, settings)[0] if change.alarm]


def shifted(draw, seed, factor, n=100, before=BEFORE):
    values = draw(np.random.default_rng(seed), before + n)
    values[before:] *= factor
    return values


# The pieces.


@pytest.mark.parametrize("allowance", [0.25, 0.5, 1.0])
def test_limits_have_their_nominal_run_length(allowance):
    # Runs of a CUSUM of true normal scores; their length is exponential, so that 300 of them give
    # the mean to 6% (one deviation).
    rng = np.random.default_rng(SEED)
    asked, runs = 300.0, []
    chart = ControlChart(allowance, asked)
    while len(runs) < 300:
        chart.reset(0)
        length = 0
        for length, score in enumerate(rng.standard_normal(20_000), 1):
            chart.add(float(score), length)
            if chart.value > chart.limit:
                break
        runs.append(length)
    assert 0.75 * asked < np.mean(runs) < 1.35 * asked


def test_limits_grow_with_the_run_length_and_shrink_with_the_allowance():
    assert limit(0.5, 1e3) < limit(0.5, 1e4) < limit(0.5, 1e5)
    assert limit(1.0, 1e4) < limit(0.5, 1e4) < limit(0.25, 1e4)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(0, 20))
def test_shares_are_mid_ranks(values, value):
    reference = Reference([float(v) for v in values])
    everything = [*values, value]
    rank = stats.rankdata(everything)[-1]
    assert reference.share(float(value)) == pytest.approx((rank - 0.5) / len(everything))


def test_sequential_ranks_are_uniform_and_independent_whatever_the_distribution():
    rng = np.random.default_rng(SEED)
    reference = Reference()
    shares = []
    for value in rng.pareto(0.7, 3000):
        if len(reference) >= 20:
            shares.append(reference.share(value))
        reference.add(value)
    assert stats.kstest(shares, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(shares[1:], shares[:-1])[0, 1]) < 4.0 / math.sqrt(len(shares))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1.1, 1.3]))
def test_only_the_order_of_steps_moves_the_charts(seed, factor):
    values = shifted(lognormal, seed, factor, n=40, before=60)
    plain, mapped = Monitor(), Monitor()
    for value in values:
        alarms = plain.add(float(value)), mapped.add(float(np.sqrt(value)))  # a monotone map
        if any(alarms):  # the report depends on sizes, and restarts the charts
            break
        for one, other in zip(charts(plain), charts(mapped), strict=True):
            assert one.value == pytest.approx(other.value, abs=1e-9)
            assert one.since == other.since


def charts(monitor):
    return [*monitor._up, *monitor._down, monitor._wide]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([100, 200, 300, 400], 100),
        ([100, 201, 299, 400, 500], 100),
        ([5, 90, 91, 400], None),
        ([1], None),
    ],
)
def test_periods_of_long_steps(steps, found):
    assert period(steps) == found


# Planted changes.


def test_a_slowdown_is_detected_within_a_few_steps_and_reported_correctly():
    for seed in range(20):
        found = alarms(shifted(normal, seed, 1.5))
        first = found[0]
        assert first.kind == "slower"
        assert BEFORE < first.step <= BEFORE + 5
        assert BEFORE - 2 <= first.since <= BEFORE + 1
        assert first.ratio == pytest.approx(1.5, rel=0.05)
        assert first.normal.low < 0.1 < first.normal.high < 0.11
        assert first.normal.n < first.since


def test_a_small_slowdown_takes_longer_and_a_negligible_one_is_not_reported():
    assert alarms(shifted(normal, 1, 1.04, n=200))[0].ratio == pytest.approx(1.04, abs=0.015)
    steady = 0.1 * (1 + 0.0005 * np.random.default_rng(2).standard_normal(600))
    steady[300:] *= 1.01  # twenty deviations, and one percent
    assert alarms(steady) == []


def test_recovery_is_reported_and_the_old_range_applies_again():
    values = shifted(normal, 3, 1.5, n=300)
    values[BEFORE + 40 :] /= 1.5
    found, monitor = changes(values)
    kinds = [change.kind for change in found]
    assert kinds == ["slower", "recovered"]
    assert monitor.outliers == []  # an alarm's steps are no single ones
    assert BEFORE + 40 < found[1].step <= BEFORE + 44
    assert BEFORE + 38 <= found[1].since <= BEFORE + 42
    assert monitor.out is None
    assert monitor.normal.median == pytest.approx(0.1, rel=0.01)


def test_a_second_slowdown_after_a_recovery_is_detected_as_quickly():
    values = shifted(normal, 4, 1.5, n=400)
    values[BEFORE + 40 : BEFORE + 240] /= 1.5
    second = [c for c in alarms(values) if c.step > BEFORE + 240]
    assert second and second[0].step <= BEFORE + 246


def test_a_lasting_change_becomes_normal():
    found, monitor = changes(shifted(normal, 5, 1.5, n=600))
    assert [change.kind for change in found] == ["slower", "settled"]
    assert monitor.normal.median == pytest.approx(0.15, rel=0.01)
    assert alarms(
        np.concatenate([shifted(normal, 5, 1.5, n=600), shifted(normal, 6, 2.5)[BEFORE:]])
    )[-1].ratio == pytest.approx(2.5 / 1.5, rel=0.03)


def test_faster_steps_are_reported_and_are_no_alarm():
    found, monitor = changes(shifted(normal, 7, 0.8))
    assert [change.kind for change in found] == ["faster"]
    assert not found[0].alarm
    assert monitor.normal.median == pytest.approx(0.08, rel=0.02)


def test_a_drift_is_reported_as_one():
    values = normal(np.random.default_rng(8), 600)
    values[BEFORE:] *= 1.0 + 0.0005 * np.arange(400)
    found = alarms(values)
    assert found[0].step < BEFORE + 100
    drift = next(change for change in found if change.kind == "drifting")
    assert drift.slope == pytest.approx(0.0005, rel=0.6)


def test_a_growing_spread_is_reported_as_one():
    values = normal(np.random.default_rng(9), 500)
    values[BEFORE:] = 0.1 + 4.0 * (values[BEFORE:] - 0.1)
    first = alarms(values)[0]
    assert first.kind == "unsteady"
    assert 2.0 < first.spread < 8.0
    assert first.step < BEFORE + 60


@pytest.mark.parametrize("longer", [5.0, 100.0])
def test_single_long_steps_are_counted_and_are_no_alarm(longer):
    values = normal(np.random.default_rng(10), 1000)
    where = [150, 333, 334, 700]
    for index in where:
        values[index] *= longer
    found, monitor = changes(values)
    assert [c for c in found if c.alarm] == []
    assert [step for step, _ in monitor.outliers] == [index + 1 for index in where]


def test_periodically_long_steps_are_a_separate_mode():
    values = CLEAN["every 100th ten times as long"](np.random.default_rng(11), 2000)
    found, monitor = changes(values)
    assert [c for c in found if c.alarm] == []
    assert period([step for step, _ in monitor.outliers]) == 100


def test_warm_up_is_dropped():
    values = normal(np.random.default_rng(12), 300)
    values[:5] *= [4.0, 3.0, 2.0, 1.6, 1.3]
    found, monitor = changes(values)
    assert monitor.warmup >= 5
    assert found == []
    assert monitor.normal.high < 0.11


def test_a_hang_is_reported_only_after_the_patience():
    monitor = Monitor(Settings(patience=5.0))
    assert not monitor.overdue(1e9)  # nothing is known yet
    for value in normal(np.random.default_rng(13), 100):
        monitor.add(value)
    assert not monitor.overdue(4.9) and monitor.overdue(5.1)
    monitor.add(8.0)  # it has been longer than that before
    assert not monitor.overdue(23.9) and monitor.overdue(24.1)


def test_few_steps_are_what_a_silence_is_judged_against():
    """Until the normal range is known; of very few steps a longer silence is needed."""
    monitor = Monitor(Settings(patience=5.0))
    assert monitor.silence() is None
    for step, least in enumerate((None, None, 30.0, 30.0, 30.0, 30.0, 30.0, 10.0), 1):
        monitor.add(1.0)
        assert monitor.silence() == least, step
    for _ in range(5):
        monitor.add(1.0)
    assert monitor.normal is None
    assert monitor.overdue(15.0) and not monitor.overdue(9.9)
    monitor.add(15.0)
    assert monitor.silence() == 45.0
    assert monitor.apart() == [(14, 15.0)] and monitor.outliers == []
    # Steps that are not added yet count too.
    short = Monitor(Settings(patience=5.0))
    assert short.silence([0.001] * 13) == 5.0 and short.apart([0.001] * 12 + [15.0]) == [(13, 15.0)]
    assert short.apart([0.001, 15.0]) == []


def test_a_given_patience_counts_alone():
    monitor = Monitor(Settings(patience=1.0, hang=0.0))
    assert not monitor.overdue(2.0)
    monitor.add(3.0)
    assert not monitor.overdue(0.9) and monitor.overdue(1.1)


def test_times_of_a_coarse_clock():
    rng = np.random.default_rng(14)
    values = np.round(0.012 + 0.004 * rng.standard_normal(1000).clip(-2, 2), 2)
    assert alarms(values) == []
    assert alarms(np.full(1000, 0.01)) == []
    assert alarms(np.zeros(100)) == []
    values[500:] += 0.02
    assert alarms(values)[0].step <= 510


@given(st.lists(st.floats(0.0, 1e9), max_size=200))
def test_any_times_are_taken(values):
    found, monitor = changes(values)
    assert monitor.step == len(values)
    assert all(isinstance(change, StepChange) for change in found)


# Rates. A false alarm in 10,000 steps makes 9.5% of series of 1,000 steps have one.


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAN)
def test_false_alarms_are_as_rare_as_stated(name):
    rng = np.random.default_rng(SEED)
    trials = 40
    found = sum(bool(alarms(CLEAN[name](rng, 1000))) for _ in range(trials))
    low, _ = clopper_pearson(found, trials, 0.999)
    assert low <= 1.0 - math.exp(-0.1)


def test_false_alarms_of_strongly_dependent_steps():
    rng = np.random.default_rng(SEED)
    found = sum(bool(alarms(autocorrelated(rng, 600, 0.8))) for _ in range(40))
    low, _ = clopper_pearson(found, 40, 0.999)
    assert low <= 1.0 - math.exp(-0.06)


# The time that many steps take.


def test_total_time_of_independent_steps_is_the_normal_one():
    values = np.random.default_rng(15).exponential(0.1, 4000)
    n = 10_000
    expected = n * values.mean() + 2.326 * math.sqrt(n) * values.std()
    assert total_time(values, n) == pytest.approx(expected, rel=0.01)


def test_total_time_keeps_slow_phases_together():
    rng = np.random.default_rng(16)
    calm = normal(rng, 2000)
    slow = calm.copy()
    slow[500:700] *= 3.0
    scattered = rng.permutation(slow)
    assert total_time(slow, 2000) > 1.02 * total_time(scattered, 2000)
    assert total_time(slow[:49], 100) is None
