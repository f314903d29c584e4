"""LogGP from sweeps with planted parameters: estimates, changes, dips, and their uncertainty."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.network import dips, loggp
from assay.models.network import piecewise_linear as segments
from assay.models.network.dips import valleys
from assay.models.network.loggp import _thinned, fit
from assay.models.network.message_model import LogGP, Sweep
from assay.models.network.piecewise_linear import best_cut, fit_line, piece_costs, relative
from assay.stats.core.intervals import median_interval

POWERS = [0, *(1 << power for power in range(23))]
FINE = sorted({*POWERS, *(round(1024 * 2 ** (k / 2)) for k in range(19))})


def line(latency, rate):
    return lambda size: latency + size / rate


def steps(size):
    """Eager below 16 KiB, rendezvous from there: 2 µs more, and half the time per byte."""
    return 1e-6 + size / 5e9 if size < 16384 else 3e-6 + size / 10e9


def sweep(truth, sizes=POWERS, *, seed=0, launches=8, noise=0.01, launch_noise=0.01):
    """Simulated launches: each size scatters, and each launch has a common deviation."""
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


# --- Planted parameters ---


@settings(deadline=None, max_examples=60)
@given(
    st.floats(min_value=1e-7, max_value=1e-4),
    st.floats(min_value=1e6, max_value=1e11),
    st.sets(st.sampled_from(FINE), min_size=3),
)
def test_an_exact_line_is_found_for_any_size(latency, rate, sizes):
    sizes = sorted(sizes)
    # The smallest sizes must resolve the latency.
    if latency < 1e-6 * (latency + sizes[0] / rate) or sizes[-1] / rate < 1e-6 * latency:
        return
    model = fitted(exact(line(latency, rate), sizes))
    assert len(model.pieces) == 1 and model.changes == () and model.dips == ()
    assert model.pieces[0].latency.value == pytest.approx(latency, rel=1e-3)
    assert model.bandwidth.value == pytest.approx(rate, rel=1e-3)
    if latency * rate >= sizes[0]:  # n½ by Hockney: latency * rate
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
    """More time per byte beyond a cache: the two lines meet at 64 KiB."""
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


def test_too_few_sizes_give_no_model():
    assert fit(exact(line(1e-6, 1e9), [0, 8])) is None
    assert fit(Sweep(np.array([0.0, 1, 2]), np.array([0.0, 1e-6, 1e-6]))) is None


def test_a_time_that_does_not_grow_has_no_bandwidth():
    model = fitted(exact(lambda s: 1e-6 - s * 1e-12, [0, 8, 64, 512]))
    assert model.bandwidth is None and model.half_size is None


# --- With noise: error rates ---


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


@pytest.mark.long
def test_intervals_cover_the_truth_at_the_stated_rate(clean):
    """93% or more of 400; 95% has a standard error of 1.1%."""
    bandwidth = [m.bandwidth.ci95[0] <= 10e9 <= m.bandwidth.ci95[1] for m in clean]
    latency = [m.pieces[0].latency.ci95[0] <= 1e-6 <= m.pieces[0].latency.ci95[1] for m in clean]
    half = [m.half_size.ci95[0] <= 1e4 <= m.half_size.ci95[1] for m in clean]
    for held in (bandwidth, latency, half):
        assert 0.92 <= np.mean(held) <= 0.995
    # And they are not unnecessarily wide: of the size of the noise.
    widths = [(m.bandwidth.ci95[1] - m.bandwidth.ci95[0]) / 10e9 for m in clean]
    assert np.median(widths) < 0.02


def test_deviations_common_to_all_launches_widen_the_interval():
    """Each size has a fixed deviation of 3%; launches agree to 0.01%, and can't show it."""
    held = []
    for seed in range(100):
        wiggle = dict(zip(POWERS, np.random.default_rng(seed).normal(0, 0.03, 24), strict=True))
        truth = lambda s, by=wiggle: (1e-6 + s / 10e9) * np.exp(by[s])  # noqa: E731
        rate = fitted(sweep(truth, seed=seed, noise=1e-4, launch_noise=1e-4)).bandwidth
        held.append(rate.ci95[0] <= 10e9 <= rate.ci95[1])
    assert np.mean(held) >= 0.88  # of 100: three standard errors below 95%


@pytest.mark.long
def test_a_clean_line_has_no_changes_and_no_dips(clean):
    """Each with at most 1%; more than 10 of 400 have a probability of 1%."""
    assert sum(bool(m.changes or m.left_out) for m in clean) <= 10
    assert sum(bool(m.dips) for m in clean) <= 10


