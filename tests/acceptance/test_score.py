"""Scores and payments, against published worksheets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.acceptance.contract import Payment
from assay.acceptance.score import Term, capped, payment, score_of

# "SSNI-baseline.xlsx" of the ATS-5 benchmarks (Los Alamos National Laboratory, LA-UR-23-22084,
# github.com/lanl/benchmarks at 7e0fdf9): three hypothetical systems against Crossroads (6,140
# nodes), the weights and reference figures of ten benchmarks, and the cells of the result.
CROSSROADS = 6140
BENCHMARKS = {
    "Branson": (0.1, 959000.0),
    "AMG2023 P1": (0.05, 409900000.0),
    "AMG2023 P2": (0.05, 104010000.0),
    "MiniEM": (0.15, 9190.05),
    "MLMD Training": (0.05, 0.5986808),
    "MLMD Simulation": (0.05, 1341.0),
    "Parthenon-VIBE": (0.3, 26100000.0),
    "Sparta": (0.1, 2522.14),
    "UMT Problem 1": (0.075, 7830500000.0),
    "UMT Problem 2": (0.075, 4307010000.0),
}
SUBSET = ("AMG2023 P1", "AMG2023 P2", "MiniEM", "MLMD Training", "MLMD Simulation", "Sparta")


@pytest.mark.parametrize(
    ("nodes", "speedup", "names", "expected"),
    [
        (18000, 4.092, tuple(BENCHMARKS), 11.996091205211728),
        (4096, 17.99, tuple(BENCHMARKS), 12.001146579804571),
        (4096, 20.0, SUBSET, 13.34201954397394),
    ],
)
def test_a_published_worksheet_to_the_last_digit(
    nodes: int, speedup: float, names: tuple[str, ...], expected: float
) -> None:
    """All fifteen digits that a worksheet shows."""
    terms = []
    for name in names:
        weight, reference = BENCHMARKS[name]
        terms.append(Term(weight, 1.0, reference * speedup / reference, None))
    found = score_of(terms, "geometric", nodes / CROSSROADS)
    assert f"{found.value:.14e}" == f"{expected:.14e}"


def test_capability_and_utilisation_are_factors_of_the_speedup() -> None:
    """SSI: a problem of four times the size on half of the nodes, at the same speed."""
    found = score_of([Term(1.0, 4.0 * 2.0, 1.0, None), Term(1.0, 1.0, 2.0, None)], "geometric", 3.0)
    assert found.value == pytest.approx(3.0 * math.sqrt(8.0 * 2.0))


def test_a_sum_is_weighted() -> None:
    terms = [Term(3.0, 1.0, 2.0, (1.0, 3.0)), Term(1.0, 1.0, 4.0, (4.0, 4.0))]
    found = score_of(terms, "sum", 1.0)
    assert found.value == pytest.approx(2.5)
    assert found.interval == pytest.approx((1.75, 3.25))


def test_a_term_without_an_interval_leaves_the_score_without_one() -> None:
    assert score_of([Term(1.0, 1.0, 2.0, None)], "geometric", 1.0).interval is None


def test_the_interval_holds_the_true_score() -> None:
    """By simulation: five normal speedups, each known to 1%."""
    rng = np.random.default_rng(7)
    weights, true = rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 4.0, 5)
    exact = math.exp(float(weights @ np.log(true)) / weights.sum())
    held = 0
    for _ in range(1000):
        seen = true * (1.0 + 0.01 * rng.standard_normal(5))
        terms = [
            Term(float(w), 1.0, float(s), (float(s) * (1 - 0.0196), float(s) * (1 + 0.0196)))
            for w, s in zip(weights, seen, strict=True)
        ]
        interval = score_of(terms, "geometric", 1.0).interval
        assert interval is not None
        held += interval[0] <= exact <= interval[1]
    assert 0.93 <= held / 1000 <= 0.97


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 100)), min_size=1, max_size=8),
    st.floats(0.1, 10),
)
def test_weights_count_only_relative_to_each_other(
    given_terms: list[tuple[float, float]], by: float
) -> None:
    def score(scale: float) -> float:
        return score_of(
            [Term(w * scale, 1.0, s, None) for w, s in given_terms], "geometric", 1.0
        ).value

    assert score(by) == pytest.approx(score(1.0))
    speeds = [speedup for _, speedup in given_terms]
    assert min(speeds) * (1 - 1e-9) <= score(1.0) <= max(speeds) * (1 + 1e-9)


def test_payments_are_per_cent_and_capped() -> None:
    assert payment(Payment(1000.0, None), 0.025) == pytest.approx(2500.0)
    assert payment(Payment(1000.0, 2000.0), 0.025) == 2000.0
    assert payment(Payment(1000.0, None), -0.1) == 0.0
    assert payment(None, 0.1) == 0.0
    assert (capped(5.0, 3.0), capped(5.0, None)) == (3.0, 5.0)
