"""Changes of a load: each function returns a new load and doesn't modify the given one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.estimates import LEAST_REQUEST


@dataclass(frozen=True)
class SplitLoad:
    """A load in which some jobs were divided."""

    workload: Workload
    #: For each row, the index of the job before the division.
    job: Ints


def offered_load(workload: Workload, processors: int) -> float:
    """Sum of processors × run time ÷ (machine's processors × time between first and last
    submission); infinite if all jobs are submitted at once.
    """
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload) else 0.0
    work = float(np.sum(workload.processors * workload.run))
    return work / (processors * span) if span > 0 else float("inf")


def rescaled(workload: Workload, processors: int, load: float) -> Workload:
    """The same jobs, with all times between submissions stretched to give this offered load.

    Raises AssayError for a load that isn't positive, or if all jobs are submitted at once.
    """
    present = offered_load(workload, processors)
    if not 0.0 < load < float("inf") or not 0.0 < present < float("inf"):
        raise AssayError(
            f"An offered load of {present:g} can't be rescaled to {load:g}.",
            fix="Give a load above 0, of jobs with run times and several times of submission.",
        )
    first = workload.submit[0]
    return replace(workload, submit=first + (workload.submit - first) * (present / load))


def with_limits(workload: Workload, factor: float) -> Workload:
    """All requests × ``factor``, but none below the run time of a job that finished within it."""
    limit = workload.limit * factor
    limit = np.where(workload.run <= workload.limit, np.maximum(limit, workload.run), limit)
    return replace(workload, limit=np.maximum(limit, LEAST_REQUEST))


def varied(workload: Workload, factors: Floats) -> Workload:
    """All run times × ``factors`` (one per job). Jobs that were killed at their limit are still
    killed."""
    return replace(workload, run=workload.run * factors)


def faster(workload: Workload, share: float, least: int = 2) -> Workload:
    """Run times of jobs with ``least`` processors or more are shorter by this share."""
    factor = np.where(workload.processors >= least, 1.0 - share, 1.0)
    return replace(workload, run=workload.run * factor)


def split_by_time(workload: Workload, longest: float) -> SplitLoad:
    """No request exceeds ``longest`` (s).

    A job that requests more but runs for at most this long requests this. A job that runs longer is
    divided into parts of this length. Each part is submitted when the previous one has ended, like
    a program that continues from checkpoints.
    """
    parts = np.maximum(np.ceil(workload.run / longest), 1).astype(np.int64)
    part, job, first = _repeated(parts)
    rest = workload.run[job] - part * longest
    run = np.where(part < parts[job] - 1, longest, rest)
    after = np.where(part > 0, np.arange(job.size) - 1, -1)
    # A job that follows a divided job waits for its last part.
    before = workload.after[job]
    last = first + parts - 1
    after = np.where((part == 0) & (before >= 0), last[np.maximum(before, 0)], after)
    rows = chosen_repeated(workload, job)
    return SplitLoad(
        replace(
            rows,
            run=run,
            limit=np.minimum(workload.limit[job], longest),
            after=after,
            think=np.where(part > 0, 0.0, workload.think[job]),
        ),
        job,
    )


def at_most(workload: Workload, largest: int) -> Workload:
    """Jobs on more than this many processors run on this many, and take proportionally longer.

    Their processor time stays the same, as if the program scaled perfectly. Requests grow with run
    times, and numbers of nodes shrink.
    """
    factor = np.maximum(workload.processors / largest, 1.0)
    nodes = np.where(workload.nodes > 0, np.ceil(workload.nodes / factor), 0).astype(np.int64)
    return replace(
        workload,
        processors=np.minimum(workload.processors, largest),
        nodes=nodes,
        run=workload.run * factor,
        limit=workload.limit * factor,
    )


def chosen_repeated(workload: Workload, index: Ints) -> Workload:
    """The rows of an index that may hold a row several times; ``after`` is copied unchanged."""
    columns = {
        each.name: getattr(workload, each.name)[index]
        for each in fields(Workload)
        if isinstance(getattr(workload, each.name), np.ndarray)
    }
    return replace(workload, **columns)


def _repeated(counts: Ints) -> tuple[Ints, Ints, Ints]:
    """For each of sum(counts) rows, its number within its job and the job's index; for each job,
    its first row."""
    first = np.cumsum(counts) - counts
    job = np.repeat(np.arange(counts.size), counts)
    return np.arange(job.size) - first[job], job, first
