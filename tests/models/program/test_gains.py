"""What changes would save, against simulations of the changed programs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.models.program.adapters import with_adapters
from assay.models.program.critical_path import critical_path
from assay.models.program.gains.delays import longest_waiting, without_delay
from assay.models.program.gains.overlap import (
    TransferBeforeComputing,
    transfers_before_computing,
)
from assay.models.program.gains.small_messages import (
    collective_rows,
    message_rows,
    small_messages,
)
from assay.models.program.graph import build_graph
from assay.models.program.origins import wait_origins
from assay.models.program.prediction import ModelledRun, model_run
from assay.models.program.replay import replay
from assay.models.program.waits import wait_states
from assay.trace.events import Trace
from assay.trace.matching import match
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import ETHERNET, FAST, MS, imbalance, stencil, travelling_delay

BETWEEN = Net(ETHERNET, FAST)
WITHIN = Net(FAST, LinkCost(5e-6, 1e-9, 1e-6))
Program = Callable[[Script], None]


def _run(trace: Trace) -> ModelledRun:
    matched = match(trace)
    return model_run(matched, wait_states(matched))


def _blocking(number: int, size: int) -> Program:
    """Rank 0 sends so many messages to rank 1, which answers all of them with 2,000 B."""

    def program(rank: Script) -> None:
        for _ in range(20):
            rank.compute(MS)
            if rank.rank == 0:
                for _ in range(number):
                    rank.send(1, size, site="out")
                rank.recv(1, 2000, site="answer")
            else:
                for _ in range(number):
                    rank.recv(0, size, site="in")
                rank.send(0, 2000, site="back")

    return program


def _posted(number: int, size: int) -> Program:
    """Both ranks of a pair post all receives, send all, and wait once."""

    def program(rank: Script) -> None:
        other = rank.rank ^ 1
        for _ in range(20):
            rank.compute(MS)
            requests = [rank.irecv(other, size, site="in") for _ in range(number)]
            requests += [rank.isend(other, size, site="out") for _ in range(number)]
            rank.wait(*requests, site="wait")
            for sender in (0, 1):  # shows latency and gap
                if rank.rank == sender:
                    rank.send(other, 2000 * (1 + 9 * sender), site="back")
                else:
                    rank.recv(other, 2000 * (1 + 9 * sender), site="answer")

    return program


@pytest.mark.parametrize("program", [_blocking, _posted])
@pytest.mark.parametrize(("net", "hosts"), [(BETWEEN, ["a", "b"]), (WITHIN, ["a", "a"])])
def test_joining_saves_what_a_simulation_without_the_messages_does(
    program: Callable[[int, int], Program], net: Net, hosts: list[str]
) -> None:
    """64 messages of 8 B in place of one of 512 B; and the replay of that program's graph."""
    many = simulate(2, program(64, 8), net, hosts)
    one = simulate(2, program(1, 512), net, hosts)
    run = _run(many)
    found = small_messages(run)
    assert len(found) == 1
    assert (found[0].in_a_row, found[0].size) == (64, 8)
    assert found[0].calls == 20 * 64 * found[0].ranks
    assert many.sites[found[0].site].function == "out"
    assert found[0].seconds == pytest.approx(many.end - one.end, rel=0.03)
    network = run.calibrated.network
    graph = with_adapters(build_graph(match(one), run.eager), network)
    saved = run.modelled.seconds - replay(graph, network).seconds
    assert found[0].seconds == pytest.approx(saved, rel=1e-6)


def test_collectives_in_a_row_save_all_but_one() -> None:
    def program(number: int) -> Program:
        def of(rank: Script) -> None:
            for _ in range(20):
                rank.compute(MS)
                for _ in range(number):
                    rank.allreduce(8, site="norm")

        return of

    many, one = simulate(4, program(32), BETWEEN), simulate(4, program(1), BETWEEN)
    (found,) = small_messages(_run(many))
    assert (found.collective, found.in_a_row, found.ranks) == (True, 32, 4)
    assert found.seconds == pytest.approx(many.end - one.end, rel=0.03)


