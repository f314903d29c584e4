"""N½ of curves with known values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.half_performance import RateAt, half_order
from assay.stats.core.intervals import median_interval
from linpack_builder import half_of_largest, hockney


def curve(rate, orders, spread=None):
    return [
        RateAt(n, rate(n), (rate(n) * (1 - spread), rate(n) * (1 + spread)) if spread else None)
        for n in orders
    ]


ORDERS = [500, 700, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12_000, 20_000]


@pytest.mark.parametrize("half", [600, 1100, 2457, 5000, 20_000])
def test_the_half_of_a_known_curve_is_found_between_its_orders(half):
    found = half_order(curve(hockney(1e11, half), ORDERS))
    truth = half_of_largest(half, ORDERS[-1])
    assert found.how == "interpolated"
    assert found.between[0] <= truth <= found.between[1]
    assert found.order == pytest.approx(truth, rel=0.01)
    assert found.interval is None


def test_an_order_at_exactly_half_is_the_result():
    found = half_order([RateAt(100, 4.0, None), RateAt(300, 5.0, None), RateAt(900, 10.0, None)])
    assert (found.order, found.how) == (pytest.approx(300), "interpolated")
    first = half_order([RateAt(100, 5.0, None), RateAt(300, 10.0, None)])
    assert (first.order, first.how) == (pytest.approx(100), "interpolated")


def test_between_two_orders_the_rate_is_linear_in_the_logarithm():
    found = half_order([RateAt(100, 2.0, None), RateAt(400, 6.0, None), RateAt(900, 8.0, None)])
    assert found.order == pytest.approx(200)  # halfway from 2 to 6, so halfway from 100 to 400
    assert found.between == (100, 400)


def test_the_smallest_order_that_reaches_half_counts_where_a_curve_falls_again():
    rates = {100: 1.0, 200: 6.0, 300: 4.0, 400: 10.0, 500: 9.0}
    found = half_order([RateAt(n, rate, None) for n, rate in rates.items()])
    assert found.between == (100, 200)
    assert found.order == pytest.approx(100 * 2**0.8)


@pytest.mark.parametrize("half", [50, 200, 400])
def test_under_the_smallest_order_a_known_curve_is_extrapolated_exactly(half):
    found = half_order(curve(hockney(1e11, half), [1000, 2000, 8000], 0.01))
    assert found.how == "extrapolated"
    assert found.order == pytest.approx(half_of_largest(half, 8000))
    assert (found.at_most, found.interval) == (1000, None)


def test_a_curve_that_does_not_fall_gives_a_bound_only():
    for rates in ({100: 9.0, 200: 9.0, 300: 10.0}, {100: 9.5, 200: 9.0, 300: 10.0}, {1: 9, 2: 8}):
        found = half_order([RateAt(n, rate, None) for n, rate in rates.items()])
        assert (found.how, found.order) == ("bounded", found.at_most)
        assert found.at_most == min(rates)


def test_one_order_gives_no_result():
    assert half_order([]) is None
    assert half_order([RateAt(1000, 1e11, (9e10, 1.1e11))]) is None


def test_an_interval_needs_those_of_its_neighbours_and_of_the_best_alone():
    whole = curve(hockney(1e11, 2457), ORDERS, 0.01)
    found = half_order(whole)
    bare = [
        point
        if point.order in (*found.between, ORDERS[-1])
        else RateAt(point.order, point.rate, None)
        for point in whole
    ]
    assert half_order(bare).interval == pytest.approx(found.interval)
    for order in (*found.between, ORDERS[-1]):
        lacking = [RateAt(p.order, p.rate, None) if p.order == order else p for p in whole]
        assert half_order(lacking).interval is None


def test_the_interval_adds_what_each_rate_moves_in_quadrature():
    ends = {100: (1.8, 2.2), 400: (5.5, 6.6), 900: (7.6, 8.4)}
    rates = {100: 2.0, 400: 6.0, 900: 8.0}
    found = half_order([RateAt(n, rate, ends[n]) for n, rate in rates.items()])

    def share(low=2.0, high=6.0, best=8.0):
        """How far from 100 to 400 half of the best is reached, in the logarithm."""
        return (best / 2 - low) / (high - low)

    up = math.hypot(*(share(**end) - 0.5 for end in ({"low": 1.8}, {"high": 5.5}, {"best": 8.4})))
    down = math.hypot(*(0.5 - share(**end) for end in ({"low": 2.2}, {"high": 6.6}, {"best": 7.6})))
    assert found.order == pytest.approx(200)
    assert found.interval == pytest.approx((200 / 4**down, 200 * 4**up))


@given(
    st.floats(600, 15_000),
    st.floats(1e6, 1e15),
    st.floats(1e-5, 0.02),
    st.lists(st.integers(30, 30_000), min_size=2, max_size=15, unique=True),
)
def test_the_half_lies_between_its_neighbours_and_scales(half, rmax, s, orders):
    orders = sorted(orders)
    found = half_order(curve(hockney(rmax, half), orders, s))
    twice = half_order(curve(hockney(2 * rmax, half), orders, s))
    assert twice.how == found.how
    assert twice.order == pytest.approx(found.order)
    if found.how == "interpolated":
        low, high = found.between
        assert low <= found.order <= high * (1 + 1e-12)
        rate = hockney(rmax, half)
        assert rate(low) <= rate(orders[-1]) / 2 * (1 + 1e-12)
        assert rate(high) >= rate(orders[-1]) / 2 * (1 - 1e-12)
        if found.interval is not None:
            assert found.interval[0] <= found.order <= found.interval[1]
    else:
        assert 0 < found.order <= found.at_most == orders[0]


@pytest.mark.parametrize("launches", [6, 8])
def test_the_interval_covers_the_half_of_the_curve_without_noise(launches):
    """Of intervals at 95%, at least 92% contain it, in 400 runs whose launches differ by 2%."""
    rng = np.random.default_rng(launches)
    rate = hockney(1e11, 2457)
    truth = half_order(curve(rate, ORDERS)).order
    held = 0
    widths = []
    for _ in range(400):
        points = []
        for n in ORDERS:
            times = 1 / rate(n) * np.exp(0.02 * rng.standard_normal(launches))
            low, high = median_interval(times)
            points.append(RateAt(n, 1 / float(np.median(times)), (1 / high, 1 / low)))
        interval = half_order(points).interval
        held += interval[0] <= truth <= interval[1]
        widths.append(math.log(interval[1] / interval[0]))
    assert held >= 0.92 * 400
    assert np.median(widths) < 0.15  # and the intervals are useful


def test_of_several_points_of_one_order_the_fastest_counts() -> None:
    twice = [RateAt(100, 3.0, None), RateAt(100, 4.0, None), RateAt(900, 10.0, None)]
    assert half_order(twice) == half_order(twice[1:])
    assert half_order(twice[:2]) is None
