"""Searches for the best placement in a campaign: on simulated machines, and with commands."""

from __future__ import annotations

import shlex
import signal
import sys
from collections import Counter

import msgspec
import pytest

from assay.campaign.engine.state import CellState
from assay.campaign.engine.timeouts import SECONDS, TIMES, time_limit
from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.reading import read_run
from campaign_lab import counted, measurement_counts
from placement_lab import SearchLab, lab, placement_section, run_app
from site_programs import beside
from waiting import wait_for

pytestmark = pytest.mark.usefixtures("patient_ranks")

__all__ = ["lab"]  # a fixture


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    lab = SearchLab(tmp_path_factory.mktemp("undisturbed"))
    assert lab.run("plan.toml").returncode == 0
    return counted(lab.only_run())


@pytest.mark.long
def test_few_of_the_candidates_are_measured_and_the_best_is_named(lab: SearchLab) -> None:
    finished = lab.run("plan.toml")
    assert finished.returncode == 0, finished.stderr
    run = read_run(lab.only_run().path)
    assert lab.only_run().complete
    counts = Counter(m.cell.id for m in run.measurements)
    plan = run.manifest.plan
    assert plan.search is not None and len(plan.search.optional) == 13
    # Compared cells have all their launches; the search needs few, those of the best among them.
    plain = [cell.id for cell in plan.cells if cell.id not in plan.search.optional]
    assert [counts[name] >= 6 for name in plain] == [True, True]
    assert sum(counts[name] for name in plan.search.optional) < 0.5 * 6 * 13
    section = placement_section(finished.stdout)
    assert section["status"] == "answered"
    assert "4 ranks × 2 threads" in str(section["verdict"])
    assert section["confidence"] == "high", section["confidence_why"]


@pytest.mark.long
@pytest.mark.parametrize(
    "streams",
    [pytest.param(3, marks=pytest.mark.slow), 9, pytest.param(20, marks=pytest.mark.slow)],
)
def test_killed_and_resumed_it_measures_the_same(
    lab: SearchLab, undisturbed: dict[str, list[float]], streams: int
) -> None:
    lab.scenario(delay="30 ms")
    process = lab.start("plan.toml")
    wait_for(lambda: len(list(lab.runs.glob("*/raw/*.jsonl"))) > streams)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lab.scenario()
    assert lab.run("--resume").returncode == 0
    run = lab.only_run()
    assert set(measurement_counts(run).values()) == {1}
    assert counted(run).keys() == undisturbed.keys()


@pytest.mark.long
def test_a_placement_that_fails_is_named_and_never_recommended(lab: SearchLab) -> None:
    lab.scenario(
        failures='[[failure]]\nkind = "wrong result"\nwhere = "ppn == 4 and threads == 2"\n'
        '[[failure]]\nkind = "crash"\nwhere = "ppn == 4 and threads == 4"\n'
        '[[failure]]\nkind = "hang"\nwhere = "ppn == 8 and threads == 2"\n'
    )
    finished = lab.run("plan.toml")
    section = placement_section(finished.stdout)
    verdict, caveats = str(section["verdict"]), " ".join(map(str, section["caveats"]))
    tried = Counter(m.cell.placement.ppn for m in read_run(lab.only_run().path).measurements)
    assert tried[2] >= 6
    assert not [bad for bad in ("4 ranks × 2 threads", "4 ranks × 4") if bad in verdict]
    assert "4 ranks × 2 threads: its result was wrong" in caveats
    # Only the wrong result leaves a record; failed placements are not repeated.
    assert max(measurement_counts(lab.only_run()).values()) == 1


def test_if_no_placement_works_that_is_reported(lab: SearchLab) -> None:
    lab.scenario(failures='[[failure]]\nkind = "error"\ntext = "no licence"\n')
    finished = lab.run("plan.toml")
    assert finished.returncode == 1
    section = placement_section(finished.stdout)
    assert section["status"] == "unmeasured"
    assert "no licence" in " ".join(map(str, section["caveats"]))


@pytest.mark.long
def test_the_budget_ends_it_with_the_probability_reached(lab: SearchLab) -> None:
    finished = lab.run("plan.toml", "--budget", "3 s")
    assert finished.returncode == 0, finished.stderr
    section = placement_section(finished.stdout)
    assert section["confidence"] in ("medium", "low")
    assert lab.only_run().complete