@pytest.mark.parametrize(("net", "hosts"), [(BETWEEN, ["a", "b"]), (WITHIN, ["a", "a"])])
def test_messages_that_are_answered_one_by_one(net: Net, hosts: list[str]) -> None:
    """A boundary of 64 numbers, exchanged number by number, in place of one message each way."""

    def program(number: int, size: int) -> Program:
        def of(rank: Script) -> None:
            other = 1 - rank.rank
            for _ in range(20):
                rank.compute(MS)
                for _ in range(number):
                    rank.sendrecv(other, other, size, site="swap")
                rank.compute(MS / 2 * rank.rank)  # the last exchange is waited for
                rank.sendrecv(other, other, 20_000, site="large")

        return of

    many = simulate(2, program(64, 8), net, hosts)
    one = simulate(2, program(1, 512), net, hosts)
    (found,) = small_messages(_run(many))
    assert (found.answered, found.in_a_row, found.size, found.ranks) == (True, 64, 8, 2)
    assert many.sites[found.site].function == "swap"
    assert found.seconds == pytest.approx(many.end - one.end, rel=0.05)


def test_a_test_of_the_network_is_not_advised_to_send_less() -> None:
    def program(rank: Script) -> None:
        for _ in range(5000):
            rank.sendrecv(1 - rank.rank, 1 - rank.rank, 8)

    assert small_messages(_run(simulate(2, program, BETWEEN))) == []


def _rows_of(between: Callable[[Script, int], None], size: int = 8) -> int:
    """Messages in rows where something is done after each of ten sends to rank 1."""

    def program(rank: Script) -> None:
        for number in range(10):
            if rank.rank == 0:
                rank.send(1, size, site="out")
            between(rank, number)
        if rank.rank == 1:
            for _ in range(10):
                rank.recv(0, size, site="in")

    return len(message_rows(match(simulate(3, program, BETWEEN)), 5e-6).message)


def test_what_separates_messages() -> None:
    """Anything received, a collective, or computing between them; others aren't small."""

    def nothing(rank: Script, number: int) -> None:
        pass

    def computing(rank: Script, number: int) -> None:
        rank.compute(MS)

    def a_little(rank: Script, number: int) -> None:
        rank.compute(1e-6)

    def barrier(rank: Script, number: int) -> None:
        rank.barrier()

    def received(rank: Script, number: int) -> None:
        if rank.rank == 0:
            rank.recv(2, 8, tag=7)
        elif rank.rank == 2:
            rank.send(0, 8, tag=7)
            rank.recv(0, 8, tag=8)
        if rank.rank == 0:
            rank.send(2, 8, tag=8)

    def to_another(rank: Script, number: int) -> None:
        if rank.rank == 0:
            rank.send(2, 8, tag=9)
        elif rank.rank == 2:
            rank.recv(0, 8, tag=9)

    assert _rows_of(nothing) == _rows_of(a_little) == 10
    assert _rows_of(to_another) == 20
    assert _rows_of(computing) == _rows_of(barrier) == _rows_of(received) == 0
    assert _rows_of(nothing, 10_000) == 0


def test_collectives_of_other_roots_or_with_computing_are_not_in_a_row() -> None:
    def program(rank: Script) -> None:
        for number in range(12):
            rank.collective("Bcast", 8, number % 2, site="roots")
        for _ in range(12):
            rank.allreduce(8, site="norm")
            rank.compute(MS)
        for _ in range(12):
            rank.barrier(site="sync")
        for _ in range(12):
            rank.allreduce(10_000, site="large")

    assert len(collective_rows(match(simulate(2, program, BETWEEN)), 5e-6).event) == 0


def _before_computing(computing: float, *, early: bool = False, to: int = 1) -> Program:
    """Rank 1 receives 100,000 B from rank 0, computes, and answers; 20 times."""

    def program(rank: Script) -> None:
        for _ in range(20):
            if rank.rank == 0:
                rank.send(1, 100_000, site="out")
                rank.compute(2 * MS)
                rank.recv(1, 8, site="answer")
            elif early:
                request = rank.irecv(0, 100_000, site="in")
                rank.compute(computing)
                rank.wait(request, site="wait")
                rank.send(0, 8, site="back")
            else:
                rank.recv(0, 100_000, site="in")
                rank.compute(computing)
                rank.send(0, 8, site="back")

    return program


