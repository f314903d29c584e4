"""The spectrum of lost time: planted periods are found; noise without any gives none."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.noise.detours import (
    FTQ,
    FWQ,
    NoiseTrace,
    TraceSegment,
    detours,
    even,
    expected_maximum,
    slowdown,
    trace_spectrum,
)
from assay.stats.noise.periodogram import chance
from assay.stats.noise.spectrum import FALSE_ALARMS, SHORTEST, spectrum
from noise_traces import STEP, interrupted_quanta, lost_to_pulses


def background(rng, count, jitter, spikes=5):
    """Jitter of every interval and a few long interruptions at random."""
    noise = np.abs(rng.normal(0.0, jitter, count))
    np.add.at(noise, rng.integers(0, count, spikes), rng.exponential(1e-4, spikes))
    return noise


def make_trace(kernel, lost, step=STEP, spans=None):
    spans = np.full(len(lost), step) if spans is None else spans
    starts = np.concatenate([[0.0], np.cumsum(spans)[:-1]])
    segment = TraceSegment(0.0, starts, np.asarray(spans), np.asarray(lost))
    return NoiseTrace(kernel, 0, "box", 0, step, 1e-9, (segment,))


def test_the_pulses_of_these_tests_lose_what_they_should():
    lost = lost_to_pulses(1000, 5e-3, 3e-4, 1.23e-3)
    assert lost.sum() == pytest.approx(20 * 3e-4)
    assert lost.max() == pytest.approx(STEP)


@pytest.mark.parametrize(
    ("period", "length", "jitter"),
    [
        (4e-3, 2e-6, 1e-7),  # a timer
        (50e-3, 1e-3, 3e-7),  # a daemon that takes several intervals
        (10e-3, 5e-6, 1e-6),
        (0.99e-3, 1e-6, 2e-7),
        (3.33e-4, 5e-6, 1e-6),  # most of its multiples are too fast and are aliased
    ],
)
@pytest.mark.parametrize("segments", [1, 4])
def test_a_planted_period_is_found_and_nothing_else(period, length, jitter, segments):
    rng = np.random.default_rng(7)
    count = 8000
    table = [
        lost_to_pulses(count, period, length, rng.uniform(0, period))
        + background(rng, count, jitter)
        for _ in range(segments)
    ]
    seen = spectrum(table, STEP)
    (found,) = seen.periodic
    # The frequency to a small part of the trace's resolution; the length to a fifth.
    assert abs(found.frequency - 1 / period) < 0.1 * seen.resolution
    assert found.length == pytest.approx(length, rel=0.2)
    assert found.share == pytest.approx(found.length / found.period)


def test_two_daemons_are_two():
    rng = np.random.default_rng(3)
    count = 10000
    lost = background(rng, count, 1e-7)
    lost += lost_to_pulses(count, 4e-3, 3e-6, 1e-3) + lost_to_pulses(count, 27.1e-3, 2e-4, 5e-3)
    found = spectrum([lost], STEP).periodic
    assert [each.period for each in found] == pytest.approx([27.1e-3, 4e-3], rel=1e-3)
    assert [each.length for each in found] == pytest.approx([2e-4, 3e-6], rel=0.3)


def walk(rng):
    return np.cumsum(rng.normal(size=1024))


def decaying(rng):
    """An autoregressive series: power rises steeply to low frequencies."""
    values = rng.normal(size=1024)
    for i in range(1, values.size):
        values[i] += 0.98 * values[i - 1]
    return values


@pytest.mark.parametrize(
    ("segments", "draw"),
    [
        (1, lambda rng: rng.normal(size=1024)),
        pytest.param(4, lambda rng: rng.normal(size=1024), marks=pytest.mark.long),
        pytest.param(
            *(1, lambda rng: background(rng, 1024, 1e-7, rng.poisson(20))), marks=pytest.mark.long
        ),
        pytest.param(
            *(1, lambda rng: background(rng, 1024, 1e-7, rng.poisson(2))), marks=pytest.mark.long
        ),
        pytest.param(
            *(1, lambda rng: rng.poisson(3.0, 1024).astype(float)), marks=pytest.mark.long
        ),
        (1, decaying),
        pytest.param(4, walk, marks=pytest.mark.long),
    ],
    ids=["normal", "normal, 4", "Poisson, many", "Poisson, few", "counts", "decaying", "walk, 4"],
)
def test_false_alarms_stay_at_the_stated_rate(segments, draw):
    rng = np.random.default_rng(11)
    alarms = sum(
        bool(spectrum([draw(rng) for _ in range(segments)], STEP).periodic) for _ in range(120)
    )
    # 1.2 expected at the rate of 1%; six or more come by chance in 2 of a thousand such tests.
    assert FALSE_ALARMS == 0.01
    assert alarms <= 5


def test_the_rate_of_false_alarms_is_the_requested_one():
    """At a rate of 30% there are nearly as many alarms: the threshold isn't merely too high."""
    rng = np.random.default_rng(5)
    alarms = sum(bool(spectrum([rng.normal(size=600)], STEP, 0.3).periodic) for _ in range(200))
    assert 8 <= alarms <= 75


