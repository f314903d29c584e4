"""assay inside a real Slurm's jobs: on all their hosts, and on the remaining ones."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab.slurm import SlurmCluster
from assay.records.directory import NODES, RunDirectory, list_runs
from assay.records.reading import read_run
from assay.records.stream import read_stream
from assay.system.survey import read_nodes
from campaign_lab import measurement_counts
from open_mpi import OPEN_MPI, PREFIX
from slurm_lab import reason, running_slurm

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.usefixtures("polite_waiting"),
]
PLAN = """
schema = 1
seed = 4
[replication]
budget = "200 s"
cell_budget = "{budget}"
precision = "{precision}"
min_launches = {launches}
max_launches = {launches}
min_samples = 5
[[measure]]
kernel = "network.barrier"
ppn = 1
nodes = [2, 3, 4]
[[measure]]
kernel = "npb.cg"
class = "S"
nodes = [1, 2]
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with running_slurm(4) as started:
        yield started


@pytest.fixture(autouse=True)
def idle(slurm: SlurmCluster) -> None:
    slurm.await_idle()


def submit(folder: Path, *words: str, nodes: int = 4) -> subprocess.Popen[str]:
    """A job that runs assay; the process ends with the job and its status."""
    command = " ".join([sys.executable, "-m", "assay", *words])
    options = [f"--nodes={nodes}", "--exclusive", "--no-kill", "--wait", "--time=5", "--parsable"]
    return subprocess.Popen(
        ["sbatch", *options, f"--chdir={folder}", f"--output={folder}/out", "--wrap", command],
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(job: subprocess.Popen[str], seconds: float = 150) -> int:
    try:
        return job.wait(seconds)
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()


def only_run(folder: Path) -> RunDirectory:
    (run,) = list_runs(folder / "runs")
    return run


def nodes_measured(run: RunDirectory) -> dict[tuple[str, int], list[set[str]]]:
    found: dict[tuple[str, int], list[set[str]]] = {}
    for m in read_run(run.path).measurements:
        key = (m.cell.kernel, m.cell.placement.nodes)
        found.setdefault(key, []).append({rank.host for rank in m.ranks})
    return found


def test_a_job_measures_on_all_its_hosts(slurm: SlurmCluster, tmp_path: Path) -> None:
    plan = PLAN.format(budget="0.2 s", precision="5%", launches=1)
    (tmp_path / "plan.toml").write_text(plan)
    status = ended(submit(tmp_path, "run", "plan.toml", "--no-report", "--json"))
    said = (tmp_path / "out").read_text()
    assert status == 0, said
    run = only_run(tmp_path)
    assert run.complete
    names = [node.name for node in slurm.nodes]
    surveyed = read_nodes(run.path / NODES)
    assert [node.host for node in surveyed] == names == [node.hostname for node in surveyed]
    data = read_run(run.path)
    for (_, nodes), hosts in nodes_measured(run).items():
        assert hosts == [set(names[:nodes])]
    assert all("-launcher slurm" in " ".join(launch.command) for launch in data.launches)


def under_way(folder: Path, ranks: int) -> bool:
    streams = [read_stream(path) for path in folder.glob("runs/*/raw/*.jsonl")]
    return any(s.start and s.start.ranks == ranks and s.begun for s in streams)


def test_a_node_fails_and_the_job_continues_without_it(slurm: SlurmCluster, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('[defaults]\npatience = "20 s"\n')
    plan = PLAN.format(budget="2 s", precision="0.001%", launches=1)
    (tmp_path / "plan.toml").write_text(plan)
    job = submit(tmp_path, "run", "plan.toml", "--no-report", "--json")
    dead = slurm.nodes[3].name
    try:
        until = time.monotonic() + 90
        while not under_way(tmp_path, 4) and time.monotonic() < until:
            assert job.poll() is None, (tmp_path / "out").read_text()
            time.sleep(0.05)
        slurm.kill_node(dead)
        status = ended(job)
    finally:
        if job.poll() is None:
            job.kill()
        slurm.start_node(dead)
    said = (tmp_path / "out").read_text()
    assert status == 1, said
    assert f"Lost during the run: {dead}." in said
    run = only_run(tmp_path)
    assert not run.complete
    data = read_run(run.path)
    assert [launch.lost for launch in data.launches if launch.outcome == "lost"] == [(dead,)]
    measured = nodes_measured(run)
    assert {("network.barrier", n) for n in (2, 3)} <= set(measured)
    assert {("npb.cg", n) for n in (1, 2)} <= set(measured)
    assert ("network.barrier", 4) not in measured
    before = measurement_counts(run)
    slurm.await_idle()
    status = ended(submit(tmp_path, "run", "--resume", "--no-report", "--json"))
    assert status == 0, (tmp_path / "out").read_text()
    assert run.complete
    counted = [name for name in measurement_counts(run) if name not in before]
    cells = {cell.id: cell.placement.nodes for cell in data.manifest.plan.cells}
    assert {cells[name.rpartition("-")[0]] for name in counted} == {4}
    assert all(len(hosts) == 1 for hosts in nodes_measured(run).values())


TOOLCHAINS = {
    "srun": 'launcher = "srun"\nlaunch_flags = ["--mpi=pmi2"]\n',
    "openmpi": f'mpi_prefix = "{PREFIX}"\n',
}


@pytest.mark.parametrize("toolchain", ["srun", OPEN_MPI])
def test_the_doctor_tries_every_way_to_launch(
    slurm: SlurmCluster, tmp_path: Path, toolchain: str
) -> None:
    config = f'[defaults]\ntoolchain = "t"\n[toolchains.t]\n{TOOLCHAINS[toolchain]}'
    (tmp_path / "assay.toml").write_text(config)
    status = ended(submit(tmp_path, "doctor", "--cluster", "--fail-on", "problem", nodes=2))
    said = " ".join((tmp_path / "out").read_text().split())
    assert status == 0, said
    one, two = slurm.nodes[0].name, slurm.nodes[1].name
    for words in (f"compiles with the toolchain 't' on {one}.", f"on {one} and {two}."):
        assert words in said, said
