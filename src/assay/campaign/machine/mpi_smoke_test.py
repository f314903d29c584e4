"""The MPI smoke test: ``assay doctor`` compiles and runs a small program on a cluster's hosts."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.cache import cache_folder
from assay.config import ClusterConfig, Config
from assay.errors import AssayError
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.toolchains import select_toolchain
from assay.launch.mpi.mpirun import hosts_of, mpirun_command
from assay.launch.outcome import last_output
from assay.launch.process import LaunchProcess
from assay.launch.remote import remote_command, run_on_hosts
from assay.launch.warden import REMOTE
from assay.model.placement import Placement
from assay.system.doctor.cluster_checks import SmokeTest, cluster_findings
from assay.system.doctor.diagnosis import Diagnosis
from assay.system.doctor.findings import worst

# Seconds for the compiler, and for a launch of two ranks.
_PATIENCE = 120.0
_MARK = "assay:trial:"
# The ranks add their numbers, and count the ranks that are not on the first rank's host.
_PROGRAM = r"""
#include <mpi.h>
#include <cstdio>
#include <cstring>
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int one = rank + 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char own[256] = "", first[256] = "";
  gethostname(own, sizeof own - 1);
  std::memcpy(first, own, sizeof own);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  int other = std::strcmp(own, first) != 0, others = 0;
  MPI_Reduce(&other, &others, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("assay:trial:%d %d %d\n", size, sum, others);
  MPI_Finalize();
}
"""


def examine_cluster(config: Config, runs: Path | None = None) -> Diagnosis:
    """Survey the hosts of the allocation around this process, or of ``[cluster]``, and test MPI.

    Raises AssayError if there are no hosts.
    """
    from assay.campaign.machine.survey import survey_hosts
    from assay.launch.allocation import find_allocation

    allocation = find_allocation()
    cluster = allocation.cluster if allocation else config.cluster
    if cluster is None:
        raise AssayError(
            "There are no hosts to check: this process is outside a scheduler's allocation, and "
            "assay.toml has no [cluster].",
            fix="Start the command inside a job (salloc, sbatch …), or name hosts in [cluster].",
        )
    surveyed = survey_hosts(cluster, runs or config.runs, config.path)
    answering = tuple(node.host for node in surveyed.nodes)
    reached = ClusterConfig(answering, cluster.remote_shell, cluster.local_address, cluster.starter)
    findings = cluster_findings(
        surveyed.nodes, surveyed.silent, list(try_mpi(select_toolchain(None, config), reached))
    )
    return Diagnosis(worst(findings), findings, [])


def try_mpi(toolchain: Toolchain, cluster: ClusterConfig) -> Iterator[SmokeTest]:
    """Compile on the first host. Run there, and then across the first and the second host."""
    home = cache_folder()
    with tempfile.TemporaryDirectory(prefix="trial-", dir=home) as name:
        folder = Path(name)
        source, program = folder / "trial.cpp", folder / "trial"
        source.write_text(_PROGRAM)
        first = cluster.hosts[0]
        wrapper = shutil.which(toolchain.mpicxx) or toolchain.mpicxx
        compiling = [
            *("env", *(f"{k}={v}" for k, v in toolchain.wrapper_environment.items())),
            *(wrapper, str(source), "-o", str(program)),
        ]
        command = remote_command(compiling)
        reply = run_on_hosts(cluster.remote_shell, [first], command, patience=_PATIENCE)[first]
        yield SmokeTest("compiles", toolchain.name, (first,), reply.ok, reply.complaint)
        if not reply.ok:
            return
        placements = [Placement(nodes=1, ppn=2)]
        placements += [Placement(nodes=2, ppn=1)] if len(cluster.hosts) > 1 else []
        for placement in placements:
            yield _run(toolchain, cluster, program, placement)


def _run(
    toolchain: Toolchain, cluster: ClusterConfig, program: Path, placement: Placement
) -> SmokeTest:
    out, err = program.with_suffix(".out"), program.with_suffix(".err")
    hosts = hosts_of(placement, cluster)
    nowhere = program.with_suffix(".none")
    try:
        # cores=1: an MPI that counts slots must not refuse two ranks on one core.
        command = mpirun_command(
            toolchain, program, placement, nowhere, nowhere, cluster=cluster, cores=1
        )
        process = LaunchProcess(command, rank_program=program, where=REMOTE, out=out, err=err)
    except AssayError as error:
        return SmokeTest("runs", toolchain.name, hosts, False, str(error))
    status = process.wait(_PATIENCE)
    if status is None:
        process.kill()
        said = f"no end within {_PATIENCE:g} s\n{last_output(err)}\n{shlex.join(command)}"
        return SmokeTest("runs", toolchain.name, hosts, False, said)
    ranks = placement.ranks
    wanted = f"{_MARK}{ranks} {ranks * (ranks + 1) // 2} {placement.nodes - 1}"
    ok = status == 0 and wanted in out.read_text(errors="replace").splitlines()
    said = (
        "" if ok else last_output(err, out) or f"exit status {status} without the expected output"
    )
    return SmokeTest("runs", toolchain.name, hosts, ok, said)
