"""compute.dgemm_shape: products of matrices of any shape, transposed or not."""

from __future__ import annotations

import itertools

import pytest

from assay.kernels import find_kernel
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

SHAPE = find_kernel("compute.dgemm_shape")
NAME = SHAPE.name
TRANSPOSES = ("none", "a", "b", "both")


def test_work_and_memory() -> None:
    sizes = {"m": 3, "n": 4, "k": 5, "transpose": "a"}
    assert SHAPE.work(sizes, 2, 1) == {"flops": 2 * 3 * 4 * 5 * 2}
    assert SHAPE.memory is not None
    assert SHAPE.memory(sizes, 1, 1) == 8 * (3 * 5 + 5 * 4 + 3 * 4)
    square = find_kernel("compute.dgemm")
    assert SHAPE.work({"m": 7, "n": 7, "k": 7}, 1, 1) == square.work({"n": 7}, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_products_of_all_shapes_verify(ranks: int) -> None:
    shapes = [(1, 1, 1), (5, 3, 2), (2, 70, 9), (101, 1, 40), (64, 64, 200), (130, 17, 3)]
    cases = list(itertools.product(shapes, TRANSPOSES))
    wanted = [{"m": m, "n": n, "k": k, "transpose": t} for (m, n, k), t in cases]
    found = measure(plain(), *((NAME, parameters) for parameters in wanted), ranks=ranks)
    for parameters, record in zip(wanted, found, strict=True):
        assert_good(record)
        assert record.parameters == parameters


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    cases = [
        {"m": m, "n": n, "k": k, "transpose": t, "fault": fault}
        for (m, n, k), t in itertools.product([(3, 2, 4), (90, 40, 7)], TRANSPOSES)
        for fault in ("none", "value", "nan")
    ]
    measure_faults(*((NAME, parameters) for parameters in cases))


@pytest.mark.slow
def test_a_wrong_extent_is_named() -> None:
    (record,) = measure(plain(), (NAME, {"k": 0}))
    assert record.status == "failed"
    assert "parameter 'k' must be between 1 and 100000" in (record.error or "")


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    shapes = [{"m": 9, "n": 4, "k": 20, "transpose": t} for t in TRANSPOSES]
    for record in measure(sanitized(), *((NAME, parameters) for parameters in shapes)):
        assert_good(record)
