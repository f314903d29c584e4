"""network.overlap and network.rate: non-blocking messages beside computation and by many pairs."""

from __future__ import annotations

import statistics

import pytest

from assay.kernels import find_kernel, needs_thread_multiple
from assay.kernels.nonblocking.overlap import BARRIER, OPERATIONS, PAIRED, REDUCTIONS
from assay.kernels.nonblocking.rate import most_pairs
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementRecord
from kernel_runs import assert_good, is_good, measure, measure_faults, plain, sanitized

OVERLAP = find_kernel("network.overlap")
RATE = find_kernel("network.rate")
TIMES = ("communication", "computation", "overlapped", "tested")


def series(record: MeasurementRecord, metric: str) -> list[float]:
    (found,) = (each.values for each in record.series if each.metric == metric)
    return found


def orders(*sizes: int, fault: str = "") -> list[tuple[str, dict[str, Value]]]:
    planted: dict[str, Value] = {"fault": fault} if fault else {}
    return [
        (OVERLAP.name, {"op": op, "bytes": size, **planted})
        for op in OPERATIONS
        for size in ((0,) if op == BARRIER else sizes)
    ]


def assert_shares(record: MeasurementRecord) -> None:
    """Each sample's shares follow from its own times by the definition."""
    assert is_good(record), record
    alone, computing, overlapped, tested = (series(record, name) for name in TIMES)
    for name, both in (("overlap", overlapped), ("overlap_tested", tested)):
        shares = series(record, name)
        assert len(shares) == len(both) == len(alone) == len(record.series[0].values)
        for share, t_pure, t_cpu, t_ovrl in zip(shares, alone, computing, both, strict=True):
            wanted = (t_pure + t_cpu - t_ovrl) / max(t_pure, t_cpu)
            assert share == pytest.approx(max(0.0, min(1.0, wanted)), abs=1e-9)
    assert min(*alone, *computing, *overlapped, *tested) > 0


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_every_operation_is_verified_and_its_shares_follow_from_its_times(ranks: int) -> None:
    wanted = orders(8, 70_000)
    for (_, parameters), record in zip(wanted, measure(plain(), *wanted, ranks=ranks), strict=True):
        assert_shares(record)
        assert record.parameters == {**parameters, "interval": 1e-5}
        computing = [rank for rank, median in enumerate(record.rank_medians) if median is not None]
        half = {"isend": range(ranks // 2), "irecv": range(ranks // 2, ranks)}
        assert computing == list(half.get(str(parameters["op"]), range(ranks)))


@pytest.mark.slow
@pytest.mark.long
def test_collectives_of_an_odd_number_of_ranks() -> None:
    wanted = [each for each in orders(0, 24, 4096) if each[1]["op"] not in PAIRED]
    for record in measure(plain(), *wanted, ranks=3):
        assert_shares(record)


@pytest.mark.slow
def test_calls_come_at_the_interval() -> None:
    """The computation takes as long as the communication; calls divide it, one at least."""
    intervals = (1e-9, 1e-4, 10.0)
    for interval, record in zip(
        intervals,
        measure(
            plain(),
            *((OVERLAP.name, {"bytes": 1 << 20, "interval": i}) for i in intervals),
            ranks=2,
        ),
        strict=True,
    ):
        assert_shares(record)
        calls = record.facts["calls"]
        assert calls == {1e-9: 1000, 10.0: 1}.get(interval, calls)
        # Preemption may double a median of few samples.
        if interval == 1e-4:
            longest = max(series(record, "computation"))
            assert 1 <= calls <= max(4 * longest / interval, 1)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    for fault in ("none", "byte", "computation", "idle"):
        wanted = orders(1024, fault=fault)
        if fault == "idle":
            wanted = [each for each in wanted if each[1]["op"] != BARRIER]  # see below
        found = measure_faults(
            *wanted,
            ranks=2,
            # A barrier carries no bytes.
            harmless=lambda given: given["op"] == BARRIER and given["fault"] == "byte",
        )
        for record in found:
            if fault == "computation":
                assert record.verification.what.endswith("computation has a wrong result")
                assert record.verification.value == 2
            if fault == "byte" and record.parameters["op"] in ("exchange", "iallreduce"):
                assert record.verification.value == 2  # one on each rank


@pytest.mark.slow
@pytest.mark.sanitizable
def test_a_barrier_that_does_nothing_is_found() -> None:
    measure_faults(
        (OVERLAP.name, {"op": BARRIER, "fault": "idle"}),
        ranks=2,
    )


def test_work_and_refusals_before_the_launch() -> None:
    def refused(op: str, size: int = -1, ranks: int = 4) -> str:
        return (
            OVERLAP.check({"op": op, "bytes": size, "interval": 1e-5}, Placement(ppn=ranks)) or ""
        )

    assert "carries no bytes" in refused(BARRIER, 8)
    assert all("multiple of 8" in refused(op, 12) for op in REDUCTIONS)
    assert all("3 ranks can't be paired" in refused(op, ranks=3) for op in PAIRED)
    assert not any(refused(op) for op in OPERATIONS)
    assert OVERLAP.memory({"op": "ialltoall", "bytes": 10}, 8, 1) == 160
    assert OVERLAP.link_bytes({"op": "iallgather", "bytes": 10}, 2, 4) == 8 * 40


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    wrong = {
        "a barrier carries no bytes": {"op": "ibarrier", "bytes": 8},
        "must be a multiple of 8, not 12": {"op": "iallreduce", "bytes": 12},
        "'bytes' must be between -1 and": {"bytes": -2},
        "'interval' must be more than 0": {"interval": 0.0},
        "3 ranks can't be paired for 'isend'": {"op": "isend"},
    }
    found = measure(plain(), *((OVERLAP.name, p) for p in wrong.values()), ranks=3)
    for words, record in zip(wrong, found, strict=True):
        assert record.status == "failed" and words in record.error
    for kernel in (OVERLAP, RATE):
        (alone,) = measure(plain(), (kernel.name, {}))
        assert alone.status == "failed" and "at least 2 ranks" in alone.error


def test_rate_counts_the_messages_of_all_threads() -> None:
    given = {"bytes": 10, "pairs": 3, "window": 64}
    assert RATE.work(given, 16, 4) == {"messages": 12.0, "bytes": 120.0}
    assert RATE.work({**given, "pairs": 0}, 16, 1) == {"messages": 8.0, "bytes": 80.0}
    assert needs_thread_multiple(RATE.name, 2) and not needs_thread_multiple(RATE.name, 1)
    assert not needs_thread_multiple("network.pingpong", 2)


@pytest.mark.parametrize(
    ("nodes", "ppn", "most"), [(1, 2, 1), (1, 5, 2), (2, 1, 1), (2, 4, 4), (3, 2, 2)]
)
def test_pairs_are_limited(nodes: int, ppn: int, most: int) -> None:
    placement = Placement(nodes=nodes, ppn=ppn)
    assert most_pairs(placement) == most
    assert RATE.check({"pairs": most}, placement) is None
    assert f"has {most} rank" in (RATE.check({"pairs": most + 1}, placement) or "")


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_pairs_of_ranks_and_of_threads(threads: int) -> None:
    cases = [(size, pairs) for size in (0, 8, 70_001) for pairs in (0, 1)]
    found = measure(
        plain(),
        *((RATE.name, {"bytes": b, "pairs": p, "window": 16}) for b, p in cases),
        ranks=4,
        threads=threads,
    )
    for (size, pairs), record in zip(cases, found, strict=True):
        assert_good(record)
        assert record.parameters == {"bytes": size, "pairs": pairs or 2, "window": 16}
        assert record.facts == {"partners": "0>2 1>3" if pairs == 0 else "0>2"}
        timed = [rank for rank, median in enumerate(record.rank_medians) if median is not None]
        assert timed == list(range(pairs or 2))
        assert record.batch % 16 == 0 and statistics.median(record.series[0].values) > 0


@pytest.mark.slow
@pytest.mark.sanitizable
@pytest.mark.parametrize("threads", [1, 2])
def test_damage_of_a_thread_is_found(threads: int) -> None:
    wanted = [(RATE.name, {"bytes": 100, "fault": fault}) for fault in ("none", "byte", "short")]
    _, byte, _ = measure_faults(*wanted, ranks=2, threads=threads)
    assert byte.verification.value == threads


@pytest.mark.slow
def test_threads_need_an_mpi_that_lets_them_call() -> None:
    record, alone = (
        measure(plain(), (RATE.name, {}), ranks=2, threads=threads, multiple=False)[0]
        for threads in (2, 1)
    )
    assert record.status == "failed" and "does not provide MPI_THREAD_MULTIPLE" in record.error
    assert is_good(alone)


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    for record in measure(sanitized(), *orders(8, 70_000), ranks=2):
        assert is_good(record), record
    for record in measure(sanitized(), (RATE.name, {"bytes": 1000}), ranks=2, threads=2):
        assert is_good(record), record
