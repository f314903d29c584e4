"""The rate of DGEMM over the order: published points, planted curves, limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.calls.linpack_work import DgemmCurve, RankWork, through


def test_seths_dgemm_has_95_percent_at_order_750() -> None:
    """Edmundsson et al. (2004), 5.3."""
    curve = DgemmCurve(2.664e9, 40.0)
    assert curve.at(750) / curve.maximum == pytest.approx(0.95, abs=0.001)
    assert curve.at(40.0) == pytest.approx(curve.maximum / 2)


@given(st.floats(1e8, 1e12), st.floats(1.0, 200.0))
def test_a_curve_through_its_own_points_is_found(maximum: float, half: float) -> None:
    curve = DgemmCurve(maximum, half)
    found = through([(order, curve.at(order)) for order in (50.0, 200.0, 1000.0, 5000.0)])
    assert found.maximum == pytest.approx(maximum, rel=1e-6)
    assert found.half == pytest.approx(half, rel=1e-4)


def test_measured_openblas_is_close_to_its_curve() -> None:
    """One thread, orders 200 to 2,000 (benchmarks/results/tables.md)."""
    points = [(200.0, 103.6e9), (500.0, 105e9), (1000.0, 104.9e9), (2000.0, 109.8e9)]
    found = through(points)
    assert found.half == pytest.approx(9.5, abs=0.1)
    for order, rate in points:
        assert found.at(order) == pytest.approx(rate, rel=0.03)


def test_rates_that_do_not_grow_are_constant() -> None:
    assert through([(100.0, 2e9), (1000.0, 1e9)]) == DgemmCurve(2e9, 0.0)
    assert through([(500.0, 3e9)]) == DgemmCurve(3e9, 0.0)
    with pytest.raises(ValueError, match="no rate"):
        through([])


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 500), st.floats(0.0, 100.0))
def test_a_product_takes_at_least_its_flop_and_a_square_one_the_curves_rate(
    m: int, n: int, k: int, half: float
) -> None:
    curve = DgemmCurve(1e9, half)
    assert curve.product(m, n, k) >= 2.0 * m * n * k / 1e9 * (1 - 1e-12)
    assert curve.product(m, m, m) == pytest.approx(2.0 * m**3 / curve.at(m))
    assert curve.product(m, n, 0) == 0.0


def test_an_update_of_a_narrow_panel_does_not_reach_the_maximum() -> None:
    """Large updates by 96 columns lose the cost of reading and writing the matrix, h / 3 / NB."""
    work = RankWork(DgemmCurve(1e9, 40.0), 1e8)
    seconds = work.update(100_000, 96, 100_000)
    assert 2.0 * 96 * 1e10 / 1e9 / seconds == pytest.approx(1 / (1 + 40 / 3 / 96), rel=0.002)
