"""Cells whose single operation would take too long: left out by the kernel, with a note."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.campaign.engine.display import Silent
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.state import CampaignState
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import Behaviour, Scenario
from assay.records.model import Manifest, Measurement
from assay.records.reading import read_run
from assay.records.schema import MeasurementOrder
from assay.report.cell_table import cell_table
from assay.stats.cells.summarise import launch_value, summarise_cells
from campaign_lab import InProcessLab
from records_builder import make_cell, make_plan, make_record, make_run

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
PLAN = f"""
schema = 1
seed = 5
[replication]
budget = "24 s"
precision = "20%"
min_launches = 2
max_launches = 3
[[measure]]
kernel = "network.collective"
op = "alltoall"
ppn = 2
bytes = {list(SIZES)}
"""
# A quarter of 24 s / 2 launches is 3 s.
SLOW = """
[[kernel]]
match = "network.collective"
where = "bytes == 1024"
time = 50
"""


def lab_of(tmp_path: Path, more: str = SLOW) -> InProcessLab:
    lab = InProcessLab(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    lab.scenario()
    scenario = tmp_path / "scenario.toml"
    head, _, rest = scenario.read_text().partition("[[kernel]]")
    scenario.write_text(f"{head}{more}[[kernel]]{rest}")
    return lab


def test_a_slow_cell_is_left_out_and_the_others_are_measured(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    done = lab.run("plan.toml")
    assert done.returncode == 0, done.stderr
    data = read_run(lab.only_run().path)
    slow = [m for m in data.measurements if m.cell.parameters["bytes"] == 1024]
    # Once: it isn't tried again in the other launches.
    assert [m.record.status for m in slow] == ["left out"]
    assert data.complete and sum(launch.wall for launch in data.launches) < 24 * 1.1
    cells = {cell.parameters["bytes"]: cell for cell in summarise_cells(data)}
    assert {size for size, cell in cells.items() if cell.status == "ok"} == {*SIZES[:-1]}
    assert cells[1024].error == (
        "It was left out: one sample would take about 50 s, and it may take 3 s."
    )
    assert (cells[1024].status, cells[1024].lost_launches) == ("interrupted", 0)
    (row,) = cell_table([cells[1024]]).rows
    assert [entry.text for entry in row].count("left out") == 2


class Notes(Silent):
    """Keeps what is printed above the progress display."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, sentence: str) -> None:
        self.sentences.append(sentence)


def test_the_note_names_the_cell_and_the_way_out(tmp_path: Path) -> None:
    cells = [make_cell("network.collective", op="bcast", bytes=size) for size in SIZES]
    run = make_run(tmp_path, make_plan(cells, budget=24.0, min_launches=2, max_launches=2))
    slow = Behaviour(where="bytes == 1024", time=50.0)
    notes = Notes()

    def state(manifest: Manifest) -> CampaignState:
        return CampaignState(manifest.plan, value_of=launch_value, enough=lambda values: False)

    executor = FakeExecutor(Scenario(kernel=(slow, Behaviour())))
    data = Campaign(run, executor, notes, state).execute()
    assert len(data.measurements) == 2 * 7 + 1
    assert notes.sentences == [
        "Left out network.collective op=bcast bytes=1024, 2 ranks: one sample would take about "
        "50 s, and it may take 3 s. A longer --budget includes it."
    ]


def test_a_resumed_run_leaves_it_out_without_another_try(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.run("plan.toml")
    run = lab.only_run()
    (run.path / "seal.json").unlink()
    before = len(run.launches())
    lab.run("--resume")
    assert len(run.launches()) == before


def test_a_longer_budget_measures_it(tmp_path: Path) -> None:
    lab = lab_of(tmp_path)
    lab.run("plan.toml", "--budget", "10 min")
    assert {cell.status for cell in summarise_cells(read_run(lab.only_run().path))} == {"ok"}


def test_jobs_limit_only_kernels_that_heed_it_and_only_in_plans_of_many_cells() -> None:
    def longest(cells, **rule) -> dict[str, object]:
        state = CampaignState(
            make_plan(cells, budget=240.0, min_launches=6, **rule),
            value_of=lambda m: 1.0,
            enough=lambda values: False,
        )
        return {cell.kernel: state.longest(cell) for cell in cells}

    slow = [make_cell("network.collective", op="bcast", bytes=size) for size in SIZES]
    assert longest([*slow, make_cell("npb.ep", **{"class": "S"})]) == {
        "network.collective": 10.0,
        "npb.ep": msgspec.UNSET,
    }
    assert longest(slow[:7]) == {"network.collective": msgspec.UNSET}
    order = MeasurementOrder("m", "npb.ep", {}, 0.1, 0.95, 1.0, 1, 2)
    assert b"longest" not in msgspec.json.encode(order)


def test_a_cell_that_took_longer_may_take_that_long_again() -> None:
    cells = [make_cell("network.collective", op="bcast", bytes=size) for size in SIZES]
    state = CampaignState(
        make_plan(cells, budget=240.0, min_launches=6),
        value_of=lambda m: 1.0,
        enough=lambda values: False,
    )
    record = msgspec.structs.replace(make_record(cells[0], 0, [9.0]), wall=20.0)
    state.add(Measurement(cells[0], 0, "0000-a", 0.0, record, None, ()))
    assert state.longest(cells[0]) == 30.0
    assert state.longest(cells[1]) == 10.0


def test_expected_times_divide_the_first_block() -> None:
    """A cell that needs 2 s gets them, and the others share what it leaves of the block."""
    cells = [make_cell("network.collective", op="bcast", bytes=size) for size in SIZES]
    plan = make_plan(cells, budget=60.0, min_launches=6)
    plan = msgspec.structs.replace(plan, expected={cells[0].id: 3.0})

    def shares(plan) -> list[float]:
        state = CampaignState(plan, value_of=lambda m: 1.0, enough=lambda values: False)
        budgets = state.measurement_budgets(0, cells)
        return [budgets[cell.id] for cell in cells]

    assert shares(plan) == [1.0] * 8
    assert shares(msgspec.structs.replace(plan, expected={})) == [10.0 / 8] * 8
