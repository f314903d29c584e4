"""network.one_sided: its formulas, real accesses of another rank's memory, and planted damage."""

from __future__ import annotations

from itertools import product

import pytest

from assay.kernels import find_kernel
from assay.kernels.exchanges.onesided import ATOMICS, OPERATIONS, SYNCHRONISATIONS
from assay.model.placement import Placement
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

KERNEL = find_kernel("network.one_sided")
NAME = KERNEL.name
DEFAULTS = {p.name: p.default for p in KERNEL.parameters}


def sizes_of(op: str, *sizes: int) -> tuple[int, ...]:
    return (8,) if op in ATOMICS else sizes


def test_work_and_memory() -> None:
    big = {**DEFAULTS, "bytes": 4096, "window": 16}
    assert KERNEL.work(big, 2, 1) == {"bytes": 4096.0, "operations": 1.0}
    assert KERNEL.memory is not None and KERNEL.link_bytes is not None
    assert KERNEL.memory(big, 2, 1) == 16 * 4096
    assert KERNEL.memory({**DEFAULTS, "op": "fetch_and_op", "window": 16}, 2, 1) == 8
    assert KERNEL.link_bytes(big, 2, 1) == 3 * 16 * 4096


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_operation_with_every_synchronisation(ranks: int) -> None:
    cases = [
        {"op": op, "sync": sync, "bytes": size, "window": window, "from": ranks - 1, "to": 0}
        for op, sync, window in product(OPERATIONS, SYNCHRONISATIONS, (1, 5))
        for size in sizes_of(op, 0, 1000, 70_000)
    ]
    cases += [
        {"op": op, "sync": "flush", "bytes": size, "window": 1, "from": ranks - 1, "to": 0}
        for op, size in product(("put", "get"), (1, 4099))
    ]
    for case, record in zip(
        cases, measure(plain(), *((NAME, case) for case in cases), ranks=ranks), strict=True
    ):
        assert_good(record)
        assert record.parameters == case
        assert record.batch is not None and record.batch % int(case["window"]) == 0
        assert [r for r, median in enumerate(record.rank_medians) if median] == [ranks - 1]


@pytest.mark.slow
def test_defaults_are_the_catalogues() -> None:
    (record,) = measure(plain(), (NAME, {}), ranks=2)
    assert record.parameters == {**DEFAULTS, "to": 1}


def expected_wrong(case: dict[str, object]) -> int:
    """Wrong bytes or numbers, counted by hand for 1,000 bytes and windows of three."""
    op, fault = case["op"], case["fault"]
    if fault == "none":
        return 0
    if op in ATOMICS:
        # "byte" damages both ends; a lost operation leaves its result and the number wrong, in the
        # two rounds of the check (0 and 8 bytes).
        return 2 if fault == "byte" else 4
    if fault == "byte":
        return 1
    sizes = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
    if op == "accumulate":
        numbers = [size // 8 for size in sizes if size % 8 == 0]
        return 3 * sum(n > 0 for n in numbers) if fault == "short" else sum(numbers)
    return 3 * sum(size > 0 for size in sizes) if fault == "short" else sum(sizes)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A wrong byte or number after the timed operations; then short and lost operations."""
    cases: list[dict[str, object]] = [
        {"op": op, "sync": sync, "bytes": size, "window": 3, "fault": fault}
        for op, sync, fault in product(
            OPERATIONS, SYNCHRONISATIONS, ("none", "byte", "short", "lost")
        )
        for size in sizes_of(op, 1000)
    ]
    found = measure_faults(*((NAME, case) for case in cases), ranks=2)
    for case, record in zip(cases, found, strict=True):
        assert record.verification.value == expected_wrong(case), case


WRONG = {
    "one number of 8 bytes": {"op": "fetch_and_op", "bytes": 16},
    "multiple of 8": {"op": "accumulate", "bytes": 12},
    "both rank 1": {"from": 1, "to": 1},
}


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    native = {
        **WRONG,
        "between 1 and 4096, not 0": {"window": 0},
        "valid are: flush": {"sync": "x"},
    }
    for words, record in zip(
        native, measure(plain(), *((NAME, p) for p in native.values()), ranks=2), strict=True
    ):
        assert record.status == "failed"
        assert words in record.error


@pytest.mark.parametrize("words", WRONG)
def test_wrong_parameters_are_refused_before_a_launch(words: str) -> None:
    assert KERNEL.check is not None
    assert words in str(KERNEL.check({**DEFAULTS, **WRONG[words]}, Placement(ppn=2)))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    cases = [
        {"op": op, "sync": sync, "bytes": size, "window": 3}
        for op, sync in product(OPERATIONS, SYNCHRONISATIONS)
        for size in sizes_of(op, 0, 1000)
    ]
    for record in measure(sanitized(), *((NAME, case) for case in cases), ranks=2):
        assert_good(record)
