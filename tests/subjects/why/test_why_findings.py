"""The first reason of simulated programs with a planted one, with its cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.subjects.why.answer import answer
from assay.subjects.why.model import REASONS, WhyFindings
from assay.subjects.why.subject import SUBJECT
from assay.trace.events import Trace
from assay.trace.samples.model import ProgramSamples
from known_samples import sampled_trace
from simulated_mpi import LinkCost, Net, Script
from why_launches import PlantedNode, PlantedProgram, asked

RANKS, STEPS = 8, 20
IDEAL = Net(collective=5e-6)
# Variation of computing between launches and steps.
NOISE = 0.01


def _steps(script: Script, random: np.random.Generator, work: float = 0.05) -> None:
    for _ in range(STEPS):
        script.compute(work * (1.0 + NOISE * float(random.random())))
        script.allreduce(site="reduce")


def even(script: Script, random: np.random.Generator) -> None:
    """All ranks compute for equally long."""
    _steps(script, random)


def uneven(script: Script, random: np.random.Generator) -> None:
    """One rank computes 1.3 times as long."""
    _steps(script, random, 0.065 if script.rank == 3 else 0.05)


def serial(script: Script, random: np.random.Generator) -> None:
    """Rank 0 computes alone for a fifth of the time."""
    for _ in range(STEPS):
        script.compute(0.04 * (1.0 + NOISE * float(random.random())))
        script.barrier(site="gather")
        if script.rank == 0:
            script.compute(0.01)
        script.barrier(site="spread")


def late_sender(script: Script, random: np.random.Generator) -> None:
    """Rank 0 prepares what the others wait for."""
    for step in range(STEPS):
        if script.rank == 0:
            script.compute(0.02)
            for other in range(1, script.size):
                script.send(other, 8, tag=step, site="prepare")
        else:
            script.recv(0, 8, tag=step, site="take")
        script.compute(0.05 * (1.0 + NOISE * float(random.random())))
        script.allreduce(site="reduce")


def tiny_messages(script: Script, random: np.random.Generator) -> None:
    """Many small messages to the next rank in a row."""
    for _ in range(STEPS):
        script.compute(0.004 * (1.0 + NOISE * float(random.random())))
        for _ in range(100):
            script.send((script.rank + 1) % script.size, 8, site="put")
        for _ in range(100):
            script.recv((script.rank - 1) % script.size, 8, site="get")


def large_messages(script: Script, random: np.random.Generator) -> None:
    """A large message to the next rank, of two sizes."""
    for step in range(STEPS):
        script.compute(0.004 * (1.0 + NOISE * float(random.random())))
        size = 40_000_000 if step % 2 else 4_000_000
        script.sendrecv(
            (script.rank + 1) % script.size, (script.rank - 1) % script.size, size, site="halo"
        )


def _cost(found: WhyFindings) -> float:
    total = sum(one.seconds or 0.0 for one in found.reasons[:-2])
    return total + found.computing


def test_the_costs_add_up_to_the_run_time() -> None:
    for program in (even, uneven, serial, late_sender):
        found = asked(PlantedProgram(program), launches=1)
        assert _cost(found) == pytest.approx(found.seconds, rel=1e-6)
        assert [one.name for one in found.reasons] == list(REASONS)


@pytest.mark.parametrize(
    ("program", "reason", "share", "where"),
    [
        (uneven, "imbalance", 0.015 * 7 / 8 / 0.065, "rank 3"),
        (serial, "serial part", 0.01 * 7 / 8 / 0.05, "rank 0"),
        (late_sender, "late sender", 0.02 * 7 / 8 / 0.07, "prepare"),
    ],
)
def test_waiting_has_its_reason_cost_and_place(
    program: object, reason: str, share: float, where: str
) -> None:
    found = asked(PlantedProgram(program))  # type: ignore[arg-type]
    assert (found.first, found.undecided) == (reason, "")
    first = next(one for one in found.reasons if one.name == reason)
    assert first.share == pytest.approx(share, abs=0.02)
    assert first.low is not None and first.high is not None and first.seconds is not None
    assert first.low <= first.seconds <= first.high
    assert where in first.where
    said = answer(found)
    assert said.verdict.startswith(reason.capitalize())
    assert first.change in said.advice[0]
    (line, *_) = SUBJECT.lines(found)
    assert line.what == reason and line.change == pytest.approx(-(first.share or 0.0))


def test_samples_name_the_function_and_line_to_look_at_first() -> None:
    """Rank 3 spends its additional time in another function than the others."""

    def samples(trace: Trace) -> ProgramSamples:
        return sampled_trace(trace, {"solve": 1.0}, 0.001, extra=(3, "refine"), base=0.05)

    found = asked(PlantedProgram(uneven), samples=samples)
    assert found.first == "imbalance"
    assert found.reason("imbalance").where.endswith(", in refine (refine.c:7)")
    assert "Look first at rank 3" in answer(found).verdict
    # Of a healthy program, the line with the most computing time.
    healthy = asked(PlantedProgram(even), samples=samples)
    assert healthy.hottest is not None and healthy.hottest.function == "solve"
    assert " of it is in solve (solve.c:7)." in answer(healthy).verdict
    assert asked(PlantedProgram(even)).hottest is None


def test_small_messages_are_the_latency_of_the_network() -> None:
    net = Net(between=LinkCost(20e-6, 1e-10, 5e-6))
    found = asked(PlantedProgram(tiny_messages, net=net))
    assert found.first == "latency"
    assert "put" in found.reason("latency").where
    assert "100" in found.reason("latency").change


def test_large_messages_are_its_bandwidth() -> None:
    net = Net(between=LinkCost(2e-6, 1e-9, 1e-6))
    found = asked(PlantedProgram(large_messages, net=net))
    assert found.first == "bandwidth"
    assert (found.reason("latency").share or 0.0) < 0.02


@pytest.mark.parametrize("ranks", [2, 8])
def test_nothing_stands_out_of_a_healthy_program(ranks: int) -> None:
    found = asked(PlantedProgram(even, ranks=ranks), shared=0.01)
    assert (found.first, found.undecided) == ("", "")
    assert "Nothing stands out" in answer(found).verdict
    assert SUBJECT.lines(found) == []


def test_undecided_reasons_come_before_the_sentence_that_no_other_stands_out() -> None:
    """A third of the time can be theirs."""
    found = asked(PlantedProgram(even), shared=0.01)
    unknown = [
        replace(one, outcome="undecided", seconds=None, low=None, high=None, share=None)
        if one.name in ("latency", "bandwidth")
        else one
        for one in found.reasons
    ]
    said = answer(replace(found, reasons=unknown)).verdict
    assert said.startswith("Undecided: latency and bandwidth. No other reason stands out: of ")


def test_memory_bandwidth_is_what_ranks_take_from_each_other() -> None:
    found = asked(PlantedProgram(even), shared=0.4)
    assert found.first == "memory bandwidth"
    assert found.reason("memory bandwidth").share == pytest.approx(0.4, abs=0.02)
    without = asked(PlantedProgram(even))
    assert without.reason("memory bandwidth").outcome == "undecided"


def _slowed(script: Script, random: np.random.Generator) -> None:
    """Rank 2 takes twice as long for the same work."""
    _steps(script, random, 0.1 if script.rank == 2 else 0.05)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (PlantedNode(waits=0.5, held=0.45), "CPU quota"),
        (PlantedNode(waits=0.5, busy=30.0), "other processes"),
        (PlantedNode(speed=0.5e9), "slow CPU"),
    ],
)
def test_a_node_that_slows_one_rank_is_told_from_more_work(node: PlantedNode, reason: str) -> None:
    planted = PlantedProgram(_slowed, nodes=lambda rank, _: node if rank == 2 else PlantedNode())
    found = asked(planted)
    assert (found.first, found.undecided) == (reason, "")
    first = next(one for one in found.reasons if one.name == reason)
    assert first.share == pytest.approx(0.5, abs=0.02)
    assert "rank 2 on n2" in first.where
    assert found.reason("imbalance").outcome == "small"
    # The same times without a fault of the node are more work.
    assert asked(replace(planted, nodes=lambda *_: PlantedNode())).first == "imbalance"


def test_two_ranks_on_one_cpu_are_a_wrong_binding() -> None:
    def nodes(rank: int, _: int) -> PlantedNode:
        return PlantedNode(waits=0.5, cpus="0") if rank < 2 else PlantedNode()

    def program(script: Script, random: np.random.Generator) -> None:
        _steps(script, random, 0.1 if script.rank < 2 else 0.05)

    found = asked(PlantedProgram(program, hosts=["n0"] * RANKS, nodes=nodes))
    assert found.first == "binding"
    assert "2 ranks of n0 may use only CPUs 0" in found.reason("binding").evidence


def test_a_busy_machine_leaves_it_undecided() -> None:
    """Whether it disturbs all ranks, or another rank in each launch."""
    random = np.random.default_rng(3)
    everywhere = asked(
        PlantedProgram(even, nodes=lambda *_: PlantedNode(waits=0.3 + 0.1 * float(random.random())))
    )
    assert everywhere.first == "" and "the machine was busy" in everywhere.undecided
    assert answer(everywhere).verdict.startswith("Undecided")
    elsewhere = asked(
        PlantedProgram(
            even,
            nodes=lambda rank, launch: PlantedNode(waits=0.3 * (rank == launch)),
        )
    )
    assert "the machine was busy" in elsewhere.undecided


def test_ranks_that_are_disturbed_in_both_launches_by_chance_are_no_reason() -> None:
    """Ranks 0 and 1 lack their CPUs in one launch, 1 and 2 in the other."""
    found = asked(
        PlantedProgram(
            even,
            nodes=lambda rank, launch: PlantedNode(waits=0.3 * (rank - launch % 2 in (0, 1))),
        ),
        launches=2,
    )
    assert found.first == "" and "the machine was busy" in found.undecided


def test_too_many_ranks_if_reductions_take_longer_than_the_work() -> None:
    def program(script: Script, random: np.random.Generator) -> None:
        for _ in range(STEPS):
            script.compute(1e-5 * (1.0 + NOISE * float(random.random())))
            script.allreduce(site="reduce")
            script.compute(1e-5)
            script.sendrecv(
                (script.rank + 1) % script.size, (script.rank - 1) % script.size, 8, site="halo"
            )

    net = Net(between=LinkCost(50e-6, 1e-10, 5e-6))
    found = asked(PlantedProgram(program, net=net))
    assert found.reason("too many ranks").outcome == "stands out"
    assert found.first == "too many ranks"


def test_no_reason_costs_more_than_the_run() -> None:
    """Launches that other work makes several times as long are compared by shares."""

    def nodes(rank: int, launch: int) -> PlantedNode:
        return PlantedNode(waits=0.9 if launch else 0.6, busy=90.0) if rank == 2 else PlantedNode()

    started = iter(range(2 * RANKS))

    def program(script: Script, random: np.random.Generator) -> None:
        taken = 10.0 if next(started) >= RANKS else 2.5
        _steps(script, random, 0.05 * taken if script.rank == 2 else 0.05)

    found = asked(PlantedProgram(program, nodes=nodes), launches=2)
    assert found.first == "other processes"
    first = found.reason("other processes")
    assert first.share is not None and 0.5 < first.share < 1.0
    assert _cost(found) == pytest.approx(found.seconds, rel=0.05)