def test_the_chance_of_a_line_is_exact():
    """For single traces in closed form: the median of 9 exponentials is a sum of exponentials."""
    for ratio in (0.5, 3.0, 30.0, 300.0):
        closed = np.prod([(9 - j) / (9 - j + ratio) for j in range(5)])
        assert chance(ratio, 1, 9) == pytest.approx(closed, rel=1e-6)
    rng = np.random.default_rng(1)
    power = rng.gamma(4.0, size=200_000)
    medians = np.median(rng.gamma(4.0, size=(200_000, 9)), axis=1)
    assert chance(3.0, 4, 9) == pytest.approx(np.mean(power >= 3.0 * medians), rel=0.05)


def test_what_is_too_short_has_no_spectrum():
    assert spectrum([np.ones(SHORTEST - 1)], STEP) is None
    assert spectrum([], STEP) is None
    assert spectrum([np.zeros(SHORTEST)], STEP).periodic == ()


def test_fixed_work_is_binned_without_losing_time():
    spans = np.array([1.0, 1.0, 3.5, 1.0, 1.0, 1.5])
    segment = make_trace(FWQ, spans - 1.0, 1.0, spans).segments[0]
    binned = even(segment, 1.0)
    # By hand: the third quantum loses 2.5 s over the 3.5 s from 2 on, the last 0.5 s over 1.5 s.
    rate, last = 2.5 / 3.5, 0.5 / 1.5
    assert binned == pytest.approx([0, 0, rate, rate, rate, 0.5 * rate, 0, 0.5 * last, last])


def test_the_period_is_that_of_time_not_of_work():
    """Quanta that are interrupted last longer, so that an index of quanta is no clock."""
    period, length = 20e-3, 2e-3
    spans = interrupted_quanta(np.random.default_rng(2), 10000, 1e-7, period, length)
    (found,) = trace_spectrum(make_trace(FWQ, spans - spans.min(), STEP, spans)).periodic
    assert found.period == pytest.approx(period, rel=1e-3)
    assert found.length == pytest.approx(length, rel=0.15)


def test_interruptions_are_counted_whole():
    rng = np.random.default_rng(1)
    lost = np.abs(rng.normal(0, 1e-8, 5000))
    lost[100] += 2e-5
    lost[2000:2003] += [6e-5, 1e-4, 3e-5]  # one, over three intervals of time
    lost[3000] += 5e-6
    found = detours(make_trace(FTQ, lost))
    assert found.lengths == pytest.approx([2e-5, 1.9e-4, 5e-6], abs=1e-7)
    assert found.starts == pytest.approx([0.01, 0.2, 0.3])
    assert found.rate == pytest.approx(3 / 0.5)
    assert found.share == pytest.approx(2.15e-4 / 0.5, rel=1e-2)
    # In fixed work each quantum that lost time was interrupted separately.
    assert detours(make_trace(FWQ, lost)).lengths.size == 5


def test_interruptions_are_found_if_half_of_all_quanta_are_interrupted():
    lost = np.full(1000, 1e-8)
    lost[::2] = 5e-5
    assert detours(make_trace(FWQ, lost)).lengths.size == 500


def test_expected_maximum_is_that_of_brute_force():
    values = [1.0, 2.0, 2.0, 7.0]
    everything = [max(a, b, c) for a in values for b in values for c in values]
    assert expected_maximum(values, 3) == pytest.approx(np.mean(everything))
    assert expected_maximum(values, 1) == pytest.approx(np.mean(values))


def test_slowdown_of_a_known_trace():
    """A quantum in ten loses 1 ms; in steps of ten quanta each step loses as much."""
    lost = np.tile([1e-3, *[0.0] * 9], 200)
    trace = make_trace(FWQ, lost, 1e-3)
    fine = slowdown([trace], 1e-3, 4)
    assert fine.alone == pytest.approx(0.1)
    assert fine.together == pytest.approx(1 - 0.9**4)
    coarse = slowdown([trace], 10e-3, 4)
    assert [coarse.alone, coarse.together] == pytest.approx([0.1, 0.1])
    assert slowdown([trace], 1e-3, 1000) is None  # too few steps for so many ranks
