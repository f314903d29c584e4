"""Findings on how busy a machine is, from the accounts of its scheduler."""

from __future__ import annotations

import time

import numpy as np

from assay.questions.usage.completeness import records_of, utilisation_of
from assay.questions.usage.model import (
    USAGE_SCHEMA,
    UsageArrays,
    UsageCapacity,
    UsageFindings,
    UsageGpus,
    UsageLimits,
    UsageNodes,
    UsagePeriod,
    UsageProblem,
)
from assay.questions.usage.parts import PartBuilder, most_at_once, share, spread_of
from assay.questions.usage.prepared import PreparedJobs, prepare
from assay.questions.usage.query import UsageQuery
from assay.questions.usage.spans import hours_of, spans_of
from assay.questions.usage.unknown import unknown_of
from assay.usage.accounts.reading import Accounts
from assay.usage.jobs import State
from assay.usage.problems import KINDS


def find(accounts: Accounts, query: UsageQuery) -> UsageFindings:
    """The findings. Raises AssayError if the query leaves no job."""
    data = prepare(accounts, query)
    records = records_of(data)
    problems = data.problems.found()
    use = utilisation_of(data, records, problems)
    # Of a machine whose use the log can't say, no part is stated either.
    stated = use.value is not None
    parts = PartBuilder(data, stated=stated)
    days, weeks = spans_of(data, stated=stated)
    chosen, jobs = data.chosen, data.jobs
    names = query.identify
    limits = _limits(data)
    gpus = _gpus(data)
    nodes = _nodes(data)
    return UsageFindings(
        schema=USAGE_SCHEMA,
        utc=time.time(),
        formats=accounts.formats,
        files=len(jobs.files),
        chosen=query.words(),
        anonymous=not names,
        period=UsagePeriod(
            first=data.period.first,
            last=data.period.last,
            begin=data.begin,
            end=data.finish,
            settled=data.period.whole
            and data.begin >= data.period.settled_from
            and data.finish <= data.period.settled_to,
            zone=data.local.zone,
            calendar=data.machine.calendar,
        ),
        capacity=_capacity(data),
        records=records,
        utilisation=use,
        jobs=int(chosen.sum()),
        running=int((data.running & chosen).sum()),
        never_started=int((np.isnan(data.start) & chosen).sum()),
        wait=spread_of(data.wait[chosen]),
        slowdown=spread_of(data.slowdown[chosen]),
        run=spread_of(data.run[chosen]),
        requested=spread_of(jobs.number("requested_time")[chosen]),
        limits=limits,
        gpus=gpus,
        nodes=nodes,
        arrays=_arrays(data),
        queues=parts.by_name("queue", jobs.queues, names),
        classes=parts.classes(),
        groups=parts.by_name("group", jobs.groups, names),
        users=parts.by_name("user", jobs.users, names),
        sizes=parts.sizes(),
        lengths=parts.lengths(),
        states=parts.states(),
        days=days,
        weeks=weeks,
        hours=hours_of(data) if stated else [],
        problems=[
            UsageProblem(
                kind=each.kind,
                meaning=KINDS[each.kind],
                count=each.count,
                places=[_place(place, jobs.files, names) for place in each.places],
            )
            for each in problems
        ],
        unknown=unknown_of(data, query.zone is not None),
    )


def _place(place: tuple[int, int], files: list[str], shown: bool) -> str:
    file, line = place
    if shown:
        return f"{files[file]}:{line}"
    return f"line {line}" if len(files) == 1 else f"file {file + 1}, line {line}"


def _capacity(data: PreparedJobs) -> UsageCapacity:
    span = np.array([data.begin, data.finish])
    down = None
    if data.machine.outages:
        size = float(data.capacity.size.integral(span)[0])
        down = 1.0 - share(float(data.capacity.available(data.busy).integral(span)[0]), size)
    return UsageCapacity(
        source=data.capacity.source,
        processors=data.capacity.processors,
        most_in_use=int(data.busy.levels.max(initial=0.0)),
        down=down,
    )


def _limits(data: PreparedJobs) -> UsageLimits:
    """Requests compared with use, and the jobs that reached their time limit."""
    jobs = data.jobs
    requested = jobs.number("requested_time")
    ended = data.chosen & ~np.isnan(data.run)
    states = jobs.code("state")
    limited = ended & (requested > 0.0)
    asked, used = jobs.number("requested_memory"), jobs.number("used_memory")
    stated = ended & (asked > 0.0)
    killed = data.machine.timeouts and bool(np.any(states[ended] != State.UNKNOWN))
    reached = None
    if killed:
        reached = ended & (states == State.TIMEOUT)
    elif limited.any():
        reached = limited & (data.run >= requested)
    of = int((limited | reached).sum()) if reached is not None else 0
    lost = None if reached is None else float(data.use[reached].sum())
    return UsageLimits(
        time=spread_of(data.run[limited] / requested[limited]),
        memory=spread_of(used[stated] / asked[stated]),
        reached=None if reached is None else int(reached.sum()),
        reached_share=share(int(reached.sum()), of) if reached is not None else None,
        lost=lost,
        lost_share=None if lost is None else share(lost, float(data.use[data.chosen].sum())),
        killed=killed,
    )


def _gpus(data: PreparedJobs) -> UsageGpus | None:
    """GPUs, None if no job had any."""
    most, inside, whole = most_at_once(data, "gpus")
    if not most:
        return None
    length = data.finish - data.begin
    mine = data.chosen & (data.jobs.number("gpus") > 0)
    return UsageGpus(
        most_in_use=most,
        utilisation=inside / (most * length) if length > 0 else None,
        jobs=int(mine.sum()),
        share_of_use=share(float(data.use[mine].sum()), float(data.use[data.chosen].sum())),
        use=whole,
    )


def _nodes(data: PreparedJobs) -> UsageNodes | None:
    """Jobs on parts of nodes; None if nodes are unknown or have one processor.

    A node has as many processors as a job ever had per node.
    """
    nodes = data.jobs.number("nodes")
    known = data.counted & data.chosen & (nodes > 0)
    if not known.any():
        return None
    per_node = int(np.ceil(np.max(data.processors[known] / nodes[known])))
    if per_node <= 1:
        return None
    partly = known & (data.processors < nodes * per_node)
    return UsageNodes(
        per_node=per_node,
        jobs=int(partly.sum()),
        share_of_jobs=share(int(partly.sum()), int(known.sum())),
        share_of_use=share(float(data.use[partly].sum()), float(data.use[known].sum())),
    )


def _arrays(data: PreparedJobs) -> UsageArrays | None:
    arrays = data.jobs.code("array")
    mine = data.chosen & (arrays >= 0)
    if not mine.any():
        return None
    return UsageArrays(
        arrays=int(np.unique(arrays[mine]).size),
        jobs=int(mine.sum()),
        share_of_use=share(float(data.use[mine].sum()), float(data.use[data.chosen].sum())),
    )
