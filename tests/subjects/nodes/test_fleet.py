"""From nodes' runs to suspects: in memory, on disk with a history, through the report."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.charts.drawing import svg
from assay.cli.results.report import report
from assay.model.cell import Cell
from assay.questions.common.findings import findings_json
from assay.records.group import read_group
from assay.report import write_report
from assay.report.nodes.build import build_group
from assay.stats.fleet.earlier_runs import earlier_runs_before
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.by_node import by_node, measure_node
from assay.subjects.nodes.diagnosis_rules import NOTHING, SlowCore
from assay.subjects.nodes.findings import NodesFindings, compare_nodes, find
from assay.subjects.nodes.fleet import examine
from assay.subjects.nodes.model import MeasuredNode
from assay.subjects.nodes.words import suspect_text
from fleet_builder import BARRIER, CELLS, DAY, DGEMM, STRIDED, Cost, make_group, make_node

HOSTS = [f"n{i}" for i in range(1, 9)]
BASE = {cell.id: 1e-3 * (1 + place) for place, cell in enumerate(CELLS)}


def scatter(*words: object) -> float:
    """A normal number that depends on the words alone."""
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return float(np.random.default_rng(list(digest[:8])).standard_normal())


def costs(slow: Mapping[tuple[str, str], float] | None = None, day: float = 0.0) -> Cost:
    """Launches scatter by 1%, nodes by 0.3%; some are slower in some kernels."""

    def cost(host: str, cell: Cell, launch: int) -> float:
        factor = (slow or {}).get((host, cell.kernel), 1.0)
        natural = 0.003 * scatter("node", host, cell.id)
        return (
            factor
            * BASE[cell.id]
            * float(np.exp(natural + 0.01 * scatter(day, host, cell.id, launch)))
        )

    return cost


def examined(folder: Path, cost: Cost, **covariates: Mapping[str, float]) -> NodesFindings:
    nodes = [
        measure_node(host, number, make_node(folder, host, cost, covariates=covariates.get(host)))
        for number, host in enumerate(HOSTS)
    ]
    return compared(nodes)


def compared(nodes: list[MeasuredNode]) -> NodesFindings:
    found = compare_nodes(nodes, by_node(nodes))
    assert found.examined
    return found


def test_a_dimm_is_suspected_where_memory_alone_is_slow(tmp_path: Path) -> None:
    # The load of other processes varies; n7's is above average, but within the others' range.
    others = {h: {"other_cpu_seconds": 0.1 + 0.04 * n} for n, h in enumerate(HOSTS)}
    found = examined(tmp_path, costs({("n7", "memory.stream"): 1 / 0.86}), **others)
    (suspect,) = found.suspects
    assert suspect.node == "n7"
    assert suspect.what == "memory bandwidth"
    assert suspect.gain == pytest.approx(-0.14, abs=0.015)
    low, high = suspect.ci95
    assert low < -0.14 < high
    assert (suspect.launches, suspect.slow) == (6, 6)
    assert "DIMM" in suspect.suspicion
    assert suspect_text(suspect).startswith(
        "n7: memory bandwidth 14% low, consistent over 6 launches"
    )
    replied = answer(found)
    assert replied.verdict.startswith("1 of 8 nodes to check. n7: memory bandwidth 14% low")
    # A quarter of a CPU per node is busy elsewhere, which limits confidence, not the finding.
    assert replied.confidence == "medium"
    assert replied.advice[0].startswith("Measure again when the node is quiet")
    assert replied.advice[1].startswith("Check n7: suspect a DIMM")
    assert replied.evidence[0].label == "n7: memory bandwidth"
    assert replied.evidence[0].value == pytest.approx(0.86, abs=0.015)


def test_the_cell_with_the_fewest_launches_counts_for_confidence(tmp_path: Path) -> None:
    """Six launches of one cell say nothing of another that was launched once on each node."""
    whole = examined(tmp_path, costs())
    assert answer(whole).confidence == "high"
    once = [
        dataclasses.replace(
            node,
            costs={
                cell: values[:1] if cell == BARRIER.id else values
                for cell, values in node.costs.items()
            },
        )
        for node in whole.measurements
    ]
    said = answer(compared(once))
    assert said.confidence == "medium" and "fewer than 6 launches" in said.confidence_why
    single = [
        dataclasses.replace(node, costs={cell: values[:1] for cell, values in node.costs.items()})
        for node in whole.measurements
    ]
    assert answer(compared(single)).confidence == "low"


def test_a_clock_is_suspected_where_the_covariate_says_so(tmp_path: Path) -> None:
    cost = costs({("n2", "compute.dgemm"): 1.25, ("n2", "network.barrier"): 1.2})
    clocks = {host: {"clock_rate": 2.4e9 if host != "n2" else 1.92e9} for host in HOSTS}
    (suspect,) = examined(tmp_path, cost, **clocks).suspects
    assert suspect.node == "n2"
    assert "power cap" in suspect.suspicion
    assert "1.92 GHz" in suspect.evidence


def test_another_program_is_suspected_where_it_takes_cpu_time(tmp_path: Path) -> None:
    cost = costs({("n3", "compute.dgemm"): 1.3})
    others = {host: {"other_cpu_seconds": 0.9 if host == "n3" else 0.01} for host in HOSTS}
    (suspect,) = examined(tmp_path, cost, **others).suspects
    assert (suspect.node, suspect.what) == ("n3", "arithmetic")
    assert "another program" in suspect.suspicion


def test_a_core_is_suspected_where_its_ranks_are_behind(tmp_path: Path) -> None:
    slow = costs({("n6", cell.kernel): 1.2 for cell in CELLS})
    nodes = []
    for number, host in enumerate(HOSTS):
        behind = 1.2 if host == "n6" else 1.0 + 0.005 * scatter("core", host)
        run = make_node(tmp_path, host, slow, rank_medians=(1.0, behind))
        nodes.append(measure_node(host, number, run))
    assert nodes[5].core == SlowCore(1, pytest.approx(1.2))
    found = compared(nodes)
    (suspect,) = found.suspects
    assert suspect.node == "n6"
    assert "that core" in suspect.suspicion
    assert suspect.evidence == "ranks on CPU 1 take 20% longer than the node's other ranks"


def test_one_slow_cell_of_several_accuses_no_resource(tmp_path: Path) -> None:
    ops = [
        msgspec.structs.replace(STRIDED, parameters={"op": op, "elements": 10**7})
        for op in ("copy", "scale", "sum", "triad")
    ]

    def cost(host: str, cell: Cell, launch: int) -> float:
        factor = 1.3 if (host, cell.parameters.get("op")) == ("n2", "sum") else 1.0
        return factor * float(np.exp(0.01 * scatter("ops", host, cell.id, launch)))

    nodes = [
        measure_node(host, number, make_node(tmp_path, host, cost, cells=(*ops, DGEMM)))
        for number, host in enumerate(HOSTS)
    ]
    found = compared(nodes)
    (suspect,) = found.suspects
    assert suspect.node == "n2"
    assert suspect.what == "memory bandwidth (memory.stream op=sum elements=10000000, 2 ranks)"
    assert suspect.suspicion == NOTHING
    assert suspect.evidence == "slow in 1 of 4 cells of memory bandwidth"


def test_no_node_is_named_if_all_are_equal(tmp_path: Path) -> None:
    found = examined(tmp_path, costs())
    assert found.suspects == []
    replied = answer(found)
    assert replied.verdict.startswith("No node is provably slower: the differences between 8 nodes")
    assert "slowest" not in replied.verdict
    assert replied.advice == []


def test_two_nodes_can_not_be_distinguished(tmp_path: Path) -> None:
    nodes = [
        measure_node(host, n, make_node(tmp_path, host, costs({("n1", "compute.dgemm"): 2.0})))
        for n, host in enumerate(HOSTS[:2])
    ]
    assert examine(nodes, by_node(nodes)) is None


def test_reported_kinds_are_shown_and_compared_within(tmp_path: Path) -> None:
    def cost(host: str, cell: Cell, launch: int) -> float:
        return costs()(host, cell, launch) * (1.5 if int(host[1:]) <= 4 else 1.0)

    nodes = []
    for number, host in enumerate(HOSTS):
        name = "Old" if number < 4 else "New"
        system = {"processor": {"name": name, "cores": 8}}
        nodes.append(measure_node(host, number, make_node(tmp_path, host, cost, system=system)))
    found = compared(nodes)
    assert found.suspects == []
    kinds = {kind.nodes: kind.description for kind in found.kinds}
    assert kinds == {"n[1-4]": "Old, 8 cores", "n[5-8]": "New, 8 cores"}
    (sentence,) = answer(found).caveats
    assert "n[1-4] (Old, 8 cores)" in sentence
    assert "n[5-8] (New, 8 cores)" in sentence


def test_a_node_that_failed_where_others_did_not_is_reported(tmp_path: Path) -> None:
    nodes = []
    for number, host in enumerate(HOSTS):
        wrong = (DGEMM.id,) if host == "n4" else ()
        run = make_node(tmp_path, host, costs(), wrong=wrong)
        nodes.append(measure_node(host, number, run))
    found = compared(nodes)
    assert found.deviations is not None
    assert np.isnan(found.deviations.gain[3, 1])
    said = answer(found).caveats
    assert any(
        each.startswith("n4 failed where most others did not, in compute.dgemm n=1000: its result")
        for each in said
    )


# ---- history -------------------------------------------------------------------------------------


def test_six_groups_show_drift_and_consistency(tmp_path: Path) -> None:
    """n3 was always slow in memory; n6 got slower in arithmetic than the others."""
    for day in range(6):
        slow = {("n3", "memory.stream"): 1.2}
        if day < 3:
            slow["n6", "compute.dgemm"] = 0.9
        last = make_group(tmp_path, HOSTS, costs(slow, 10 + day), day=day)
    # A run of one host alone is no occasion; nor is one of another time.
    make_node(tmp_path, "n1", costs(), name="alone", utc=1.78e9)
    group = read_group(last.path)
    before = earlier_runs_before(group, {cell.id for cell in CELLS})
    assert [each.name for each in before] == [f"group-00{day}" for day in range(5)]
    assert before[0].costs[DGEMM.id].keys() == set(HOSTS)
    third = read_group(tmp_path / "group-002")
    assert [each.name for each in earlier_runs_before(third, {DGEMM.id})] == [
        "group-000",
        "group-001",
    ]
    found = find(group)
    assert found.earlier_runs == 5
    by_name = {suspect.node: suspect for suspect in found.suspects}
    assert by_name["n3"].how == "outlier"
    assert (by_name["n3"].occasions, by_name["n3"].again) == (5, 5)
    assert "consistent over 3 launches and 5 earlier runs" in suspect_text(by_name["n3"])
    assert set(by_name) == {"n3", "n6"}
    drifter = by_name["n6"]
    assert (drifter.how, drifter.since, drifter.occasions) == ("step", "2026-05-31", 6)
    assert "arithmetic" in drifter.what
    assert drifter.gain == pytest.approx(-0.1, abs=0.02)
    assert suspect_text(drifter).startswith("n6: arithmetic (compute.dgemm n=1000, 1 rank) ")
    assert "step over 6 runs, since 2026-05-31: suspect the processor" in suspect_text(drifter)


def test_single_runs_of_a_day_are_one_occasion(tmp_path: Path) -> None:
    for day, hosts in ((1, HOSTS), (2, HOSTS[:2])):
        for host in hosts:
            utc = 1.78e9 + DAY * day
            make_node(tmp_path, host, costs(), name=f"{day}-{host}", utc=utc)
    group = read_group(make_group(tmp_path, HOSTS, costs(), day=10_000).path)
    # Two hosts can't be compared.
    before = earlier_runs_before(group, {cell.id for cell in CELLS})
    (occasion,) = before
    assert occasion.name == "2026-05-29"
    assert occasion.costs[STRIDED.id].keys() == set(HOSTS)
    times = [costs()("n1", STRIDED, launch) for launch in range(6)]
    per_byte = np.median(times) / (24 * 10**7 * 2)
    assert occasion.costs[STRIDED.id]["n1"] == pytest.approx(per_byte, rel=0.01)


def test_the_report_shows_the_first_node_to_examine(tmp_path: Path) -> None:
    built = make_group(tmp_path / "runs", HOSTS, costs({("n5", "memory.stream"): 1.2}))
    group = read_group(built.path)
    model = build_group(group, find(group))
    (section,) = model.sections
    table = section.tables[0]
    assert table.id == "nodes-suspects"
    assert [row[0].text for row in table.rows] == ["n5"]
    assert not table.folded
    map_, strip = section.figures
    assert (map_.id, strip.id) == ("node-map", "nodes")
    crosses = {(row["node"], row["cell"]) for row in map_.rows if row["outlier"]}
    assert {node for node, _ in crosses} == {"n5"}
    assert len(map_.rows) == len(HOSTS) * len(CELLS)
    for figure in section.figures:
        assert "<svg" in svg(figure)
        named = {field.name for field in figure.fields}
        assert all(set(row) <= named | {"name", "end"} for row in figure.rows)
    files = write_report(model, tmp_path / "report", ["html", "markdown", "json"])
    page, text, data = (path.read_text() for path in files)
    assert "Nodes to check" in page
    assert "| n5 | memory bandwidth |" in text
    assert json.loads(data)["sections"][0]["tables"][0]["id"] == "nodes-suspects"


def test_the_findings_of_a_group_are_plain_json(tmp_path: Path) -> None:
    directory = make_group(tmp_path, HOSTS, costs({("n5", "memory.stream"): 1.2}))
    found = find(read_group(directory.path))
    plain = json.loads(json.dumps(findings_json(found)))
    assert (plain["expected"], plain["measured"], plain["examined"]) == (8, 8, True)
    (suspect,) = plain["suspects"]
    assert (suspect["node"], suspect["what"]) == ("n5", "memory bandwidth")
    assert suspect["gain"] == pytest.approx(1 / 1.2 - 1, abs=0.02)
    assert plain["cells"][0]["cell"] == STRIDED.id
    assert len(plain["cells"][0]["values"]) == len(HOSTS)
    assert plain["nodes"][0]["node"] == "n5"
    assert [member["state"] for member in plain["members"]] == ["complete"] * 8
    (section,) = build_group(read_group(directory.path), found).sections
    assert section.findings == findings_json(found)


def test_nodes_are_compared_once_per_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.subjects.nodes import findings

    calls = []

    def counting(*arguments: object) -> object:
        calls.append(arguments)
        return examine(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(findings, "examine", counting)
    directory = make_group(tmp_path, HOSTS, costs())
    group = read_group(directory.path)
    write_report(build_group(group, find(group)), tmp_path / "report", ["html", "json"])
    assert len(calls) == 1


def test_a_node_measured_twice_is_distinguished_by_number(tmp_path: Path) -> None:
    built = make_group(tmp_path / "runs", ["n1", "n2", "n1", "n3"], costs())
    group = read_group(built.path)
    found = find(group)
    assert [node.name for node in found.measurements] == ["n1 (0)", "n2", "n1 (2)", "n3"]
    model = build_group(group, found)
    assert any("Measured more than once: n1." in said for said in model.sections[0].caveats)


@pytest.mark.long
def test_the_figures_of_5000_nodes_stay_small() -> None:
    from assay.stats.core.model import CellSummary, MetricSummary
    from assay.subjects.nodes.figures import figures

    rng = np.random.default_rng(1)
    nodes = []
    for number in range(5000):
        launches = {c.id: BASE[c.id] * np.exp(0.01 * rng.standard_normal(3)) for c in CELLS}
        if number in (17, 4000):
            launches[BARRIER.id] = launches[BARRIER.id] * 1.2
        summaries = [
            CellSummary(
                c.kernel, c.id, c, "ok", True, {},
                {"time": MetricSummary("s", "less", float(np.median(launches[c.id])), None,
                                       0.0, 1.0, 0.0, 1.0, None, None, 3, 15, "precision")},
                [],
            )
            for c in CELLS
        ]  # fmt: skip
        nodes.append(MeasuredNode(f"n{number}", number, summaries, f"n{number}", costs=launches))
    found = compared(nodes)
    assert {each.node for each in found.suspects} >= {"n17", "n4000"}
    assert len(found.suspects) <= 4
    map_, strip = figures(found)
    for figure in (map_, strip):
        assert len(figure.rows) < 60
        assert len(svg(figure)) < 100_000
    rest = {row["node"] for row in map_.rows} - {each.node for each in found.suspects}
    others = 5000 - len(found.suspects)
    assert rest == {f"median of the other {others:,}", f"slowest of the other {others:,}"}


def test_with_two_launches_the_answer_is_open_and_names_no_node(tmp_path: Path) -> None:
    slow = {(HOSTS[2], cell.kernel): 1.5 for cell in CELLS}
    nodes = [
        measure_node(host, number, make_node(tmp_path, host, costs(slow), launches=2))
        for number, host in enumerate(HOSTS)
    ]
    found = compared(nodes)
    assert found.suspects == []
    assert (found.undecided, found.more_launches) == (1, 1)
    said = answer(found)
    assert said.verdict.startswith("Undecided: 1 more launch per node would decide whether any of ")
    assert "1 more launch per node would decide" in said.verdict
    assert said.confidence == "low"
    assert said.advice == []


# ---- tails and kinds, through the command --------------------------------------------------------

FIFTY = [f"n{i}" for i in range(1, 51)]


def reported(folder: Path, capsys: pytest.CaptureFixture[str], cost: Cost) -> dict[str, Any]:
    """The section of ``assay report --json`` on a group of fifty nodes."""
    built = make_group(folder / "runs", FIFTY, cost)
    report(str(built.path), json=True)
    (section,) = json.loads(capsys.readouterr().out)["sections"]
    return dict(section)


@pytest.mark.long
def test_a_clean_fleet_with_a_lognormal_tail_names_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def cost(host: str, cell: Cell, launch: int) -> float:
        natural = 0.005 * float(np.exp(scatter("own", host))) / 2.161
        return BASE[cell.id] * float(np.exp(natural + 0.005 * scatter(host, cell.id, launch)))

    section = reported(tmp_path, capsys, cost)
    assert section["findings"]["suspects"] == []
    assert section["findings"]["explained"] != []
    assert section["verdict"].startswith("No node is provably slower: n")
    assert "of fleets without slow nodes some node is as far away" in section["verdict"]
    first = section["findings"]["explained"][0]
    (stated,) = [
        e for e in section["evidence"] if e["label"] == f"{first['node']}: {first['what']}"
    ]
    assert stated["value"] == pytest.approx(1.0 - first["gain"])
    assert section["confidence"] != "high"


@pytest.mark.long
def test_a_second_kind_is_told_with_its_size_and_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {(f"n{i}", cell.kernel): 1.03 for i in range(3, 11) for cell in CELLS}
    section = reported(tmp_path, capsys, costs(factors))
    assert section["findings"]["suspects"] == []
    assert section["verdict"].startswith("A second kind of 8 nodes, ")
    assert " slower in all kernels: n[3-10]. " in section["verdict"]
    assert "common cause" not in section["verdict"]
    (second,) = [kind for kind in section["findings"]["kinds"] if kind["gain"] is not None]
    assert (second["count"], second["nodes"]) == (8, "n[3-10]")
    low, high = second["ci95"]
    assert low < -0.03 < high < 0.0
    assert section["evidence"][0]["label"] == "kind n[3-10]: all kernels"


@pytest.mark.long
def test_a_node_that_is_5_percent_slow_among_fifty_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = reported(tmp_path, capsys, costs({("n5", cell.kernel): 1.05 for cell in CELLS}))
    (suspect,) = section["findings"]["suspects"]
    assert suspect["node"] == "n5"
    assert suspect["beyond"] <= 0.05
    assert section["verdict"].startswith("1 of 50 nodes to check. n5: all kernels ")
    clean = reported(tmp_path / "clean", capsys, costs())
    assert clean["findings"]["suspects"] == []
    assert 0.01 < clean["findings"]["seen"] < 0.1
    assert "slower in all cells would have been named" in clean["verdict"]
