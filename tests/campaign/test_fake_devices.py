"""Runs on fake devices are compared, expected, followed over time and designed with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay

SCENARIO = """
schema = 1
seed = 3
cores = 8
devices = 2
[peers]
bandwidth = 240e9
[[kernel]]
match = "gpu.stream"
time = "work_bytes / ranks / {rate}"
resolved = {{ elements = 33554432, backend = "cuda" }}
noise = {{ sigma = 0.004, launch_sigma = 0.003 }}
facts = {{ device_name = "NVIDIA A100-SXM4-40GB", device_kind = "gpu", device_units = 108 }}
phases = {{ device_time = 0.95 }}
"""
EXPECT = """
[[expect]]
cells = "gpu.stream op=triad ppn=1"
value = "1.3 TB/s"
"""


def assay(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


def measured(folder: Path, rate: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "machine.toml").write_text(SCENARIO.format(rate=rate))
    plan = ("gpu", "kernel=gpu.stream", "op=triad", "elements=0", "--launches", "6..6", "--whole")
    return assay("run", *plan, "--fake", "machine.toml", "--seed", "1", *words, cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("devices")
    (made / "assay.toml").write_text(EXPECT)
    for rate, status in (("1.4e12", 0), ("1.1e12", 1)):
        done = measured(made, rate, "--fail-on", "expectation")
        assert done.returncode == status, done.stderr
    return made


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "runs").iterdir() if path.is_dir())


def test_an_expected_bandwidth_is_judged(folder: Path) -> None:
    done = measured(folder, "1.35e12", "--junit", "cases.xml")
    assert done.returncode == 0, done.stderr
    assert "gpu.stream" in (folder / "cases.xml").read_text()


def test_two_runs_of_a_device_are_compared(folder: Path) -> None:
    first, second, *_ = names(folder)
    done = assay("compare", first, second, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "B is slower" in done.stdout and "0.78" in done.stdout  # 1.1 over 1.4


def test_a_device_has_a_history(folder: Path) -> None:
    done = assay("history", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "gpu.stream" in done.stdout


def test_a_device_becomes_an_accelerator(folder: Path) -> None:
    done = assay("design", "--from", names(folder)[0], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "[[accelerator]]" in done.stdout and "A100-SXM4-40GB, measured" in done.stdout
    assert "[[node]]" not in done.stdout
