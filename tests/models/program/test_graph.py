"""Execution graph = linear program = simulation."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.models.program.adapters import with_adapters
from assay.models.program.graph import ProgramGraph, build_graph
from assay.models.program.links import IDEAL, LinkParameters, ProgramNetwork
from assay.models.program.replay import largest, replay
from assay.trace.matching import match
from linear_program import largest_latency, solve
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import ETHERNET, FAST, ring, stencil

GIGABIT = Net(ETHERNET, FAST)
SLOW = Net(LinkCost(2e-4, 8e-8, 5e-6), FAST)
QUICK = Net(LinkCost(1e-6, 1e-10, 3e-7), FAST)
COLLECTIVES = ("Barrier", "Bcast", "Reduce", "Gather", "Allreduce", "Allgather", "Alltoall")


def _network(net: Net) -> ProgramNetwork:
    return ProgramNetwork(
        *(
            LinkParameters(link.latency, link.gap, link.overhead)
            for link in (net.within, net.between)
        )
    )


def _graph(trace, net: Net) -> ProgramGraph:
    return build_graph(match(trace), (net.eager, net.eager))


def _predicted(graph: ProgramGraph, net: Net) -> float:
    network = _network(net)
    return replay(with_adapters(graph, network), network).seconds


def _random_program(seed: int, ranks: int):
    """A program that can't deadlock: rounds of exchanges, and collectives, in random places."""
    choice = random.Random(seed)
    plan = []
    for _ in range(choice.randint(1, 12)):
        kind = choice.choice(["pair", "pair", "shift", "collective"])
        one, other = choice.sample(range(ranks), 2)
        size = choice.choice([8, 1000, 30_000, 200_000])
        plan.append((kind, one, other, size, choice.choice(COLLECTIVES),
                     [choice.uniform(0, 2e-3) for _ in range(ranks)]))  # fmt: skip

    def program(rank: Script) -> None:
        me = rank.rank
        for kind, one, other, size, function, computing in plan:
            rank.compute(computing[me])
            if kind == "pair" and me == one:
                rank.send(other, size)
            elif kind == "pair" and me == other:
                rank.recv(one, size)
            elif kind == "shift":
                coming = rank.irecv((me - 1) % ranks, size)
                going = rank.isend((me + 1) % ranks, size)
                rank.compute(computing[me - 1])
                rank.wait(coming, going)
            elif kind == "collective":
                root = one if function in ("Bcast", "Reduce", "Gather") else -1
                rank.collective(function, size, root)
        rank.compute(computing[me])

    return program


@given(seed=st.integers(0, 10**6), ranks=st.integers(2, 6), limit=st.sampled_from([1e9, 5000]))
@settings(deadline=None, max_examples=60)
def test_the_graph_gives_the_simulated_time_on_the_network_of_the_trace(seed, ranks, limit) -> None:
    program = _random_program(seed, ranks)
    net = Net(ETHERNET, FAST, eager=limit)
    trace = simulate(ranks, program, net)
    assert _predicted(_graph(trace, net), net) == pytest.approx(trace.end, rel=1e-9)


@given(seed=st.integers(0, 10**6), ranks=st.integers(2, 5), limit=st.sampled_from([1e9, 5000]))
@example(seed=1106, ranks=5, limit=1e9)  # seven repetitions until the adapters' orders settle
@example(seed=1167, ranks=5, limit=1e9)  # eight
@example(seed=3098, ranks=5, limit=1e9)  # messages that are ready at the same time
@settings(deadline=None, max_examples=40)
def test_the_graph_gives_the_simulated_time_on_other_networks(seed, ranks, limit) -> None:
    program = _random_program(seed, ranks)
    graph = _graph(simulate(ranks, program, Net(ETHERNET, FAST, limit)), Net(eager=limit))
    for net in (SLOW, QUICK):
        real = simulate(ranks, program, Net(net.between, net.within, limit))
        assert _predicted(graph, net) == pytest.approx(real.end, rel=1e-9)


