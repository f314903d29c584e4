"""Which batch system is here, and whether this process runs inside one of its allocations."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from assay.system.files import Tree, to_integer
from assay.system.model import Scheduler

_SECONDS_TO_ANSWER = 2.0
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/slurm/bin:/opt/pbs/bin"


@dataclass(frozen=True)
class _Known:
    """How a batch system shows itself: a command of its own, and what it sets in an allocation."""

    name: str
    command: str
    version: tuple[str, ...]
    job: str
    nodes: tuple[str, ...] = ()


# Grid Engine and PBS both have qsub; qconf is Grid Engine's alone, pbsnodes PBS's.
_KNOWN = (
    _Known(
        "Slurm", "sbatch", ("--version",), "SLURM_JOB_ID", ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    ),
    _Known("PBS", "pbsnodes", ("--version",), "PBS_JOBID", ("PBS_NUM_NODES",)),
    _Known("LSF", "bsub", ("-V",), "LSB_JOBID"),
    _Known("Flux", "flux", ("version",), "FLUX_JOB_ID", ("FLUX_JOB_NNODES",)),
    _Known("Grid Engine", "qconf", ("-help",), "SGE_TASK_ID", ("NHOSTS",)),
)


def detect_scheduler(tree: Tree, environ: Mapping[str, str]) -> Scheduler | None:
    """The batch system of an allocation we are in, else the first whose command is on PATH."""
    inside = [known for known in _KNOWN if environ.get(known.job)]
    for known in inside or _KNOWN:
        command = _find(tree, known.command, environ.get("PATH") or _USUAL_PATH)
        if not inside and command is None:
            continue
        counts = (to_integer(environ.get(name)) for name in known.nodes)
        return Scheduler(
            name=known.name,
            command=command,
            version=_version(tree, command, known) if command else None,
            job=environ.get("JOB_ID") if known.name == "Grid Engine" else environ.get(known.job),
            nodes=next((c for c in counts if c is not None and c > 0), None),
        )
    return None


def _find(tree: Tree, command: str, path: str) -> str | None:
    for folder in path.split(":"):
        if folder.startswith("/") and tree.exists(f"{folder}/{command}"):
            return f"{folder}/{command}"
    return None


def _version(tree: Tree, command: str, known: _Known) -> str | None:
    """Ask the command, for two seconds at most; only on the running machine."""
    if not tree.live:
        return None
    try:
        done = subprocess.run(
            [command, *known.version],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS_TO_ANSWER,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\d+(?:\.\d+)+[\w.-]*", done.stdout.decode("utf-8", "replace")[:4096])
    return match[0] if match else None
