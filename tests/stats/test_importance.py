"""Shares of causes and what bounds them: against least squares and resamples written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.stats.attribution.association import credit
from assay.stats.attribution.covariates import CAUSES, cause_of, reading_of
from assay.stats.attribution.explanations import Explanation, fenced
from assay.stats.attribution.importance import RESAMPLES, shares_of


def explanation(name: str, values: np.ndarray, most: np.ndarray | None = None) -> Explanation:
    column = (values - values.mean())[:, None]
    return Explanation(cause_of(name), name, column, column, 1, most=most)


def adjusted(columns: list[np.ndarray], y: np.ndarray) -> float:
    """Ezekiel's R² of a least-squares fit with a constant."""
    if not columns:
        return 0.0
    design = np.column_stack([np.ones(y.size), *columns])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    left = float(rest @ rest) / (y.size - 1 - len(columns))
    return 1.0 - left / float(np.var(y, ddof=1))


def averaged(columns: list[np.ndarray], y: np.ndarray) -> list[float]:
    """What each adds to the others before it, the mean over all orders."""
    orders = list(itertools.permutations(range(len(columns))))
    shares = [0.0] * len(columns)
    for order in orders:
        for place, own in enumerate(order):
            before = [columns[k] for k in order[:place]]
            added = adjusted([*before, columns[own]], y) - adjusted(before, y)
            shares[own] += added / len(orders)
    return shares


def test_shares_and_intervals_are_those_of_resampled_blocks() -> None:
    """The rows of each drawn block are repeated and fitted anew."""
    n, dependence = 90, 3.0
    rng = np.random.default_rng(1)
    x = rng.standard_normal(n)
    z = 0.6 * x + rng.standard_normal(n)
    y = 0.5 * x + 0.4 * z + rng.standard_normal(n)
    causes = [explanation("steal", x), explanation("competition", z)]
    assert causes[0].cause.tier == causes[1].cause.tier
    shares, rest, rest_interval = shares_of(y, causes, dependence)
    expected = averaged([x, z], y)
    assert [share for share, _ in shares] == pytest.approx(expected, abs=1e-6)
    assert rest == pytest.approx(1.0 - sum(expected), abs=1e-6)

    drawn = np.random.default_rng(n).multinomial(30, np.full(30, 1.0 / 30), RESAMPLES)
    values = []
    for counts in drawn:
        rows = np.concatenate(
            [np.tile(np.arange(3 * b, 3 * b + 3), k) for b, k in enumerate(counts)]
        )
        values.append([max(v, 0.0) for v in averaged([x[rows], z[rows]], y[rows])])
    low, high = np.quantile(values, (0.025, 0.975), axis=0)
    for place, (_, interval) in enumerate(shares):
        assert interval == pytest.approx((low[place], high[place]), abs=1e-5)
    rests = [min(max(1.0 - sum(each), 0.0), 1.0) for each in values]
    assert rest_interval == pytest.approx(tuple(np.quantile(rests, (0.025, 0.975))), abs=1e-5)


def test_more_direct_causes_come_first() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal(200)
    z = x + 0.5 * rng.standard_normal(200)
    y = z + 0.5 * rng.standard_normal(200)
    causes = [explanation("neighbours", z), explanation("steal", x)]
    (indirect, direct), _, _ = shares_of(y, causes, 1.0)
    assert direct[0] == pytest.approx(adjusted([x], y), abs=1e-6)
    assert indirect[0] == pytest.approx(adjusted([x, z], y) - adjusted([x], y), abs=1e-6)
    assert shares_of(y, [], 1.0) == ([], 1.0, None)


def test_a_cause_is_credited_with_what_its_seconds_can_have_cost() -> None:
    """By the slope of the cost and of the most it can be, both given another variable."""
    rng = np.random.default_rng(3)
    n = 80
    given, x = rng.standard_normal(n), rng.standard_normal(n)
    most = 0.3 * x + 0.05 * rng.standard_normal(n)
    y = 1.0 * x + 0.8 * given + 0.1 * rng.standard_normal(n)
    base, _ = np.linalg.qr(np.column_stack([np.ones(n), given]))

    def slope(response: np.ndarray) -> float:
        design = np.column_stack([np.ones(n), given, x - x.mean()])
        return float(np.linalg.lstsq(design, response, rcond=None)[0][2])

    expected = slope(most) / slope(y)
    assert 0.2 < expected < 0.4
    assert credit(y, explanation("steal", x, most), base) == pytest.approx(expected, rel=1e-9)
    assert credit(y, explanation("steal", x), base) == 1.0  # no seconds bound it
    assert credit(y, explanation("steal", x, 5.0 * y), base) == 1.0
    assert credit(y, explanation("steal", x, -most), base) == 0.0
    assert credit(-y, explanation("steal", x, most), base) == 1.0  # nothing goes with it


def test_fenced_values_end_at_tukeys_fences() -> None:
    values = np.random.default_rng(4).standard_t(2, 61)
    low, high = stats.scoreatpercentile(values, [25, 75])
    reach = 1.5 * (high - low)
    expected = np.array([min(max(v, low - reach), high + reach) for v in values])
    assert np.ptp(expected) < np.ptp(values)
    assert fenced(values) == pytest.approx(expected - expected.mean(), abs=1e-12)


def test_each_covariate_has_its_reading() -> None:
    listed = {reading.covariate: reading for cause in CAUSES for reading in cause.readings}
    assert {name: reading_of(name) for name in listed} == listed
    with pytest.raises(KeyError):
        reading_of("nothing_such")
