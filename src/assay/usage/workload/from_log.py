"""The load of a log: its jobs as a modelled scheduler sees them, and its machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.capacity import CapacitySource, known_capacity, most_in_use
from assay.usage.jobs import Jobs, MachineFacts, State
from assay.usage.period import period_of
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.schedule import Workload
from assay.usage.timeline import occupied
from assay.usage.workload.estimates import LEAST_REQUEST

# Why jobs of a log are not part of its load. The first reason that applies counts.
LEFT_OUT = {
    "never started": "never started: their run time is unknown",
    "running": "still ran when the log was read: their run time is unknown",
    "no end": "started, and their end is unknown",
    "no size": "ran on an unknown number of processors",
    "too large": "larger than the machine",
}


@dataclass(frozen=True)
class LogLoad:
    """The load of a log."""

    #: Its jobs in the order of submission. Times are s since the first submission.
    workload: Workload
    #: The machine, as the log or the caller states it.
    machine: Machine
    #: Real start times of the same jobs, s since the first submission, shape (n,).
    start: Floats
    #: Unix time of the first submission.
    origin: float
    #: Index of each job in the log's columns.
    job: Ints
    #: Number of jobs by the kinds in ``LEFT_OUT``.
    left_out: dict[str, int]
    #: Source of the machine's size.
    capacity: CapacitySource
    #: Whether the log records submissions. Otherwise jobs are submitted when they really started.
    waits: bool
    #: Number of jobs with a requested time in the log. The other jobs request their run time ×
    #: ``factor``.
    requests: int
    factor: float
    #: Number of jobs that ran longer than requested. Their request is raised to the run time.
    overran: int
    #: Whether jobs had fewer processors than their nodes.
    sharing: bool
    #: Number of jobs in queues that the machine's partitions don't name. They are in the first
    #: partition.
    queues: int = 0


def machine_of(
    jobs: Jobs, facts: MachineFacts, processors: int | None = None
) -> tuple[Machine, CapacitySource]:
    """The machine of a log, and the source of its size.

    ``processors``: stated, else by node events, the log's header, or the most ever in use. The
    header or the jobs give the number of processors per node; if neither does, a node has one
    processor.
    """
    start, end, size = (jobs.number(name) for name in ("start", "end", "processors"))
    seen = _per_node(jobs)
    last = period_of(jobs, facts).last
    capacity = known_capacity(facts, processors, last, seen)
    if capacity is None:
        ran = ~np.isnan(start) & ~np.isnan(end) & (size > 0)
        busy = occupied(start[ran], end[ran], size[ran])
        capacity = most_in_use(facts, float(busy.levels.max(initial=0.0)), last, seen)
    total = max(capacity.processors, 1)
    each = max(seen, 1)
    if facts.nodes > 0 and facts.processors > facts.nodes:
        each = facts.processors // facts.nodes
    each = min(each, total)
    kinds: tuple[EqualNodes, ...] = (EqualNodes(count=total // each, processors=each),)
    if total % each:
        kinds = (*kinds, EqualNodes(count=1, processors=total % each))
    return Machine(nodes=kinds), capacity.source


def _per_node(jobs: Jobs) -> int:
    """The most processors per node that any job had; 0 if nodes are unknown."""
    nodes, size = jobs.number("nodes"), jobs.number("processors")
    known = (nodes > 0) & (size > 0) & ~np.isnan(jobs.number("start"))
    return int(np.ceil(np.max(size[known] / nodes[known]))) if known.any() else 0


def load_of(
    jobs: Jobs,
    facts: MachineFacts,
    *,
    processors: int | None = None,
    machine: Machine | None = None,
    factor: float = 1.0,
    chosen: NDArray[np.bool_] | None = None,
) -> LogLoad:
    """The load of a log's jobs.

    ``processors``, ``machine``: override what the log says of its machine. ``factor``: the request
    of jobs without one, as a multiple of their run time; 1 for exact ones. ``chosen``: the jobs to
    use, shape (n,), None for all. Raises AssayError if no job is left.
    """
    source: CapacitySource = "stated"
    if machine is None:
        machine, source = machine_of(jobs, facts, processors)
    start, end, size = (jobs.number(name) for name in ("start", "end", "processors"))
    submit = jobs.number("submit")
    state = jobs.code("state")
    wanted = np.ones(len(jobs), dtype=bool) if chosen is None else chosen
    left_out = {}
    kept = wanted.copy()
    for kind, wrong in (
        ("never started", np.isnan(start)),
        ("running", np.isnan(end) & (state == State.RUNNING)),
        ("no end", np.isnan(end)),
        ("no size", ~(size > 0)),
        ("too large", size > machine.processors),
    ):
        left_out[kind] = int((kept & wrong).sum())
        kept &= ~wrong
    if not kept.any():
        said = "; ".join(f"{n:,} {LEFT_OUT[kind]}" for kind, n in left_out.items() if n)
        raise AssayError(
            "The log has no job that a model of the scheduler can use.",
            fix=f"Of its jobs {said}." if said else "Choose other jobs.",
        )
    waits = bool(np.any((start - submit)[kept] > 0))
    entered = np.where(np.isnan(submit), start, submit)
    index = np.flatnonzero(kept)
    index = index[np.lexsort((index, entered[index]))]
    origin = float(entered[index[0]])
    run = np.maximum(end - start - np.nan_to_num(jobs.number("suspended")), 0.0)[index]
    asked = jobs.number("requested_time")[index]
    known = asked > 0
    limit = np.where(known, asked, run * factor)
    overran = known & (run > limit)
    partition, unnamed = _partitions(jobs, index, machine)
    nodes = np.nan_to_num(jobs.number("nodes")[index], nan=0.0)
    per_node = max(kind.processors for kind in machine.nodes)
    # Numbers of nodes are used only for a machine with known nodes.
    nodes = nodes if per_node > 1 else np.zeros(index.size)
    count = index.size
    workload = Workload(
        submit=entered[index] - origin,
        run=run,
        limit=np.maximum(np.maximum(limit, run), LEAST_REQUEST),
        nodes=nodes.astype(np.int64),
        processors=size[index].astype(np.int64),
        memory=np.nan_to_num(jobs.number("requested_memory")[index], nan=0.0)
        if any(np.isfinite(kind.memory) for kind in machine.nodes)
        else np.zeros(count),
        gpus=np.nan_to_num(jobs.number("gpus")[index], nan=0.0).astype(np.int64)
        if any(kind.gpus for kind in machine.nodes)
        else np.zeros(count, dtype=np.int64),
        user=jobs.code("user")[index],
        account=jobs.code("group")[index],
        partition=partition,
        qos=np.zeros(count, dtype=np.int64),
        after=np.full(count, -1, dtype=np.int64),
        think=np.zeros(count),
        users=list(jobs.users),
        accounts=list(jobs.groups),
        qualities=[""],
    )
    partly = (workload.nodes > 0) & (workload.processors < workload.nodes * per_node)
    return LogLoad(
        workload=workload,
        machine=machine,
        start=start[index] - origin,
        origin=origin,
        job=index,
        left_out={kind: number for kind, number in left_out.items() if number},
        capacity=source,
        waits=waits,
        requests=int(known.sum()),
        factor=factor,
        overran=int(overran.sum()),
        sharing=bool(partly.any()) or (per_node > 1 and not workload.nodes.any()),
        queues=unnamed,
    )


def _partitions(jobs: Jobs, index: Ints, machine: Machine) -> tuple[Ints, int]:
    """The partition of each job, by the name of its queue; also the number of jobs whose queue has
    no partition."""
    names = {each.name: place for place, each in enumerate(machine.partitions)}
    if len(names) < 2:
        return np.zeros(index.size, dtype=np.int64), 0
    places = np.array([names.get(queue, -1) for queue in jobs.queues], dtype=np.int64)
    found: Ints = places[jobs.code("queue")[index]]
    return np.maximum(found, 0), int((found < 0).sum())
