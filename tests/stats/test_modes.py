"""Modes: the dip against its definition, its null distribution, and planted modes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from assay.stats.core.modes import _P, _QUANTILES, _SIZES, alternate, dip, dip_p, find_modes
from recorded_statistics import INPUTS, recorded


@pytest.mark.parametrize("name", ["one", "two", "skewed", "long"])
def test_the_dip_is_that_of_rs_diptest(name: str) -> None:
    assert dip(INPUTS[name]) == pytest.approx(recorded(f"dip({name})"), abs=1e-6)


def test_the_dip_of_two_groups_apart_is_that_of_rs_diptest() -> None:
    apart = [*INPUTS["one"], *(v + 20.0 for v in INPUTS["two"])]
    assert dip(apart) == pytest.approx(recorded("dip(c(one"), abs=1e-6)


def literal_dip(values: list[float]) -> float:
    """By linear programs: the least distance of a distribution with one mode, the best of all."""
    x = np.sort(np.array(values))
    return min(_distance(x, mode) for mode in range(x.size))


def _distance(x: np.ndarray, mode: int) -> float:
    """Of a distribution function convex below x[mode], concave above, with a jump there at most.

    Unknown: the values at each point, two at the mode (before and after a jump), and the distance.
    """
    n = x.size
    where = [*range(mode), mode, mode, *range(mode + 1, n)]
    count = n + 2
    rows, bounds = [], []

    def at_most(coefficients: dict[int, float], bound: float) -> None:
        row = np.zeros(count)
        for place, value in coefficients.items():
            row[place] = value
        rows.append(row)
        bounds.append(bound)

    for place, point in enumerate(where):
        before, after = point / n, (point + 1) / n
        if place != mode:  # the value after the jump, or the only one, isn't too low
            at_most({place: -1.0, count - 1: -1.0}, -after)
        if place != mode + 1:  # the value before the jump, or the only one, isn't too high
            at_most({place: 1.0, count - 1: -1.0}, before)
    for place in range(count - 2):
        at_most({place: 1.0, place + 1: -1.0}, 0.0)
    at_most({0: -1.0}, 0.0)
    at_most({count - 2: 1.0}, 1.0)
    for first, last, sign in ((0, mode, 1.0), (mode + 1, count - 2, -1.0)):
        for place in range(first, last - 1):
            left = 1.0 / (x[where[place + 1]] - x[where[place]])
            right = 1.0 / (x[where[place + 2]] - x[where[place + 1]])
            # Slopes rise before the mode and fall after it.
            at_most(
                {
                    place: -sign * left,
                    place + 1: sign * (left + right),
                    place + 2: -sign * right,
                },
                0.0,
            )
    cost = np.zeros(count)
    cost[-1] = 1.0
    solved = linprog(
        cost, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=[(None, None)] * count
    )
    assert solved.status == 0
    return float(solved.fun)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=9, unique=True))
def test_the_dip_is_the_distance_from_the_nearest_distribution_with_one_mode(
    values: list[int],
) -> None:
    assert dip([float(v) for v in values]) == pytest.approx(
        literal_dip([float(v) for v in values]), abs=1e-7
    )


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))
@example([0.0, 1e-247, 1.0, 1.0, 1.0, 1.0, 1.0])
def test_the_dip_lies_between_its_bounds(values: list[float]) -> None:
    n = len(values)
    assert 0.5 / n - 1e-12 <= dip(values) <= 0.25 + 0.5 / n


def test_the_quantiles_are_those_of_uniform_values() -> None:
    rng = np.random.default_rng(30)
    place = _SIZES.index(30)
    found = np.sqrt(30) * np.array([dip(rng.random(30)) for _ in range(1500)])
    for p, quantile in zip(_P, _QUANTILES[place], strict=True):
        # Five standard errors of a share of 1,500, and what the quantile's own error adds.
        assert abs((found > quantile).mean() - p) < 5.0 * np.sqrt(p * (1 - p) / 1500) + 0.002
        assert dip_p(quantile / np.sqrt(30), 30) == pytest.approx(p)


def test_p_falls_as_the_dip_grows_and_as_values_become_more() -> None:
    for n in (12, 77, 5000):
        assert np.all(np.diff([dip_p(d, n) for d in np.linspace(0.005, 0.25, 40)]) <= 1e-12)
    assert dip_p(0.06, 200) < dip_p(0.06, 50)


def test_two_planted_modes_are_reported_with_place_and_share() -> None:
    rng = np.random.default_rng(6)
    fast, slow = 300.0 * (1 + 0.02 * rng.standard_normal(80)), 420.0 + 20.0 * rng.random(40)
    modes = find_modes(rng.permutation(np.concatenate([fast, slow])))
    assert [mode.n for mode in modes] == [80, 40]
    assert modes[0].at == pytest.approx(300.0, rel=0.02)
    assert modes[1].at == pytest.approx(430.0, rel=0.02)
    assert modes[1].share == pytest.approx(1 / 3)
    assert modes[0].high < 400.0 < modes[1].low


def test_three_planted_modes_are_three() -> None:
    rng = np.random.default_rng(7)
    values = np.concatenate([c + rng.standard_normal(60) for c in (100.0, 112.0, 130.0)])
    assert [mode.n for mode in find_modes(values)] == [60, 60, 60]


def test_steps_of_a_coarse_clock_are_no_modes() -> None:
    rng = np.random.default_rng(8)
    assert len(find_modes(np.round(100.0 + rng.standard_normal(300), 0))) == 1
    assert len(find_modes([1.0] * 30 + [2.0] * 30 + [1.5])) >= 1


def test_outliers_are_no_modes() -> None:
    rng = np.random.default_rng(9)
    assert len(find_modes([*(100.0 + rng.standard_normal(100)), 200.0, 201.0, 5000.0])) == 1


def test_levels_that_follow_each_other_do_not_alternate() -> None:
    rng = np.random.default_rng(9)
    slow = np.arange(40) >= 24
    in_turn = rng.normal(1.0, 0.01, 40) + 0.5 * slow
    modes = find_modes(in_turn)
    assert len(modes) == 2
    assert not alternate(in_turn, modes)
    assert not alternate(np.roll(in_turn, 7), modes)  # up and back
    mixed = rng.permutation(in_turn)
    assert alternate(mixed, modes)
    # Of random orders of 20 values, of which 4 are slow, 0.4% have at most two passages.
    few = 0
    for _ in range(500):
        values = rng.permutation(np.r_[rng.normal(1.0, 0.01, 16), rng.normal(2.0, 0.01, 4)])
        few += not alternate(values, find_modes(in_turn * 1.2))
    assert few <= 8
