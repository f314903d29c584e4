"""linpack: solutions against references on every grid, residuals, planted faults."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from assay.model.placement import Value
from assay.records.schema import MeasurementRecord
from kernel_runs import (
    assert_phases,
    assert_verified,
    faulty,
    measure,
    measure_faults,
    plain,
    sanitized,
)

pytestmark = pytest.mark.slow

GOLDEN = 0x9E3779B97F4A7C15
BROADCASTS = (
    "library",
    "ring",
    "modified-ring",
    "two-rings",
    "modified-two-rings",
    "bandwidth",
)
SWAPS = ("auto", "exchange", "spread")
PHASES = {"panel", "broadcast", "swap", "update", "solve"}


# ---- The reference ------------------------------------------------------------------------------


def _mixed(z: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser; unsigned numbers of 64 bits wrap around."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _column(seed: int, column: int, n: int) -> np.ndarray:
    """SplitMix64 from a hash of seed and column; the odd multiple of 2^-53 of its upper bits."""
    at = np.array([(column + 1) * GOLDEN % 2**64], dtype=np.uint64)
    start = _mixed(_mixed(np.array([seed], dtype=np.uint64)) + at)
    steps = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    bits = _mixed(start + steps) >> np.uint64(12)
    return np.asarray((2 * bits + np.uint64(1)).astype(float) * 2.0**-53 - 0.5)


@cache
def _system(n: int, kind: str = "random", seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    a = np.stack([_column(seed, j, n) for j in range(n)], axis=1)
    i = np.arange(n)
    if kind == "graded":
        a = a * 2.0 ** (-20.0 * (i[:, None] + i) / n)
    elif kind == "nearly-singular":
        a[:, n // 2] *= 2.0**-30
        if n > 1:
            a[:, n // 2] += a[:, n // 2 - 1]
    return a, _column(seed, -1, n)


def _total(record: MeasurementRecord, metric: str) -> np.ndarray:
    (series,) = (each for each in record.series if each.metric == metric)
    return np.array(series.values)


def _assert_solved(record: MeasurementRecord) -> None:
    """The record's x solves the system, as accurately as its condition allows."""
    assert_verified(record)
    n = int(record.parameters["n"])
    kind = str(record.parameters.get("matrix", "random"))
    a, b = _system(n, kind, int(record.parameters.get("seed", 1)))
    x = _total(record, "solution")
    assert x.shape == (n,)
    # Backward error, computed by a different program: a small multiple of the unit roundoff for
    # elimination with partial pivoting on such matrices.
    size = np.linalg.norm(a, np.inf) * np.linalg.norm(x, np.inf) + np.linalg.norm(b, np.inf)
    backward = np.linalg.norm(a @ x - b, np.inf) / size
    assert backward < 2.0**-53 * 8 * max(n, 8)
    assert record.verification is not None
    assert record.verification.value == pytest.approx(backward / n / 2.0**-53, rel=2, abs=0.3)
    if kind == "random" and n <= 300:
        exact = np.linalg.solve(a, b)
        wrong = np.linalg.norm(x - exact, np.inf) / np.linalg.norm(exact, np.inf)
        assert wrong < 1e-15 * n * np.linalg.cond(a, np.inf)


Order = tuple[str, dict[str, Value]]


def _solution(n: int, nb: int, **further: Value) -> Order:
    return "test.linpack", {"n": n, "nb": nb, **further}


# ---- Solutions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q"),
    [
        *((1, 1), (1, 2), (2, 2)),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((2, 1), (2, 3), (3, 1), (1, 5))),
    ],
)
@pytest.mark.sanitizable
def test_solutions_are_right_at_every_grid(p: int, q: int) -> None:
    """Orders below the grid's size and no multiple of the block, blocks wider than the matrix."""
    orders = [_solution(n, nb, p=p) for n, nb in product((1, 2, 7), (1, 8))]
    orders += [_solution(100, nb, p=p) for nb in (1, 8, 32)]
    orders += [_solution(100, 8, p=p, depth=0), _solution(100, 30, p=p, seed=77)]
    orders += [_solution(257, nb, p=p) for nb in (32, 64)] + [_solution(60, 64, p=p)]
    orders += [
        _solution(n, 8, p=p, matrix=kind)
        for n in (1, 100)
        for kind in ("graded", "nearly-singular")
    ]
    for record in measure(faulty(), *orders, ranks=p * q, samples=(1, 1)):
        _assert_solved(record)


@pytest.mark.parametrize("p", [2, *(pytest.param(each, marks=pytest.mark.long) for each in (1, 4))])
@pytest.mark.sanitizable
def test_every_scheme_solves(p: int) -> None:
    """A grid row, a grid column and a square, with two systems in succession in one memory."""
    orders = [
        _solution(90, 16, p=p, broadcast=broadcast, swap=swap, depth=depth)
        for (broadcast, swap), depth in product(
            [(each, "auto") for each in BROADCASTS]
            if p < 4
            else [("ring", each) for each in SWAPS],
            (0, 1),
        )
    ]
    if p == 2:
        orders += [_solution(90, 16, p=p, swap=swap) for swap in SWAPS]
    for record in measure(faulty(), *orders, ranks=4, samples=(2, 2)):
        _assert_solved(record)


