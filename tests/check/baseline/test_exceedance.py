"""Tables of exceedance against the literal interpolation and against known distributions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.check.baseline.exceedance import GRID, SMALLEST, exceeded_with, log_exceedance
from assay.check.baseline.fits import check_table, increasing, levels_table, tail_table
from check_baselines import normal_table
from quick_part import first_quickly


def literal(table: list[float], deviation: float) -> float:
    if deviation <= table[0]:
        return 0.0
    if deviation >= table[-1]:
        return math.log(GRID[-1])
    for (low, high), (one, two) in zip(pairwise(table), pairwise(GRID), strict=True):
        if low <= deviation < high:
            logs = np.interp(deviation, [low, high], np.log([one, two]))
            return float(logs)
    raise AssertionError


@given(st.floats(-0.05, 0.08))
def test_it_interpolates(deviation: float) -> None:
    table = normal_table(0.01)
    assert log_exceedance(table, deviation) == pytest.approx(literal(table, deviation), abs=1e-12)


def test_it_is_close_to_the_distribution_of_the_table() -> None:
    for score in (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0):
        found = math.exp(log_exceedance(normal_table(1.0), score))
        assert found == pytest.approx(float(stats.norm.sf(score)), rel=0.25)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_it_never_increases(one: float, two: float) -> None:
    table = normal_table(0.01)
    low, high = sorted((one, two))
    assert log_exceedance(table, low) >= log_exceedance(table, high) >= math.log(SMALLEST)


@given(st.floats(1e-7, 0.99))
def test_a_quantile_is_exceeded_with_its_probability(share: float) -> None:
    table = normal_table(0.01)
    found = log_exceedance(table, exceeded_with(table, share))
    assert found == pytest.approx(math.log(share), abs=1e-9) or share > GRID[0] - 1e-12


def test_absurd_probabilities_have_quantiles() -> None:
    table = normal_table(0.01)
    assert exceeded_with(table, 0.0) == pytest.approx(table[-1])
    assert exceeded_with(table, 2.0) == table[0]


@pytest.mark.parametrize(
    "draw", [stats.norm(), stats.t(3), stats.expon(), stats.gumbel_r(), stats.laplace()]
)
def test_many_values_give_the_quantiles_of_their_distribution(draw: stats.rv_frozen) -> None:
    values = draw.rvs(size=20_000, random_state=np.random.default_rng(5))
    table = tail_table(values, values.size)
    for share, found in zip(GRID, table, strict=True):
        if share >= 5e-4:
            assert found == pytest.approx(draw.isf(share), rel=0.12, abs=0.05), share


@pytest.mark.parametrize(("count", "most"), first_quickly([(36, 0.03), (150, 0.015)]))
def test_few_values_dont_promise_too_short_tails(count: int, most: float) -> None:
    """The deviation for 0.5% is exceeded in at most a few times as many, whatever the tail."""
    for number, draw in enumerate((stats.norm(), stats.t(3), stats.expon(), stats.laplace())):
        shares = []
        for seed in range(60):
            values = draw.rvs(size=count, random_state=np.random.default_rng((number, seed)))
            table = tail_table(values, count)
            shares.append(draw.sf(table[GRID.index(0.005)]))
        assert np.mean(shares) < most


def test_a_table_of_constants_has_a_minimum_width() -> None:
    values = np.full(30, 0.01)
    table = check_table(values - 0.01, values - 0.01, 30)
    assert all(one < two for one, two in pairwise(table))
    assert table[GRID.index(0.005)] == pytest.approx(1e-3 * 2.5758, rel=1e-3)


def test_the_better_of_two_rounds_is_used_for_rare_values_alone() -> None:
    """One round in fifty is far out, but never two of a check."""
    rng = np.random.default_rng(3)
    rounds = rng.normal(0.0, 0.01, (4000, 2)) + 0.5 * (rng.random((4000, 2)) < 0.02)
    table = check_table(rounds.ravel(), rounds.min(axis=1), 4000)
    assert max(table[: GRID.index(0.003)]) < 0.15
    assert tail_table(rounds.ravel(), 4000)[GRID.index(0.005)] > 0.4


def test_a_table_has_the_rate_of_the_protocol() -> None:
    """The literal version: measure once, and again where the table says so."""
    rng = np.random.default_rng(12)
    node = rng.standard_t(4, 300_000)
    rounds = 0.01 * node[:, None] + rng.normal(0.0, 0.01, (node.size, 2))
    rounds += 0.3 * (rng.random(rounds.shape) < 0.03)
    learned = rounds[:5000]
    table = check_table(learned.ravel(), learned.min(axis=1), len(learned))
    again = exceeded_with(table, 0.015)
    value = np.where(rounds[:, 0] > again, rounds.min(axis=1), rounds[:, 0])
    for share in (0.2, 0.05, 0.01, 0.005, 0.002):
        assert np.mean(value > exceeded_with(table, share)) < 1.3 * share, share


@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=30))
def test_tables_increase(values: list[float]) -> None:
    table = increasing(np.sort(values))
    assert all(one < two for one, two in pairwise(table))
    assert table == pytest.approx(sorted(values), abs=1e-5)


def test_levels_of_nodes_without_the_error_of_their_means() -> None:
    rng = np.random.default_rng(8)
    levels = rng.normal(0.0, 0.005, 4000) + rng.normal(0.0, 0.006, 4000)
    table, deviation = levels_table(levels, 0.006)
    assert deviation == pytest.approx(0.005, rel=0.08)
    heavy, _ = levels_table(0.005 * rng.standard_t(3, 4000), 0.0)
    assert table[GRID.index(1e-5)] < 0.03 < heavy[GRID.index(1e-5)]
