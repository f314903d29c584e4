"""Bundles for the appendix on artefacts: unpacked in an empty folder, everything in them works."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
import tarfile
from pathlib import Path

import pytest

import prepared_assay
from assay.errors import AssayError
from assay.model.plan import PlanContext
from assay.plans.suites import load_plan
from assay.records.directory import RunDirectory
from assay.records.reading import read_run
from assay.report.export.bundle import ENVIRONMENT, README, write_bundle
from assay.report.export.plan_text import plan_text
from assay.stats.cells.summarise import summarise_cells

MACHINE = """
schema = 1
seed = 3
cores = 16
nodes = 4
launch_time = "1 ms"
[toolchain.embedded]
cxx = "g++"
mpi_flavour = "mpich"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
PLAN = """
schema = 1
title = "Messages, triads and a user's program"
seed = 11
[replication]
precision = "2%"
min_launches = 1
max_launches = 2
[[measure]]
kernel = "network.pingpong"
nodes = [1, 2]
ppn = 2
order = ["block", "cyclic"]
bytes = [8, 4096]
[[measure]]
kernel = "memory.stream"
op = "triad"
ppn = [1, "all"]
binding = "spread"
first = true
[[measure]]
kernel = "npb.cg"
class = "A"
ppn = 4
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with a plan, a scenario and the run of the plan."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "secret-machine.toml").write_text(MACHINE)
    (folder / "messages.toml").write_text(PLAN)
    done = assay(
        *("run", "messages.toml", "--fake", "secret-machine.toml", "--fail-on", "never"),
        *("--no-report", "--launches", "1"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def assay(*words: str, cwd: Path):
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words], cwd=cwd, capture_output=True, text=True
    )


def unpacked(archive: Path, folder: Path) -> Path:
    folder.mkdir()
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def test_a_bundle_unpacked_in_an_empty_folder_is_reported_and_repeated(measured, tmp_path):
    archive = tmp_path / "artefact.tar.gz"
    done = assay("export", "--bundle", str(archive), cwd=measured)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    folder = unpacked(archive, tmp_path / "empty")
    original = read_run(only_run(measured))
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ", 1)
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    reported = assay("report", "--json", cwd=folder)
    assert reported.returncode == 0, reported.stderr
    wanted = assay("report", "--json", cwd=measured)
    assert json.loads(reported.stdout)["cells"] == json.loads(wanted.stdout)["cells"]
    # The command is taken from the README, as a reader would.
    command = re.findall(r"^assay run .*", (folder / README).read_text(), re.MULTILINE)[-1]
    again = assay(*shlex.split(command)[1:], "--no-report", "--fail-on", "never", cwd=folder)
    assert again.returncode == 0, again.stderr
    new = next(each for each in (folder / "runs").iterdir() if each.name != original.manifest.run)
    repeated = read_run(new).manifest.plan
    assert [c.id for c in repeated.cells] == [c.id for c in original.manifest.plan.cells]
    assert (repeated.seed, repeated.name) == (11, "messages")
    assert {*repeated.first} == {*original.manifest.plan.first} != set()


def test_the_same_runs_give_the_same_bytes(measured, tmp_path):
    for anonymous in (False, True):
        archives = [tmp_path / f"{name}-{anonymous}.tar.gz" for name in ("a", "b")]
        for path in archives:
            write_bundle(measured / "runs", [], path, anonymous=anonymous)
        assert archives[0].read_bytes() == archives[1].read_bytes()


def test_an_anonymous_bundle_has_no_name_and_all_numbers(measured, tmp_path):
    archive = tmp_path / "anonymous.tar.gz"
    (name,) = write_bundle(measured / "runs", [], archive, anonymous=True)
    folder = unpacked(archive, tmp_path / "empty")
    text = "".join(
        f"{path.relative_to(folder)}\n{path.read_text()}"
        for path in folder.rglob("*")
        if path.is_file()
    )
    original = read_run(only_run(measured))
    hosts = {rank.host for each in original.measurements for rank in each.ranks}
    assert hosts
    for private in (*hosts, original.manifest.run, str(measured)):
        assert private not in text
    run = RunDirectory(only_run(folder))
    assert run.name == name and run.complete and run.broken_seal() == []
    changed = read_run(run.path)
    assert changed.damaged == ()
    assert [each.metrics for each in summarise_cells(changed)] == [
        each.metrics for each in summarise_cells(original)
    ]
    environment = json.loads((folder / ENVIRONMENT).read_text())
    assert environment["anonymous"] and environment["runs"][0]["seed"] == 11


@pytest.mark.parametrize("suite", ["quick", "network", "linpack", "steadiness"])
def test_the_plan_of_a_suite_as_a_file_has_the_same_cells(tmp_path, suite):
    context = PlanContext(cores=8, nodes=4, memory=64e9, hardware_threads=8)
    from assay.plans.suites import find_suite

    plan = load_plan(find_suite(suite), context, seed=5)
    path = tmp_path / f"{suite}.toml"
    path.write_text(plan_text(plan))
    again = load_plan(path, context)
    assert [cell.id for cell in again.cells] == [cell.id for cell in plan.cells]
    assert (again.seed, again.replication) == (5, plan.replication)


def test_a_search_stays_a_search(tmp_path):
    from assay.plans.suites import find_suite

    context = PlanContext(cores=8, nodes=2, memory=64e9, hardware_threads=8)
    plan = load_plan(find_suite("placement"), context, seed=5)
    assert plan.search is not None
    path = tmp_path / "placement.toml"
    path.write_text(plan_text(plan))
    again = load_plan(path, context)
    assert {cell.id for cell in again.cells} == {cell.id for cell in plan.cells}
    assert again.search is not None and {*again.search.cells} == {*plan.search.cells}


def test_a_changed_run_is_not_bundled(measured, tmp_path):
    import shutil

    run = only_run(measured)
    copy = tmp_path / "runs" / run.name
    shutil.copytree(run, copy)
    stream = next((copy / "raw").glob("*.jsonl"))
    stream.write_bytes(stream.read_bytes() + b"\n")
    with pytest.raises(AssayError, match="isn't as it was sealed"):
        write_bundle(tmp_path / "runs", [], tmp_path / "a.tar.gz", anonymous=False)
    assert not (tmp_path / "a.tar.gz").exists()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--bundle", "a.zip"], "ends in .tar.gz"),
        (["--bundle", "a.tar.gz", "--samples"], "A bundle has the whole runs"),
        (["--bundle", "a.tar.gz", "--format", "csv"], "A bundle has the whole runs"),
    ],
)
def test_wrong_requests_are_refused_in_a_sentence(measured, tmp_path, words, what):
    done = assay("export", "--runs", str(measured / "runs"), *words, cwd=tmp_path)
    assert done.returncode == 2 and what in done.stderr
    assert list(tmp_path.iterdir()) == []