@pytest.mark.long
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


@pytest.mark.long
def test_intervals_on_a_busy_machine_cover_the_planted_parameters():
    """Of 800 sweeps of 6 or 8 launches, with noise of 10% within and between them, 92% or more."""
    planted = (
        (line(50e-6, 125e6), POWERS, (125e6, 6250, 50e-6)),
        (steps, FINE, (10e9, 30e3, 1e-6)),
    )
    held = dict.fromkeys(("bandwidth", "half size", "latency"), 0)
    for (truth, sizes, values), seed in itertools.product(planted, range(400)):
        found = sweep(
            truth, sizes, seed=seed, launches=6 + 2 * (seed % 2), noise=0.1, launch_noise=0.1
        )
        model = fitted(found)
        estimates = (model.bandwidth, model.half_size, model.pieces[0].latency)
        for name, estimate, value in zip(held, estimates, values, strict=True):
            assert estimate is not None
            held[name] += estimate.ci95[0] <= value <= estimate.ci95[1]
    assert min(held.values()) >= 0.92 * 800, held


def positive(model):
    """All estimates of quantities that can't be negative."""
    found = [model.bandwidth, model.half_size]
    found += [one for piece in model.pieces for one in (piece.latency, piece.gap, piece.rate)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize("noise", [0.1, 0.5, 1.5])
def test_intervals_of_positive_quantities_stay_in_range_or_are_not_given(noise):
    given = 0
    for seed in range(12):
        model = fitted(sweep(steps, seed=seed, launches=6, noise=noise, launch_noise=noise))
        for estimate in positive(model):
            low, high = estimate.ci95
            assert 0 < low <= estimate.value <= high <= 10 * low
            given += 1
        for change in model.changes:
            assert change.share > -1
            assert not change.protocol or change.latest <= 10 * max(change.surely_after, 1)
    assert given > 0 or noise > 1


def test_a_parameter_that_the_sizes_hardly_influence_is_not_determined():
    """512 B take 1% longer than none: under noise of 10% their time per byte is unknown."""
    model = fitted(sweep(line(5e-6, 10e9), [0, 8, 16, 64, 128, 256, 512], noise=0.1, launches=6))
    assert model.bandwidth is None and model.half_size is None
    assert model.pieces[0].gap is None and model.pieces[0].rate is None
    low, high = model.pieces[0].latency.ci95
    assert low < 5e-6 < high < 2 * low
    # Far from 0 B the times do not determine the latency.
    far = [1 << power for power in range(20, 27)]
    model = fitted(sweep(line(1e-6, 10e9), far, noise=0.1, launches=6))
    assert model.pieces[0].latency is None and model.bandwidth is not None


def test_a_line_that_is_negative_at_a_change_has_no_step():
    """A step down by more than the whole time is impossible."""
    found = exact(steps)
    cut = best_cut(found.bytes, found.seconds, np.ones(len(POWERS)))
    assert cut is not None and len(cut.firsts) == 2
    solver = loggp._Solver(found, cut, np.ones(len(POWERS)))
    (change,) = solver.changes()
    assert change.protocol and change.share > 0
    solver.parameters = np.array([[1e-6, 0.0], [-5e-6, 1e-11]])  # -4.9 µs instead of 1 µs
    (change,) = solver.changes()
    assert (change.share, change.protocol) == (0.0, False)
    solver.parameters = np.array([[-1e-6, 0.0], [1e-6, 1e-11]])
    (change,) = solver.changes()
    assert (change.share, change.protocol) == (0.0, False)


def test_the_place_of_a_change_widens_the_intervals(monkeypatch):
    """Of two cuts that fit almost equally well neither is certain."""
    found = sweep(steps, FINE, seed=3, launches=6, noise=0.1, launch_noise=0.1)
    model = fitted(found)
    (change,) = model.changes
    assert change.latest > change.at or change.surely_after < change.below
    monkeypatch.setattr(loggp._Solver, "_moved", lambda solver: [])
    fixed = fitted(found)
    for wide, narrow in zip(positive(model), positive(fixed), strict=True):
        assert wide.ci95[0] <= narrow.ci95[0] and narrow.ci95[1] <= wide.ci95[1]
    assert model.half_size.ci95 != fixed.half_size.ci95


# --- One explanation for each effect ---


def falls(size, step=5e-6, at=8192):
    """The bandwidth falls where the protocol changes, and recovers."""
    return 1e-6 + size / 10e9 + (step if size >= at else 0)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_fall_where_the_protocol_changes_is_no_dip_as_well(noise):
    found = sweep(falls, noise=noise, launch_noise=noise) if noise else exact(falls)
    bandwidths = found.bytes[1:] / found.seconds[1:]
    assert valleys(found.bytes[1:], found.seconds[1:], np.full(23, 0.02))  # it does fall
    assert bandwidths[13] < bandwidths[12]
    model = fitted(found)
    assert [(change.below, change.at) for change in model.changes] == [(4096, 8192)]
    assert model.threshold is not None
    assert model.dips == ()


def test_a_slow_last_size_before_a_step_down_is_no_dip_as_well():
    truth = lambda s: 1e-6 + s / 1e9 if s < 65536 else 2e-6 + s / 10e9  # noqa: E731
    model = fitted(sweep(truth, FINE))
    assert model.threshold is not None and model.threshold.share < 0
    assert model.dips == ()


def test_a_dip_that_no_change_explains_stays_one():
    truth = lambda s: falls(s) * (1.4 if s == 1 << 19 else 1)  # noqa: E731
    model = fitted(sweep(truth))
    assert model.threshold is not None and model.threshold.at == 8192
    assert [dip.bytes for dip in model.dips] == [1 << 19]


def test_under_six_launches_there_is_no_interval():
    model = fitted(sweep(steps, launches=5))
    assert model.bandwidth.ci95 is None
    assert model.pieces[0].latency.ci95 is None


def test_launches_with_few_sizes_are_ignored():
    whole = sweep(steps, launches=6, seed=4)
    few = np.full((20, whole.bytes.size), np.nan)
    few[:, 3] = 1.0  # seconds: absurd, if it were used
    more = Sweep(whole.bytes, whole.seconds, whole.scatter, np.vstack([whole.launches, few]))
    assert fitted(more).bandwidth == fitted(whole).bandwidth


@pytest.mark.long
def test_a_place_blurred_by_noise_is_given_as_a_span():
    """Two lines that cross at 16 KiB change without a step: the place is known only roughly."""
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
    assert widths[0] <= 1.01  # two steps of the sizes, for either line fits at 16 KiB
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
        # The weights' scale is the median scatter of all points, in both implementations.
        least = min((misfit(x, y, scatter, piece[piece != out]), out) for out in piece)
        assert without[i, j] == pytest.approx(least[0], rel=1e-6, abs=1e-9)
        assert worst[i, j] == least[1]


@pytest.mark.parametrize(("pieces", "outliers"), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (2, 2)])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_cut_is_the_optimum_of_all(pieces, outliers, seed):
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


