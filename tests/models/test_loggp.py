"""LogGP from sweeps whose truth is planted: parameters, changes, dips, and how sure they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.network import dips
from assay.models.network import piecewise_linear as segments
from assay.models.network.dips import valleys
from assay.models.network.loggp import LogGP, Sweep, _thinned, fit
from assay.models.network.piecewise_linear import best_cut, fit_line, piece_costs, relative
from assay.stats.core.intervals import median_interval

POWERS = [0, *(1 << power for power in range(23))]
FINE = sorted({*POWERS, *(round(1024 * 2 ** (k / 2)) for k in range(19))})


def line(latency, rate):
    return lambda size: latency + size / rate


def steps(size):
    """Eager below 16 KiB, rendezvous from there: 2 µs more, and twice as fast a byte."""
    return 1e-6 + size / 5e9 if size < 16384 else 3e-6 + size / 10e9


def sweep(truth, sizes=POWERS, *, seed=0, launches=8, noise=0.01, launch_noise=0.01):
    """What launches would measure: each size scatters, and each launch is off as a whole."""
    draw = np.random.default_rng(seed)
    exact = np.array([truth(size) for size in sizes])
    shape = launches, len(sizes)
    logs = noise * draw.standard_normal(shape) + launch_noise * draw.standard_normal((launches, 1))
    seen = exact * np.exp(logs)
    medians = np.median(seen, axis=0)
    ends = [median_interval(column) for column in seen.T]
    scatter = None
    if all(ends):
        scatter = np.array([high - low for low, high in ends]) / 3.92 / medians
    return Sweep(np.array(sizes, dtype=float), medians, scatter, seen)


def exact(truth, sizes=POWERS):
    return Sweep(np.array(sizes, dtype=float), np.array([truth(size) for size in sizes]))


def fitted(found: Sweep) -> LogGP:
    model = fit(found)
    assert model is not None
    return model


# --- Planted parameters come back ---


@settings(deadline=None, max_examples=60)
@given(
    st.floats(min_value=1e-7, max_value=1e-4),
    st.floats(min_value=1e6, max_value=1e11),
    st.sets(st.sampled_from(FINE), min_size=3),
)
def test_an_exact_line_is_found_whatever_its_size(latency, rate, sizes):
    sizes = sorted(sizes)
    # The smallest sizes must resolve the latency.
    if latency < 1e-6 * (latency + sizes[0] / rate) or sizes[-1] / rate < 1e-6 * latency:
        return
    model = fitted(exact(line(latency, rate), sizes))
    assert len(model.pieces) == 1 and model.changes == () and model.dips == ()
    assert model.pieces[0].latency.value == pytest.approx(latency, rel=1e-3)
    assert model.bandwidth.value == pytest.approx(rate, rel=1e-3)
    if latency * rate >= sizes[0]:  # n½ = latency * rate, Hockney's; no less than was measured
        assert model.half_size.value == pytest.approx(latency * rate, rel=1e-3)


def test_planted_latency_gap_threshold_and_dip_come_back_exactly():
    model = fitted(exact(lambda s: steps(s) * (1.3 if s == 131072 else 1.0)))
    eager, rendezvous = model.pieces
    assert (eager.first, eager.last, rendezvous.first) == (0, 8192, 16384)
    assert eager.latency.value == pytest.approx(1e-6)
    assert eager.gap.value == pytest.approx(1 / 5e9)
    assert rendezvous.latency.value == pytest.approx(3e-6)
    assert model.bandwidth.value == pytest.approx(10e9)
    (change,) = model.changes
    assert change.protocol and model.threshold is change
    assert (change.below, change.at) == (change.surely_after, change.latest) == (8192, 16384)
    assert change.step.value == pytest.approx(2e-6 - 16384 / 10e9)
    assert change.share == pytest.approx((2e-6 - 1.6384e-6) / (1e-6 + 16384 / 5e9))
    (dip,) = model.dips
    assert dip.bytes == 131072
    assert dip.expected == pytest.approx(131072 / steps(131072))
    assert dip.depth == pytest.approx(1 - 1 / 1.3)
    assert model.left_out == (131072,)
    assert model.seconds(20000) == pytest.approx(3e-6 + 2e-6)


def test_half_of_the_bandwidth_is_where_the_pieces_reach_it():
    model = fitted(exact(steps))
    # Half of 10 GB/s: eager never reaches 5 GB/s, rendezvous does at s / (3 µs + s / 10 GB/s).
    assert model.half_size.value == pytest.approx(3e-6 * 10e9)
    # A step that jumps over the half: it is reached with the first size of the new piece.
    model = fitted(exact(lambda s: 1e-6 + s / 1e9 if s < 4096 else 0.01e-6 + s / 10e9))
    assert model.half_size.value == pytest.approx(4096)


def test_a_bend_without_a_step_is_no_change_of_protocol():
    """Slower a byte beyond a cache: the two lines meet at 64 KiB."""
    bend = line(1e-6, 10e9)
    model = fitted(
        exact(lambda s: bend(s) if s <= 65536 else bend(65536) + (s - 65536) / 4e9, FINE)
    )
    (change,) = model.changes
    assert 32768 <= change.below <= 65536
    assert not change.protocol and model.threshold is None
    assert model.bandwidth.value == pytest.approx(4e9)


def test_lines_that_cross_between_two_sizes_need_no_step():
    model = fitted(exact(lambda s: 1e-6 + min(s, 50_000) / 10e9 + max(s - 50_000, 0) / 2e9))
    (change,) = model.changes
    assert (change.below, change.at) == (32768, 65536)
    assert change.step.value == 0 and not change.protocol


def test_a_step_down_is_a_change_of_protocol_too():
    model = fitted(exact(lambda s: 1e-6 + s / 2e9 if s <= 16384 else 2e-6 + s / 10e9, FINE))
    assert model.threshold.below == 16384
    assert model.threshold.share < -0.05


def test_a_fast_size_is_left_out_and_is_no_dip():
    model = fitted(exact(lambda s: line(1e-6, 10e9)(s) * (0.7 if s == 4096 else 1)))
    assert model.left_out == (4096,)
    assert model.dips == ()


def test_a_slow_small_size_is_a_dip_though_the_bandwidth_still_rises():
    model = fitted(exact(lambda s: line(1e-6, 10e9)(s) * (1.4 if s == 64 else 1)))
    assert [dip.bytes for dip in model.dips] == [64]
    assert model.dips[0].depth == pytest.approx(1 - 1 / 1.4, abs=0.01)


def test_too_little_gives_no_model():
    assert fit(exact(line(1e-6, 1e9), [0, 8])) is None
    assert fit(Sweep(np.array([0.0, 1, 2]), np.array([0.0, 1e-6, 1e-6]))) is None


def test_a_time_that_does_not_grow_has_no_bandwidth():
    model = fitted(exact(lambda s: 1e-6 - s * 1e-12, [0, 8, 64, 512]))
    assert model.bandwidth is None and model.half_size is None


# --- With noise: how often right, how often wrong ---


@pytest.fixture(scope="module")
def clean():
    """Models of 400 noisy lines: half with noise of the launch, half without."""
    truth = line(1e-6, 10e9)
    return [
        fitted(
            sweep(truth, seed=seed, launch_noise=0.01 * (seed % 2), launches=(6, 8, 20)[seed % 3])
        )
        for seed in range(400)
    ]


def test_intervals_hold_the_truth_as_often_as_they_say(clean):
    """93% or more of 400; 95% has a standard error of 1.1%."""
    bandwidth = [m.bandwidth.ci95[0] <= 10e9 <= m.bandwidth.ci95[1] for m in clean]
    latency = [m.pieces[0].latency.ci95[0] <= 1e-6 <= m.pieces[0].latency.ci95[1] for m in clean]
    half = [m.half_size.ci95[0] <= 1e4 <= m.half_size.ci95[1] for m in clean]
    for held in (bandwidth, latency, half):
        assert 0.92 <= np.mean(held) <= 0.995
    # And they are no wider than they need be: of the size of the noise.
    widths = [(m.bandwidth.ci95[1] - m.bandwidth.ci95[0]) / 10e9 for m in clean]
    assert np.median(widths) < 0.02


def test_what_bends_a_curve_alike_in_all_launches_widens_the_interval():
    """Each size is off by 3% for good; launches agree to 0.01%, and say nothing of that."""
    held = []
    for seed in range(100):
        wiggle = dict(zip(POWERS, np.random.default_rng(seed).normal(0, 0.03, 24), strict=True))
        truth = lambda s, by=wiggle: (1e-6 + s / 10e9) * np.exp(by[s])  # noqa: E731
        rate = fitted(sweep(truth, seed=seed, noise=1e-4, launch_noise=1e-4)).bandwidth
        held.append(rate.ci95[0] <= 10e9 <= rate.ci95[1])
    assert np.mean(held) >= 0.88  # of 100: three standard errors below 95%


def test_a_clean_line_has_no_changes_and_no_dips(clean):
    """Each with at most 1%; of 400 more than 10 would come once in a hundred times."""
    assert sum(bool(m.changes or m.left_out) for m in clean) <= 10
    assert sum(bool(m.dips) for m in clean) <= 10


def test_rough_noise_makes_no_changes_either():
    rough = [
        fitted(sweep(line(1e-6, 10e9), FINE, seed=s, noise=0.2, launches=6)) for s in range(100)
    ]
    assert sum(bool(m.changes) for m in rough) <= 5
    assert sum(bool(m.dips) for m in rough) <= 5


def test_planted_changes_and_dips_are_found_through_noise():
    truth = lambda s: steps(s) * (1.3 if s == 131072 else 1.0)  # noqa: E731
    models = [fitted(sweep(truth, seed=seed)) for seed in range(100)]
    right = [
        model.threshold is not None
        and (model.threshold.below, model.threshold.at) == (8192, 16384)
        and [dip.bytes for dip in model.dips] == [131072]
        for model in models
    ]
    assert np.mean(right) >= 0.97
    true_depth = fitted(exact(truth)).dips[0].depth
    true_step = 2e-6 - 16384 / 10e9
    found = [m for m, good in zip(models, right, strict=True) if good]
    depths = [m.dips[0].ci95[0] <= true_depth <= m.dips[0].ci95[1] for m in found]
    jumps = [m.changes[0].step.ci95[0] <= true_step <= m.changes[0].step.ci95[1] for m in found]
    assert np.mean(depths) >= 0.88  # of 100: three standard errors below 95%
    assert np.mean(jumps) >= 0.88


def test_under_six_launches_there_is_no_interval():
    model = fitted(sweep(steps, launches=5))
    assert model.bandwidth.ci95 is None
    assert model.pieces[0].latency.ci95 is None


def test_launches_that_measured_little_count_for_nothing():
    whole = sweep(steps, launches=6, seed=4)
    few = np.full((20, whole.bytes.size), np.nan)
    few[:, 3] = 1.0  # seconds: absurd, if it were used
    more = Sweep(whole.bytes, whole.seconds, whole.scatter, np.vstack([whole.launches, few]))
    assert fitted(more).bandwidth == fitted(whole).bandwidth


def test_a_place_that_noise_blurs_is_given_as_a_span():
    """Two lines that cross at 16 KiB change with no step: the place is known but roughly."""
    truth = lambda s: 1e-6 + min(s, 16384) / 10e9 + max(s - 16384, 0) / 6e9  # noqa: E731
    sure, blurred = (
        [
            model.changes[0]
            for seed in range(60)
            if (model := fitted(sweep(truth, FINE, noise=noise, seed=seed, launch_noise=0))).changes
        ]
        for noise in (1e-4, 0.2)
    )
    assert len(sure) == 60 and len(blurred) > 45
    widths = [
        np.mean([np.log2(change.latest / change.surely_after) for change in changes])
        for changes in (sure, blurred)
    ]
    assert widths[0] <= 1.01  # two steps of the sizes, for either line holds at 16 KiB
    assert widths[1] > 1.5 * widths[0]
    # By profile: 95% for a place among many, less exactly for one among few. Three standard errors.
    held = [change.surely_after <= 16384 <= change.latest for change in blurred]
    assert np.mean(held) >= 0.82


# --- Cutting, against brute force ---


def misfit(x, y, scatter, piece):
    root = relative(y, scatter)[piece]
    parameters, _ = fit_line(x[piece], y[piece], root)
    return float(np.sum((root * (y[piece] - parameters[0] - parameters[1] * x[piece])) ** 2))


def curve(seed, n):
    draw = np.random.default_rng(seed)
    x = np.sort(draw.choice(np.arange(1, 200), n, replace=False)).astype(float)
    return x, draw.uniform(0.5, 2.0, n) * (1 + x / 50), draw.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("seed", range(5))
def test_costs_of_pieces_are_those_of_least_squares(seed):
    x, y, scatter = curve(seed, 9)
    whole, without, worst = piece_costs(x, y, scatter)
    for i, j in itertools.combinations(range(9), 2):
        piece = np.arange(i, j + 1)
        if piece.size < 3:
            assert np.isinf(whole[i, j])
            continue
        assert whole[i, j] == pytest.approx(misfit(x, y, scatter, piece), rel=1e-6, abs=1e-9)
        if piece.size < 4:
            assert np.isinf(without[i, j])
            continue
        # The weights' scale is by the median scatter of all points, here and there.
        least = min((misfit(x, y, scatter, piece[piece != out]), out) for out in piece)
        assert without[i, j] == pytest.approx(least[0], rel=1e-6, abs=1e-9)
        assert worst[i, j] == least[1]


@pytest.mark.parametrize(("pieces", "outliers"), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (2, 2)])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_cut_is_the_best_of_all(pieces, outliers, seed):
    n = 10
    x, y, scatter = curve(seed, n)
    whole, without, _ = piece_costs(x, y, scatter)
    best = min(
        sum(
            (without if d else whole)[a, b - 1]
            for a, b, d in zip(cut, cut[1:], drops, strict=False)
        )
        for inner in itertools.combinations(range(1, n), pieces - 1)
        for cut in [(0, *inner, n)]
        for drops in itertools.product((0, 1), repeat=pieces)
        if sum(drops) == outliers
    )
    found = segments._best_of_each(x, y, scatter)[pieces, outliers]
    assert found.residual == pytest.approx(best)
    own = [misfit(x, y, scatter, np.array(piece)) for piece in found.pieces(n)]
    assert sum(own) == pytest.approx(best, rel=1e-6)


def test_scatter_weighs():
    """A point that is known badly moves the line little."""
    x = np.arange(1.0, 7.0)
    y = np.array([2.0, 3, 4, 5, 6, 9])
    trusting = best_cut(x, y, np.ones(6))
    assert trusting is not None
    sure, unsure = (
        fit_line(x, y, relative(y, np.array([1, 1, 1, 1, 1, last])))[0][1] for last in (1.0, 50.0)
    )
    assert abs(unsure - 1) < 0.01 < abs(sure - 1)


# --- Dips ---


@given(st.lists(st.floats(min_value=1e-9, max_value=1.0), min_size=3, max_size=30))
def test_a_bandwidth_that_never_falls_never_dips(gains):
    sizes = 2.0 ** np.arange(len(gains))
    rates = 1e9 * np.cumprod(1 + np.array(gains))
    assert valleys(sizes, sizes / rates, np.full(len(gains), 1e-12)) == []


def test_shoulders_are_where_it_fell_from_and_where_it_is_back():
    rates = np.array([1.0, 2, 4, 3, 2.5, 3.5, 5, 6])
    sizes = 2.0 ** np.arange(8)
    assert valleys(sizes, sizes / rates, np.full(8, 0.01)) == [(2, 4, 6)]
    # One that never recovers fully has the best that follows as its right shoulder.
    rates = np.array([1.0, 4, 2, 3, 2.9, 2.8])
    assert valleys(sizes[:6], sizes[:6] / rates, np.full(6, 0.01)) == [(1, 2, 3)]
    # A fall without a recovery is no dip.
    rates = np.array([1.0, 2, 3, 2, 1])
    assert valleys(sizes[:5], sizes[:5] / rates, np.full(5, 0.01)) == []


def test_what_may_be_noise_is_no_dip():
    rates = np.array([1.0, 2, 1.8, 2.2])
    sizes = 2.0 ** np.arange(4)
    assert valleys(sizes, sizes / rates, np.full(4, 0.01)) == [(1, 2, 3)]
    assert valleys(sizes, sizes / rates, np.full(4, 0.05)) == []


def test_a_shallow_dip_is_not_worth_naming():
    for factor, count in ((1.03, 0), (1.15, 1)):
        truth = lambda s, by=factor: line(1e-6, 10e9)(s) * (by if s == 1 << 20 else 1)  # noqa: E731
        assert len(fitted(exact(truth)).dips) == count
    assert dips.MIN_DEPTH == 0.05


def test_thousands_of_sizes_are_fitted_by_some_of_them() -> None:
    sizes = np.arange(1, 20_001, dtype=float)
    launches = np.tile(1e-6 + sizes / 1e9, (8, 1))
    found = fit(Sweep(sizes, launches[0], np.full(sizes.size, 0.01), launches))
    assert found is not None and len(found.pieces) == 1
    assert found.pieces[0].latency.value == pytest.approx(1e-6)
    assert found.bandwidth is not None and found.bandwidth.value == pytest.approx(1e9)
    few = np.geomspace(1, 1e6, 200).round()
    thin = Sweep(np.unique(few), 1e-6 + np.unique(few) / 1e9)
    assert _thinned(thin) is thin
    thinned = _thinned(Sweep(sizes, 1e-6 + sizes / 1e9))
    assert 100 < thinned.bytes.size <= 202
    assert (thinned.bytes[0], thinned.bytes[-1]) == (1.0, 20_000.0)
    assert (thinned.seconds == 1e-6 + thinned.bytes / 1e9).all()
