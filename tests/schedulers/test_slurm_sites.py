"""Builds for nodes without a compiler, arrays and walltimes on a real Slurm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab.slurm import SlurmCluster
from assay.records.directory import RunDirectory, list_runs
from assay.records.jobs import JobBook
from slurm_lab import reason, running_slurm

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.usefixtures("polite_waiting"),
]
PLAN = """\
schema = 1
[replication]
budget = "2 s"
cell_budget = "0.1 s"
min_launches = 1
max_launches = 1
[[measure]]
kernel = "npb.cg"
class = "S"
ppn = 1
"""
COMPILERS = re.compile(r".*(?:g\+\+|c\+\+|gcc|clang|mpicxx)(?:-\d+)?|cc")


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with running_slurm(2, settings={"MaxArraySize": "2"}) as started:
        yield started


@pytest.fixture(autouse=True)
def idle(slurm: SlurmCluster) -> None:
    slurm.await_idle()


@pytest.fixture
def no_compiler(tmp_path: Path) -> str:
    """A line of [scheduler] by which jobs find the programs of PATH, without compilers."""
    folder = tmp_path / "no-compiler"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if not COMPILERS.fullmatch(program.name) and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return f'[scheduler]\nsetup = ["export PATH={folder}"]\n'


def assay(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_nodes_without_a_compiler_use_the_build_of_the_login_node(
    tmp_path: Path, no_compiler: str
) -> None:
    (tmp_path / "assay.toml").write_text(no_compiler)
    (tmp_path / "plan.toml").write_text(PLAN)
    run = ("run", "plan.toml", "--submit", "--no-report", "--json")
    done = assay(tmp_path, *run, ASSAY_CACHE=str(tmp_path / "empty"))
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "are not built yet. The job compiles them first" in said
    assert "needs a C++ compiler: there is no 'g++'" in said
    assert "with the same cache: assay kernels --build." in said
    assert assay(tmp_path, "kernels", "--build").returncode == 0
    done = assay(tmp_path, *run)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((list_runs(tmp_path / "runs")[-1].path / "manifest.json").read_text())
    (toolchain,) = manifest["toolchains"].values()
    assert toolchain["executable"] == f"{toolchain['built']}/assay-kernels"


def test_the_second_run_requests_no_time_to_compile(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    assert assay(tmp_path, "kernels", "--build").returncode == 0
    words = ("run", "plan.toml", "--submit", "--no-report")
    first = assay(tmp_path, *words)
    second = assay(tmp_path, *words)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    started = [JobBook(run.path).jobs()[0].started for run in list_runs(tmp_path / "runs")]
    assert {event.identity for event in started if event} != {None}
    times = [JobBook(run.path).jobs()[0].submitted for run in list_runs(tmp_path / "runs")]
    assert times[0] is not None and times[1] is not None
    # 1.25 * (2 + 5.02 + 15 + 30.2) s are 2 minutes.
    assert times[1].walltime == 120.0 < (times[0].walltime or 0.0)


SCENARIO = """\
schema = 1
seed = 3
[[kernel]]
time = 0.001
"""


def group(folder: Path, *words: str, config: str = "[scheduler]\n") -> RunDirectory:
    (folder / "assay.toml").write_text(config)
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "plan.toml").write_text(PLAN)
    fake = ("--fake", "scenario.toml", "--per-node", "--no-report", "--runs", "runs")
    done = assay(folder, "run", "plan.toml", "--submit", *fake, *words)
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stderr)
    return list_runs(folder / "runs")[-1]


def scripts(run: RunDirectory) -> list[str]:
    return [path.read_text() for path in sorted((run.path / "jobs").glob("*.sh"))]


def test_an_array_is_split_at_the_limit_of_this_slurm(tmp_path: Path) -> None:
    run = group(tmp_path, "--nodes", "3", config="[scheduler]\nat_once = 1\n")
    assert "in 2 arrays" in (tmp_path / "said").read_text()
    first, second = scripts(run)
    assert "#SBATCH --array=0-1%1\n" in first
    assert "--array" not in second
    assert [run.member(n).complete for n in range(3)] == [True, True, True]


def test_without_arrays_one_allocation_serves_all(tmp_path: Path) -> None:
    run = group(tmp_path, "--nodes", "2", config="[scheduler]\narrays = false\n")
    (script,) = scripts(run)
    assert "#SBATCH --nodes=2\n" in script and "--array" not in script
    assert [run.member(n).complete for n in range(2)] == [True, True]
    assert not (run.path / "jobs" / "0001-2.out").exists()


def test_each_node_is_measured_once_and_a_drained_one_is_left_out(
    tmp_path: Path, slurm: SlurmCluster
) -> None:
    names = [node.name for node in slurm.nodes]
    run = group(tmp_path, "--nodes", "all")
    found = [re.findall(r"--nodelist=(\S+)", script) for script in scripts(run)]
    assert found == [[name] for name in names]
    for state in (["DRAIN", "Reason=bad fan"], ["RESUME"]):
        update = ["scontrol", "update", f"NodeName={names[0]}", f"State={state[0]}", *state[1:]]
        subprocess.run(update, check=True, timeout=30)
        if state[0] == "DRAIN":
            run = group(tmp_path, "--nodes", "all", "--partition", "lab")
            said = (tmp_path / "said").read_text()
            assert f"Left out: {names[0]} (drained: bad fan)." in said
            (script,) = scripts(run)
            assert f"--nodelist={names[1]}\n" in script