def app_cell(ppn: int, timeout: float = 0.0) -> Cell:
    parameters = {"command": "./a {ranks}", "time": "", "verify": "", "shell": 0}
    return Cell("app", {**parameters, "timeout": timeout}, Placement(ppn=ppn), "own")


def test_a_command_gets_the_time_that_scaling_leaves() -> None:
    quick = CellState(app_cell(8), wall=10.0)
    failed = CellState(app_cell(4), wall=0.1, failure="exit status 1")
    other = CellState(Cell("npb.cg", {}, Placement(), "fake"), wall=0.1)
    known = [quick, failed, other]
    assert time_limit([app_cell(8)], known) == TIMES * 10.0 + SECONDS
    assert time_limit([app_cell(2)], known) == TIMES * 40.0 + SECONDS
    assert time_limit([app_cell(64)], known) == TIMES * 10.0 + SECONDS
    assert time_limit([app_cell(2)], [failed]) == float("inf")
    assert time_limit([app_cell(2, timeout=7.0)], []) == 7.0
    assert time_limit([other.cell], known) == float("inf")


def test_the_first_launch_of_a_site_s_executable_has_a_limit_by_its_work() -> None:
    work = find_kernel("npb.cg").work({"class": "A"}, 1, 1)["operations"]
    one, two = (
        beside(Cell("npb.cg", {"class": "A"}, Placement(ppn=ppn), "fake")) for ppn in (1, 2)
    )
    pace = find_kernel("npb.cg").pace
    assert pace is not None
    assert time_limit([one], []) == pytest.approx(60.0 + 50.0 * work / pace)
    assert time_limit([two], []) == pytest.approx(60.0 + 25.0 * work / pace)
    assert time_limit([one, two], []) == time_limit([one], []) + time_limit([two], [])
    # A launch that ended decides, and --timeout before all.
    ended = CellState(one, wall=4.0)
    assert time_limit([one], [ended]) == TIMES * 4.0 + SECONDS
    stated = replace_parameters(one, timeout=7.0)
    assert time_limit([stated], [ended]) == 7.0
    hpl = replace_parameters(one, of="linpack", work=2e12)
    assert time_limit([hpl], []) == pytest.approx(60.0 + 2e12 / 2e8)
    osu = replace_parameters(one, of="network.pingpong", work=8.0)
    assert time_limit([osu], []) == 600.0


def replace_parameters(cell: Cell, **changes: float | str) -> Cell:
    return msgspec.structs.replace(cell, parameters={**cell.parameters, **changes})


PROGRAM = """
import sys, time
ppn, threads = int(sys.argv[1]), int(sys.argv[2])
if ppn == 1 and threads == 2:
    sys.exit("no licence for two threads")
if ppn == 2 and threads == 1:
    time.sleep(60)
print("took", 0.2 / ppn)
print("right")
"""


def test_a_command_is_placed_run_and_recommended(lab: SearchLab) -> None:
    (lab.path / "program.py").write_text(PROGRAM)
    app = f"{shlex.quote(sys.executable)} program.py {{ppn}} {{threads}}"
    finished = run_app(
        lab, "ppn=1,2", "threads=1,2", "--app", app, "--time", "took (.*)", "--verify", "right",
        "--timeout", "6 s", "--nodes", "1",
    )  # fmt: skip
    section = placement_section(finished.stdout)
    caveats = " ".join(map(str, section["caveats"]))
    assert "1 rank" in str(section["verdict"]), finished.stderr
    assert "no end within 6 s" in caveats
    assert "no licence" in caveats or "threads" not in caveats
    advice = " ".join(map(str, section["advice"]))
    assert "program.py 1 1" in advice
    run = read_run(lab.only_run().path)
    assert {m.cell.toolchain for m in run.measurements} == {"own"}
    assert max(measurement_counts(lab.only_run()).values()) == 1
    assert run.manifest.toolchains == {"own": {}}


def test_options_of_a_command_need_one(lab: SearchLab) -> None:
    finished = run_app(lab, "--verify", "right")
    assert finished.returncode == 2
    assert "--app" in finished.stderr
    refused = run_app(lab, "--app", "./a {rank}")
    assert refused.returncode == 2 and "{rank}" in refused.stderr
