"""The hosts of a placement, the factor that varies them, and ids that must not change."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.launch.mpi.mpirun import hosts_of
from assay.launch.node_sets import choose_hosts
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import PlanContext
from assay.plans.suites import load_plan
from assay.plans.words import plan_from_words

HOSTS = tuple(f"n{i}" for i in range(1, 9))
EIGHT = PlanContext(cores=4, nodes=8, default_toolchain="fake", toolchains=("fake",))


def test_set_0_is_the_first_hosts() -> None:
    for nodes in range(1, 9):
        assert choose_hosts(HOSTS, nodes, 0, 7) == HOSTS[:nodes]


def test_a_draw_can_be_repeated_and_smaller_sets_are_subsets() -> None:
    for number in range(1, 20):
        larger: tuple[str, ...] = HOSTS
        for nodes in range(8, 0, -1):
            drawn = choose_hosts(HOSTS, nodes, number, 7)
            assert drawn == choose_hosts(HOSTS, nodes, number, 7)
            assert len(drawn) == nodes
            assert list(drawn) == sorted(drawn)  # the allocation's order
            assert set(drawn) <= set(larger)
            larger = drawn
    assert {choose_hosts(HOSTS, 2, k, 7) for k in range(1, 20)} != {
        choose_hosts(HOSTS, 2, k, 8) for k in range(1, 20)
    }


def test_all_sets_are_drawn_equally_often() -> None:
    """All 28 pairs of 8 hosts, 2800 draws: 100 each, whose standard deviation is about 10."""
    seen = Counter(choose_hosts(HOSTS, 2, k, 1) for k in range(1, 2801))
    assert set(seen) == set(itertools.combinations(HOSTS, 2))
    assert all(50 <= count <= 150 for count in seen.values())


def test_a_lost_host_leaves_the_rest_of_a_draw() -> None:
    for number in range(1, 20):
        drawn = choose_hosts(HOSTS, 3, number, 7)
        left = tuple(host for host in HOSTS if host != drawn[0])
        assert set(drawn[1:]) <= set(choose_hosts(left, 3, number, 7))


def test_launches_take_the_set() -> None:
    cluster = ClusterConfig(HOSTS)
    assert hosts_of(Placement(nodes=3), cluster, 5) == HOSTS[:3]
    drawn = hosts_of(Placement(nodes=3, node_set=4), cluster, 5)
    assert drawn == choose_hosts(HOSTS, 3, 4, 5)
    assert hosts_of(Placement(nodes=8, node_set=4), cluster, 5) == HOSTS


# ---- the factor ------------------------------------------------------------------------------


def test_a_plan_varies_the_set(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'schema = 1\n[[measure]]\nkernel = "network.barrier"\nnodes = [2, 8]\n'
        "node_set = { from = 0, to = 2, step = 1 }\n"
    )
    cells = load_plan(plan, EIGHT).cells
    sets = [(cell.placement.nodes, cell.placement.node_set) for cell in cells]
    # All eight nodes can be drawn in one way only.
    assert sets == [(2, 0), (2, 1), (2, 2), (8, 0)]
    words = plan_from_words("network.barrier", ["nodes=2", "node_set=0..3:+1"], context=EIGHT)
    assert [cell.placement.node_set for cell in words.cells] == [0, 1, 2, 3]
    kept = plan_from_words("network.barrier", ["nodes=2"], context=EIGHT)
    assert [cell.placement.node_set for cell in kept.cells] == [0]


@pytest.mark.parametrize("value", ["-1", "0.5"])
def test_invalid_sets_are_refused(value: str) -> None:
    with pytest.raises(AssayError, match="'node_set' must be a whole number"):
        plan_from_words("network.barrier", ["nodes=2", f"node_set={value}"], context=EIGHT)


def test_notes_on_the_machine_are_in_the_plan() -> None:
    context = changed(EIGHT, notes=("n2 is slow.",))
    plan = plan_from_words("network.barrier", ["nodes=2"], context=context)
    assert plan.notes == ("n2 is slow.",)


def changed(context: PlanContext, **changes: object) -> PlanContext:
    return dataclasses.replace(context, **changes)


# ---- ids -------------------------------------------------------------------------------------


def digest(content: object) -> str:
    text = json.dumps(content, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_ids_are_those_of_runs_before_node_sets_and_smt() -> None:
    cell = Cell("network.barrier", {}, Placement(ppn=2), "fake")
    before = msgspec.to_builtins(cell)
    for later in ("node_set", "smt", "devices"):
        del before["placement"][later]
    assert cell.id == digest(before) == "2f81a781a4be"
    drawn = Cell("network.barrier", {}, Placement(ppn=2, node_set=1), "fake")
    content = msgspec.to_builtins(drawn)
    del content["placement"]["smt"], content["placement"]["devices"]
    assert drawn.id == digest(content) != cell.id