@pytest.mark.parametrize(("ranks", "p"), [(1, 1), (2, 2)])
@pytest.mark.sanitizable
def test_threads_solve_too(ranks: int, p: int) -> None:
    """With enough rows for every thread to have some of a panel's, and with too few."""
    orders = [_solution(n, nb, p=p) for n, nb in ((300, 16), (ranks * 1200, 100))]
    for record in measure(faulty(), *orders, ranks=ranks, threads=3, samples=(1, 1)):
        _assert_solved(record)


@pytest.mark.sanitizable
def test_reported_shares_rise_to_one() -> None:
    """By the panels' share of the operations: after half of the columns 7/8 are done."""
    (record,) = measure(faulty(), _solution(80, 10), samples=(1, 1))
    left = 1 - np.arange(1, 9) / 8
    assert _total(record, "shares") == pytest.approx(1 - left**3)


# ---- The kernel ---------------------------------------------------------------------------------


def test_open_parameters_are_resolved_and_reported() -> None:
    orders: list[Order] = [
        ("linpack", {"n": 150}),
        ("linpack", {"n": 150, "nb": 16, "p": 4, "depth": 0, "swap": "spread"}),
        ("linpack", {"n": 150, "nb": 16, "broadcast": "bandwidth", "matrix": "graded"}),
    ]
    found = measure(plain(), *orders, ranks=4)
    for record in found:
        assert_verified(record)
        whole, *phases = record.series
        assert whole.metric == "time" and {each.metric for each in phases} <= PHASES
        assert_phases(record, *(each.metric for each in phases))
        assert record.verification is not None and record.verification.tolerance == 16
        assert int(record.facts["p"]) * int(record.facts["q"]) == 4
        for name in ("n", "nb", "p", "broadcast", "swap"):
            assert record.facts[name] == record.parameters[name], name
    assert (found[0].parameters["p"], found[1].parameters["p"]) == (2, 4)
    assert found[0].parameters["broadcast"] in BROADCASTS and int(found[0].parameters["nb"]) > 0
    assert {"panel", "update", "solve"} <= {each.metric for each in found[0].series}


def test_order_follows_the_available_memory() -> None:
    """A five-hundredth of it; a third of the order takes a ninth."""
    orders: list[Order] = [
        ("linpack", {"fill": 2e-3, "nb": 32}),
        ("linpack", {"fill": 2e-3, "nb": 32, "fraction": 1 / 3}),
    ]
    whole, third = measure(plain(), *orders, ranks=2, samples=(1, 1))
    assert_verified(whole)
    assert_verified(third)
    assert int(third.facts["n"]) == pytest.approx(int(whole.facts["n"]) / 3, rel=0.05)
    n = int(whole.facts["n"])
    available = whole.covariates["memory_available"]
    assert available is not None
    assert 0.8 * 2e-3 * available < 8 * n**2 < 1.1 * 2e-3 * available


def test_too_large_systems_are_refused_with_a_message() -> None:
    orders: list[Order] = [
        ("linpack", {"n": 100, "p": 2}),
        ("linpack", {"n": 10_000_000}),
        ("linpack", {"n": -1}),
        ("linpack", {"fraction": 0.0}),
        ("linpack", {"n": 100, "matrix": "singular", "nb": 8}),
        ("linpack", {"n": 1, "matrix": "singular"}),
        ("linpack", {"n": 100, "nb": 8}),
    ]
    *refused, good = measure(plain(), *orders, ranks=3)
    words = [
        "must divide the number of ranks, 3",
        "n can be at most",
        "'n' must be between",
        "'fraction' must be above 0",
        "singular: no pivot but 0 was found in column 51 of 100",
        "column 1 of 1",
    ]
    for record, each in zip(refused, words, strict=True):
        assert record.status == "failed" and each in str(record.error), record.error
    assert_verified(good)  # the earlier failure left nothing behind


@pytest.mark.parametrize(("ranks", "p"), [(1, 1), (2, 1), (2, 2)])
@pytest.mark.sanitizable
def test_wrong_pivots_and_factors_are_detected(ranks: int, p: int) -> None:
    orders = [
        ("linpack", {"n": 257, "nb": 32, "p": p, "fault": fault})
        for fault in ("none", "pivot", "factor")
    ]
    good, *bad = measure_faults(*orders, ranks=ranks)
    assert_verified(good)
    assert good.verification.value < 0.1
    for record in bad:
        assert not record.verification.value <= 16


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_it_is_clean_under_sanitizers() -> None:
    orders = [_solution(n, nb, p=2) for n, nb in ((1, 4), (37, 5), (70, 16))]
    orders += [_solution(37, 16, p=1, depth=0), _solution(50, 20, p=4, matrix="graded")]
    for record in measure(sanitized(), *orders, ranks=4, threads=2, samples=(1, 1)):
        _assert_solved(record)
