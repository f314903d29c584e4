"""The network under load, messages and IO500 over Debian's MPIs, as a user measures them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from assay.config import load_config
from assay.kernels import building
from assay.kernels.toolchains import select_toolchain
from assay.lab import network
from assay.lab.entering import environment
from assay.lab.spec import Spec, Wire
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from assay.topologies.kinds import Switches
from launched import MPICH, OPEN_MPI, need
from mpi_libraries import MpiLibrary
from native_build import by_one_at_a_time
from patient_ranks import patient
from virtual_cluster import VirtualCluster

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("patient_ranks")]
libraries = pytest.mark.parametrize("library", [MPICH, OPEN_MPI], ids=lambda one: str(one.name))
reason = network.why_not()
needs_a_lab = pytest.mark.skipif(reason is not None, reason=reason or "")

NAME = "debian"
KERNELS = (
    *("network.rate", "network.overlap", "network.one_sided", "network.neighbour"),
    *("network.congestion", "storage.io500"),
)
# Two switches with two hosts each.
SPEC = Spec(Switches(1, 2, 2), (Wire(12.5e6),), Wire(12.5e6))


def configured(library: MpiLibrary, folder: Path, cluster: str = "") -> None:
    """An assay.toml with the library as the default toolchain, and its kernels, built once."""
    need(library)
    lines = ["[defaults]", f'toolchain = "{NAME}"', f"[toolchains.{NAME}]"]
    lines += [f'mpicxx = "{library.cxx}"', f'mpirun = "{library.run[0]}"']
    lines += ['flags = "-O0 -march=native"', cluster]
    (folder / "assay.toml").write_text("\n".join(lines))
    built(folder / "assay.toml", library.name)


@cache
def built(config: Path, library: str) -> None:
    """Build the kernels of the tests, while other processes that want them wait."""
    with by_one_at_a_time(library):
        toolchain = select_toolchain(None, load_config(config))
        building.build_kernels(toolchain, kernels=KERNELS)


def cells_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode in (0, 1), done.stderr  # 1: the budget ended before the precision
    cells = json.loads(done.stdout)
    cells = cells if isinstance(cells, list) else [cells]
    for cell in cells:
        assert (cell["status"], cell["verified"], cell["error"]) == ("ok", True, None), cell
        assert cell["cell"]["toolchain"] == NAME
    return cells


def here(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """assay on two ranks of this machine."""
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words, "--ppn", "2", "--launches", "1"],
        cwd=folder, capture_output=True, text=True, timeout=500,
    )  # fmt: skip


def on_lab(folder: Path, library: MpiLibrary, *words: str) -> subprocess.CompletedProcess[str]:
    """assay on four hosts, one rank each."""
    with VirtualCluster(spec=SPEC) as cluster:
        configured(library, folder, cluster.config())
        command: Sequence[str | Path] = [sys.executable, "-m", "assay", *words, "--launches", "1"]
        return subprocess.run(
            cluster.command(cluster.hosts[0], *command),
            cwd=folder, env=patient(environment(cluster, os.environ)), capture_output=True,
            text=True, timeout=800, check=False,
        )  # fmt: skip


@libraries
@pytest.mark.parametrize(
    ("words", "metric"),
    [
        (("network.rate",), "rate"),
        (("network.overlap", "op=exchange,iallreduce,ibarrier"), "overlapped"),
        (("network.one_sided", "op=put,get,accumulate,fetch_and_op", "sync=flush"), "rate"),
        (("network.one_sided", "sync=lock,fence", "bytes=4096"), "bandwidth"),
        (("network.neighbour", "method=collective,messages,persistent"), "time"),
        (("storage.io500", "seconds=0.05", "api=posix,mpiio"), "score"),
    ],
    ids=lambda words: "-".join(words) if isinstance(words, tuple) else None,
)
def test_a_kernel_is_measured_and_verified(
    tmp_path: Path, library: MpiLibrary, words: Sequence[str], metric: str
) -> None:
    configured(library, tmp_path)
    done = here(tmp_path, "measure", *words, "--samples", "1..2", "--budget", "60 s", "--json")
    for cell in cells_of(done):
        assert cell["metrics"][metric]["median"] > 0


@needs_a_lab
@libraries
def test_victims_are_measured_beside_aggressors(tmp_path: Path, library: MpiLibrary) -> None:
    words = ["network.congestion", "victim=pingpong,halo", "aggressor=incast", "bytes=65536"]
    words += ["operations=3", "--nodes", "4", "--samples", "1..2", "--budget", "90 s"]
    words += ["--json", "--keep"]
    for cell in cells_of(on_lab(tmp_path, library, "measure", *words)):
        assert cell["metrics"]["impact"]["median"] > 0
    (run,) = list_runs(tmp_path / "runs")
    for measurement in read_run(run.path).measurements:
        victims = measurement.record.facts["victims"].split()
        assert len(victims) == 2
        # Both sides' messages crossed the network.
        sent = {traffic.host: traffic.sent for traffic in measurement.record.traffic}
        assert sum(sent.values()) > 4 * 65_536


@needs_a_lab
@libraries
@pytest.mark.flaky(
    reruns=1,
    reason="a rank of MPICH 4.0.2 over UCX 1.13 ended by SIGSEGV once, and some never end",
)
def test_the_suite_congestion(tmp_path: Path, library: MpiLibrary) -> None:
    """Two of its victims and short blocks, so that launches end before the budget does. Over MPICH
    4.0.2 a rank of a launch that is ended for its budget may end by SIGSEGV.
    """
    words = ["run", "congestion", "victim=pingpong,allreduce", "aggressor=incast", "operations=10"]
    done = on_lab(tmp_path, library, *words, "--budget", "40 s")
    assert done.returncode == 0, done.stderr
    assert_run(tmp_path, "network.congestion")
    assert "network" in done.stdout.lower()


@libraries
def test_the_suite_io500(tmp_path: Path, library: MpiLibrary) -> None:
    configured(library, tmp_path)
    done = here(tmp_path, "run", "io500", "seconds=0.05", "--budget", "15 s")
    assert done.returncode == 0, done.stderr
    assert_run(tmp_path, "storage.io500")
    assert "not an official" in done.stdout


def assert_run(folder: Path, kernel: str) -> None:
    (run,) = list_runs(folder / "runs")
    data = read_run(run.path)
    assert {launch.outcome for launch in data.launches} == {"complete"}
    cells = summarise_cells(data)
    measured = [cell for cell in cells if not cell.left_out]
    assert measured and {cell.kernel for cell in measured} == {kernel}
    assert {(cell.status, cell.verified) for cell in measured} == {("ok", True)}
    assert (run.path / "report.html").stat().st_size > 100_000
