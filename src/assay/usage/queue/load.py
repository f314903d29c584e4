"""The load that is replayed: from a log or synthetic, with what was assumed about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.units import counted
from assay.usage.accounts.reading import Accounts
from assay.usage.analysis.clusters import cluster_names
from assay.usage.analysis.parts import shown_names
from assay.usage.analysis.prepared import PreparedJobs
from assay.usage.analysis.query import UsageQuery
from assay.usage.collector import JobCollector
from assay.usage.jobs import MachineFacts, State
from assay.usage.queue.fit import JobGroups
from assay.usage.queue.model import QueueLeftOut
from assay.usage.queue.policies import NamedModel
from assay.usage.queue.whatif import parse_estimates
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import rescaled
from assay.usage.workload.from_log import LEFT_OUT, load_of
from assay.usage.workload.lublin import lublin, lublin_machine

SYNTHETIC = ("lublin",)
LUBLIN = "the model of Lublin and Feitelson (2003)"


@dataclass(frozen=True)
class ReplayedLoad:
    """``workload`` and ``machine`` as they are replayed."""

    #: Name of the log or of the synthetic model.
    source: str
    workload: Workload
    machine: Machine
    #: Real start times (s, same origin as the workload); None if the log has no waits.
    start: Floats | None
    #: When the jobs really ended, or would end without a queue. Users' sessions are derived from
    #: it.
    end: Floats
    #: ``left_out``, ``requests``, ``notes``: as in ``QueueLoad``.
    left_out: list[QueueLeftOut]
    requests: str
    notes: list[str]
    #: Whether jobs share nodes.
    sharing: bool
    #: Sentences on what the log doesn't say and what is assumed instead.
    unknown: list[str]
    #: Users and queues of the jobs, with their names in reports.
    groups: list[JobGroups] = field(default_factory=list)


def log_load(
    data: PreparedJobs,
    query: UsageQuery,
    model: NamedModel,
    estimates: str,
    seed: int,
) -> ReplayedLoad:
    """The load of a log. ``estimates``: ``logged``, ``exact``, ``modal`` or a multiple.

    Raises AssayError if only one queue or user is chosen, since all jobs share the machine, and if
    no job is left.
    """
    if query.queue is not None or query.user is not None:
        raise AssayError(
            "The scheduler's model needs the jobs of all queues and users.",
            where="--queue, --user",
            fix="Leave them out, or leave --model out.",
        )
    names = cluster_names(data.jobs)
    if len(names) > 1:
        raise AssayError(
            f"The log has jobs of {len(names)} clusters; the model replays the queue of one.",
            where="--model",
            fix=f"Choose one, such as `--cluster {names[0]}`.",
        )
    words, changed = parse_estimates(estimates, "--estimates")
    found = load_of(
        data.jobs,
        data.machine,
        processors=query.processors,
        machine=model.machine,
        chosen=np.concatenate([chunk.chosen for chunk in data.chunks()]),
    )
    workload = changed(found.workload, seed)
    count = len(workload)
    notes = []
    if estimates == "logged":
        missing = count - found.requests
        if missing == count:
            words = "the log has none: each job is assumed to request exactly its run time"
        elif missing:
            words += f"; {counted(missing, 'job')} without one request exactly their run time"
        if found.overran:
            notes.append(
                f"{counted(found.overran, 'job')} ran longer than requested; their request is "
                "taken to be their run time."
            )
    if found.queues:
        notes.append(
            f"{counted(found.queues, 'job')} of queues that the machine's file doesn't name are in "
            "its first partition."
        )
    if found.sharing:
        notes.append("Jobs share nodes, as in the log.")
    unknown = []
    if not found.waits:
        unknown.append(
            "The log has no waits, so the model submits each job when it really started. The real "
            "queue has already spread these times: the modelled waits are too short and can't be "
            "compared with real waits."
        )
    if found.capacity == "most in use":
        unknown.append(
            "The log doesn't state the machine's size; it is taken to be the most ever in use "
            "(`--processors` states it)."
        )
    return ReplayedLoad(
        source="log",
        workload=workload,
        machine=found.machine,
        start=found.start if found.waits else None,
        end=found.start + found.workload.run,
        left_out=[QueueLeftOut(number, LEFT_OUT[kind]) for kind, number in found.left_out.items()],
        requests=words,
        notes=notes,
        sharing=found.sharing,
        unknown=[
            *unknown,
            "The load lacks jobs that were submitted before the log begins or are absent from it; "
            "the modelled machine is empty at first.",
            *(
                []
                if data.machine.outages
                else ["The log has no down time: all nodes are up for the whole time."]
            ),
        ],
        groups=[_groups(data, column, found.job) for column in ("user", "queue")],
    )


def _groups(data: PreparedJobs, column: str, job: Ints) -> JobGroups:
    """The users or queues of some jobs, numbered as in the other parts of the report."""
    names = data.jobs.users if column == "user" else data.jobs.queues
    shown = shown_names(data, column, names)
    named = [text if name else "" for text, name in zip(shown, names, strict=True)]
    return JobGroups(column, data.jobs.code(column)[job], named)


def synthetic_load(
    name: str,
    jobs: int,
    processors: int,
    load: float | None,
    model: NamedModel,
    estimates: str,
    seed: int,
) -> ReplayedLoad:
    """A load of a published model. ``load``: the offered load that it is stretched to.

    Raises AssayError for an unknown name and for impossible numbers.
    """
    if name not in SYNTHETIC:
        raise AssayError(
            f"There is no synthetic load '{name}'.",
            where="--synthetic",
            fix=f"Known are: {', '.join(SYNTHETIC)}.",
        )
    if estimates == "logged":
        estimates = "modal"  # the model has no requests
    words, changed = parse_estimates(estimates, "--estimates")
    machine = model.machine or lublin_machine(processors)
    made = lublin(jobs, machine.processors, seed)
    notes = [
        "Batch and interactive jobs with the published parameters, for a machine of "
        f"{machine.processors:,} processors, seed {seed}."
    ]
    if load is not None:
        made = rescaled(made, machine.processors, load)
        notes.append(f"The times between submissions are stretched to an offered load of {load:g}.")
    made = changed(replace(made, submit=made.submit - made.submit[0]), seed)
    return ReplayedLoad(
        source=LUBLIN,
        workload=made,
        machine=machine,
        start=None,
        end=made.submit + made.run,
        left_out=[],
        requests=words,
        notes=notes,
        sharing=max(kind.processors for kind in machine.nodes) > 1,
        unknown=["The load is synthetic and has no users: each job is its own session."],
    )


def accounts_of(load: ReplayedLoad, schedule: Schedule) -> Accounts:
    """The accounts that a scheduler would have written of a replay.

    They give a synthetic load the same findings as a log.
    """
    workload = load.workload
    count = len(workload)
    collector = JobCollector()
    collector.begin("the modelled schedule")
    for kind, names in (
        ("user", workload.users),
        ("group", workload.accounts),
        ("queue", workload.qualities),
    ):
        for name in names:
            collector.name(kind, name)
    collector.machine = MachineFacts(
        processors=load.machine.processors, nodes=load.machine.size, calendar=False
    )
    collector.add_rows(
        {
            "submit": schedule.submit,
            "start": schedule.start,
            "end": schedule.end,
            "processors": workload.processors,
            "requested_time": workload.limit,
            "user": workload.user,
            "group": workload.account,
            "queue": workload.qos,
            "state": np.where(np.isnan(schedule.start), State.CANCELLED, schedule.state),
            "number": np.arange(1, count + 1),
            "key": np.arange(1, count + 1),
            "file": np.zeros(count, dtype=np.int64),
            "line": np.arange(1, count + 1),
        }
    )
    return Accounts(collector.jobs(), collector.machine, collector.problems, [load.source])