def test_scatter_affects_weights():
    """An uncertain point affects the line little."""
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


def test_shoulders_are_the_sizes_before_and_after_a_dip():
    rates = np.array([1.0, 2, 4, 3, 2.5, 3.5, 5, 6])
    sizes = 2.0 ** np.arange(8)
    assert valleys(sizes, sizes / rates, np.full(8, 0.01)) == [(2, 4, 6)]
    # If it never recovers fully, the best later size is its right shoulder.
    rates = np.array([1.0, 4, 2, 3, 2.9, 2.8])
    assert valleys(sizes[:6], sizes[:6] / rates, np.full(6, 0.01)) == [(1, 2, 3)]
    # A fall without a recovery is no dip.
    rates = np.array([1.0, 2, 3, 2, 1])
    assert valleys(sizes[:5], sizes[:5] / rates, np.full(5, 0.01)) == []


def test_a_possible_noise_effect_is_no_dip():
    rates = np.array([1.0, 2, 1.8, 2.2])
    sizes = 2.0 ** np.arange(4)
    assert valleys(sizes, sizes / rates, np.full(4, 0.01)) == [(1, 2, 3)]
    assert valleys(sizes, sizes / rates, np.full(4, 0.05)) == []


def test_a_shallow_dip_is_not_reported():
    for factor, count in ((1.03, 0), (1.15, 1)):
        truth = lambda s, by=factor: line(1e-6, 10e9)(s) * (by if s == 1 << 20 else 1)  # noqa: E731
        assert len(fitted(exact(truth)).dips) == count
    assert dips.MIN_DEPTH == 0.05


def test_thousands_of_sizes_are_fitted_by_a_subset() -> None:
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
