"""Campaigns on a fake machine: what is measured, not repeated, and kept after failures."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import prepared_assay
from assay.config import Prices
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.records.stream import read_stream
from campaign_lab import Lab, counted, measurement_counts
from unforeseen import UNFORESEEN
from waiting import wait_for

_FULL_DISK = '[[failure]]\nkind = "disk full"\nlaunch = 3\nbytes = 2500\ntimes = 1'


@pytest.fixture
def lab(tmp_path: Path):
    return Lab(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    lab = Lab(tmp_path_factory.mktemp("undisturbed"))
    assert lab.run("plan.toml").returncode == 0
    return counted(lab.only_run())


def test_every_cell_gets_its_launches_and_the_run_is_sealed(lab: Lab) -> None:
    (lab.path / "assay.toml").write_text("[prices]\ncurrency = 'EUR'\nnode = 9500\n")
    done = lab.run("plan.toml")
    assert done.returncode == 0, done.stderr
    run = lab.only_run()
    assert run.complete
    assert run.broken_seal() == []
    replicates = Counter(name.rpartition("-")[0] for name in counted(run))
    assert len(replicates) == 12
    assert all(6 <= number <= 9 for number in replicates.values())
    assert set(measurement_counts(run).values()) == {1}
    assert run.manifest().prices == Prices("EUR", {"node": 9500.0})


def test_one_launch_holds_all_cells_of_a_placement(lab: Lab) -> None:
    lab.run("plan.toml")
    run = lab.only_run()
    first = [len(read_stream(path).measurements) for path in run.streams()[:2]]
    assert sorted(first) == [3, 9]


def test_the_same_seed_gives_the_same_measurements(
    lab: Lab, undisturbed: dict[str, list[float]]
) -> None:
    """In an interpreter of its own, which orders sets by another seed of hashes."""
    subprocess.run(lab.command("plan.toml"), cwd=lab.path, capture_output=True, timeout=120)
    assert counted(lab.only_run()) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", [*(pytest.param(each, marks=pytest.mark.long) for each in range(10))]
)
def test_killed_at_a_random_moment_and_resumed_it_gives_the_same_result(
    lab: Lab, moment: int, undisturbed: dict[str, list[float]]
) -> None:
    lab.scenario(delay="15 ms")
    process = lab.start("plan.toml")
    wait_for(lambda: list_runs(lab.runs))
    time.sleep(random.Random(moment).uniform(0.0, 1.2))
    process.send_signal(signal.SIGKILL)
    process.wait()
    lab.scenario()
    kept = counted(lab.only_run())
    assert not lab.only_run().complete
    done = lab.run("--resume")
    assert done.returncode == 0, done.stderr
    run = lab.only_run()
    assert run.complete
    assert {name: counted(run)[name] for name in kept} == kept
    assert counted(run).keys() == undisturbed.keys()
    assert set(measurement_counts(run).values()) == {1}


@pytest.mark.long
@pytest.mark.slow
def test_killed_repeatedly_it_still_ends(lab: Lab, undisturbed: dict[str, list[float]]) -> None:
    lab.scenario(delay="80 ms")
    words = ["plan.toml"]
    for attempt in range(4):
        process = lab.start(*words)
        time.sleep(0.45 + 0.1 * attempt)
        process.kill()
        process.wait()
        if list_runs(lab.runs):
            words = ["--resume"]
    lab.scenario()
    assert lab.run(*words).returncode == 0
    assert counted(lab.only_run()).keys() == undisturbed.keys()
    assert set(measurement_counts(lab.only_run()).values()) == {1}


def test_a_partial_line_and_a_lost_launch_line_lose_nothing_complete(
    lab: Lab, undisturbed: dict[str, list[float]]
) -> None:
    lab.run("plan.toml")
    run = lab.only_run()
    (run.path / "seal.json").unlink()
    last = run.streams()[-1]
    content = last.read_bytes()
    last.write_bytes(content[: content.rindex(b'{"record":"measurement"') + 50])
    lines = (run.path / "launches.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "launches.jsonl").write_bytes(b"".join(lines[:-1]))
    before = counted(run)
    assert len(before) == len(undisturbed) - 1
    assert lab.run("--resume").returncode == 0
    assert counted(run).keys() == undisturbed.keys()


@pytest.mark.slow
def test_sigterm_keeps_complete_records_and_says_how_to_resume(lab: Lab) -> None:
    lab.scenario(delay="50 ms")
    process = subprocess.Popen(
        lab.command("plan.toml"), cwd=lab.path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    wait_for(lambda: any(path.stat().st_size for path in lab.runs.glob("*/raw/*.jsonl")))
    process.terminate()
    _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert b"assay run --resume" in said
    run = lab.only_run()
    assert not run.complete
    assert (run.path / "samples.parquet").exists()
    assert read_run(run.path).launches[-1].outcome == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "said"),
    [(["--keep"], "assay run --resume"), ([], "The results were not kept; `--keep`")],
)
def test_a_stopped_measure_says_what_is_kept(lab: Lab, keep: list[str], said: str) -> None:
    lab.scenario(delay="50 ms")
    place = lab.path / "tmp"
    place.mkdir()
    words = ["measure", "npb.ep", "--fake", "scenario.toml", "--launches", "100", *keep]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        cwd=lab.path,
        env={**os.environ, "TMPDIR": str(place)},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: any(path.stat().st_size for path in lab.path.glob("**/raw/*.jsonl")))
    process.terminate()
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said in printed and UNFORESEEN not in printed
    assert not list(place.iterdir())
    assert bool(list_runs(lab.runs)) == bool(keep)


@pytest.mark.long
def test_two_concurrent_campaigns_make_two_runs_and_one_run_admits_one(lab: Lab) -> None:
    lab.scenario(delay="5 ms")
    both = [lab.start("plan.toml") for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert len(list_runs(lab.runs)) == 2
    run = list_runs(lab.runs)[0]
    (run.path / "seal.json").unlink()
    with run.locked():
        refused = lab.run(run.name, "--resume")
    assert refused.returncode == 2
    assert "Another assay is working on this run" in refused.stderr


FAILURES = {
    # Two attempts on its own; then it has failed.
    "crash": '[[failure]]\nkind = "crash"\nmatch = "npb.ep"\nwhere = "ppn == 2"',
    "wrong result": '[[failure]]\nkind = "wrong result"\nmatch = "npb.ep"\nwhere = "ppn == 2"',
    "nan": '[[failure]]\nkind = "nan"\nmatch = "npb.ep"\nwhere = "ppn == 2"',
    "error": '[[failure]]\nkind = "error"\nmatch = "npb.ep"\nwhere = "ppn == 2"',
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "nan" else pytest.mark.long) for kind in FAILURES],
)
def test_a_failing_cell_fails_alone_and_the_exit_status_says_so(lab: Lab, kind: str) -> None:
    lab.scenario(failures=FAILURES[kind])
    done = lab.run("plan.toml")
    assert done.returncode == 1, done.stderr
    run = lab.only_run()
    assert run.complete
    replicates = Counter(
        m.cell.kernel for m in read_run(run.path).measurements if m.record.verified
    )
    assert replicates["network.pingpong"] >= 36
    assert replicates["npb.ep"] >= 18
    assert lab.run("plan.toml", "--fail-on", "never").returncode == 0


@pytest.mark.long
def test_a_full_disk_stops_the_run_with_the_remedy_and_resume_completes_it(
    lab: Lab, undisturbed: dict[str, list[float]]
) -> None:
    lab.scenario(failures=_FULL_DISK)
    done = lab.run("plan.toml")
    assert done.returncode == 2
    assert "assay run --resume" in done.stderr
    assert counted(lab.only_run())
    lab.scenario()
    assert lab.run("--resume").returncode == 0
    assert counted(lab.only_run()).keys() == undisturbed.keys()


def test_the_budget_ends_a_run_before_every_cell_was_measured(lab: Lab) -> None:
    done = lab.run("plan.toml", "--budget", "0.05 s")
    assert done.returncode == 0
    assert "Left out, because the budget of 50.0 ms was spent:" in done.stderr
    measured = counted(lab.only_run())
    assert len(measured) == 1  # the quickest cell
    left_out = [c for c in json.loads(done.stdout)["cells"] if (c["error"] or "")]
    assert len(left_out) == 11
    assert {c["error"][:34] for c in left_out} == {"It was left out: the budget of 50."}


def test_a_whole_run_measures_every_cell_whatever_the_budget(lab: Lab) -> None:
    done = lab.run("plan.toml", "--budget", "0.05 s", "--whole")
    assert done.returncode == 0
    assert "Left out" not in done.stderr
    replicates = Counter(name.rpartition("-")[0] for name in counted(lab.only_run()))
    assert len(replicates) == 12
    assert set(replicates.values()) == {1}


def test_resume_without_an_unfinished_run_says_so(lab: Lab) -> None:
    refused = lab.run("--resume")
    assert refused.returncode == 2
    assert "There is no unfinished run." in refused.stderr


@pytest.mark.parametrize(
    "known", ["by the manifest", pytest.param("by its launches", marks=pytest.mark.long)]
)
def test_a_fake_run_resumes_only_with_a_scenario(lab: Lab, known: str) -> None:
    """Without --fake the real machine would be measured; older manifests do not name a scenario."""
    lab.scenario(failures=_FULL_DISK)
    lab.run("plan.toml")
    lab.scenario()
    run = lab.only_run()
    manifest = run.path / "manifest.json"
    if known == "by its launches":
        content = json.loads(manifest.read_text())
        assert Path(content.pop("fake")) == lab.path / "scenario.toml"
        manifest.write_text(json.dumps(content))
    measured = measurement_counts(run)
    assert measured
    command = [word for word in lab.command("--resume") if word not in ("--fake", "scenario.toml")]
    refused = subprocess.run(command, cwd=lab.path, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "--fake is missing" in refused.stderr
    assert ("scenario.toml" in refused.stderr) == (known == "by the manifest")
    assert measurement_counts(run) == measured
    assert lab.run("--resume").returncode == 0


def test_a_real_run_does_not_resume_with_a_scenario(lab: Lab) -> None:
    lab.scenario(failures=_FULL_DISK)
    lab.run("plan.toml")
    lab.scenario()
    run = lab.only_run()
    for name in ("manifest.json", "launches.jsonl"):  # as if mpirun had launched it
        path = run.path / name
        text = path.read_text().replace('"command":["fake"', '"command":["mpirun"')
        content = text.replace(str(lab.path / "scenario.toml"), "")
        path.write_text(content.replace('"fake": ""', '"fake": null'))
    refused = lab.run("--resume")
    assert refused.returncode == 2
    assert "This run measured a real machine" in refused.stderr


def test_measure_prints_one_object_or_a_list(lab: Lab) -> None:
    def measure(*words: str):
        command = [sys.executable, "-m", "assay", "measure", *words, "--fake", "scenario.toml"]
        done = prepared_assay.run(
            [*command, "--json"], cwd=lab.path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    one = measure("npb.cg", "class=A", "--ppn", "2", "--threads", "1")
    assert one["kernel"] == "npb.cg"
    assert one["verified"] is True
    rate = one["metrics"]["rate"]
    assert {"unit", "median", "ci95", "min", "max", "cov", "n", "stop"} <= rate.keys()
    # 1 ms per operation was planted; 1.508e9 operations are class A's.
    assert rate["ci95"][0] <= rate["median"] <= rate["ci95"][1]
    assert one["metrics"]["time"]["median"] == pytest.approx(1e-3, rel=0.02)
    assert rate["median"] == pytest.approx(1.508e12, rel=0.02)
    both = measure("npb.cg", "class=S,W", "--ppn", "2")
    assert [cell["cell"]["parameters"]["class"] for cell in both] == ["S", "W"]
    assert not lab.runs.exists()  # without a request nothing is kept


@pytest.mark.long
def test_lazy_samples_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole procedure in this process, once with all samples in memory, once with none."""
    from assay.cli.app import main
    from assay.records import reading

    created = []
    for most in (reading.IN_MEMORY, 0):
        monkeypatch.setattr(reading, "IN_MEMORY", most)
        folder = tmp_path / str(most)
        folder.mkdir()
        lab = Lab(folder)
        flags = ["--fake", str(lab.path / "scenario.toml"), "--runs", str(lab.runs), "--json"]
        with pytest.raises(SystemExit) as ended:
            main(["run", str(lab.path / "plan.toml"), *flags])
        assert ended.value.code == 0
        created.append(list_runs(lab.runs)[0])
    monkeypatch.undo()
    whole, stored = (read_run(run.path) for run in created)
    assert [m.record for m in stored.measurements] == [m.record for m in whole.measurements]
    assert len(whole.measurements) >= 12 * 6
    tables = [
        [pl.read_parquet(run.path / name) for name in ("measurements.parquet", "samples.parquet")]
        for run in created
    ]
    own = ("run", "launch", "utc")
    assert tables[0][0].drop(own).equals(tables[1][0].drop(own))
    assert tables[0][1].equals(tables[1][1])
