"""Launching a command of the user: its arguments, environment, hosts, and the runner."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.config import ClusterConfig
from assay.kernels import known_kernel
from assay.kernels.outside import is_beside
from assay.launch.commands import runner
from assay.launch.commands.site_program import site_entry
from assay.launch.executor import LaunchOrder
from assay.model.command import command_words, environment, placement_values
from assay.model.placement import Placement
from assay.model.rank_order import seats_by_rank
from assay.records.files import write_atomically
from assay.version import VERSION

# The program that receives the request to end: the runner, which passes it on to the command.
RUNNER = Path(sys.executable)


def is_command(order: LaunchOrder) -> bool:
    """Whether a launch measures a command, which may have its own launcher."""
    kernels = [known_kernel(entry.kernel) for entry in order.job.measurements]
    return any(kernel is not None and kernel.outside for kernel in kernels)


def prepare_command(
    order: LaunchOrder, hosts: Sequence[str], cluster: ClusterConfig | None = None
) -> list[str]:
    """Write the runner's input files next to the stream; returns the command line of the runner.

    ``hosts``: the placement's hosts, empty for this machine; ``cluster``: how they are reached.
    Raises AssayError if a variable of the command can't be filled in.
    """
    placement = order.placement
    hostfile = order.stream.with_suffix(".hosts")
    names = list(hosts) or ["localhost"] * placement.nodes
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    write_atomically(hostfile, "".join(f"{names[node]}\n" for node, _ in seats).encode())
    rankfile = order.stream.with_suffix(".ranks")
    write_atomically(rankfile, rankfile_text(placement, names).encode())
    values = placement_values(placement, str(hostfile.absolute()), str(rankfile.absolute()))
    measurements: list[dict[str, object]] = []
    for entry in order.job.measurements:
        parameters = entry.parameters
        if is_beside(entry.kernel):
            measurements.append(site_entry(entry, order, cluster))
            continue
        command, shell = str(parameters["command"]), bool(parameters["shell"])
        measurements.append(
            {
                "measurement": entry.measurement,
                "kernel": entry.kernel,
                "parameters": parameters,
                "words": command_words(command, values, shell=shell),
                "environment": environment(placement, command),
                "time": parameters["time"],
                "verify": parameters["verify"],
            }
        )
    spec = {
        "job": order.job.job,
        "version": VERSION,
        "ranks": placement.ranks,
        "here": placement.nodes == 1 and not hosts,
        "stream": str(order.stream.absolute()),
        "out": str(order.stream.with_suffix(".out").absolute()),
        "err": str(order.stream.with_suffix(".err").absolute()),
        "measurements": measurements,
    }
    path = order.stream.with_suffix(".job.json")
    content = msgspec.json.format(msgspec.json.encode(spec)) + b"\n"
    write_atomically(path, content)
    # The file names commands, and other users may be able to write to its folder.
    digest = hashlib.sha256(content).hexdigest()
    return [sys.executable, "-I", "-S", runner.__file__, str(path.absolute()), digest]


def rankfile_text(placement: Placement, names: Sequence[str]) -> str:
    """Open MPI's rankfile (mpirun(1), "--map-by rankfile"): each rank's host and cores.

    Ranks get the cores of their host in the order of their seats, one core per thread.
    """
    lines = []
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    for rank, (node, local) in enumerate(seats):
        first = local * placement.threads
        last = first + placement.threads - 1
        cores = f"{first}-{last}" if last > first else f"{first}"
        lines.append(f"rank {rank}={names[node]} slot={cores}\n")
    return "".join(lines)
