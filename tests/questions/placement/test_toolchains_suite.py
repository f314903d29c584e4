"""The suite that compares toolchains: on a fake machine, and on this one with two builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay

SCENARIO = """
schema = 1
seed = 3
cores = 2
[toolchain.a]
cxx = "g++"
cxx_version = "g++ 12.2.0"
mpi_flavour = "mpich"
mpi_version = "5.0.2"
[toolchain.b]
cxx = "g++"
cxx_version = "g++ 12.2.0"
mpi_flavour = "openmpi"
mpi_version = "5.0.11"
[toolchain.c]
cxx = "clang++"
cxx_version = "clang version 14.0.6"
mpi_flavour = "mpich"
mpi_version = "5.0.2"
[toolchain.d]
cxx = "clang++"
cxx_version = "clang version 14.0.6"
mpi_flavour = "openmpi"
mpi_version = "5.0.11"
[[kernel]]
toolchain = "[cd]"
match = "npb.bt"
time = "1.25 / ppn ** 0.2"
max_batch = 1
noise = { sigma = 0.003, launch_sigma = 0.003 }
[[kernel]]
match = "npb.bt"
time = "1 / ppn ** 0.2"
max_batch = 1
noise = { sigma = 0.003, launch_sigma = 0.003 }
[[kernel]]
time = "1"
max_batch = 1
noise = { sigma = 0.003, launch_sigma = 0.003 }
"""


def assay(folder: Path, *words: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def placement(text: str) -> dict[str, object]:
    found: dict[str, object] = next(
        section for section in json.loads(text)["sections"] if section["id"] == "placement"
    )
    return found


@pytest.mark.long
def test_planted_effects_are_reported_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    words = ("kernel=npb.bt,npb.mg", "--fake", "scenario.toml", "--budget", "100000 s", "--json")
    done = assay(tmp_path, "run", "toolchains", *words, "--seed", "7")
    assert done.returncode == 0, done.stderr
    section = placement(done.stdout)
    verdict = str(section["verdict"])
    # ln 1.25 and 0.2 ln 2, each squared: 72% and 28%.
    assert "ompiler explains 7" in verdict and "of BT class W's variation over the plan" in verdict
    assert "ranks per node 2" in verdict
    assert "o significant effect of compiler or MPI or ranks per node on MG class W" in verdict
    tables = {table["id"]: table for table in section["tables"]}  # type: ignore[index,attr-defined]
    assert {"placement-variance", "placement-levels"} <= tables.keys()


def test_a_machine_with_one_toolchain_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text("schema = 1\n")
    done = assay(tmp_path, "run", "toolchains", "--fake", "scenario.toml")
    assert done.returncode == 2
    assert "There is nothing to compare: the only toolchain here is 'fake'." in done.stderr
    assert "[compilers.NAME]" in done.stderr
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.long
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_optimisation_is_found_to_matter_here(tmp_path: Path) -> None:
    """The same compiler at -O0 and -O3: EP takes at least twice as long in any case."""
    (tmp_path / "assay.toml").write_text('[compilers.o0]\nflags = "-O0"\n[compilers.o3]\n')
    words = ("kernel=npb.ep", "class=S", "--here", "--budget", "60 s", "--json")
    done = assay(tmp_path, "run", "toolchains", *words, timeout=900)
    assert done.returncode == 0, done.stderr
    section = placement(done.stdout)
    rows = {str(row["label"]): row for row in section["evidence"]}  # type: ignore[index,attr-defined]
    compiler = rows["EP class S: compiler"]
    assert compiler["value"] > 0.2
    assert "-O0 takes" in compiler["note"]  # only what is sure is evidence
    advice = " ".join(map(str, section["advice"]))  # type: ignore[call-overload]
    assert "-O3 -march=native is the fastest" in advice
