"""Findings on how busy a machine is, from the accounts of its scheduler."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from assay.arrays import Ints
from assay.subjects.usage.model import (
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
from assay.usage.accounts.reading import Accounts, Watch
from assay.usage.analysis.by_node import by_node, nodes_of, shared_jobs
from assay.usage.analysis.completeness import distinct, records_of, unknown_of, utilisation_of
from assay.usage.analysis.efficiency import efficiency_of
from assay.usage.analysis.fair_share import fair_shares_of
from assay.usage.analysis.parts import PartBuilder, gpus_at_once, share
from assay.usage.analysis.prepared import PreparedJobs, prepare
from assay.usage.analysis.query import UsageQuery
from assay.usage.analysis.service import ServiceUse, wasteful_jobs
from assay.usage.analysis.several import clusters_of
from assay.usage.analysis.spans import course_of, hours_of, spans_of
from assay.usage.analysis.totals import Totals, totals_of
from assay.usage.problems import KINDS

# Number of steps of the analysis reported to a watcher.
_STEPS = 18
# A value in quotes, and a value that is a time or a number.
_QUOTED = re.compile(r"'(.*)'")
_TIMELY = re.compile(
    r"(?:[\d\s:.,/+-]|T(?=\d)|Z|[AP]M|Ystday|Tomorr|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|"
    r"Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b)*…?"
)
_Result = TypeVar("_Result")


def find(accounts: Accounts, query: UsageQuery, watch: Watch | None = None) -> UsageFindings:
    """The findings. ``watch`` gets the stage, the amount done and the total amount.

    Raises AssayError if no job matches the query.
    """
    steps = iter(range(1, _STEPS + 1))

    def done(result: _Result) -> _Result:
        if watch is not None:
            watch("counting", next(steps, _STEPS), _STEPS)
        return result

    data = done(prepare(accounts, query))
    records = done(records_of(data))
    problems = data.problems.found()
    use = done(utilisation_of(data, records, problems))
    # If the log can't say the use of the machine, the use by parts isn't stated either.
    stated = use.value is not None
    parts = PartBuilder(data, stated=stated)
    spans = done(spans_of(data, stated=stated))
    service = done(ServiceUse(data))
    by_month = service.by_month()
    jobs = data.jobs
    names = query.identify
    nodes = nodes_of(data)
    shared = done(None if nodes is None else shared_jobs(data, nodes))
    totals = done(totals_of(data, shared))
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
        jobs=totals.jobs,
        running=totals.running,
        never_started=totals.never_started,
        wait=totals.wait.spread(),
        slowdown=totals.slowdown.spread(),
        run=totals.run.spread(),
        requested=totals.requested.spread(),
        limits=_limits(data, totals),
        gpus=done(_gpus(data, totals)),
        nodes=_nodes(totals),
        arrays=_arrays(data, totals),
        queues=done(parts.by_name("queue", jobs.queues, names)),
        classes=done(parts.classes()),
        groups=done(parts.by_name("group", jobs.groups, names)),
        users=done(parts.by_name("user", jobs.users, names)),
        sizes=done(parts.sizes()),
        lengths=done(parts.lengths()),
        states=done(parts.states()),
        days=spans.days,
        weeks=spans.weeks,
        months=[
            dataclasses.replace(each, efficiency=by_month.get(each.name)) for each in spans.months
        ],
        efficiency=efficiency_of(totals.amounts),
        accounts=service.rows(),
        wasteful=wasteful_jobs(data),
        clusters=done(clusters_of(accounts, data)),
        fair_shares=fair_shares_of(data),
        hours=done(hours_of(data) if stated else []),
        course=done(course_of(data)),
        by_node=None if nodes is None else by_node(data, nodes),
        problems=[
            UsageProblem(
                kind=each.kind,
                meaning=KINDS[each.kind],
                count=each.count,
                places=[
                    _place(place, jobs.files, names) + _value(value, names)
                    for place, value in zip(each.places, each.values, strict=True)
                ],
            )
            for each in problems
        ],
        unknown=unknown_of(data, query.zone is not None),
        unix_times=data.machine.unix_times,
    )


def _place(place: tuple[int, int], files: list[str], shown: bool) -> str:
    file, line = place
    if shown:
        return f"{files[file]}:{line}"
    return f"line {line}" if len(files) == 1 else f"file {file + 1}, line {line}"


def _value(value: str, shown: bool) -> str:
    """What is wrong at a place. Text that may be a name is shown only if names are shown."""
    if not value:
        return ""
    if not shown:
        value = _QUOTED.sub(
            lambda found: found[0] if _TIMELY.fullmatch(found[1]) else "a text", value
        )
    return f": {value}"


def _capacity(data: PreparedJobs) -> UsageCapacity:
    span = np.array([data.begin, data.finish])
    down = None
    if data.machine.outages:
        size = float(data.capacity.size.integral(span)[0])
        up = float(data.over_time.integral(data.available, span)[0])
        down = 1.0 - share(up, size)
    return UsageCapacity(
        source=data.capacity.source,
        processors=data.capacity.processors,
        most_in_use=math.ceil(data.over_time.most),
        down=down,
    )


def _limits(data: PreparedJobs, totals: Totals) -> UsageLimits:
    """Requests compared with use, and the jobs that reached their time limit."""
    killed = data.machine.timeouts and totals.outcomes
    reached = totals.timed_out if killed else totals.overran if totals.limited else None
    return UsageLimits(
        time=totals.time_ratio.spread(),
        cpu=totals.cpu_ratio.spread(),
        memory=totals.memory_ratio.spread(),
        memory_doubt=data.memory_doubt,
        reached=None if reached is None else reached.jobs,
        reached_share=None if reached is None else share(reached.jobs, reached.of),
        lost=None if reached is None else reached.use,
        lost_share=None if reached is None else share(reached.use, totals.use),
        killed=killed,
    )


def _gpus(data: PreparedJobs, totals: Totals) -> UsageGpus | None:
    """GPUs; None if no job had GPUs."""
    if not totals.with_gpus.jobs:
        return None
    most, inside, whole = gpus_at_once(data)
    if not most:
        return None
    length = data.finish - data.begin
    return UsageGpus(
        most_in_use=most,
        utilisation=inside / (most * length) if length > 0 else None,
        jobs=totals.with_gpus.jobs,
        share_of_use=share(totals.with_gpus.use, totals.use),
        use=whole,
    )


def _nodes(totals: Totals) -> UsageNodes | None:
    """Jobs on parts of nodes; None if nodes are unknown or have one processor.

    The processors of a node are the maximum that any job had per node.
    """
    partly = totals.partly
    if not partly.of or totals.per_node <= 1:
        return None
    return UsageNodes(
        per_node=totals.per_node,
        jobs=partly.jobs,
        share_of_jobs=share(partly.jobs, partly.of),
        share_of_use=share(partly.use, partly.use_of),
        shared=None if totals.shared is None else totals.shared.jobs,
        shared_share_of_use=None
        if totals.shared is None
        else share(totals.shared.use, partly.use_of),
    )


def _arrays(data: PreparedJobs, totals: Totals) -> UsageArrays | None:
    mine = totals.in_arrays
    if not mine.jobs:
        return None

    def arrays() -> Iterator[Ints]:
        for chunk in data.chunks():
            codes = chunk.jobs.code("array")[chunk.chosen]
            yield codes[codes >= 0]

    return UsageArrays(
        arrays=distinct(arrays, len(data.jobs)),
        jobs=mine.jobs,
        share_of_use=share(mine.use, totals.use),
    )