def _overlaps(trace: Trace, overhead: float = 0.0) -> dict[str, TransferBeforeComputing]:
    matched = match(trace)
    path = critical_path(matched.flat, wait_states(matched))
    found = transfers_before_computing(matched, path, overhead)
    return {trace.sites[one.site].function: one for one in found}


@pytest.mark.parametrize("computing", [3 * MS, 0.5 * MS])
def test_a_transfer_is_hidden_by_computing_as_far_as_the_shorter_lasts(computing: float) -> None:
    """The transfer takes 2 o + L + s G = 834 µs; only it counts, where rank 1 is the slower one."""
    found = _overlaps(simulate(2, _before_computing(computing), BETWEEN))
    transfer = 2 * ETHERNET.overhead + ETHERNET.latency + 100_000 * ETHERNET.gap
    if computing > 2 * MS:
        assert found["in"].calls == 20
        assert found["in"].transfer == pytest.approx(transfer)
        assert found["in"].computing == pytest.approx(computing)
        assert found["in"].seconds == pytest.approx(20 * min(transfer, computing))
        one, other = (
            simulate(2, _before_computing(computing, early=early), BETWEEN)
            for early in (False, True)
        )
        # The changed program hides the way of the answer, too, which is waiting.
        hidden = one.end - other.end
        assert found["in"].seconds <= hidden <= found["in"].seconds + 20 * 2 * 36e-6
    else:  # rank 0 computes longer than transfer and computing of rank 1 take
        assert found.get("in") is None or found["in"].seconds < 0.1 * 20 * transfer


def test_several_transfers_share_the_computing_behind_them() -> None:
    def program(rank: Script) -> None:
        for _ in range(10):
            if rank.rank == 0:
                rank.recv(1, 100_000, site="first")
                rank.recv(2, 100_000, site="second")
                rank.compute(MS)
                rank.send(1, 8)
                rank.send(2, 8)
            else:
                rank.send(0, 100_000, site="out")
                rank.recv(0, 8, site="go")

    found = _overlaps(simulate(3, program, BETWEEN))
    both = found["first"].seconds + found["second"].seconds
    assert both == pytest.approx(10 * MS, rel=0.01)
    assert found["second"].computing == found["first"].computing == pytest.approx(MS)


def test_collectives_with_data_count_and_barriers_do_not() -> None:
    def program(rank: Script) -> None:
        for _ in range(10):
            rank.allreduce(8, site="norm")
            rank.compute(MS)
            rank.barrier(site="sync")
            rank.compute(MS)

    net = Net(collective=0.4 * MS)
    found = _overlaps(simulate(2, program, net), overhead=0.1 * MS)
    assert set(found) == {"norm"}
    assert found["norm"].seconds == pytest.approx(10 * 0.3 * MS)


def test_what_is_saved_without_a_delay() -> None:
    """Imbalance of 20%: one sixth of the run; a delay that travels: it, and the computing only
    that rank does there.
    """
    for trace, expected in (
        (imbalance(0.2, iterations=50), 49 * 2 * MS),
        (travelling_delay(), 6 * MS),
    ):
        matched = match(trace)
        waits = wait_states(matched)
        cost = wait_origins(matched, waits).costs[0]
        saved = without_delay(_run(trace), cost.rank, [(cost.after, cost.before)])
        assert saved == pytest.approx(expected, rel=0.01)


def test_the_longest_waiting_of_the_others() -> None:
    matched = match(imbalance(0.2, ranks=3, iterations=10))
    longest = longest_waiting(matched.flat, wait_states(matched))
    assert longest == pytest.approx(np.full(3, 10 * 2 * MS))


def test_a_balanced_stencil_has_nothing_to_join() -> None:
    assert small_messages(_run(stencil(4, 10))) == []
