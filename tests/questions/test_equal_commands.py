"""Reports of commands on a fake machine where everything takes as long as anything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from equal_answers import directions
from quick_part import first_quickly

SCENARIO = """
schema = 1
seed = {seed}
cores = 4
nodes = 4
[toolchain.a]
cxx = "g++"
cxx_version = "g++ 12.2.0"
mpi_flavour = "mpich"
mpi_version = "5.0.2"
[toolchain.b]
cxx = "clang++"
cxx_version = "clang version 14.0.6"
mpi_flavour = "mpich"
mpi_version = "5.0.2"
[[kernel]]
time = "{time}"
max_batch = 1
noise = {{ sigma = 0.003, launch_sigma = 0.01 }}
"""


def reported(folder: Path, seed: int, time: str, *words: str) -> dict[str, Any]:
    (folder / "scenario.toml").write_text(SCENARIO.format(seed=seed, time=time))
    options = ("--fake", "scenario.toml", "--budget", "1000000 s", "--launches", "6")
    assay(folder, "run", *words, *options, "--seed", str(seed))
    (run,) = (folder / "runs").iterdir()
    report: dict[str, Any] = json.loads(assay(folder, "report", str(run), "--json"))
    return report


def said(section: dict[str, Any]) -> list[str]:
    """What a section says about results. Captions explain how to read a figure."""
    titles = [drawn["title"] for drawn in (*section["tables"], *section["figures"])]
    notes = [row["note"] for row in section["evidence"]]
    names = ("advice", "caveats", "limits", "urgent")
    lists = [text for name in names for text in section.get(name, ())]
    return [section["verdict"], *notes, *lists, *titles]


def assay(folder: Path, *words: str) -> str:
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "time", "seed"),
    first_quickly(
        [
            (("network",), "1e-3", 4),
            (("toolchains", "kernel=npb.bt"), "1", 3),
            (("npb", "kernel=npb.cg,npb.ep"), "1", 5),
        ]
    ),
)
@pytest.mark.long
def test_a_report_on_equal_cells_has_no_word_of_direction(
    tmp_path: Path, words: tuple[str, ...], time: str, seed: int
) -> None:
    report = reported(tmp_path, seed, time, *words)
    answered = [one for one in report["sections"] if one["status"] == "answered"]
    assert answered
    assert directions(*(sentence for section in answered for sentence in said(section))) == []
