"""Waiting by cause: planted patterns."""

from __future__ import annotations

import pytest

from assay.models.program.waits import CAUSES, eager_sizes, wait_states
from assay.trace.matching import match
from simulated_mpi import Net, Script, simulate
from traces import (
    MS,
    allreduce_share,
    imbalance,
    late_at,
    late_receiver,
    late_sender,
    travelling_delay,
)


def _waits(trace) -> dict[str, float]:
    return {cause: round(time, 9) for cause, time in wait_states(match(trace)).by_cause().items()}


def test_a_late_sender_by_5_ms() -> None:
    assert _waits(late_sender(5 * MS, times=10)) == {"late sender": 0.05}


def test_a_late_receiver() -> None:
    assert _waits(late_receiver(5 * MS, times=10)) == {"late receiver": 0.05}


def test_an_eager_send_that_ends_after_its_receive_began_did_not_wait() -> None:
    """The same size was sent before without a receive, so it doesn't need one."""

    def program(rank: Script) -> None:
        if rank.rank == 0:
            rank.send(1, 1000)
            rank.compute(10 * MS)
            handles = [rank.isend(1, 1000), rank.irecv(1, 8, 1)]
            rank.wait(*handles)
        else:
            rank.compute(5 * MS)
            rank.recv(0, 1000)
            rank.compute(7 * MS)
            rank.send(0, 8, 1)
            rank.recv(0, 1000)

    assert _waits(simulate(2, program)) == {"late sender": 0.002}


@pytest.mark.parametrize(
    ("function", "root", "cause", "waiting"),
    [
        ("Barrier", -1, "wait at barrier", 3),
        ("Allreduce", -1, "wait at N×N", 3),
        ("Alltoall", -1, "wait at N×N", 3),
        ("Reduce", 0, "early reduce", 1),
        ("Bcast", 2, "late broadcast", 3),
    ],
)
def test_a_collective_with_one_late_rank(function, root, cause, waiting) -> None:
    found = _waits(late_at(function, late=2, delay=5 * MS, ranks=4, root=root, times=10))
    assert found.pop(cause) == pytest.approx(waiting * 0.05)
    # Ranks that a reduction or broadcast doesn't hold up wait at the barrier behind it.
    others = {"Reduce": {"wait at barrier": pytest.approx(2 * 0.05)}}.get(function, {})
    assert found == others


def test_a_late_root_of_a_reduction_makes_nobody_wait_there() -> None:
    assert _waits(late_at("Reduce", late=2, root=2)) == {"wait at barrier": 0.15}


def test_a_prefix_waits_for_lower_ranks_only() -> None:
    def program(rank: Script) -> None:
        rank.compute({0: 1, 1: 5, 2: 2, 3: 7}[rank.rank] * MS)
        rank.collective("Scan", 8)

    trace = simulate(4, program)
    assert _waits(trace) == {"wait at prefix": 0.003}


def test_imbalance_of_20_percent() -> None:
    found = wait_states(match(imbalance(0.2, ranks=4, iterations=50)))
    assert found.by_cause() == {"wait at N×N": pytest.approx(3 * 50 * 2 * MS)}
    late = {int(match(imbalance(0.2)).flat.rank[event]) for event in found.late}
    assert late == {3}


def test_time_in_a_collective_is_not_waiting() -> None:
    assert _waits(allreduce_share(0.3)) == {}


def test_a_delay_that_travels() -> None:
    assert _waits(travelling_delay(5 * MS, ranks=6))["late sender"] == pytest.approx(
        5 * 5 * MS + MS * (1 + 2 + 3 + 4 + 5)
    )


def test_a_nonblocking_collective_waits_where_it_is_completed() -> None:
    """Also: a wait counts once, whatever else the call completes."""

    def program(rank: Script) -> None:
        if rank.rank == 0:
            rank.compute(5 * MS)
            rank.send(1, 8)
            rank.compute(3 * MS)
            rank.send(1, 8, 1)
        else:
            rank.wait(rank.irecv(0, 8), rank.irecv(0, 8, 1))

    assert _waits(simulate(2, program, Net(collective=0.0))) == {"late sender": 0.008}


def test_waits_below_the_error_of_the_clocks_are_no_waits() -> None:
    from dataclasses import replace

    trace = replace(late_sender(5 * MS), clock_error=6 * MS)
    assert _waits(trace) == {}
    assert "late sender" in CAUSES


@pytest.mark.parametrize("size", [1000, 50_000])
def test_small_sends_in_a_waitall_with_receives_did_not_wait_for_their_receiver(size) -> None:
    def program(rank: Script) -> None:
        rank.compute((1 + 5 * rank.rank) * MS)
        coming = rank.irecv(1 - rank.rank, size)
        rank.wait(coming, rank.isend(1 - rank.rank, size))

    assert _waits(simulate(2, program)) == {"late sender": 0.005}


def test_the_sizes_of_eager_and_rendezvous_are_seen_in_a_trace() -> None:
    def program(rank: Script) -> None:
        for size in (100, 2000, 3000, 9000):
            if rank.rank == 0:
                rank.send(1, size)
            else:
                rank.compute(MS)
                rank.recv(0, size)

    within, between = eager_sizes(match(simulate(2, program, Net(eager=2500, collective=0.0))))
    assert (within.eager, within.waits, within.limit) == (-1, None, 65536)
    assert (between.eager, between.waits, between.limit) == (2000, 3000, 2999)
