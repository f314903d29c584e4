"""Racks and switches as a level of their own: from host names and files to the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.campaign.requests.run_request import run_request
from assay.charts.drawing import svg
from assay.cli.results.report import report
from assay.config import Config, SystemConfig
from assay.kernels import known_kernel
from assay.questions.common.findings import findings_json
from assay.records.group import read_group
from assay.records.request import RunOptions, RunRequest
from assay.stats.core.model import CellSummary, MetricSummary
from assay.stats.fleet.fleet import compare
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.by_node import by_node
from assay.subjects.nodes.figures import figures
from assay.subjects.nodes.findings import NodesFindings, compare_nodes, find
from assay.subjects.nodes.grouping import UNNAMED, groupings
from assay.subjects.nodes.model import MeasuredNode
from assay.subjects.nodes.tables import tables
from assay.subjects.nodes.words import group_text, suspect_text
from fleet_builder import BARRIER, CELLS, DGEMM, STRIDED, make_group

# ---- partitions ----------------------------------------------------------------------------------


FIVE = [(rack, node) for rack in range(5) for node in range(1, 11)]


@pytest.mark.parametrize(
    ("pattern", "what", "names"),
    [
        ("r{:02}n{:02}", UNNAMED, ["r00", "r01", "r02", "r03", "r04"]),
        ("cn{:02}{:02}", UNNAMED, ["cn00", "cn01", "cn02", "cn03", "cn04"]),
        ("rack{}-node{}.site.example", "rack", ["rack0", "rack1", "rack2", "rack3", "rack4"]),
        ("a100-switch{}-{}", "switch", [f"a100-switch{rack}" for rack in range(5)]),
    ],
)
def test_numbers_of_host_names_are_levels(pattern: str, what: str, names: list[str]) -> None:
    hosts = [pattern.format(*place) for place in FIVE]
    (found,) = groupings(hosts)
    assert (found.what, list(found.names)) == (what, names)
    assert found.numbers.tolist() == [rack for rack, _ in FIVE]


def test_each_number_but_the_last_is_a_level() -> None:
    hosts = [
        f"x1000c{c}s{s}b{b}n{n}" for c in range(4) for s in range(6) for b in (0, 1) for n in (0, 1)
    ]
    chassis, blades = groupings(hosts)
    assert list(chassis.names) == [f"x1000c{c}" for c in range(4)]
    assert len(blades.names) == 24  # two nodes on each half of a blade are too few


@pytest.mark.parametrize(
    "hosts",
    [
        [f"n{n}" for n in range(1, 61)],
        [f"node{n:04d}" for n in range(1, 301)],  # consecutive: the last two digits do not restart
        [f"nid{n:06d}" for n in range(1000, 1400)],
        [f"10.0.{a}.{b}" for a in range(5) for b in range(10)],
        ["fe80::1", "fe80::2", "fe80::3"] * 10,
        ["alpha", "beta", "gamma", "delta"] * 5,
        [f"r{rack}n{node}" for rack in range(2) for node in range(20)],  # two groups
        [f"r{rack}n{node}" for rack in range(20) for node in range(3)],  # of three nodes
        ["", *(f"n{n}" for n in range(20))],
        [],
    ],
    ids=lambda hosts: hosts[0] if hosts else "none",
)
def test_names_without_structure_give_no_groups(hosts: list[str]) -> None:
    assert groupings(hosts) == []


def test_stated_groups_replace_those_of_names() -> None:
    hosts = [f"r{rack:02}n{node:02}.site" for rack, node in FIVE]
    stated = {
        "switch": {"s1": "r[00-01]n[01-10]", "s2": "r[02-03]n[01-10]", "s3": "r04n[01-08].site"}
    }
    (found,) = groupings(hosts, stated)
    assert (found.what, found.names) == ("switch", ("s1", "s2", "s3"))
    assert found.numbers.tolist() == [0] * 20 + [1] * 20 + [2] * 8 + [-1] * 2
    of_another_machine = {"switch": {"s1": "m[1-9]"}}
    assert [each.what for each in groupings(hosts, of_another_machine)] == [UNNAMED]


# ---- verdicts ------------------------------------------------------------------------------------


def measured(
    hosts: Sequence[str],
    drawn: np.random.Generator,
    slow: dict[tuple[str, str], float],
    *,
    launches: int = 3,
    late: float = 0.0,
) -> list[MeasuredNode]:
    """Nodes that differ by 0.3%, launches by 1%, of which a share is late by 5% on average.

    ``slow``: factors of hosts' costs, by the beginning of the name and kernel ("" for all).
    """
    nodes = []
    for number, host in enumerate(hosts):
        costs, summaries = {}, []
        for cell in CELLS:
            factor = np.prod(
                [
                    by
                    for (head, kernel), by in slow.items()
                    if host.startswith(head) and kernel in ("", cell.kernel)
                ]
            )
            delay = drawn.exponential(0.05, launches) * (drawn.random(launches) < late)
            logs = 0.003 * drawn.standard_normal() + 0.01 * drawn.standard_normal(launches) + delay
            costs[cell.id] = 1e-3 * factor * np.exp(logs)
            kernel = known_kernel(cell.kernel)
            assert kernel is not None
            better = next(m.better for m in kernel.metrics if m.name == kernel.headline)
            median = float(np.median(costs[cell.id]))
            value = 1.0 / median if better == "more" else median
            metric = MetricSummary(
                "", better, value, None, 0.0, 1.0, 0.0, 1.0, None, None, launches, 15, "precision"
            )
            metrics = {kernel.headline: metric}
            summaries.append(CellSummary(cell.kernel, cell.id, cell, "ok", True, {}, metrics, []))
        nodes.append(MeasuredNode(host, number, summaries, host, costs=costs))
    return nodes


def compared(nodes: list[MeasuredNode], **more: object) -> NodesFindings:
    return compare_nodes(nodes, by_node(nodes), **more)  # type: ignore[arg-type]


def rack_hosts(racks: int, nodes: int) -> list[str]:
    return [f"rack{r:02}n{n:02}" for r in range(racks) for n in range(nodes)]


@pytest.mark.parametrize(("racks", "nodes", "size"), [(5, 10, 1.015), (10, 20, 1.01)])
def test_a_slow_rack_is_the_verdict_and_a_slow_node_elsewhere(
    racks: int, nodes: int, size: float
) -> None:
    """Fleets of 50 and 200 nodes."""
    drawn = np.random.default_rng(racks)
    slow = {("rack02", "memory.stream"): size, ("rack04n03", ""): 1.04}
    found = compared(measured(rack_hosts(racks, nodes), drawn, slow))
    (rack,) = found.slow_groups
    assert (rack.title, rack.resource) == ("rack rack02", "memory bandwidth")
    assert len(rack.members) == nodes
    assert rack.nodes == f"rack02n[00-{nodes - 1:02}]"
    assert rack.ci95[0] < 1 / size - 1 < rack.ci95[1] < 0.0
    assert (rack.launches, rack.slow_launches) == (3, 3)
    assert rack.p_adjusted <= 0.02
    assert [suspect.node for suspect in found.suspects] == ["rack04n03"]
    assert found.suspects[0].within == ""
    assert len(found.groups) == racks
    assert found.groups[0] is rack
    assert {group.resource for group in found.groups} == {"memory bandwidth"}
    replied = answer(found)
    assert replied.verdict.startswith(
        f"Slower as a whole, of {racks} racks: rack rack02 ({nodes} nodes): memory bandwidth "
    )
    assert f"1 of {racks * nodes} nodes to check. rack04n03: all kernels" in replied.verdict
    assert replied.evidence[0].label == "rack rack02: memory bandwidth"
    assert replied.evidence[0].value == pytest.approx(1 / size, abs=0.008)
    assert replied.advice[0].startswith(f"Check rack rack02 ({nodes} nodes): what its nodes share")
    assert replied.advice[1].startswith("Check rack04n03")
    shown = {table.id: table for table in tables(found)}
    assert [row[0].text for row in shown["nodes-slow-groups"].rows] == ["rack rack02"]
    assert not shown["nodes-slow-groups"].folded
    assert len(shown["nodes-groups"].rows) == racks
    assert shown["nodes-groups"].folded
    first = figures(found)[0]
    assert first.id == "node-groups"
    assert "<svg" in svg(first)
    assert {row["who"] for row in first.rows if row["group"] == "rack rack02"} == {
        "slower as a whole"
    }
    assert all(set(row) == {field.name for field in first.fields} for row in first.rows)
    assert json.loads(json.dumps(findings_json(found)))["groups"][0]["name"] == "rack02"


def test_the_size_of_a_group_is_stated_with_its_interval() -> None:
    drawn = np.random.default_rng(5)
    found = compared(measured(rack_hosts(6, 16), drawn, {("rack03", "compute.dgemm"): 1.02}))
    (rack,) = found.slow_groups
    low, high = rack.ci95
    kind = "low" if rack.rate else "slower"
    assert group_text(rack) == (
        f"rack rack03 (16 nodes): arithmetic {-rack.gain:.1%} [{-high:.1%}, {-low:.1%}] {kind}"
    )


def test_a_slow_node_of_a_slow_rack_is_reported_beyond_it() -> None:
    drawn = np.random.default_rng(6)
    slow = {("rack01", ""): 1.03, ("rack01n05", "memory.stream"): 1.12}
    found = compared(measured(rack_hosts(6, 10), drawn, slow))
    (rack,) = found.slow_groups
    assert (rack.name, rack.resource) == ("rack01", "all kernels")
    (suspect,) = found.suspects
    assert (suspect.node, suspect.within) == ("rack01n05", "rack rack01")
    assert suspect.gain == pytest.approx(1 / 1.12 - 1, abs=0.025)
    assert " low beyond the deviation of rack rack01, " in suspect_text(suspect)
    assert found.deviations is not None
    memory = [cell.id for cell in found.cells].index(STRIDED.id)
    with_rack = found.deviations.gain[15, memory]  # the map shows what was measured
    assert with_rack == pytest.approx(1 / (1.03 * 1.12) - 1, abs=0.03)


def test_a_switch_is_suspected_where_a_stated_switch_is_slow() -> None:
    hosts = [f"n{n}" for n in range(1, 61)]
    stated = {"switch": {f"s{s}": f"n[{12 * s + 1}-{12 * s + 12}]" for s in range(5)}}
    drawn = np.random.default_rng(7)
    nodes = measured(hosts, drawn, {(f"n{n}", BARRIER.kernel): 1.05 for n in range(25, 37)})
    found = compared(nodes, node_groups=stated)
    (switch,) = found.slow_groups
    assert (switch.title, switch.nodes) == ("switch s2", "n[25-36]")
    assert compared(nodes).groups == []  # the names have no structure


def test_clean_racks_are_not_reported() -> None:
    found = compared(measured(rack_hosts(5, 10), np.random.default_rng(8), {}))
    assert found.slow_groups == []
    assert len(found.groups) == 5
    replied = answer(found)
    assert replied.verdict.startswith(
        "No node is provably slower: the differences between 50 nodes are within the variation"
    )
    assert any("A group of nodes, such as a rack" in said for said in replied.method)
    assert "node-groups" not in {figure.id for figure in figures(found)}
    assert "nodes-slow-groups" not in {table.id for table in tables(found)}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 12])
def test_late_launches_name_nobody(seed: int) -> None:
    """100 nodes of 3 launches, 5% of them late: the level for normal launches names some."""
    nodes = measured(rack_hosts(10, 10), np.random.default_rng(seed), {}, late=0.05)
    costs = np.array([[node.costs[cell.id] for cell in CELLS] for node in nodes])
    assert compare(costs, ["memory", "compute", "messages"]).outliers().size > 0
    found = compared(nodes)
    assert found.suspects == []
    assert found.slow_groups == []
    assert found.undecided > 0
    assert answer(found).verdict.startswith("Undecided: ")


# ---- from disk -----------------------------------------------------------------------------------


def test_a_request_stores_the_groups_of_the_config() -> None:
    stated = {"rack": {"a": "n[1-4]"}}
    request = run_request(
        RunOptions(plan="plan.toml"),
        {},
        command=["assay", "run", "--per-node"],
        seed=1,
        config=Config(system=SystemConfig(groups=stated)),
        fake=None,
        report=True,
        members=4,
    )
    assert msgspec.json.decode(msgspec.json.encode(request), type=RunRequest).node_groups == stated
    earlier = msgspec.to_builtins(request)
    del earlier["node_groups"]  # requests of earlier versions
    assert msgspec.convert(earlier, RunRequest).node_groups == {}


@pytest.mark.long
def test_the_groups_of_the_request_and_of_the_config_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = np.random.default_rng(9)
    hosts = [f"n{n}" for n in range(1, 13)]

    def cost(host: str, cell: object, launch: int) -> float:
        slow = 1.05 if int(host[1:]) > 8 and cell is DGEMM else 1.0
        return float(1e-3 * slow * np.exp(0.005 * drawn.standard_normal()))

    stated = {"rack": {"a": "n[1-4]", "b": "n[5-8]", "c": "n[9-12]"}}
    built = make_group(tmp_path / "runs", hosts, cost, cells=(STRIDED, DGEMM), node_groups=stated)
    found = find(read_group(built.path))
    assert [group.title for group in found.slow_groups] == ["rack c"]
    config = tmp_path / "assay.toml"
    config.write_text(
        '[system.groups.island]\nx = "n[1-4]"\ny = "n[5-8]"\nz = "n[9-12]"\n', encoding="utf-8"
    )
    report(str(built.path), config=config, json=True)
    (section,) = json.loads(capsys.readouterr().out)["sections"]
    assert section["verdict"].startswith("Slower as a whole, of 3 islands: island z")
