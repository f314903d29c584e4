"""Hosts lost during a run: no cell fails, others measure the rest, resume completes it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from assay.campaign.cells.launch_times import launch_cost
from assay.campaign.engine import launch_follower
from assay.campaign.engine.loop import Campaign
from assay.campaign.jobs.run_watch import RunWatch
from assay.launch.executor import HostsLost, LaunchOrder
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import Scenario
from assay.model.placement import Placement
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord
from assay.records.reading import read_run
from assay.records.schema import MeasurementBegin
from assay.records.stream import Stream, read_stream
from campaign_lab import Lab, counted, measurement_counts
from records_builder import make_cell, make_launch, make_plan, make_record, make_run, make_stream

PLAN = """
schema = 1
seed = 5
[replication]
budget = "1000 s"
max_launches = 6

[[measure]]
kernel = "network.barrier"
nodes = [2, 3, 4]

[[measure]]
kernel = "npb.ep"
class = ["S", "W"]
nodes = 2
node_set = [0, 1]
"""
LOST = """
[[failure]]
kind = "host lost"
match = "{match}"
where = "{where}"
host = {host}
times = 1
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return lab


def scenario(lab: Lab, failures: str = "", nodes: int = 4) -> None:
    lab.scenario(failures=failures)
    path = lab.path / "scenario.toml"
    path.write_text(f"nodes = {nodes}\n" + path.read_text())


def hosts_by_cell(run: RunDirectory) -> dict[tuple[str, int], list[set[str]]]:
    found: dict[tuple[str, int], list[set[str]]] = {}
    for m in read_run(run.path).measurements:
        key = (m.cell.kernel, m.cell.placement.nodes)
        found.setdefault(key, []).append({rank.host for rank in m.ranks})
    return found


@pytest.mark.long
def test_a_host_is_lost_and_the_run_is_complete_except_named_cells(lab: Lab) -> None:
    scenario(lab, LOST.format(match="network.*", where="nodes == 4", host=3))
    done = lab.run("plan.toml")
    assert done.returncode == 1, done.stderr
    run = lab.only_run()
    assert not run.complete
    said = " ".join(done.stderr.split())
    assert "Lost during the run: fake3." in said
    assert "Left out, since they need 4 nodes: network.barrier" in said
    assert f"assay run --resume {run.name}" in said
    data = read_run(run.path)
    (lost,) = [launch for launch in data.launches if launch.outcome == "lost"]
    assert (lost.lost, lost.blamed) == (("fake3",), None)
    assert lost.error == "fake3 no longer responds"
    # No cell failed, and all that fits on three hosts was measured six times.
    assert not any(m.record.status == "failed" for m in data.measurements)
    hosts = hosts_by_cell(run)
    assert [len(hosts["network.barrier", nodes]) for nodes in (2, 3)] == [6, 6]
    assert len(hosts["npb.ep", 2]) == 24
    assert len(hosts.get(("network.barrier", 4), [])) < 6
    before = counted(run)
    # The host is back: exactly the missing measurements are made, once each.
    scenario(lab)
    done = lab.run("--resume")
    assert done.returncode == 0, done.stderr
    assert run.complete
    assert {name: counted(run)[name] for name in before} == before
    assert set(measurement_counts(run).values()) == {1}
    hosts = hosts_by_cell(run)
    assert hosts["network.barrier", 4] == [{"fake0", "fake1", "fake2", "fake3"}] * 6
    assert len(json.loads(done.stdout)["cells"]) == 7


def test_what_fits_on_others_is_repeated_there(lab: Lab) -> None:
    scenario(lab, LOST.format(match="npb.ep", where="nodes == 2", host=0))
    assert lab.run("plan.toml").returncode == 1
    run = lab.only_run()
    hosts = hosts_by_cell(run)
    assert [len(hosts["network.barrier", nodes]) for nodes in (2, 3)] == [6, 6]
    assert len(hosts["npb.ep", 2]) == 24
    assert {"fake1", "fake2"} in hosts["npb.ep", 2]
    assert hosts["network.barrier", 3][-1] == {"fake1", "fake2", "fake3"}


@pytest.mark.long
def test_without_any_remaining_host_it_ends(lab: Lab) -> None:
    failures = "".join(
        LOST.format(match="*", where=f"nodes >= {1}", host=host) for host in range(4)
    )
    scenario(lab, failures)
    done = lab.run("plan.toml")
    assert done.returncode == 1
    run = lab.only_run()
    assert not run.complete
    assert [len(launch.lost) for launch in read_run(run.path).launches].count(1) >= 3
    scenario(lab)
    assert lab.run("--resume").returncode == 0
    assert run.complete


