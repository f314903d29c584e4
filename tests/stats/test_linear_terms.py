"""Linear models of factors, against numpy's least squares and statsmodels' way of writing them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.stats.compare.effect_sizes import (
    RESAMPLES,
    share_intervals,
    spans,
    variance_shares,
)
from assay.stats.compare.linear_terms import Bases, combinations_of, explained, f_of

RNG = np.random.default_rng(21)
CODES = {"a": RNG.integers(0, 2, 40), "b": RNG.integers(0, 3, 40), "c": RNG.integers(0, 2, 40)}
TERMS = [("a",), ("b",), ("c",), ("a", "b")]


def dummies(codes: dict[str, np.ndarray], terms: list[tuple[str, ...]]) -> np.ndarray:
    """A column for the constant and one for each combination of each term's levels."""
    size = next(iter(codes.values())).size
    columns = [np.ones(size)]
    for term in terms:
        for levels in itertools.product(*(range(codes[name].max() + 1) for name in term)):
            columns.append(
                np.all([codes[n] == k for n, k in zip(term, levels, strict=True)], axis=0)
            )
    return np.column_stack(columns).astype(float)


def rest(design: np.ndarray, y: np.ndarray) -> float:
    """The residual sum of squares."""
    return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())


def test_combinations_are_numbered_in_the_order_of_their_levels() -> None:
    found = combinations_of(CODES)
    tuples = list(zip(*(each.tolist() for each in CODES.values()), strict=True))
    number = {each: place for place, each in enumerate(sorted(set(tuples)))}
    assert found.tolist() == [number[each] for each in tuples]
    assert combinations_of({"a": np.array([3, 1, 3])}).tolist() == [1, 0, 1]


def test_what_is_explained_is_what_least_squares_takes_off() -> None:
    y = RNG.standard_normal((40, 3))
    found = explained(Bases(CODES).of(TERMS), y)
    design = dummies(CODES, TERMS)
    expected = [float(own @ own) - rest(design, own) for own in y.T]
    assert found == pytest.approx(expected, rel=1e-9)


def test_f_compares_two_models_against_the_whole_one() -> None:
    y = RNG.standard_normal((40, 2)) + 0.5 * CODES["b"][:, None]
    bases = Bases(CODES)
    small, large, whole = [("a",)], [("a",), ("b",)], TERMS
    squares, f = f_of(y, bases.of(small), bases.of(large), bases.of(whole))
    ranks = [np.linalg.matrix_rank(dummies(CODES, terms)) for terms in (small, large, whole)]
    for column in range(2):
        own = [rest(dummies(CODES, terms), y[:, column]) for terms in (small, large, whole)]
        assert squares[column] == pytest.approx(own[0] - own[1], rel=1e-9)
        mean = (own[0] - own[1]) / (ranks[1] - ranks[0])
        assert f[column] == pytest.approx(mean / (own[2] / (40 - ranks[2])), rel=1e-9)


def test_f_is_infinite_or_zero_where_nothing_is_left() -> None:
    axes = np.eye(4)
    y = np.array([[1.0, 2.0, 3.0, 0.0], [1.0, 0.0, 3.0, 0.0], [0.0] * 4]).T
    squares, f = f_of(y, axes[:, :1], axes[:, :2], axes[:, :3])
    assert squares.tolist() == [4.0, 0.0, 0.0]
    assert f.tolist() == [np.inf, 0.0, 0.0]


def test_spans_of_a_term_leave_out_what_holds_it() -> None:
    bases = Bases(CODES)
    reduced, extended = spans(("a",), TERMS, bases)
    # By rank: neither holds the interaction of a and b.
    for found, terms in ((reduced, [("b",), ("c",)]), (extended, [("a",), ("b",), ("c",)])):
        design = dummies(CODES, terms)
        assert found.shape[1] == np.linalg.matrix_rank(design)
        assert np.linalg.matrix_rank(np.hstack([found, design])) == found.shape[1]
    _, whole = spans(("a", "b"), TERMS, bases)
    assert whole.shape[1] == np.linalg.matrix_rank(dummies(CODES, TERMS))


def test_shares_of_variance_are_hays_of_type_two_squares() -> None:
    """An unbalanced design; each term's squares by two least squares fits."""
    y = RNG.standard_normal((40, 2)) + CODES["a"][:, None] - 0.7 * CODES["b"][:, None]
    y = y - y.mean(axis=0)
    bases = Bases(CODES)
    found = variance_shares(y, TERMS, bases, bases.of(TERMS))
    whole = dummies(CODES, TERMS)
    freedom = 40 - np.linalg.matrix_rank(whole)
    for row, term in enumerate(TERMS):
        others = [each for each in TERMS if not set(term) <= set(each)]
        without, with_it = dummies(CODES, others), dummies(CODES, [*others, term])
        extra = np.linalg.matrix_rank(with_it) - np.linalg.matrix_rank(without)
        for column in range(2):
            own = y[:, column]
            squares, error = rest(without, own) - rest(with_it, own), rest(whole, own) / freedom
            expected = max((squares - extra * error) / (float(own @ own) + error), 0.0)
            assert found[row, column] == pytest.approx(expected, abs=1e-12)
    assert found[:2].min() > 0.02


def test_the_interval_of_a_share_is_of_resamples_within_combinations() -> None:
    """One factor, two levels of -1 and 1 each: a resample's share follows from its counts.

    Values of kurtosis 1 have no tail to allow for, so only the resampling is left: of each level
    n values out of +d and -d, whose number of +d is binomial.
    """
    n, d = 10, 1.0
    codes = {"a": np.repeat([0, 1], n)}
    y = np.tile([d, -d], n) + 2.0 * codes["a"]
    y = y - y.mean()
    bases, terms = Bases(codes), [("a",)]
    ((low, high),) = share_intervals(y, codes["a"], terms, bases, bases.of(terms), 3)
    rng = np.random.default_rng(5)
    stretch = np.sqrt(n / (n - 1))
    shares = []
    for _ in range(20_000):
        ups = rng.binomial(n, 0.5, 2)
        means = stretch * d * (2 * ups / n - 1) + (0.0, 2.0)
        within = sum(n * (stretch * d) ** 2 * (1 - (2 * up / n - 1) ** 2) for up in ups)
        between = n * float(((means - means.mean()) ** 2).sum())
        error = within / (2 * n - 2)
        shares.append(max((between - error) / (between + within + error), 0.0))
    expected = np.quantile(shares, (0.025, 0.975))
    # The quantile of 500 resamples is known to about a twentieth.
    assert RESAMPLES == 500
    assert (low, high) == pytest.approx(tuple(expected), abs=0.05)
    assert low < float(variance_shares(y[:, None], terms, bases, bases.of(terms))[0, 0]) < high


def test_no_interval_where_no_combination_has_two_values() -> None:
    codes = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    bases, terms = Bases(codes), [("a",), ("b",)]
    y = np.array([1.0, 2.0, 3.0, 5.0])
    found = share_intervals(y, np.arange(4), terms, bases, bases.of(terms), 1)
    assert found == [None, None]
