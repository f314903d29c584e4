"""Detection of the batch system and of the allocation that this process runs in."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from assay.schedulers import systems
from assay.schedulers.model import BatchSystem
from assay.system.files import Tree, to_integer
from assay.system.model import Scheduler

_TIMEOUT = 2.0  # seconds
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/slurm/bin:/opt/pbs/bin"


# Detected, but assay can't submit to it. Only Grid Engine has qconf; PBS has qsub, too.
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
    """The batch system of this process's allocation, else the first with its command on PATH."""
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
    """Whether this process is in a job. Grid Engine sets SGE_TASK_ID in all its jobs; its JOB_ID is
    too common a name.
    """
    return bool(environ.get("SGE_TASK_ID" if known is _GRID_ENGINE else known.job_variable))


def _find(tree: Tree, command: str, path: str) -> str | None:
    for folder in path.split(":"):
        if folder.startswith("/") and tree.exists(f"{folder}/{command}"):
            return f"{folder}/{command}"
    return None


def _version(tree: Tree, command: str, known: BatchSystem) -> str | None:
    """The version that the command prints; None on other machines and after ``_TIMEOUT``."""
    if not tree.live:
        return None
    try:
        done = subprocess.run(
            [command, *known.version_options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\d+(?:\.\d+)+[\w.-]*", done.stdout.decode("utf-8", "replace")[:4096])
    return match[0] if match else None
