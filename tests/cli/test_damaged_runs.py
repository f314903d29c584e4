"""Damaged runs: each is listed, reported or refused in one sentence, and hides no other run.

``ASSAY_TEST_DAMAGED=1000 pytest -m long tests/cli/test_damaged_runs.py`` runs a thousand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from assay.records.directory import RunDirectory
from assay.records.files import temporary_prefix
from assay.records.listing import describe_run
from campaign_lab import InProcessLab
from damage import damage
from unforeseen import UNFORESEEN

COUNT = int(os.environ.get("ASSAY_TEST_DAMAGED", "60"))
PLAN = """
schema = 1
seed = 5
[replication]
budget = "1000 s"
min_launches = 2
max_launches = 2
max_samples = 6
[[measure]]
kernel = "npb.ep"
class = ["S", "W"]
"""


class Lab(InProcessLab):
    def assay(self, *words: str):
        return self.call(list(words))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: the second will be damaged."""
    lab = Lab(tmp_path_factory.mktemp("made"))
    (lab.path / "plan.toml").write_text(PLAN)
    for _ in range(2):
        done = lab.run("plan.toml")
        assert done.returncode == 0, done.stderr
    return lab.runs


@pytest.fixture
def lab(made: Path, tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    shutil.copytree(made, lab.runs)
    return lab


def victim(lab: Lab) -> RunDirectory:
    return RunDirectory(sorted(lab.runs.iterdir())[-1])


def one_sentence(said: str) -> None:
    assert "Traceback" not in said
    assert len(said) < 2000, said
    assert UNFORESEEN not in said, said
    assert not re.search(r"[A-Z]\w+Error\b", said), said


def tried(lab: Lab, what: str) -> None:
    """Run every command that reads runs; each must end with a documented status."""
    name = victim(lab).name
    runs = ["--runs", str(lab.runs), "--json"]
    commands = {
        "runs": ["runs", *runs],
        "check": ["runs", "--check", *runs],
        "report": ["report", name, *runs],
        "history": ["history", *runs],
        "export": ["export", name, *runs],
        "anonymous": ["report", name, "--anonymize", *runs],
    }
    if not victim(lab).complete:
        commands["resume"] = [
            *("run", name, "--resume", "--fake", str(lab.path / "scenario.toml")),
            *("--no-report", *runs),
        ]
    for command, words in commands.items():
        began = time.process_time()
        done = lab.assay(*words)
        assert done.returncode in (0, 1, 2), (what, command, done.returncode)
        one_sentence(done.stderr)
        assert time.process_time() - began < 20.0, (what, command)
        if command in ("runs", "check"):
            listed = {run["run"]: run["state"] for run in json.loads(done.stdout)}
            assert len(listed) == 2 or not victim(lab).path.exists(), (what, listed)
            first = sorted(listed)[0]
            assert listed[first] == "complete", (what, listed)


@pytest.mark.parametrize("seed", range(4))
def test_any_damage_gives_one_sentence(lab: Lab, seed: int) -> None:
    _try(lab, seed)


@pytest.mark.long
def test_many_damaged_runs(made: Path, tmp_path: Path) -> None:
    for seed in range(4, 4 + COUNT):
        (tmp_path / str(seed)).mkdir()
        lab = Lab(tmp_path / str(seed))
        shutil.copytree(made, lab.runs)
        _try(lab, seed)
        shutil.rmtree(lab.path)


def _try(lab: Lab, seed: int) -> None:
    if seed % 2:
        (victim(lab).path / "seal.json").unlink()
    what = f"seed {seed}: {damage(victim(lab).path, seed)}"
    try:
        tried(lab, what)
    except BaseException:
        print(what)
        raise


def listed(lab: Lab, *flags: str) -> dict[str, str]:
    done = lab.assay("runs", "--runs", str(lab.runs), "--json", *flags)
    return {
        "exit": done.returncode,
        **{Path(run["path"]).name: run["state"] for run in json.loads(done.stdout)},
    }


@pytest.mark.parametrize("name", ["manifest.json", "seal.json"])
def test_an_invalid_utf8_byte_hides_no_other_run(lab: Lab, name: str) -> None:
    path = victim(lab).path / name
    content = re.sub(rb'("(?:run|suite)": ")', b"\\1\xff", path.read_bytes(), count=1)
    assert b"\xff" in content
    path.write_bytes(content)
    found = listed(lab, "--check")
    assert found.pop("exit") == 1
    assert sorted(found.values()) == ["complete", "damaged"]
    report = lab.assay("report", victim(lab).name, "--runs", str(lab.runs), "--json")
    assert report.returncode == (2 if name == "manifest.json" else 0)
    one_sentence(report.stderr)
    assert lab.assay("history", "--runs", str(lab.runs), "--json").returncode == 0


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("manifest.json", "utc", "1e308"),
        ("manifest.json", "utc", str(2**63)),
        ("manifest.json", "every", "0"),
        ("seal.json", "utc", "1e308"),
    ],
)
def test_impossible_times_are_damage(lab: Lab, name: str, key: str, value: str) -> None:
    path = victim(lab).path / name
    text, count = re.subn(rf'"{key}": [^,\n]+', f'"{key}": {value}', path.read_text())
    assert count
    path.write_text(text)
    if name == "manifest.json":
        (victim(lab).path / "seal.json").unlink()
    found = listed(lab)
    assert found.pop("exit") == 0 or "damaged" in found.values()
    assert sorted(found.values()) == ["complete", "damaged"]
    for words in (["runs"], ["report", victim(lab).name], ["history"]):
        done = lab.assay(*words, "--runs", str(lab.runs))
        assert done.returncode in (0, 1, 2)
        one_sentence(done.stderr)


