"""Jobs as a script that submits them to Slurm, with all times divided by a scale.

The jobs sleep. Slurm's limits are whole minutes (``sbatch --time``), so scaled limits are rounded
up to them; its accounts are in whole seconds, so jobs are submitted at whole seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.units import counted
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.schedule import Workload

# The name of the first job is job-0: its index in the workload.
NAME = "job-{}"
_PARTITION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# The longest limit, in minutes, that all commands of Slurm distinguish from "unlimited": a year.
_LONGEST = 366 * 24 * 60
# Longest duration of a script, s.
_LONGEST_SCRIPT = 10 * 366 * 86400.0


@dataclass(frozen=True)
class Scaled:
    """Jobs in the units of Slurm; each column has shape (n,)."""

    #: Submission in whole seconds after the first job's submission.
    submit: Ints
    #: Time that the job sleeps, s.
    run: Floats
    #: Time limits, min.
    minutes: Ints
    #: Number of nodes; 0 if only the number of tasks is requested.
    nodes: Ints
    #: Number of processors.
    tasks: Ints


@dataclass(frozen=True)
class SlurmScript:
    """A script that submits jobs to Slurm."""

    #: Text of the script.
    text: str
    #: Number of jobs in the script.
    jobs: int
    #: Seconds from the first to the last submission.
    lasts: int
    #: Number of jobs whose scaled limit was rounded up to whole minutes. ``raised_by``: mean
    #: increase, s.
    raised: int
    raised_by: float
    #: Number of jobs that reached their limit in the log and no longer do.
    saved: int

    def notes(self) -> list[str]:
        """Sentences on how the script's jobs differ from the log."""
        notes = []
        if self.raised:
            notes.append(
                f"{counted(self.raised, 'limit')} of {self.jobs} rounded up to whole minutes, "
                f"by {self.raised_by:.0f} s on average."
            )
        if self.saved:
            notes.append(
                f"{counted(self.saved, 'job')} reached the limit in the log and will not reach it "
                "here, because limits are rounded up."
            )
        return notes


def scaled(
    workload: Workload,
    machine: Machine,
    *,
    scale: float,
    nodes: int | None = None,
    jobs: int | None = None,
) -> Scaled:
    """The first ``jobs`` (None: all) with times divided by ``scale``.

    ``nodes``: number of nodes of the Slurm cluster. Each job gets the same share of them as of the
    machine, rounded up; None keeps the sizes. Raises AssayError for a scale that is not positive,
    for jobs that follow others, and for jobs without a size, run time or limit.
    """
    if not (math.isfinite(scale) and scale > 0.0):
        raise AssayError(
            f"Times can't be divided by {scale:g}.", where="--scale", fix="Write a number > 0."
        )
    if nodes is not None and nodes < 1:
        raise AssayError(
            "A Slurm cluster has at least one node.",
            where="--nodes",
            fix="Write a number of nodes > 0.",
        )
    count = len(workload) if jobs is None else min(jobs, len(workload))
    if count < 1:
        raise AssayError("There are no jobs to submit.", fix="Choose a load with jobs.")
    kept = slice(0, count)
    if np.any(workload.after[kept] >= 0):
        raise AssayError(
            "Jobs that follow the end of other jobs have no submission time.",
            fix="Choose a load without users' feedback.",
        )
    submit, run, limit = (
        column[kept] for column in (workload.submit, workload.run, workload.limit)
    )
    size, tasks = workload.nodes[kept], workload.processors[kept]
    for wrong, what in (
        (~np.isfinite(submit), "time of submission"),
        (~(np.isfinite(run) & (run >= 0.0)), "run time"),
        (~(limit > 0.0), "limit"),
        ((size < 1) & (tasks < 1), "size"),
    ):
        if wrong.any():
            raise AssayError(
                f"Job {int(np.flatnonzero(wrong)[0])} of the load has no {what}.",
                fix="Choose jobs that have a size, a run time and a limit.",
            )
    longest = float(max(submit.max(), run.max()))
    if longest > scale * _LONGEST_SCRIPT:
        raise AssayError(
            f"Divided by {scale:g}, the load would take more than ten years.",
            where="--scale",
            fix="Write a greater number, such as 60.",
        )
    if nodes is not None:
        by_nodes = size / machine.size
        share = np.where(size > 0, by_nodes, tasks / max(machine.processors, 1))
        # Exact fractions: a share such as 1/3 × 12 must not be rounded up to 5.
        size = np.clip(np.ceil(share * nodes - 1e-9), 1, nodes).astype(np.int64)
        tasks = size
    minutes = np.ceil(np.minimum(limit / scale / 60.0, _LONGEST) - 1e-9)
    return Scaled(
        np.rint((submit - submit[0]) / scale).astype(np.int64),
        run / scale,
        np.maximum(minutes, 1).astype(np.int64),
        size,
        np.maximum(tasks, size),
    )


