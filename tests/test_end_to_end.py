"""The whole program on this machine: built, launched, killed, resumed, reported."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

import prepared_assay
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.records.stream import read_stream
from open_mpi import TOOLCHAIN, build_open_mpi, needs_open_mpi

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

PLAN = """
schema = 1
seed = 11
oversubscribe = true

[replication]
precision = "20%"
budget = "60 s"
max_launches = 7
cell_budget = "50 ms"
max_samples = 50

[[measure]]
kernel = "memory.stream"
op = ["copy", "triad"]
elements = 20000

[[measure]]
kernel = "compute.dgemm"
n = [16, 64]

[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [0, 1024]

[[measure]]
kernel = "network.barrier"
ppn = 2

[[measure]]
kernel = ["npb.ep", "npb.cg"]
class = "S"
"""


def assay(*words: str, cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def kernels_of(process: psutil.Process) -> list[psutil.Process]:
    below = process.children(recursive=True)
    return [p for p in below if p.is_running() and "assay-kernels" in p.name()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_a_plan_is_measured_verified_sealed_and_reported(folder: Path) -> None:
    done = assay("run", "plan.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "How fast is it, and how far from its limits?" in done.stdout
    (run,) = list_runs(folder / "runs")
    assert run.complete
    assert run.broken_seal() == []
    data = read_run(run.path)
    assert {m.record.verified for m in data.measurements} == {True}
    assert len({m.cell.id for m in data.measurements}) == 9
    assert all(launch.outcome == "complete" for launch in data.launches)
    for path in run.streams():
        stream = read_stream(path)
        assert stream.finished
        assert stream.damaged == []
    # Each rank reports its CPUs, and the records have covariates.
    assert all(rank.cpus for m in data.measurements for rank in m.ranks)
    assert all(m.record.covariates["sampling_seconds"] for m in data.measurements)
    assert (run.path / "report.html").stat().st_size > 100_000
    again = assay("runs", "--check", "--json", cwd=folder)
    assert [entry["state"] for entry in json.loads(again.stdout)] == ["complete"]


@pytest.mark.long
def test_measure_prints_the_object_of_the_documentation(folder: Path) -> None:
    words = ["npb.cg", "class=S", "--ppn", "1", "--threads", "1", "--budget", "5 s"]
    done = assay("measure", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["kernel"] == "npb.cg"
    assert answer["verified"] is True
    rate = answer["metrics"]["rate"]
    assert rate["unit"] == "op/s"
    assert rate["ci95"][0] <= rate["median"] <= rate["ci95"][1]
    assert rate["n"] >= 6
    # Class S does 66.6 million official operations.
    product = rate["median"] * answer["metrics"]["time"]["median"]
    assert product == pytest.approx(66.6e6, rel=0.02)


def test_killed_it_leaves_no_ranks_and_resumes_to_the_same_cells(folder: Path) -> None:
    words = ["run", "plan.toml", "--no-report", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words], cwd=folder, stdout=subprocess.DEVNULL
    )
    watched = psutil.Process(process.pid)
    ranks: list[psutil.Process] = []
    deadline = time.monotonic() + 120
    while not ranks and time.monotonic() < deadline:
        ranks = kernels_of(watched)
        time.sleep(0.005)
    assert ranks, "no rank was found"
    process.send_signal(signal.SIGKILL)
    process.wait()
    _gone, alive = psutil.wait_procs(ranks, timeout=10)
    assert alive == []
    (run,) = list_runs(folder / "runs")
    assert not run.complete
    done = assay("run", "--resume", "--no-report", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = read_run(run.path)
    assert run.complete
    assert {m.cell.id for m in data.measurements} == {c.id for c in data.manifest.plan.cells}
    counts = Counter(m.measurement for p in run.streams() for m in read_stream(p).measurements)
    assert set(counts.values()) == {1}


@needs_open_mpi
@pytest.mark.long
def test_two_toolchains_in_one_plan_are_compared(folder: Path) -> None:
    build_open_mpi()
    (folder / "assay.toml").write_text(TOOLCHAIN)
    words = ["network.pingpong", "bytes=8", "--ppn", "2", "--budget", "30 s", "--launches", "2"]
    words += ["--toolchain", "embedded,openmpi", "--oversubscribe"]
    done = assay("measure", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)
    assert [cell["cell"]["toolchain"] for cell in cells] == ["embedded", "openmpi"]
    assert all(cell["verified"] and cell["metrics"]["latency"]["median"] > 0 for cell in cells)


@pytest.mark.long
def test_impossible_requests_give_one_sentence_and_status_2(folder: Path) -> None:
    wrong = {
        ("measure", "npb.cq", "class=A"): "Did you mean 'npb.cg'?",
        ("measure", "npb.cg", "class=Z"): "class",
        ("measure", "npb.cg", "klass=A"): "Did you mean 'class'?",
        ("run", "quik"): "Did you mean 'quick'?",
        ("run", "missing.toml"): "missing.toml",
        ("measure", "npb.cg", "--toolchain", "embeded"): "Did you mean 'embedded'?",
        ("report", "nothing"): "run",
        ("measure", "compute.dgemm", "n=-3"): "n",
        ("measure", "memory.stream", "elements=4000000000000"): "needs 96.0 TB per node",
    }
    for words, hint in wrong.items():
        done = assay(*words, cwd=folder)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert hint in done.stderr, (words, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_wrong_line_of_a_plan_is_named(folder: Path) -> None:
    (folder / "bad.toml").write_text('schema = 1\n\n[[measure]]\nkernel = "npb.cg"\nclas = "S"\n')
    done = assay("run", "bad.toml", cwd=folder)
    assert done.returncode == 2
    assert "bad.toml:5" in done.stderr
    assert "Did you mean 'class'?" in done.stderr


def test_a_cell_that_needs_too_much_memory_fails_alone(folder: Path) -> None:
    half = psutil.virtual_memory().available // 2 // 24  # the kernel itself takes a quarter at most
    words = ["memory.stream", f"elements=20000,{half}", "--budget", "2 s", "--launches", "1"]
    done = assay("measure", *words, "--json", cwd=folder)
    assert done.returncode == 1
    good, bad = json.loads(done.stdout)
    assert good["status"] == "ok"
    assert bad["status"] == "failed"
    assert "memory" in bad["error"]
