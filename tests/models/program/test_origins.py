"""Waiting by origin: planted delays."""

from __future__ import annotations

import random

import pytest

from assay.models.program.origins import WaitOrigins, wait_origins
from assay.models.program.waits import wait_states
from assay.trace.events import Trace
from assay.trace.matching import match
from plain_origins import plain_origins
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import (
    MS,
    imbalance,
    late_at,
    late_receiver,
    late_sender,
    ring,
    stencil,
    travelling_delay,
)


def _origins(trace) -> WaitOrigins:
    matched = match(trace)
    return wait_origins(matched, wait_states(matched), covered=1.0)


def _named(trace) -> dict[tuple[int, str, str], tuple[float, float]]:
    found: dict[tuple[int, str, str], tuple[float, float]] = {}
    for cost in _origins(trace).costs:
        key = (cost.rank, cost.kind, trace.sites[cost.before].function)
        direct, handed_on = found.get(key, (0.0, 0.0))
        found[key] = (direct + cost.direct, handed_on + cost.handed_on)
    return found


def test_a_late_sender() -> None:
    assert _named(late_sender(5 * MS, times=10)) == {
        (0, "computing", "hand_over"): (pytest.approx(0.05), 0.0)
    }


def test_a_late_receiver() -> None:
    assert _named(late_receiver(5 * MS, times=10)) == {
        (1, "computing", "take"): (pytest.approx(0.05), 0.0)
    }


@pytest.mark.parametrize("function", ["Barrier", "Allreduce"])
def test_a_late_rank_of_a_collective(function) -> None:
    assert _named(late_at(function, late=2, delay=5 * MS)) == {
        (2, "computing", "together"): (pytest.approx(0.15), 0.0)
    }


def test_a_late_rank_of_a_reduction_costs_the_root_there_and_others_behind_it() -> None:
    """Those that wait at the barrier do so for the root (which waited) or the late rank."""
    found = _named(late_at("Reduce", late=2, root=0))
    assert list(found) == [(2, "computing", "together")]
    assert sum(found[2, "computing", "together"]) == pytest.approx(0.05 + 0.1)


def test_a_delay_that_travels_goes_back_to_its_origin() -> None:
    """Each of ranks 1 to 5 waits 6 ms for rank 0's computing, four of them through others."""
    found = _named(travelling_delay(5 * MS, ranks=6))
    assert found[0, "computing", "hand_on"] == (pytest.approx(6 * MS), pytest.approx(24 * MS))
    for rank in (1, 2, 3, 4):
        direct, handed = found[rank, "computing", "hand_on"]
        assert direct == pytest.approx(MS)
        assert handed == pytest.approx((4 - rank) * MS)


def test_imbalance_goes_back_to_the_rank_that_computes_longer() -> None:
    assert _named(imbalance(0.2, ranks=4, iterations=50)) == {
        (3, "computing", "norm"): (pytest.approx(3 * 50 * 2 * MS), 0.0)
    }


def test_one_phase_of_two_is_late() -> None:
    """Rank 1 is late in the second phase, and early in the first."""

    def program(rank: Script) -> None:
        for _ in range(20):
            rank.compute((4 if rank.rank == 1 else 5) * MS)
            rank.send((rank.rank + 1) % 2, 10, site="middle")
            rank.compute((8 if rank.rank == 1 else 5) * MS)
            rank.recv((rank.rank + 1) % 2, 10, site="middle_in")
            rank.allreduce(site="end")

    found = _named(simulate(2, program))
    assert found == {(1, "computing", "middle_in"): (pytest.approx(20 * 2 * MS), 0.0)}


def test_a_rank_late_by_communication() -> None:
    def program(rank: Script) -> None:
        for _ in range(10):
            rank.compute(MS)
            if rank.rank < 2:
                rank.sendrecv(1 - rank.rank, 1 - rank.rank, 4_000_000, site="heavy")
            rank.barrier(site="all")

    from simulated_mpi import LinkCost, Net

    found = _named(simulate(3, program, Net(LinkCost(0.0, 1e-9), collective=0.0)))
    assert list(found) == [(0, "communication", "heavy")]
    assert found[0, "communication", "heavy"][0] == pytest.approx(10 * 4 * MS)


@pytest.mark.parametrize("trace", [stencil(iterations=20), ring(5), late_at("Bcast", root=1)])
def test_costs_add_up_to_the_waiting(trace) -> None:
    matched = match(trace)
    waits = wait_states(matched)
    found = wait_origins(matched, waits, covered=1.0)
    assert sum(cost.total for cost in found.costs) + found.unknown == pytest.approx(
        waits.seconds.sum()
    )
    assert found.unknown <= 1e-6 * waits.seconds.sum()


def _random(seed: int, ranks: int = 4) -> Trace:
    """Exchanges, one-way messages and collectives after random computing, at many places."""
    choice = random.Random(seed)
    plan = [
        (choice.choice(["pair", "shift", "Allreduce", "Bcast", "Barrier"]),
         choice.sample(range(ranks), 2), choice.randrange(5),
         [choice.uniform(0.0, 3e-3) for _ in range(ranks)])
        for _ in range(60)
    ]  # fmt: skip

    def program(rank: Script) -> None:
        me = rank.rank
        for kind, (one, other), place, computing in plan:
            rank.compute(computing[me])
            site = f"{kind}{place}"
            if kind == "shift":
                coming = rank.irecv((me - 1) % ranks, 900, site=site)
                going = rank.isend((me + 1) % ranks, 900, site=site)
                rank.compute(computing[me - 1])
                rank.wait(coming, going, site=f"wait{place}")
            elif kind != "pair":
                rank.collective(kind, 8, one if kind == "Bcast" else -1, site=site)
            elif me == one:
                rank.send(other, 900, site=site)
            elif me == other:
                rank.recv(one, 900, site=site)

    return simulate(ranks, program, Net(LinkCost(3e-5, 8e-9, 2e-6), LinkCost(), 500))


@pytest.mark.parametrize("covered", [1.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_the_native_search_agrees_with_the_plain_one(seed: int, covered: float) -> None:
    matched = match(_random(seed))
    waits = wait_states(matched)
    found, plain = wait_origins(matched, waits, covered), plain_origins(matched, waits, covered)
    assert len(waits) > 60

    def by_place(of: WaitOrigins) -> dict[tuple[int, str, int, int], tuple[float, float]]:
        return {(c.rank, c.kind, c.after, c.before): (c.direct, c.handed_on) for c in of.costs}

    expected = by_place(plain)
    assert by_place(found).keys() == expected.keys()
    for key, costs in by_place(found).items():
        assert costs == pytest.approx(expected[key], rel=1e-9, abs=1e-15)
    assert found.unknown == pytest.approx(plain.unknown, abs=1e-12)
    assert found.covered == plain.covered


def test_a_trace_without_waiting() -> None:
    assert _origins(simulate(2, lambda rank: rank.barrier())).costs == ()
