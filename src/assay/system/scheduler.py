"""Which batch system is here, and whether this process runs inside one of its allocations."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from assay.schedulers import systems
from assay.schedulers.model import BatchSystem
from assay.system.files import Tree, to_integer
from assay.system.model import Scheduler

_SECONDS_TO_ANSWER = 2.0
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/slurm/bin:/opt/pbs/bin"


# Detected, and not submitted to: qconf is Grid Engine's alone, while qsub is also PBS's.
_GRID_ENGINE = BatchSystem(
    name="grid-engine",
    title="Grid Engine",
    command="qconf",
    version_options=("-help",),
    job_variable="JOB_ID",
    prefix="SGE_",
    node_variables=("NHOSTS",),
)


def detect_scheduler(tree: Tree, environ: Mapping[str, str]) -> Scheduler | None:
    """The batch system of an allocation we are in, else the first whose command is on PATH."""
    every = [*systems(), _GRID_ENGINE]
    inside = [known for known in every if _is_inside(known, environ)]
    for known in inside or every:
        command = _find(tree, known.command, environ.get("PATH") or _USUAL_PATH)
        if not inside and command is None:
            continue
        counts = (to_integer(environ.get(name)) for name in known.node_variables)
        return Scheduler(
            name=known.title,
            command=command,
            version=_version(tree, command, known) if command else None,
            job=environ.get(known.job_variable),
            nodes=next((c for c in counts if c is not None and c > 0), None),
        )
    return None


def _is_inside(known: BatchSystem, environ: Mapping[str, str]) -> bool:
    """Grid Engine's JOB_ID is too common a name to tell; SGE_TASK_ID is set in all of its jobs."""
    return bool(environ.get("SGE_TASK_ID" if known is _GRID_ENGINE else known.job_variable))


def _find(tree: Tree, command: str, path: str) -> str | None:
    for folder in path.split(":"):
        if folder.startswith("/") and tree.exists(f"{folder}/{command}"):
            return f"{folder}/{command}"
    return None


def _version(tree: Tree, command: str, known: BatchSystem) -> str | None:
    """Ask the command, for two seconds at most; only on the running machine."""
    if not tree.live:
        return None
    try:
        done = subprocess.run(
            [command, *known.version_options],
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