def as_slurm(
    workload: Workload,
    machine: Machine,
    *,
    scale: float,
    nodes: int | None = None,
    jobs: int | None = None,
    partitions: Sequence[str] = (),
) -> SlurmScript:
    """A POSIX shell script that submits the jobs with ``sbatch`` at their scaled times.

    Takes the arguments of ``scaled``. Times count from the script's start, so that a late
    submission doesn't delay others. ``partitions``: their names in Slurm, by index; without them,
    all jobs go to its default partition. Names of users, accounts and queues of the log are not in
    the script. Raises AssayError as ``scaled`` does, and for names of partitions that Slurm would
    not accept.
    """
    for name in partitions:
        if not _PARTITION.fullmatch(name):
            raise AssayError(
                f"'{name}' is not a valid name of a partition.",
                fix="Use letters, digits, '_', '-', '.' and '+'.",
            )
    units = scaled(workload, machine, scale=scale, nodes=nodes, jobs=jobs)
    count = len(units.submit)
    partition = workload.partition[:count]
    if partitions and int(partition.max(initial=0)) >= len(partitions):
        raise AssayError(
            f"Names are given for {len(partitions)} of the load's {int(partition.max()) + 1} "
            "partitions.",
            fix="Name one for each partition of the load, or none.",
        )
    lines = [
        _line(
            index,
            units,
            # A smaller machine's nodes are requested whole, like the shares of the larger machine.
            exclusive=nodes is not None,
            partition=partitions[max(int(partition[index]), 0)] if partitions else "",
        )
        for index in np.argsort(units.submit, kind="stable").tolist()
    ]
    limit = workload.limit[:count] / scale
    more = 60.0 * units.minutes - limit
    raised: NDArray[np.bool_] = (more > 0.5) & np.isfinite(limit)
    killed = workload.run[:count] >= workload.limit[:count]
    last = int(units.submit.max())
    return SlurmScript(
        text=_HEAD.format(count=count, scale=f"{scale:g}", last=last) + "".join(lines) + _TAIL,
        jobs=count,
        lasts=last,
        raised=int(raised.sum()),
        raised_by=float(more[raised].mean()) if raised.any() else 0.0,
        saved=int((killed & (units.run < 60.0 * units.minutes)).sum()),
    )


def _line(index: int, units: Scaled, *, exclusive: bool, partition: str) -> str:
    nodes = int(units.nodes[index])
    options = [
        *([f"--nodes={nodes}"] if nodes else []),
        f"--ntasks={int(units.tasks[index])}",
        *(["--exclusive"] if exclusive else []),
        *([f"--partition={partition}"] if partition else []),
    ]
    # A number of seconds with at most three decimals, without a trailing zero.
    sleep = f"{units.run[index]:.3f}".rstrip("0").rstrip(".")
    name = NAME.format(index)
    words = [str(int(units.submit[index])), name, str(int(units.minutes[index])), sleep, *options]
    return f"submit {' '.join(words)}\n"


_HEAD = """\
#!/bin/sh
# Submits {count} jobs that sleep to Slurm, within {last} s. Times are a log's ÷ {scale}.
# Written by assay usage --as-slurm. Do not set the clock while it runs.

command -v sbatch >/dev/null 2>&1 || {{
    echo "The command sbatch is not found: run this script where Slurm's commands are." >&2
    exit 2
}}
begin=$(date +%s)
failed=0

# submit SECOND NAME MINUTES SLEEP OPTION...: at that second of this script.
submit() {{
    left=$((begin + $1 - $(date +%s)))
    [ "$left" -le 0 ] || sleep "$left"
    name=$2 minutes=$3 seconds=$4
    shift 4
    sbatch --parsable --job-name="$name" --time="$minutes" --output=/dev/null "$@" \\
        --wrap "sleep $seconds" >/dev/null || failed=$((failed + 1))
}}

"""
_TAIL = """
[ "$failed" -eq 0 ] || {
    echo "$failed jobs could not be submitted." >&2
    exit 1
}
"""
