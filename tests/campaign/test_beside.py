"""``assay run --beside``: executables in the blocks of the kernels, from folder to report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.kernels import find_kernel
from assay.kernels.outside import is_beside
from assay.questions.common.code_factors import factors_of
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from site_programs import npb_program

PLAN = """
schema = 1
seed = 22
[replication]
min_launches = 8
max_launches = 8
budget = "1000 s"
[[measure]]
kernel = "npb.cg"
class = "S"
"""
# The executable takes three times the time of the kernel.
SCENARIO = """
schema = 1
seed = 3
[[kernel]]
match = "npb.cg"
time = 0.01
noise = { sigma = 0.01, launch_sigma = 0.02 }
[[kernel]]
match = "beside.npb"
time = 0.03
noise = { sigma = 0.01, launch_sigma = 0.02 }
"""


def assay(
    folder: Path, *words: str, scenario: str | None = SCENARIO
) -> subprocess.CompletedProcess[str]:
    (folder / "plan.toml").write_text(PLAN)
    if scenario is not None:
        (folder / "machine.toml").write_text(scenario)
    return prepared_assay.run(
        [sys.executable, "-m", "assay", "run", "plan.toml", "--json", "--no-report", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def the_run(folder: Path) -> RunData:
    (run,) = list_runs(folder / "runs")
    return read_run(run.path)


def test_a_planted_factor_comes_out_of_a_whole_run(tmp_path: Path) -> None:
    npb_program(tmp_path / "bin", "cg", "S", 1.0)
    done = assay(tmp_path, "--fake", "machine.toml", "--beside", "bin")
    assert done.returncode == 0, done.stderr
    run = the_run(tmp_path)
    (found,) = factors_of(run)
    # Noise and order follow from ids, and so from the folder: 10% are ten standard errors.
    assert found.factor.value == pytest.approx(3.0, rel=0.1)
    assert found.factor.interval is not None
    assert found.factor.interval[0] < found.factor.value < found.factor.interval[1]
    assert found.factor.launches == (8, 8)
    # Each block has a launch of both, in any order.
    measured = sorted(run.measurements, key=lambda each: each.utc)
    order = [is_beside(each.cell.kernel) for each in measured]
    blocks = {tuple(order[place : place + 2]) for place in range(0, 16, 2)}
    assert blocks <= {(True, False), (False, True)}
    assert "CG class S, 1 rank: assay's code / cg.S.x" in json.dumps(json.loads(done.stdout))
    # The executable is in the manifest by its hash.
    (site,) = (c for c in run.manifest.plan.cells if is_beside(c.kernel))
    assert len(str(site.parameters["sha256"])) == 64


@pytest.mark.long
def test_an_executable_that_hangs_from_its_first_launch_on_is_given_up(tmp_path: Path) -> None:
    npb_program(tmp_path / "bin", "cg", "S", 1.0)
    (tmp_path / "machine.toml").write_text(
        SCENARIO + '[[failure]]\nkind = "hang"\nmatch = "beside.npb"\n'
    )
    done = assay(tmp_path, "--fake", "machine.toml", "--beside", "bin", scenario=None)
    assert done.returncode == 1
    run = the_run(tmp_path)
    assert any(
        "its first launch may take 1 min 1 s (--timeout)" in n for n in run.manifest.plan.choices
    )
    ended = [launch for launch in run.launches if launch.outcome == "timeout"]
    work = find_kernel("npb.cg").work({"class": "S"}, 1, 1)["operations"]
    limit = 60.0 + work / 2.5e9 * 50
    assert ended and all(launch.wall == pytest.approx(limit, abs=0.5) for launch in ended)
    assert {m.cell.kernel for m in run.measurements} == {"npb.cg"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--beside", "none"], "There is no such folder"),
        (["--beside", "plan.toml"], "This is not a folder"),
        (["--beside", "."], "There is no executable of NPB"),
        (["--beside", "other"], "The plan has no cell that corresponds to lu.S.x"),
        (["--beside", ".", "--app", "./a.out"], "--app replaces these"),
    ],
)
@pytest.mark.long
def test_a_folder_that_does_not_help_is_one_sentence(
    tmp_path: Path, words: list[str], says: str
) -> None:
    if "other" in words:
        npb_program(tmp_path / "other", "lu", "S", 1.0)
    done = assay(tmp_path, "--fake", "machine.toml", *words)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


C_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <sched.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, cpus, all;
  cpu_set_t set;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sched_getaffinity(0, sizeof set, &set);
  cpus = CPU_COUNT(&set);
  MPI_Reduce(&cpus, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf(" NAS Parallel Benchmarks 3.4 -- CG Benchmark\n\n CG Benchmark Completed.\n");
    printf(" Class           =                        S\n");
    printf(" Time in seconds =                     0.50\n");
    printf(" Total processes =             %12d\n", size);
    printf(" Mop/s total     =             %12.2f\n", 66.654 / 0.5);
    printf(" Verification    =               %s\n", all == size ? "SUCCESSFUL" : "UNSUCCESSFUL");
    printf(" Version         =                    3.4.%d\n", all);
  }
  MPI_Finalize();
}
"""


@pytest.mark.slow
@pytest.mark.long
def test_an_mpi_executable_runs_on_the_kernels_seats_with_its_own_launcher(tmp_path: Path) -> None:
    mpicc = Path(sys.executable).with_name("mpicc")
    if not mpicc.exists() or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("it needs the MPI wheel's mpicc, and two CPUs")
    (tmp_path / "bin").mkdir()
    (tmp_path / "cg.c").write_text("#define _GNU_SOURCE\n" + C_PROGRAM)
    program = tmp_path / "bin" / "cg.S.x"
    built = subprocess.run(
        [str(mpicc), "-o", str(program), str(tmp_path / "cg.c")], capture_output=True, check=False
    )
    if built.returncode:
        pytest.skip("mpicc has no C compiler")
    words = ("ppn=1,2", "--beside", "bin", "--launches", "1", "--budget", "20 s", "--here")
    done = assay(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    run = the_run(tmp_path)
    site = [each for each in run.measurements if is_beside(each.cell.kernel)]
    assert {each.cell.placement.ranks for each in site} == {1, 2}
    for each in site:
        assert (each.record.status, each.record.verified) == ("ok", True), each.record.error
        # Each rank had a CPU of its own; the program counts them in its version.
        assert each.record.facts["version"] == f"3.4.{each.cell.placement.ranks}"
        assert each.record.series[0].values[0] == pytest.approx(0.5, rel=1e-3)
        assert str(each.cell.parameters["mpirun"]).endswith(("mpirun", "mpiexec"))
    factors = {each.placement.ranks for each in factors_of(run)}
    assert factors == {1, 2}
