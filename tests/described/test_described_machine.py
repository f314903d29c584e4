"""Machines: figures, draws, and the time of a program from counted work."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.topologies.kinds import Single, Torus
from described.figure import MachineFigure, assumed, measured, quoted
from described.machine import DescribedMachine, Interconnect, MachineNode
from described.programs import ProgramWork, program_time, propagate
from described.published import helix, seth


def machine(nodes: int = 4, spread: float = 0.1) -> DescribedMachine:
    """Nodes of two processors with round numbers."""
    return DescribedMachine(
        "test",
        MachineNode(
            2,
            quoted(10e9, "test", 0.0),
            measured(8e9, "test", spread),
            quoted(1e9, "test", 0.0),
            measured(3e9, "test", 0.0),
            measured(2e9, "test", 0.0),
        ),
        Interconnect("test", measured(1e-5, "test", 0.0), assumed(1e8, "test", 0.0)),
        Single(nodes),
    )


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_figure_is_a_positive_number(value: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        measured(value, "test")


def test_a_spread_is_not_negative() -> None:
    with pytest.raises(ValueError, match="spread"):
        MachineFigure(1.0, "quoted", "test", -0.1)


def test_memory_saturates() -> None:
    node = machine().node
    assert [node.bandwidth(active) for active in (1, 2)] == [2e9, 3e9]


def test_sums_over_nodes() -> None:
    assert seth().processors == 240
    assert seth().peak == pytest.approx(800e9, rel=0.001)
    assert seth().topology == Torus((6, 4, 5))
    assert helix().processors == 132


def test_draws_have_the_spread_of_each_figure_and_only_that() -> None:
    random = np.random.default_rng(1)
    drawn = [machine().draw(random) for _ in range(2000)]
    logs = np.log([each.node.dgemm.value / 8e9 for each in drawn])
    assert logs.std() == pytest.approx(0.1, rel=0.1)
    assert {each.node.peak.value for each in drawn} == {10e9}


def test_assumptions_are_the_figures_that_nobody_measured() -> None:
    names = {name for name, _ in machine().assumptions()}
    assert names == {"node.peak", "node.memory", "interconnect.rate"}


def test_time_of_a_program_by_cause() -> None:
    work = ProgramWork(flops=8e9, traffic=12e9, messages=4000, sent=4e8)
    time = program_time(machine(), work, 1e9, 4, 2)
    assert time.computing == pytest.approx(2.0)  # 2e9 flop per rank
    assert time.memory == pytest.approx(2.0)  # 6e9 B per node at 3e9 B/s
    assert time.latency == pytest.approx(0.01)  # 1000 messages per rank
    assert time.bandwidth == pytest.approx(2.0)  # 1e8 B per rank at half of an adapter
    assert time.seconds == pytest.approx(6.01)
    alone = program_time(machine(), work, 1e9, 2, 2)
    assert alone.latency == alone.bandwidth == 0.0


def test_ranks_must_fit() -> None:
    with pytest.raises(ValueError, match="don't fit"):
        program_time(machine(), ProgramWork(1, 1, 1, 1), 1e9, 16, 2)


def test_an_interval_is_that_of_the_figure_it_depends_on() -> None:
    found = propagate(machine(), lambda m: m.node.dgemm.value, draws=4000)
    assert found.value == 8e9
    assert found.ci90[0] == pytest.approx(8e9 * math.exp(-0.1645), rel=0.01)
    assert found.ci90[1] == pytest.approx(8e9 * math.exp(0.1645), rel=0.01)
