"""Launches ended by a signal: repeated once, then halved; what is missing is reported."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from assay.records.directory import RunDirectory
from assay.records.reading import read_run
from campaign_lab import InProcessLab as Lab
from campaign_lab import counted, measurement_counts


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    lab = Lab(tmp_path_factory.mktemp("undisturbed"))
    assert lab.run("plan.toml").returncode == 0
    return counted(lab.only_run())


ONE = "where = \"ppn == 2 and class == 'W'\""


def killed(launch: int) -> str:
    return f'[[failure]]\nkind = "killed"\nlaunch = {launch}\n'


def launches_of(run: RunDirectory, outcome: str) -> list[tuple[str, ...]]:
    return [record.left for record in run.launches() if record.outcome == outcome]


@pytest.mark.parametrize("launch", [1, 4])
def test_a_launch_killed_before_its_first_record_is_repeated(
    lab: Lab, launch: int, undisturbed: dict[str, list[float]]
) -> None:
    lab.scenario(failures=killed(launch))
    done = lab.run("plan.toml")
    assert done.returncode == 0, done.stderr
    run = lab.only_run()
    assert run.complete
    assert counted(run).keys() == undisturbed.keys()
    assert set(measurement_counts(run).values()) == {1}
    ((left),) = launches_of(run, "crash")
    (record,) = [record for record in run.launches() if record.outcome == "crash"]
    assert record.signal == 9
    assert set(left) <= counted(run).keys() and left
    # It is reported nevertheless, in addition to the numbers of its cells.
    cells = json.loads(done.stdout)["cells"]
    named = [cell for cell in cells if any("ended by SIGKILL" in c for c in cell["caveats"])]
    assert {cell["id"] for cell in named} == {name.rpartition("-")[0] for name in left}
    assert all(cell["lost_launches"] == 0 for cell in cells)


def test_among_cells_killed_together_the_cause_is_found(lab: Lab) -> None:
    lab.scenario(failures=f'[[failure]]\nkind = "killed"\nmatch = "npb.ep"\n{ONE}')
    done = lab.run("plan.toml")
    assert done.returncode == 1
    run = lab.only_run()
    assert not run.complete
    assert "Missing, because their launches ended repeatedly" in done.stderr
    assert f"assay run --resume {run.name}" in done.stderr
    replicates = Counter(name.rpartition("-")[0] for name in counted(run))
    assert len(replicates) == 11
    assert all(number >= 6 for number in replicates.values())
    (missing,) = [c for c in json.loads(done.stdout)["cells"] if c["lost_launches"]]
    assert missing["parameters"]["class"] == "W" and missing["cell"]["placement"]["ppn"] == 2
    assert "ended by SIGKILL" in missing["error"]
    # Two launches of all nine, then halves: 5, 3, 2 and one of each that contained it.
    assert [len(left) for left in launches_of(run, "crash")][:2] == [9, 9]
    assert launches_of(run, "crash")[-1] == (f"{missing['id']}-0",)
    lab.scenario()
    assert lab.run("--resume").returncode == 0
    assert run.complete
    assert len({name.rpartition("-")[0] for name in counted(run)}) == 12


def test_if_every_launch_is_killed_the_rest_is_soon_given_up(lab: Lab) -> None:
    lab.scenario(failures='[[failure]]\nkind = "killed"')
    done = lab.run("plan.toml")
    assert done.returncode == 1
    run = lab.only_run()
    assert not run.complete and not counted(run)
    assert len(run.streams()) <= 14  # of twelve cells at two placements
    cells = json.loads(done.stdout)["cells"]
    assert {cell["status"] for cell in cells} == {"failed"}
    assert all(cell["lost_launches"] == 1 for cell in cells)
    lab.scenario()
    assert lab.run("--resume").returncode == 0
    assert run.complete


@pytest.mark.parametrize("times", [1, 2])
def test_a_measurement_killed_by_a_signal_is_repeated_once_separately(
    lab: Lab, times: int, undisturbed: dict[str, list[float]]
) -> None:
    lab.scenario(failures=f'[[failure]]\nkind = "crash"\nmatch = "npb.ep"\n{ONE}\ntimes = {times}')
    done = lab.run("plan.toml")
    run = lab.only_run()
    crashed = [record for record in run.launches() if record.outcome == "crash"]
    assert len(crashed) == times
    assert crashed[0].blamed in crashed[0].left
    assert run.complete
    if times == 1:
        assert done.returncode == 0, done.stderr
        assert counted(run).keys() == undisturbed.keys()
        return
    # Twice in the same measurement: the cell has failed.
    assert crashed[0].blamed == crashed[1].blamed
    assert crashed[1].left == (crashed[1].blamed,)
    assert done.returncode == 1
    (failed,) = [c for c in json.loads(done.stdout)["cells"] if c["status"] == "failed"]
    assert failed["id"] == crashed[0].blamed.rpartition("-")[0]


def test_a_lost_replicate_of_a_cell_with_numbers_is_exit_1(lab: Lab) -> None:
    """Measured in the first block, killed twice in a later one."""
    lab.scenario(
        failures="".join(
            f'[[failure]]\nkind = "crash"\nmatch = "npb.ep"\nlaunch = {launch}\n'
            'where = "ppn == 1"\n'
            for launch in range(3, 12)
        )
    )
    done = lab.run("plan.toml")
    cells = {cell["id"]: cell for cell in json.loads(done.stdout)["cells"]}
    lost = [cell for cell in cells.values() if cell["lost_launches"]]
    assert lost and all(cell["metrics"] for cell in lost)
    assert done.returncode == 1


def test_after_resume_it_decides_as_without_the_kill(lab: Lab) -> None:
    """The strikes of a measurement are counted from the records, by any process."""
    lab.scenario(failures=f'[[failure]]\nkind = "crash"\nmatch = "npb.ep"\n{ONE}\ntimes = 1')
    assert lab.run("plan.toml").returncode == 0
    run = lab.only_run()
    # As if killed right after the killed launch: later records are missing.
    (crashed,) = [record for record in run.launches() if record.outcome == "crash"]
    for path in run.streams():
        if path.stem > crashed.launch:
            path.unlink()
    lines = (run.path / "launches.jsonl").read_bytes().splitlines(keepends=True)
    kept = lines[: [json.loads(x)["launch"] for x in lines].index(crashed.launch) + 1]
    (run.path / "launches.jsonl").write_bytes(b"".join(kept))
    (run.path / "seal.json").unlink()
    lab.scenario(failures=f'[[failure]]\nkind = "crash"\nmatch = "npb.ep"\n{ONE}')
    assert lab.run("--resume").returncode == 1
    deaths = [r.blamed for r in run.launches() if r.outcome == "crash"]
    assert deaths == [crashed.blamed] * 2
    assert read_run(run.path).launches[-1].launch != crashed.launch
