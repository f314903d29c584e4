"""The smallest detectable step against its definition and against the whole method."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.changes import scan
from assay.stats.changes.detectable import POWER, detectable_step, fewest_runs, halves
from assay.stats.changes.reordering import critical_gain, gains_of, reordered
from assay.stats.changes.scan import block_of, clip_of, clips_of, settled_runs
from found_changes import find_changes


def noise(seed: int, runs: int, deviation: float = 0.01) -> np.ndarray:
    return deviation * np.random.default_rng(seed).standard_normal(runs)


def step_of(residuals: np.ndarray, level: float = 0.005, rho: float = 0.0) -> float:
    before, after = halves(residuals.size)
    found = detectable_step(residuals, before, after, rho=rho, level=level)
    assert found is not None
    return found


def test_its_logarithm_is_proportional_to_the_scatter() -> None:
    quiet = math.log1p(step_of(noise(1, 60)))
    assert math.log1p(step_of(10.0 * noise(1, 60))) == pytest.approx(10.0 * quiet, rel=1e-6)


def test_more_runs_show_less_and_stricter_levels_show_more() -> None:
    sizes = [np.mean([step_of(noise(seed, n)) for seed in range(4)]) for n in (24, 48, 96)]
    assert sizes[0] > sizes[1] > sizes[2]
    # About what one comparison of normal runs at the scan's level needs.
    assert sizes[2] == pytest.approx(0.01 * (3.7 + 0.84) * math.sqrt(2 / 48), rel=0.35)
    assert step_of(noise(1, 24), level=1e-5) > step_of(noise(1, 24), level=5e-3)
    assert step_of(noise(1, 60), rho=0.5) > 1.2 * step_of(noise(1, 60))


def test_few_runs_show_nothing_and_wild_ones_no_size() -> None:
    assert detectable_step(noise(1, 9), 8, 1, rho=0.0, level=0.5) is None
    assert detectable_step(noise(1, 14), 7, 7, rho=0.0, level=0.5) is None
    assert detectable_step(noise(1, 10), 8, 2, rho=0.0, level=0.01) is None
    assert detectable_step(noise(1, 60), 30, 30, rho=0.95, level=1e-4) == math.inf


def test_halves_leave_runs_for_the_first_test() -> None:
    assert [halves(n) for n in (5, 8, 11, 16, 17, 90)] == [
        (5, 0), (8, 0), (8, 3), (8, 8), (9, 8), (45, 45),
    ]  # fmt: skip


def test_the_fewest_runs_can_have_such_a_p() -> None:
    for level in (0.05, 0.01, 0.005, 5e-4, 1e-5):
        n = fewest_runs(level)
        assert math.comb(n, min(halves(n))) * level >= 1.0
        assert n == 10 or math.comb(n - 1, min(halves(n - 1))) * level < 1.0
    assert fewest_runs(0.005) == 12


@pytest.mark.parametrize("level", [0.05, 0.005])
def test_the_critical_gain_is_exceeded_by_that_share_of_the_permutations(level: float) -> None:
    x = noise(7, 40)
    critical = critical_gain(x, 0.0, level)
    assert critical is not None
    gains = gains_of(reordered(x, 0.0, 20_000)).max(axis=1)
    assert float(np.mean(gains >= critical)) == pytest.approx(level, rel=0.5)
    assert critical_gain(x[:5], 0.0, level) is None


def test_gains_are_shares_of_the_sum_of_squares() -> None:
    x = noise(8, 12)
    gains = gains_of(x[None, :])[0]
    whole = np.sum((x - x.mean()) ** 2)
    for place, gain in enumerate(gains, start=2):
        parts = x[:place], x[place:]
        rest = sum(np.sum((part - part.mean()) ** 2) for part in parts)
        assert gain == pytest.approx(1.0 - rest / whole)
    assert gains.size == 9


def test_rows_are_clipped_as_each_series_is() -> None:
    rows = np.random.default_rng(9).standard_normal((50, 40))
    rows[:20, :5] *= 4.0
    assert clips_of(rows).tolist() == [clip_of(row) for row in rows]
    assert len(set(clips_of(rows).tolist())) == 2


def test_blocks_are_those_of_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, int] = {}

    def first_alarm(x: object, weights: object, block: tuple[int, int, int], *rest: object) -> None:
        seen.update(dict.fromkeys(range(block[1], block[2]), block[1]))

    monkeypatch.setattr(scan, "_first_alarm", first_alarm)
    assert scan.alarms(np.zeros(700), np.ones(700)) == []
    assert {run: block_of(run) for run in range(9, 700)} == seen
    assert [settled_runs(n) for n in (9, 12, 16, 40, 100)] == [8, 9, 12, 30, 88]


@pytest.mark.long
@pytest.mark.parametrize("n", [20, 30, 60])
def test_the_whole_method_detects_steps_of_this_size(n: int) -> None:
    """At p of 1%, as of one cell; sizes are by other runs than the steps."""
    trials, found = 60, 0
    before, _ = halves(n)
    for seed in range(trials):
        x = noise(seed, 2 * n)
        step = np.where(np.arange(n) >= before, math.log1p(step_of(x[:n], level=0.01)), 0.0)
        changes = find_changes(np.exp(x[n:] + step), level=0.01).changes
        found += any(abs(change.at - before) <= 4 for change in changes)
    assert binom.ppf(1e-3, trials, POWER - 0.1) <= found
