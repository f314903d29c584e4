"""Reading the files of a fleet, and trends in them, on planted fleets."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.check.fleet.baselines import UsualLevel
from assay.check.fleet.decline import KindDecline, kind_declines, node_declines, series_of
from assay.check.fleet.own_levels import own_declines
from assay.check.fleet.reading import read_fleet
from assay.check.state.header import HEADER_SIZE
from assay.errors import AssayError
from checked_fleets import HOUR, KIND, LEVELS, NOW, PlantedFleet, PlantedNode

USUAL = {(KIND, name): UsualLevel(level, 0.002, 0.005) for name, level in LEVELS.items()}


def test_a_fleet_is_read_as_it_was_written(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(3)
    fleet.write([PlantedNode("rack/1 node", last=["undecided: the node is busy"], checks=5)])
    state = read_fleet(fleet.folder)
    assert [node.host for node in state.nodes] == ["n0001", "n0002", "n0003", "rack/1 node"]
    last = state.nodes[-1]
    counts = last.header
    assert (counts.healthy, counts.unhealthy, counts.undecided, counts.checks) == (104, 0, 1, 105)
    assert len(last.records) == 5 and len(last.decided) == 4
    assert last.records[-1].utc == NOW - HOUR and last.records[-1].reason.startswith("undecided")
    assert last.records[0].values["stream"] == pytest.approx(350e9, rel=0.1)


def test_damaged_files_are_nodes_that_say_so(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(4)
    raw = [fleet.path(f"n000{number}").read_bytes() for number in (1, 2)]
    fleet.path("n0001").write_bytes(b"\1" * 40 + raw[0][40:])  # the header
    fleet.path("n0002").write_bytes(raw[1][: HEADER_SIZE + 1000])  # cut
    fleet.path("copied").write_bytes(raw[0])
    fleet.path("n0003").unlink()
    fleet.path("n0003").symlink_to("/etc/passwd")
    damaged = {node.host: node for node in read_fleet(fleet.folder).nodes}
    assert damaged["n0001"].damaged and len(damaged["n0001"].records) == 20
    assert damaged["n0001"].header.healthy == 20 and damaged["n0001"].header.kind == ""
    assert damaged["n0002"].damaged and 0 < len(damaged["n0002"].records) < 20
    assert damaged["n0003"].unreadable
    assert "'n0001'" in damaged["copied"].unreadable
    assert not damaged["n0004"].damaged and not damaged["n0004"].unreadable


def test_a_folder_without_checks_is_an_empty_fleet_and_none_is_an_error(tmp_path: Path) -> None:
    assert read_fleet(tmp_path).nodes == ()
    with pytest.raises(AssayError, match="no folder of checks"):
        read_fleet(tmp_path / "missing")


@pytest.mark.long
def test_5000_nodes_take_seconds(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(5000)
    begin = time.process_time()
    state = read_fleet(fleet.folder)
    node_declines(series_of(state.nodes))
    # A bound that only another order of growth would break.
    assert time.process_time() - begin < 60.0
    assert len(state.nodes) == 5000


@pytest.mark.parametrize("component", ["stream", "latency", "core"])
def test_a_node_that_declines_is_found_with_its_size(tmp_path: Path, component: str) -> None:
    fleet = PlantedFleet(tmp_path / "fleet", daily=0.01).healthy(60)
    fleet.write([PlantedNode("slow", trends={component: -0.06})])
    (found,) = node_declines(series_of(read_fleet(fleet.folder).nodes))
    assert (found.host, found.component, found.kind) == ("slow", component, KIND)
    assert found.change == pytest.approx(-0.06, abs=0.015)


def test_healthy_fleets_have_few_declines(tmp_path: Path) -> None:
    """At most 5% of what is named may be false, so at most 1 in 20 fleets names any node."""
    named = 0
    for seed in range(100):
        fleet = PlantedFleet(tmp_path / str(seed), seed, daily=0.01).healthy(15)
        named += bool(node_declines(series_of(read_fleet(fleet.folder).nodes)))
    # Of 100 fleets 5 on average; 12 with probability 0.4%.
    assert named <= 11


def test_the_rhythm_of_all_nodes_is_no_decline_of_one(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet", daily=0.05).healthy(100)
    series = series_of(read_fleet(fleet.folder).nodes)
    assert node_declines(series) == []
    # A single node has no fleet to remove it: most of such nodes would be named.
    alone = [replace(each, logs=each.logs[:1], utc=each.utc[:1], hosts=each.hosts[:1])
             for each in series]  # fmt: skip
    assert all(np.ptp(each.logs) > 0.05 for each in alone)


@pytest.mark.parametrize(("level", "named"), [(-0.04, True), (0.0, False), (0.04, False)])
def test_a_decline_of_all_is_seen_against_the_baseline(
    tmp_path: Path, level: float, named: bool
) -> None:
    fleet = PlantedFleet(tmp_path / "fleet", daily=0.005, level=level).healthy(80)
    found = kind_declines(series_of(read_fleet(fleet.folder).nodes), USUAL)
    assert bool(found) == named
    for each in found:
        assert isinstance(each, KindDecline) and each.kind == KIND and each.nodes == 80
        assert each.interval[0] < level < each.interval[1]
    if named:
        assert {each.component for each in found} == set(LEVELS)


def test_without_a_baseline_no_kind_declines(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet", level=-0.5).healthy(20)
    assert kind_declines(series_of(read_fleet(fleet.folder).nodes), {}) == []


@pytest.mark.parametrize("component", ["product", "latency"])
def test_a_slow_decline_shows_against_the_first_checks_of_a_node(
    tmp_path: Path, component: str
) -> None:
    """Within the recent checks there is no trend; it has taken months."""
    fleet = PlantedFleet(tmp_path / "fleet").healthy(60)
    fleet.write([PlantedNode("slow", levels={component: -0.03}, own={component: 0.0})])
    nodes = read_fleet(fleet.folder).nodes
    series = series_of(nodes)
    assert node_declines(series) == []
    (found,) = own_declines(nodes, series, USUAL, 0.025)
    assert (found.host, found.component) == ("slow", component)
    assert found.change == pytest.approx(-0.03, abs=0.012)
    # It belongs to a node, not to the fleet: all slower together are no decline of one.
    moved = PlantedFleet(tmp_path / "moved", level=-0.05, own_level=0.0).healthy(60)
    nodes = read_fleet(moved.folder).nodes
    assert own_declines(nodes, series_of(nodes), USUAL, 0.025) == []


def test_healthy_nodes_stay_near_their_first_checks(tmp_path: Path) -> None:
    named = 0
    for seed in range(60):
        fleet = PlantedFleet(tmp_path / str(seed), seed).healthy(15)
        nodes = read_fleet(fleet.folder).nodes
        named += bool(own_declines(nodes, series_of(nodes), USUAL, 0.025))
    # 2.5% of 60 fleets are 1.5 on average; 7 with probability 0.1%.
    assert named <= 6


def test_kinds_are_compared_apart(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(10)
    fleet.write(
        PlantedNode(f"old{i}", "old-kind", levels=dict.fromkeys(LEVELS, -0.5)) for i in range(10)
    )
    series = series_of(read_fleet(fleet.folder).nodes)
    assert {(each.kind, len(each.hosts)) for each in series} == {(KIND, 10), ("old-kind", 10)}
    assert node_declines(series) == []
