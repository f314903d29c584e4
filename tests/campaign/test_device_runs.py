"""`assay run gpu` end to end: on OpenCL where it is installed, and on a CUDA of several devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import prepared_assay
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from devices import build_fake_cublaslt, build_fake_cuda, build_fake_nccl, needs_opencl

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

ONCE = ("--launches", "1", "--budget", "1 s", "--whole")
# Sizes at which each cell takes some milliseconds.
VECTORS, COPIES, MATRICES = "elements=4096", "bytes=4096", "n=64"


def assay(*words: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=900,
    )


def measured(folder: Path, env: Mapping[str, str], *words: str) -> RunData:
    done = assay("run", "gpu", *ONCE, *words, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    (run,) = list_runs(folder / "runs")
    data = read_run(run.path)
    assert {m.record.verified for m in data.measurements} == {True}
    assert {m.cell.id for m in data.measurements} == {c.id for c in data.manifest.plan.cells}
    return data


@needs_opencl
@pytest.mark.long
def test_the_whole_suite_runs_by_opencl(tmp_path: Path) -> None:
    run = measured(tmp_path, {}, VECTORS, COPIES, MATRICES)
    kernels = {cell.kernel for cell in run.manifest.plan.cells}
    one_device = ("stream", "gemm", "transfer", "launch", "latency")
    assert kernels >= {f"gpu.{name}" for name in one_device}
    assert "Matrix product, fp64" in _report(tmp_path)


def fake_cuda(folder: Path, fault: str) -> dict[str, str]:
    library = folder / "cuda"
    library.mkdir()
    for build in (build_fake_cuda, build_fake_nccl, build_fake_cublaslt):
        build(library)
    return {"LD_LIBRARY_PATH": str(library), "TMPDIR": str(folder), "FAKE_CUDA": fault}


@needs_opencl
def test_the_suite_runs_by_opencl(tmp_path: Path) -> None:
    kernels = "kernel=gpu.stream,gpu.launch"  # the products take the compiler half a minute
    run = measured(tmp_path, {}, "backend=opencl", kernels, "op=triad", VECTORS)
    assert {m.record.parameters["backend"] for m in run.measurements} == {"opencl"}
    report = _report(tmp_path)
    assert "No limit is known for this model" in report
    assert "Device memory, STREAM" in report


def test_the_suite_runs_on_two_devices_of_cuda(tmp_path: Path) -> None:
    env = fake_cuda(tmp_path, "devices:2")
    kernels = "kernel=gpu.stream,gpu.peer,gpu.collective"
    run = measured(tmp_path, env, "backend=cuda", kernels, VECTORS, COPIES)
    ranks = {m.cell.placement.ranks for m in run.measurements if m.cell.kernel == "gpu.stream"}
    assert ranks == {1, 2}
    report = _report(tmp_path)
    assert "Slowest over fastest device" in report and "Not verified on hardware" in report
    assert "Copies between devices" in report and "Fake device 0" in report


def test_one_device_has_no_cells_of_several(tmp_path: Path) -> None:
    env = fake_cuda(tmp_path, "devices:1")
    done = assay("run", "gpu", "--dry-run", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "it needs at least 2" in done.stdout + done.stderr


def test_without_a_device_one_sentence_says_so(tmp_path: Path) -> None:
    for name in ("libcuda.so.1", "libamdhip64.so", "libOpenCL.so.1", "libOpenCL.so"):
        (tmp_path / name).write_text("not a library")
    done = assay("run", "gpu", cwd=tmp_path, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode != 0
    assert "no device that CUDA, HIP or OpenCL finds" in done.stderr
    assert not (tmp_path / "runs").exists()


def _report(folder: Path) -> str:
    """The report of the run, as JSON."""
    done = assay("report", "--format", "json", "--output", "report.json", cwd=folder, env={})
    assert done.returncode == 0, done.stderr
    return json.dumps(json.loads((folder / "report.json").read_text()))
