"""How long a campaign waits for reports of kernels."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from assay.campaign.engine.display import Silent
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.state import CampaignState
from assay.campaign.engine.timeouts import TIMES, longest_silence
from assay.kernels import find_kernel
from assay.launch.executor import LaunchOrder
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import Behaviour, Scenario
from assay.model.placement import Placement
from assay.records.model import LaunchRecord, RunData
from assay.records.schema import MeasurementBegin
from records_builder import make_cell, make_launch, make_plan, make_run

CELL = make_cell("npb.cg", **{"class": "S"})


class Mute:
    """An executor whose launches begin a measurement and then report nothing."""

    def start(self, order: LaunchOrder) -> Mute:
        self.order = order
        begin = MeasurementBegin(order.job.measurements[0].measurement, "npb.cg")
        order.stream.write_bytes(msgspec.json.encode(begin) + b"\n")
        return self

    def fits(self, placement: Placement) -> bool:
        return True

    def lost_hosts(self, order: LaunchOrder) -> tuple[str, ...]:
        return ()

    def poll(self) -> LaunchRecord | None:
        return None

    def wait(self, seconds: float) -> LaunchRecord | None:
        time.sleep(min(seconds, 0.05))
        return None

    def stop(self) -> LaunchRecord:
        return make_launch(self.order.launch, outcome="interrupted")


class Lingering(FakeExecutor):
    """An executor whose launches finish their streams and then don't end."""

    def start(self, order: LaunchOrder) -> Mute:
        record = super().start(order).wait(60.0)
        assert record is not None and record.outcome == "complete"
        launch = Mute()
        launch.order = order
        return launch


def carried_out(
    tmp_path: Path, executor, patience: float, ending: float = 60.0, launches: int = 1, seen=None
) -> RunData:
    run = make_run(tmp_path, make_plan([CELL], max_launches=launches, min_launches=launches))

    def state(manifest):
        return CampaignState(manifest.plan, value_of=lambda m: 1.0, enough=lambda values: True)

    observer = seen or Silent()
    return Campaign(run, executor, observer, state, patience=patience, ending=ending).execute()


def test_a_kernel_that_reports_progress_may_exceed_the_patience(tmp_path: Path) -> None:
    # Four times as long as patience, with a report every quarter of a second.
    scenario = Scenario(delay=2.4, kernel=(Behaviour(max_batch=1),))
    data = carried_out(tmp_path, FakeExecutor(scenario), patience=0.6)
    assert [launch.outcome for launch in data.launches] == ["complete"]
    assert [m.record.status for m in data.measurements] == ["ok"]


def test_a_launch_without_reports_is_given_up_and_blamed(tmp_path: Path) -> None:
    data = carried_out(tmp_path, Mute(), patience=0.3)
    (launch,) = data.launches
    assert (launch.outcome, launch.blamed) == ("timeout", f"{CELL.id}-0")
    assert launch.error == "it did not report for 0.3 s (patience in [defaults] of assay.toml)"


class Noting(Silent):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


def test_ranks_that_hang_in_finalize_are_ended_and_their_results_kept(tmp_path: Path) -> None:
    noting = Noting()
    data = carried_out(
        tmp_path, Lingering(Scenario()), patience=600.0, ending=0.3, launches=2, seen=noting
    )
    # The next launch is made, too, and none is repeated.
    assert [launch.outcome for launch in data.launches] == ["complete", "complete"]
    assert [m.record.status for m in data.measurements] == ["ok", "ok"]
    for launch, note in zip(data.launches, noting.notes, strict=True):
        assert launch.error is not None and launch.error.startswith(
            "its ranks were still running 0.3 s after their last measurement (in MPI_Finalize"
        )
        assert note == f"Launch {launch.launch}: {launch.error}. Its results are complete."


def test_a_benchmark_expected_to_exceed_the_patience_may(tmp_path: Path) -> None:
    large = make_cell("npb.lu", **{"class": "D"})
    kernel = find_kernel("npb.lu")
    assert kernel.pace is not None
    alone = kernel.work({"class": "D"}, 1, 1)["operations"] / kernel.pace
    assert longest_silence([CELL, large], 600.0) == TIMES * alone / 2 > 600.0
    many = msgspec.structs.replace(large, placement=Placement(nodes=16, ppn=8, threads=2))
    assert longest_silence([many], 1.0) == pytest.approx(TIMES * alone / 256)
    assert longest_silence([CELL], 600.0) == 600.0
    assert longest_silence([make_cell("network.pingpong")], 600.0) == 600.0

    most = longest_silence([CELL], 0.01)
    assert most > 0.01
    data = carried_out(tmp_path, Mute(), patience=0.01)
    (launch,) = data.launches
    assert launch.error.startswith(f"it did not report for {most:g} s")
