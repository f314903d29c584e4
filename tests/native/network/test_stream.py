"""network.stream: windows of messages, in one and both directions, in every mode."""

from __future__ import annotations

from itertools import product

import pytest

from assay.kernels import find_kernel
from assay.kernels.network import DIRECTIONS, MODES
from assay.model.placement import Placement
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

STREAM = find_kernel("network.stream")
NAME = STREAM.name
# Two ranks that send to each other by MPI_Send alone may deadlock: there is no such mode.
WAYS = [way for way in product(MODES, DIRECTIONS) if way != ("blocking", "bidirectional")]


def of(parameters: dict[str, object]) -> dict[str, object]:
    return {p.name: p.default for p in STREAM.parameters} | parameters


def test_work_counts_both_ways() -> None:
    one, two = (STREAM.work(of({"bytes": 100, "direction": d}), 2, 1) for d in DIRECTIONS)
    assert one == {"bytes": 100.0, "messages": 1.0}
    assert two == {"bytes": 200.0, "messages": 2.0}


@pytest.mark.parametrize(
    ("direction", "buffers", "bytes_"),
    [
        ("unidirectional", "one", 1000),
        ("unidirectional", "each", 64_000),
        ("bidirectional", "one", 2000),
        ("bidirectional", "each", 128_000),
    ],
)
def test_memory_of_a_rank(direction: str, buffers: str, bytes_: int) -> None:
    parameters = of({"bytes": 1000, "direction": direction, "buffers": buffers})
    assert STREAM.memory(parameters, 2, 1) == bytes_


def test_a_possible_deadlock_is_refused_before_the_launch() -> None:
    said = STREAM.check(of({"mode": "blocking", "direction": "bidirectional"}), Placement(ppn=2))
    assert said is not None and "MPI_Send may deadlock" in said
    for mode, direction in WAYS:
        assert STREAM.check(of({"mode": mode, "direction": direction}), Placement(ppn=2)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "sizes", "windows"), [(2, (0, 1, 70_001), (1, 5)), (3, (4099,), (5,))]
)
def test_every_mode(ranks: int, sizes: tuple[int, ...], windows: tuple[int, ...]) -> None:
    """Windows of one and of several messages; the ranks that send are those whose time counts."""
    wanted = [
        {
            "mode": m,
            "direction": d,
            "bytes": b,
            "window": w,
            "buffers": p,
            "from": ranks - 1,
            "to": 0,
        }
        for (m, d), b, w, p in product(WAYS, sizes, windows, ("one", "each"))
    ]
    for parameters, record in zip(
        wanted, measure(plain(), *((NAME, w) for w in wanted), ranks=ranks), strict=True
    ):
        assert_good(record)
        assert record.parameters == parameters
        assert record.batch % parameters["window"] == 0  # a time is that of one message
        both = parameters["direction"] == "bidirectional"
        timed = [rank for rank, median in enumerate(record.rank_medians) if median]
        assert timed == ([0, ranks - 1] if both else [ranks - 1])


@pytest.mark.slow
def test_defaults_are_the_catalogues() -> None:
    (record,) = measure(plain(), (NAME, {}), ranks=2)
    assert_good(record)
    assert record.parameters == of({"to": 1})


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A wrong byte; the first and the last message of a window swapped; a missing byte.

    Messages that share one buffer can't be swapped.
    """
    cases = list(product(WAYS, ("one", "each"), ("none", "byte", "swap", "short")))
    wanted = [
        {"mode": m, "direction": d, "bytes": 700, "window": 5, "buffers": p, "fault": f}
        for (m, d), p, f in cases
    ]
    found = measure_faults(
        *((NAME, w) for w in wanted),
        ranks=2,
        harmless=lambda w: w["fault"] == "swap" and w["buffers"] == "one",
    )
    for (_, buffers, fault), record in zip(cases, found, strict=True):
        if fault == "byte":
            assert record.verification.value == 1
        if fault == "swap" and buffers == "each":
            assert record.verification.value == 2 * 700


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    wrong = {
        "'window' must be between 1 and 4096, not 0": {"window": 0},
        "not 4097": {"window": 4097},
        "may wait forever": {"mode": "blocking", "direction": "bidirectional"},
        "a stream of messages is between two": {"from": 1},
        "blocking, nonblocking, preposted, persistent, put, get": {"mode": "eager"},
    }
    for words, record in zip(
        wrong, measure(plain(), *((NAME, p) for p in wrong.values()), ranks=2), strict=True
    ):
        assert record.status == "failed" and words in record.error, (words, record.error)


@pytest.mark.slow
def test_missing_memory_is_reported_by_both_ranks() -> None:
    """One-sided too, where neither may wait for the other when creating the window."""
    huge = {"bytes": 1 << 30, "window": 4096, "buffers": "each"}
    wanted = [{**huge, "mode": m, "direction": d} for m, d in WAYS]
    for record in measure(plain(), *((NAME, w) for w in wanted), ranks=2):
        assert record.status == "failed" and "two buffers take" in record.error


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    orders = [
        (NAME, {"mode": m, "direction": d, "bytes": b, "window": 3, "buffers": p})
        for (m, d), b, p in product(WAYS, (0, 70_001), ("one", "each"))
    ]
    for record in measure(sanitized(), *orders, ranks=2):
        assert_good(record)