@pytest.mark.parametrize("function", COLLECTIVES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_collectives_are_the_published_algorithms(function, ranks) -> None:
    def program(rank: Script) -> None:
        rank.compute(1e-3 * (1 + rank.rank % 3))
        rank.collective(function, 1000, 1 if function in ("Bcast", "Reduce", "Gather") else -1)

    graph = _graph(simulate(ranks, program, GIGABIT), GIGABIT)
    for net in (GIGABIT, QUICK):
        real = simulate(ranks, program, net).end
        assert _predicted(graph, net) == pytest.approx(real, rel=1e-6)


def test_a_stencil_on_other_networks() -> None:
    graph = _graph(stencil(6, 30, GIGABIT), GIGABIT)
    for net in (GIGABIT, SLOW, QUICK):
        real = stencil(6, 30, net).end
        assert _predicted(graph, net) == pytest.approx(real, rel=0.01)


def test_ranks_of_a_host_share_its_adapter() -> None:
    hosts = ["a", "a", "b", "b"]

    def program(rank: Script) -> None:
        if rank.rank < 2:
            rank.send(rank.rank + 2, 1_000_000)
        else:
            rank.recv(rank.rank - 2, 1_000_000)

    graph = _graph(simulate(4, program, GIGABIT, hosts), GIGABIT)
    both = _predicted(graph, GIGABIT)
    each = replay(graph, _network(GIGABIT)).seconds
    assert both == pytest.approx(simulate(4, program, GIGABIT, hosts).end)
    assert both - each == pytest.approx(8e-3)


@pytest.mark.parametrize("limit", [1e9, 5000])
def test_the_linear_program_agrees(limit) -> None:
    net = Net(ETHERNET, FAST, limit)
    for seed in range(8):
        graph = _graph(simulate(4, _random_program(seed, 4), net), net)
        for other in (net, SLOW):
            graph = with_adapters(graph, _network(other))
            found, solved = replay(graph, _network(other)), solve(graph, _network(other))
            assert solved.seconds == pytest.approx(found.seconds, rel=1e-7)
            assert found.slopes.seconds(_network(other)) == pytest.approx(found.seconds)
            assert solved.latency == pytest.approx(found.slopes.latencies[1], abs=1e-6)
            assert solved.gap == pytest.approx(found.slopes.bytes[1], rel=1e-6)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_the_latency_that_costs_a_share(share) -> None:
    graph = _graph(stencil(4, 10, GIGABIT), GIGABIT)
    network = _network(GIGABIT)
    goal = replay(graph, network).seconds * (1 + share)
    latency = largest(graph, network, "latency", goal)
    assert latency == pytest.approx(largest_latency(graph, network, goal), rel=1e-6)
    assert replay(graph, network.changed(latency=latency)).seconds == pytest.approx(goal)
    gap = largest(graph, network, "gap", goal)
    assert replay(graph, network.changed(gap=gap)).seconds == pytest.approx(goal)


def test_slopes_of_a_ring() -> None:
    """Every hop is on the path: 4 ranks, 3 rounds, 12 messages of 127 kB."""
    graph = _graph(ring(4, 127_000, 3), GIGABIT)
    slopes = replay(graph, _network(GIGABIT)).slopes
    assert slopes.latencies == (0.0, 12.0)
    assert slopes.bytes == (0.0, 12 * 127_000.0)
    assert slopes.overheads == (0.0, 24.0)


def test_a_program_without_messages_between_hosts_tolerates_any_latency() -> None:
    trace = simulate(2, lambda rank: rank.allreduce(), GIGABIT, ["a", "a"])
    graph, network = _graph(trace, GIGABIT), _network(GIGABIT)
    goal = replay(graph, network).seconds * 1.01
    assert largest(graph, network, "latency", goal) is None


def test_on_an_ideal_network_only_computing_and_order_remain() -> None:
    assert replay(_graph(ring(4), GIGABIT), IDEAL).seconds == 0.0
    graph = _graph(stencil(4, 10, GIGABIT), GIGABIT)
    assert replay(graph, IDEAL).seconds == pytest.approx(10 * 1.1e-3)


def test_a_program_that_relies_on_buffers_has_no_order_by_rendezvous() -> None:
    def program(rank: Script) -> None:
        rank.send(1 - rank.rank, 1000)
        rank.recv(1 - rank.rank, 1000)

    matched = match(simulate(2, program, GIGABIT))
    assert replay(build_graph(matched, (1e9, 1e9)), _network(GIGABIT)).seconds > 0.0
    with pytest.raises(AssayError, match="No order of the trace"):
        build_graph(matched, (10, 10))