@pytest.mark.parametrize("name", ["launches.jsonl", "manifest.json", "seal.json", "raw"])
def test_a_file_that_is_a_folder_and_a_folder_that_is_a_file(lab: Lab, name: str) -> None:
    path = victim(lab).path / name
    if path.is_dir():
        shutil.rmtree(path)
        path.write_bytes(b"")
    else:
        path.unlink()
        path.mkdir()
    assert "complete" in listed(lab).values()
    for words in (["runs", "--check"], ["report", path.parent.name], ["history"]):
        done = lab.assay(*words, "--runs", str(lab.runs))
        assert done.returncode in (0, 1, 2)
        one_sentence(done.stderr)


def test_check_reports_missing_foreign_and_empty_files(lab: Lab) -> None:
    run = victim(lab)
    assert describe_run(run, check=True).state == "complete"
    (run.raw / "9999-foreign.jsonl").write_text("{}\n")
    found = describe_run(run, check=True)
    assert found.state == "damaged" and "9999-foreign.jsonl (was not sealed)" in str(found.problem)
    (run.raw / "9999-foreign.jsonl").unlink()
    (run.path / "report.html").write_text("made again at any time")
    assert describe_run(run, check=True).state == "complete"
    seal = (run.path / "seal.json").read_bytes()
    (run.path / "seal.json").write_text('{"schema": 1, "utc": 1.0, "files": {}}')
    assert describe_run(run, check=True).state == "damaged"
    (run.path / "seal.json").write_bytes(b"")
    assert describe_run(run, check=True).state == "damaged"
    (run.path / "seal.json").write_bytes(seal)
    (run.path / "manifest.json").unlink()
    assert listed(lab, "--check")[run.name] == "damaged"
    done = lab.assay("report", run.name, "--runs", str(lab.runs))
    assert done.returncode == 2
    assert "has lost its manifest.json" in done.stderr


@pytest.mark.parametrize(
    ("change", "by"),
    [
        ('"starts":[', '"starts":[0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'),
        ('"warmup":', '"warmup":-'),
        ('-0","kernel":"npb.ep","status"', '-²","kernel":"npb.ep","status"'),
    ],
)
def test_impossible_records_are_reported_and_left_out(lab: Lab, change: str, by: str) -> None:
    run = victim(lab)
    stream = run.streams()[0]
    text = stream.read_text()
    assert change in text
    if '"warmup":0' in text:
        text = text.replace('"warmup":0', '"warmup":1')
    stream.write_text(text.replace(change, by))
    (run.path / "seal.json").unlink()
    done = lab.assay("report", run.name, "--runs", str(lab.runs), "--json")
    assert done.returncode == 0, done.stderr
    if "²" not in by:
        assert "This run is damaged" in json.loads(done.stdout)["unfinished"]
        assert listed(lab)[run.name] == "damaged"


def test_partial_files_of_a_killed_process_are_removed_at_the_next_read(lab: Lab) -> None:
    run = victim(lab)
    dead = temporary_prefix("report.html").replace(f"-{os.getpid()}.", "-999999999.")
    mine = temporary_prefix("report.html")
    (run.path / f"{dead}abcd1234").write_text("half")
    (run.path / f"{mine}abcd1234").write_text("half")
    (run.raw / f"{dead}abcd1234").write_text("half")
    folder = lab.runs / f"{temporary_prefix('x').replace(str(os.getpid()), '999999999')}abcd1234"
    folder.mkdir()
    old = run.path / ".seal.json.abcd1234"  # as earlier versions called them
    new = run.path / ".manifest.json.abcd1234"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    listed(lab)
    left = sorted(path.name for path in run.path.iterdir() if path.name.startswith("."))
    assert left == sorted([f"{mine}abcd1234", new.name, ".lock"])
    assert not folder.exists()
    assert not [path for path in run.raw.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_run_that_is_read_only_is_reported_elsewhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    run = victim(lab)
    before = sorted(run.path.rglob("*"))
    access = os.access
    # Root may write everywhere but to a file system that is mounted read-only.
    monkeypatch.setattr(os, "access", lambda path, how: path != run.path and access(path, how))
    done = lab.assay("report", run.name, "--runs", str(lab.runs), "--format", form)
    assert done.returncode == 0, done.stderr
    (written,) = (lab.path / f"{run.name}.{e}" for e in (["html"] if form == "html" else ["md"]))
    assert written.is_file()
    assert written.name in done.stdout
    assert sorted(run.path.rglob("*")) == before


def test_a_plan_that_speaks_of_other_cells_is_refused(lab: Lab) -> None:
    """Such as after the command of a cell was edited, whose id follows from it."""
    path = sorted(lab.runs.iterdir())[0] / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["plan"]["expected"] = {"0123456789ab": 1.0}
    path.write_text(json.dumps(manifest))
    (path.parent / "seal.json").unlink()
    for words in (("report", path.parent.name), ("run", "--resume", path.parent.name)):
        done = lab.assay(*words)
        assert done.returncode == 2
        assert "it refers to cells that it doesn't have" in done.stderr
        assert UNFORESEEN not in done.stderr