@pytest.mark.long
def test_resumed_with_fewer_hosts_than_the_plan_needs(lab: Lab) -> None:
    scenario(lab)
    assert lab.run("plan.toml").returncode == 0
    run = lab.only_run()
    for path in [*run.streams(), run.path / "launches.jsonl", run.path / "seal.json"]:
        path.unlink()
    scenario(lab, nodes=2)
    assert lab.run("--resume").returncode == 1
    hosts = hosts_by_cell(run)
    assert set(hosts) == {("network.barrier", 2), ("npb.ep", 2)}
    assert not run.complete


# ---- hosts that stop responding, and launches that can't be begun ------------------------------

CELL = msgspec.structs.replace(
    make_cell("npb.cg", **{"class": "S"}), placement=Placement(nodes=2, ppn=1)
)


class Frozen(FakeExecutor):
    """Its first launch begins a measurement and then reports nothing: a host is cut off."""

    def __init__(self) -> None:
        super().__init__(Scenario(nodes=3))
        self.stopped = 0

    def start(self, order: LaunchOrder):  # type: ignore[no-untyped-def]
        if self._failed_hosts:
            return super().start(order)
        self.order = order
        begin = MeasurementBegin(order.job.measurements[0].measurement, "npb.cg")
        order.stream.write_bytes(msgspec.json.encode(begin) + b"\n")
        self.kill("fake1")
        return self

    def wait(self, seconds: float) -> LaunchRecord | None:
        time.sleep(min(seconds, 0.02))
        return None

    def stop(self) -> LaunchRecord:
        self.stopped += 1
        return make_launch(self.order.launch, outcome="interrupted")


class Unreachable(FakeExecutor):
    """A host is lost before the first launch."""

    def start(self, order: LaunchOrder):  # type: ignore[no-untyped-def]
        if not self._lost:
            self.kill("fake0")
            raise HostsLost(self.lost_hosts(order), "The host 'fake0' can't be reached.")
        return super().start(order)


def carried_out(tmp_path: Path, executor: FakeExecutor):  # type: ignore[no-untyped-def]
    run = make_run(tmp_path, make_plan([CELL], max_launches=1, min_launches=1))

    def state(manifest):  # type: ignore[no-untyped-def]
        from assay.campaign.engine.state import CampaignState

        return CampaignState(manifest.plan, value_of=lambda m: 1.0, enough=lambda values: True)

    from assay.campaign.engine.display import Silent

    return Campaign(run, executor, Silent(), state).execute()


def test_hosts_are_checked_when_kernels_stop_reporting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_follower, "SILENCE", 0.1)
    monkeypatch.setattr(launch_follower, "LOOK", 0.02)
    executor = Frozen()
    data = carried_out(tmp_path, executor)
    assert executor.stopped == 1
    assert [launch.outcome for launch in data.launches] == ["lost", "complete"]
    assert data.launches[0].lost == ("fake1",)
    (measurement,) = data.measurements
    assert {rank.host for rank in measurement.ranks} == {"fake0", "fake2"}


def test_the_waiting_time_of_a_lost_launch_is_not_charged() -> None:
    record = msgspec.structs.replace(make_launch("0001-a", outcome="lost"), wall=600.0)
    stream = Stream()
    assert launch_cost(record, stream) == 0.0
    stream.add(msgspec.structs.replace(make_record(CELL, 0, [1.0, 2.0]), start=0.5))
    assert launch_cost(record, stream) == 3.5
    assert launch_cost(None, stream) == 3.5
    assert launch_cost(msgspec.structs.replace(record, outcome="crash"), stream) == 600.0


def test_a_follower_charges_what_the_campaign_charges(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan([CELL], budget=1000.0))
    (run.raw / "0001-a.jsonl").write_bytes(make_stream("0001-a", [make_record(CELL, 0, [1.0])]))
    (run.raw / "0002-a.jsonl").touch()
    (run.raw / "0003-a.jsonl").write_bytes(make_stream("0003-a", [make_record(CELL, 1, [1.0])]))
    waited = [
        make_launch("0001-a", outcome="lost", wall=600.0),
        # A signal ended it before its first record.
        make_launch("0002-a", outcome="crash", exit=None, signal=9, wall=300.0),
    ]
    for record in (*waited, make_launch("0003-a", wall=7.0)):
        run.append_launch(record)
    watch = RunWatch(run, None)
    watch.look("")
    state = watch._state
    assert state is not None
    last = read_stream(run.raw / "0001-a.jsonl").measurements[-1]
    assert state.spent == pytest.approx(last.start + last.wall + 7.0)
    assert state.spent < 100.0


def test_an_unreachable_host_is_left_out(tmp_path: Path) -> None:
    data = carried_out(tmp_path, Unreachable(Scenario(nodes=3)))
    assert [launch.outcome for launch in data.launches] == ["lost", "complete"]
    (measurement,) = data.measurements
    assert {rank.host for rank in measurement.ranks} == {"fake1", "fake2"}
