"""Budgets are kept by leaving cells out, and the time left is true. Times are simulated."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec
import pytest

import prepared_assay
from assay.campaign.budget.admission import Admission
from assay.campaign.budget.announcement import budget_for, first_launches, listing
from assay.campaign.budget.costs import CellCosts, expected_seconds
from assay.campaign.budget.time_left import Countdown, TimeLeft
from assay.campaign.cells.cell_state import CellState
from assay.campaign.cells.launch_times import LaunchTimes
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.plans.suites import suites
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from assay.units import parse_quantity
from campaign_lab import InProcessLab
from records_builder import make_plan
from timed_machine import Simulated, scenario_text, simulated

QUICK = [("quick", "10 s"), ("steadiness", "60 s"), ("seth-2004", "60 s"), ("npb", "10 min")]
BUDGETS = ["10 s", "60 s", "10 min", "1 h"]
MACHINES = [(0.3, 1.0), (1.5, 4.0)]  # seconds of a launch; how much slower than expected


# Numbers of nodes where two don't suffice, and suites of which no launch fits into a minute.
NODES = {"congestion": 4}
LONG = {"io500"}


def check(found: Simulated, *, fits: bool = True) -> None:
    rule = found.plan.replication
    assert found.total <= rule.budget + rule.overrun
    optional = set(found.plan.search.optional if found.plan.search else ())
    missing = {cell.id for cell in found.plan.cells} - found.measured - optional
    failed = {m.cell.id for m in found.data.measurements if m.record.status != "ok"}
    assert missing <= {cell.id for cell in found.over_budget} | failed
    assert found.measured or not fits
    if not found.measured:
        return
    for share in (0.3, 0.6, 0.9):
        spent, told = [e for e in found.observed.estimates if e[0] <= share * found.total][-1]
        left = found.total - spent
        little = 0.1 * found.total
        if told.bound == "about":
            assert told.seconds / 2 - little <= left <= 2 * told.seconds + little, (share, told)
        elif told.bound == "at most":
            assert left <= told.seconds + rule.overrun, (share, told)
        else:
            assert left >= told.seconds - little, (share, told)


@pytest.mark.parametrize(("suite", "budget"), QUICK)
@pytest.mark.parametrize(("launch", "slower"), MACHINES)
def test_a_budget_is_kept(
    suite: str, budget: str, launch: float, slower: float, tmp_path: Path
) -> None:
    check(simulated(tmp_path, suite, budget=budget, launch=launch, slower=slower))


@pytest.mark.long
@pytest.mark.parametrize("suite", sorted(suites()))
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_suite_keeps_its_budget(suite: str, budget: str, tmp_path: Path) -> None:
    """Every suite with every budget. Machines take turns: each suite and each budget meets both.

    A machine changes the seconds of launches and samples, which suites and budgets only compare.
    """
    launch, slower = MACHINES[(sorted(suites()).index(suite) + BUDGETS.index(budget)) % 2]
    nodes = NODES.get(suite, 2)
    found = simulated(tmp_path, suite, budget=budget, launch=launch, slower=slower, nodes=nodes)
    check(found, fits=suite not in LONG or budget in ("10 min", "1 h"))


def test_a_launch_that_nobody_foresaw_to_be_long_ends_near_the_budget(tmp_path: Path) -> None:
    """Kernels that take thirty times as long as the catalogue expects."""
    found = simulated(tmp_path, "steadiness", budget="60 s", launch=0.5, slower=30.0)
    assert found.ended and found.total <= 70.0
    (record,) = [r for r in found.data.launches if r.error == "ended because the budget was spent"]
    assert record.outcome == "interrupted"
    check(found)


def ep(ppn: int, size: str) -> Cell:
    return Cell("npb.ep", {"class": size}, Placement(1, ppn), "fake")


def cg(ppn: int, size: str) -> Cell:
    return Cell("npb.cg", {"class": size}, Placement(1, ppn), "fake")


def admitted(cells: list[Cell], seconds: dict[str, float], left: float, first=()) -> list[Cell]:
    costs = {c.id: seconds[f"{c.kernel[4:]} {c.parameters['class']}"] for c in cells}
    found = Admission(costs, LaunchTimes(1.0), left, first).admitted(cells)
    return [cell for cell in cells if cell.id in found]


def test_complete_comparisons_come_first_and_kernels_take_turns() -> None:
    cells = [f(ppn, size) for f in (ep, cg) for size in "SA" for ppn in (1, 2, 4)]
    seconds = {"ep S": 1.0, "ep A": 10.0, "cg S": 2.0, "cg A": 20.0}
    # All three placements of EP.S and CG.S take 3 launches, 3 s and 6 s.
    assert admitted(cells, seconds, 12.0) == [*cells[:3], *cells[6:9]]
    # Nothing is left for a whole class A of EP, yet for two of its placements.
    assert admitted(cells, seconds, 32.0) == [*cells[:5], *cells[6:9]]
    assert admitted(cells, seconds, 42.0) == [*cells[:6], *cells[6:9]]
    # Not even one subject as a whole: single cells, the quickest first.
    assert admitted(cells, seconds, 4.0) == cells[:2]
    assert admitted(cells, seconds, 1.5) == []
    assert admitted(cells, seconds, 1e3) == cells
    # A whole subject precedes parts of others: all of MG, and not one cell of CG and MG each.
    mg = [Cell("npb.mg", {"class": "S"}, Placement(1, ppn), "fake") for ppn in (1, 2, 4)]
    seconds["mg S"] = 1.0
    assert admitted([*cells[:3], *cells[6:9], *mg], seconds, 9.0) == [*cells[:3], *mg]
    # What the plan wants first is first, though it is slow.
    assert admitted(cells, seconds, 64.0, {cells[9].id})[-3:] == cells[9:]


def test_expected_times_are_scaled_by_what_was_measured() -> None:
    cells = [ep(1, "S"), ep(2, "A")]
    states = [CellState(cell) for cell in cells]
    costs = CellCosts(make_plan(cells))
    before = costs.of(states)
    assert before == {cell.id: expected_seconds(cell) for cell in cells}
    states[0].values, states[0].wall, states[0].sampling = {0: 1.0}, 3.0, 3.0
    states[0].sample = 3.0
    slower = 3.0 / before[cells[0].id]
    assert costs.of(states)[cells[1].id] == pytest.approx(slower * before[cells[1].id])


def test_earlier_runs_precede_the_expected_times() -> None:
    cells = [ep(1, "S"), ep(2, "A")]
    plan = msgspec.structs.replace(make_plan(cells), earlier={cells[0].id: 7.0}, launch_time=2.0)
    assert CellCosts(plan).of([CellState(c) for c in cells])[cells[0].id] == 7.0
    found = first_launches(plan)
    assert found.earlier == 1
    assert found.seconds == pytest.approx(7.0 + expected_seconds(cells[1]) + 2 * 2.0)
    assert "from earlier runs and the cells' work" in found.sentence


@pytest.mark.parametrize("seconds", [0.2, 12.0, 89.5, 91.0, 500.0, 5000.0])
def test_the_budget_that_is_recommended_can_be_read_and_suffices(seconds: float) -> None:
    assert seconds <= parse_quantity(budget_for(seconds), "s") <= max(2.0 * seconds, 1.0)


def test_cells_of_the_same_work_are_named_together() -> None:
    assert listing([ep(1, "S"), ep(2, "S"), cg(1, "A")]) == (
        "EP class S on 2 placements; CG class A, 1 rank"
    )


def test_the_countdown_falls_within_a_launch_and_admits_what_it_does_not_know() -> None:
    countdown = Countdown()
    countdown.changed(100.0)
    countdown.launched(100.0, [10.0, 10.0])
    whole = TimeLeft(50.0)
    assert countdown.left(whole, 60.0, 100.0) == TimeLeft(50.0)
    assert countdown.left(whole, 60.0, 104.0) == TimeLeft(46.0)
    assert countdown.left(whole, 60.0, 115.0) == TimeLeft(40.0, "at least")
    countdown.measured(115.0)
    assert countdown.left(whole, 60.0, 120.0) == TimeLeft(35.0)
    assert countdown.left(whole, 60.0, 159.0) == TimeLeft(1.0)  # measuring is ended then
    bound = TimeLeft(50.0, "at most")
    assert countdown.left(bound, 60.0, 140.0) == TimeLeft(10.0, "at most")
    assert str(TimeLeft(28.2)) == "about 28 s left"
    assert str(TimeLeft(200.4, "at least")) == "at least 3 min 20 s left"


def test_the_command_says_what_it_promises_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    lab = InProcessLab(tmp_path)
    (tmp_path / "scenario.toml").write_text(scenario_text(launch=0.5, slower=2.0))
    done = lab.run("npb", "class=A", "--budget", "15 s")
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stderr.strip().splitlines()
    assert "One launch of each of the" in first and "takes at least" in first
    assert "To keep to the budget of 15.0 s, " in first and "--whole" in first
    assert last.startswith("Left out, because the budget of 15.0 s was spent:")
    data = read_run(lab.only_run().path)
    assert data.complete and sum(launch.wall for launch in data.launches) <= 1.1 * 15.0
    cells = summarise_cells(data)
    left_out = [cell for cell in cells if cell.left_out]
    assert 0 < len(left_out) < len(cells)
    # What is left out is named on the terminal by its work, and in the report by its cell.
    benchmarks = [cell for cell in left_out if cell.cell.kernel.startswith("npb.")]
    assert {cell.parameters["class"] for cell in benchmarks} == {"A"}
    (run,) = list_runs(tmp_path / "runs")
    again = lab.run("npb", "class=A", "--budget", "15 s")
    assert "from earlier runs" in again.stderr.splitlines()[0]
    assert run.path.exists()


def test_a_resumed_run_leaves_the_same_cells_out(tmp_path: Path) -> None:
    lab = InProcessLab(tmp_path)
    (tmp_path / "scenario.toml").write_text(scenario_text(launch=0.5, slower=2.0))
    lab.run("npb", "class=A", "--budget", "15 s")
    run = lab.only_run()
    (run.path / "seal.json").unlink()
    launches = len(run.launches())
    done = lab.run("--resume")
    assert done.returncode == 0, done.stderr
    assert len(run.launches()) == launches
    assert "Left out, because the budget of 15.0 s was spent:" in done.stderr


def test_a_command_of_unknown_length_is_bounded(tmp_path: Path) -> None:
    """A real command that would take an hour, with a budget of a second."""
    words = ["run", "placement", "ppn=1", "threads=1", "--app", "sleep 3600", "--budget", "1 s"]
    began = time.monotonic()
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words, "--runs", "runs", "--no-report", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # The budget, ten seconds, and the time in which commands end.
    assert time.monotonic() - began < 60.0
    assert "the time of the command is unknown before its first launch" in done.stderr
    assert "Left out, because the budget of 1.00 s was spent: " in done.stderr
    assert json.loads(done.stdout)["cells"][0]["status"] == "interrupted"
