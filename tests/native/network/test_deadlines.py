"""Kernels of the network that stop in time: pairs so far, nothing that would take too long."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from assay.records.schema import MeasurementRecord, Progress
from native_launching import Launch, job, kernels, launch

__all__ = ["kernels", "launch"]

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]

NOW = 1e-9  # seconds: over before anything has been done
NEVER = 1e6


def measured(
    launch: Launch, ranks: int, *orders: tuple[str, dict[str, Any], float], samples: int = 2
) -> list[MeasurementRecord]:
    """The records of measurements of (kernel, parameters, longest)."""
    # Before the minimum of samples one is begun only while there is budget left.
    limits = {"budget": 100.0, "min_samples": samples, "max_samples": samples}
    entries = [(kernel, given, {"longest": longest, **limits}) for kernel, given, longest in orders]
    done = launch(job(*entries), ranks)
    assert done.complaints == [], done.stderr
    return done.all(MeasurementRecord)


def pairs_of(record: MeasurementRecord) -> set[tuple[int | None, int | None]]:
    return {(s.rank, s.peer) for s in record.series if s.metric == "pair"}


def test_pairs_end_at_their_time_with_those_so_far(launch: Launch) -> None:
    """Five ranks: ten pairs, in five rounds of two."""
    one, together, every = measured(
        launch,
        5,
        ("network.pairs", {"bytes": 70_001}, NOW),
        ("network.pairs", {"concurrent": "yes"}, NOW),
        ("network.pairs", {}, NEVER),
    )
    for record, pairs in ((one, 1), (together, 2), (every, 10)):
        assert (record.status, record.verified) == ("ok", True), record.error
        assert (record.facts["pairs"], record.facts["pairs_in_all"]) == (pairs, 10)
        assert len(pairs_of(record)) == pairs
        # Each pass is over the same pairs.
        assert {len(s.values) for s in record.series if s.rank is None} == {2}
    assert pairs_of(every) == {*combinations(range(5), 2)}
    assert len({rank for pair in pairs_of(together) for rank in pair}) == 4


def test_pairs_measured_before_the_end_differ_between_launches(launch: Launch) -> None:
    found = set()
    for seed in range(1, 9):
        limits = {"longest": NOW, "min_samples": 1, "max_samples": 1}
        done = launch(job(("network.pairs", {}, limits), seed=seed), 4)
        (record,) = done.all(MeasurementRecord)
        found |= pairs_of(record)
    assert len(found) > 1


def test_pairs_tell_how_far_they_are(launch: Launch) -> None:
    """2,000 round trips of a megabyte for each of three pairs take longer than 0.5 s."""
    given = {"bytes": 1 << 20, "trips": 1000}
    limits = {"min_samples": 1, "max_samples": 1, "budget": 0.01}
    done = launch(job(("network.pairs", given, limits)), 3)
    shares = [r.share for r in done.all(Progress) if r.share is not None]
    assert shares and all(0 <= share < 1 for share in shares)


LONG: list[tuple[str, dict[str, Any]]] = [
    *(("network.collective", {"op": op, "bytes": 65536}) for op in ("bcast", "alltoallv")),
    ("network.collective", {"op": "reduce_scatter", "bytes": 65536, "timing": "barrier"}),
    ("network.bisection", {"bytes": 65536}),
    ("network.bisection", {"bytes": 65536, "pairs": 1}),
    ("network.multi_pingpong", {"bytes": 65536}),
    ("network.concurrent", {"bytes": 65536, "senders": 1}),
    ("network.ring", {"bytes": 65536}),
    ("network.ring", {"bytes": 65536, "mode": "together"}),
]


def test_an_operation_that_would_take_too_long_is_not_begun(launch: Launch) -> None:
    """What follows in the launch is measured."""
    orders = [(kernel, given, NOW) for kernel, given in LONG]
    *late, last = measured(launch, 4, *orders, ("network.barrier", {}, NOW))
    for record in late:
        assert (record.status, record.verified, record.series) == ("left out", None, [])
        assert record.error is not None
        assert record.error.startswith("one sample and its check would take about ")
        assert record.error.endswith(", and it may take 1e-09 s")
        assert 0 < record.facts["expected_seconds"] < 60
    assert (last.status, last.verified) == ("ok", True)


def test_what_ends_in_time_is_measured_and_checked_as_without_a_limit(launch: Launch) -> None:
    for record in measured(launch, 4, *((*order, NEVER) for order in LONG)):
        assert (record.status, record.verified) == ("ok", True), record
        assert "expected_seconds" not in record.facts
    # Short messages aren't rehearsed: they take no considerable time.
    short = [("network.collective", {"op": "alltoall", "bytes": 8}, NOW)]
    assert [record.status for record in measured(launch, 4, *short)] == ["ok"]


@pytest.mark.parametrize(("samples", "passes"), [(1, True), (2, False)])
def test_a_single_operation_is_its_own_check_where_time_is_over(
    launch: Launch, samples: int, passes: bool
) -> None:
    """The planted fault is in the further operations of the check, and in nothing else."""
    given = {"op": "alltoall", "bytes": 8, "fault": "idle", "timing": "barrier"}
    (record,) = measured(launch, 2, ("network.collective", given, NOW), samples=samples)
    assert (record.status, record.verified) == ("ok", passes)
    (record,) = measured(launch, 2, ("network.collective", given, NEVER), samples=samples)
    assert record.verified is False


def test_a_limit_of_no_time_is_refused(launch: Launch) -> None:
    done = launch(job(("network.barrier", {}, {"longest": 0.0})), 1)
    assert done.status == 2 and "'longest' must be greater than 0" in done.stderr
