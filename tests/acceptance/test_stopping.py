"""The looks of a contract at a running measurement."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from acceptance_runs import contract, filed_run, normal_times
from assay.acceptance.node_decision import NodesPlan
from assay.acceptance.run_evidence import dependences
from assay.acceptance.verdicts import ContractStop
from assay.records.reading import read_run
from assay.stats.cells.dependence import LaunchSeries
from records_builder import make_cell

CELLS = [make_cell("network.pingpong", bytes=2**k) for k in range(8)]
TEXT = "".join(
    f'[[commitment]]\ncells = "network.pingpong bytes={2**k}"\nmetric = "latency"\n'
    f'at_most = "{1.2 if k else 0.9} ms"\n'
    for k in range(7)
)


def test_what_a_look_decides_does_not_depend_on_later_launches(tmp_path: Path) -> None:
    """The same looks at 9, 14 and 30 launches of the same run, and no look before it is due."""
    times = [(cell, normal_times(k, 1e-3, 30)) for k, cell in enumerate(CELLS)]
    data = read_run(filed_run(tmp_path, times).path)
    seen: list[list[frozenset[str]]] = []
    for most in (14, 21, 30):
        part = dataclasses.replace(
            data, measurements=tuple(m for m in data.measurements if m.replicate < most)
        )
        stop = ContractStop(contract(TEXT), lambda part=part: part)
        assert not stop.due(5)
        assert stop.due(6)
        seen.append([frozenset(stop.look()) for _ in range(3)])
    assert seen[0] == seen[1] == seen[2]
    decided = frozenset().union(*seen[0])
    assert decided == {cell.id for cell in CELLS[:7]}


def test_a_commitment_per_node_ends_nothing(tmp_path: Path) -> None:
    times = [(cell, normal_times(k, 1e-3, 30)) for k, cell in enumerate(CELLS)]
    data = read_run(filed_run(tmp_path, times).path)
    text = f"[machine]\nnodes = 4\n{TEXT}" + (
        '[[commitment]]\ncells = "network.pingpong"\nmetric = "latency"\nat_most = "2 ms"\n'
        'per = "node"\n'
    )
    stop = ContractStop(contract(text), lambda: data)
    assert all(not stop.look() for _ in range(5))
    assert not stop.due(30)


def test_few_other_cells_show_levels_that_the_judged_cell_does_not_leave() -> None:
    """Five cells alternate between two levels; the first one stays in one of them."""
    rng = np.random.default_rng(1)
    levels = (np.arange(24) // 6) % 2
    cells = [
        LaunchSeries(range(24), 100.0 + rng.standard_normal(24) + 5.0 * np.roll(levels, 2 * k))
        for k in range(5)
    ]
    stuck = LaunchSeries(range(24), 100.0 + rng.standard_normal(24))
    alone, among = dependences([stuck])[0], dependences([stuck, *cells])[0]
    assert alone.together < 0.4
    assert among.together > 0.55


@pytest.mark.parametrize(("nodes", "variation"), [(8, 0.003), (8, 0.01)])
def test_planned_launches_decide_other_simulated_nodes(nodes: int, variation: float) -> None:
    plan = NodesPlan(nodes, nodes, 0.03, variation, 0.05, 0.05)
    launches = plan.launches(6)
    rng = np.random.default_rng(99)
    accepted = sum(plan.is_accepted(rng, launches) for _ in range(40))
    assert accepted >= 34
