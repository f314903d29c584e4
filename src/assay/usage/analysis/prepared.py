"""The jobs of a log and the machine, ready to be counted. Records that can't be used become
problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from assay.arrays import Bools, Floats
from assay.errors import AssayError
from assay.usage.accounts.reading import Accounts
from assay.usage.analysis.clusters import capacity_of, of_cluster, per_node_of
from assay.usage.analysis.efficiency import JobUse
from assay.usage.analysis.memory_units import memory_doubt
from assay.usage.analysis.query import UsageQuery, moment
from assay.usage.capacity import Capacity, most_in_use
from assay.usage.columns import ROWS
from assay.usage.jobs import Jobs, MachineFacts, State
from assay.usage.period import LocalTime, LogPeriod, period_of
from assay.usage.problems import NAMED, Problems
from assay.usage.timeline import StepFunction
from assay.usage.use import UseChunk, UseOverTime, Window, use_over_time

# Shorter run times count as this, in s, in the bounded slowdown.
SHORTEST = 10.0
_UNIT = 2.0**-20
# States of jobs that ran. In these states an unknown start doesn't mean that the job never started.
_RAN = (State.COMPLETED, State.TIMEOUT, State.OUT_OF_MEMORY, State.NODE_FAILURE, State.PREEMPTED)


@dataclass(frozen=True)
class JobChunk:
    """Consecutive jobs by column; NaN if unknown."""

    #: Rows of these jobs among all jobs.
    rows: slice
    jobs: Jobs
    #: Submission, or the start if the submission is unknown.
    entered: Floats
    submit: Floats
    start: Floats
    #: End; running jobs end with the log.
    end: Floats
    #: Run time without suspended time, s; NaN if the job hasn't ended.
    run: Floats
    #: Share of the time from start to end in which the job wasn't suspended.
    active: Floats
    wait: Floats
    slowdown: Floats
    processors: Floats
    #: Processor time, processors × s; 0 for jobs that are not ``counted``.
    use: Floats
    counted: Bools
    running: Bools
    #: Whether the filter and the period choose the job. ``picked``: whether the filter does.
    chosen: Bools
    picked: Bools
    #: What the jobs used of what they got.
    used: JobUse

    @cached_property
    def amounts(self) -> Floats:
        """The amounts of each job, shape (``efficiency.AMOUNTS``, jobs)."""
        return self.used.amounts()


@dataclass(frozen=True)
class PreparedJobs:
    """All jobs of a log, processed in chunks."""

    jobs: Jobs
    machine: MachineFacts
    query: UsageQuery
    problems: Problems
    period: LogPeriod
    local: LocalTime
    capacity: Capacity
    #: Processors in use over time.
    over_time: UseOverTime
    #: The most processors per node that any job had; 0 if nodes are unknown.
    per_node: int
    #: Whether the log has waits.
    waits: bool
    #: Whether the log has the processor time of any job.
    processor_times: bool
    #: Why amounts of memory are not used; "" if they are.
    memory_doubt: str
    #: Number of processors above which a job's size is wrong.
    largest: float
    #: ``since``, ``until``: as requested; infinite if not requested.
    since: float
    until: float
    #: ``begin``, ``finish``: the period for which utilisation is computed.
    begin: float
    finish: float
    #: ``begin_log``, ``finish_log``: the log's period, including its unsettled ends.
    begin_log: float
    finish_log: float
    kept: list[JobChunk] = field(default_factory=list)

    def chunks(self) -> Iterator[JobChunk]:
        """All jobs, at most ``columns.ROWS`` at a time. The chunk of a short log is kept."""
        if self.kept:
            yield from self.kept
            return
        for rows, jobs in self.jobs.chunks():
            chunk = _chunk(rows, jobs, self)
            if len(self.jobs) <= ROWS:
                self.kept.append(chunk)
            yield chunk

    def available(self, window: Window) -> StepFunction:
        """Processors that were up in a window."""
        return self.capacity.available(window.busy)

    def counted(self, window: Window) -> StepFunction:
        """Processors in use, but not more than the machine has."""
        return self.capacity.counted(window.busy)

    def counted_chosen(self, window: Window) -> StepFunction:
        """Processors in use by the chosen jobs."""
        return self.capacity.counted(window.chosen)


def prepare(accounts: Accounts, query: UsageQuery) -> PreparedJobs:
    """The jobs of a log. Raises AssayError if the query leaves no job or no time."""
    accounts = of_cluster(accounts, query.cluster)
    jobs, machine = accounts.jobs, accounts.machine
    query.check(jobs)
    local = LocalTime.of(query.zone, machine)
    period = period_of(jobs, machine)
    problems = accounts.problems.copy()
    per_node = per_node_of(jobs)
    known = capacity_of(jobs, machine, query.processors, period.last, per_node)
    largest = math.inf if known is None else known.processors
    waits, processor_times, biggest = False, False, 0.0
    for _, each in jobs.chunks():
        submit, start = each.number("submit"), each.number("start")
        waits |= bool(np.any(start - submit > 0))
        # Sums of 0 come from a scheduler that doesn't gather processor times.
        processor_times |= bool(np.any(each.number("processor_time") > 0))
        _name_problems(each, period.last, largest, problems)
        _, start, end, _ = _times(each, period.last)
        size = each.number("processors")
        biggest = max(biggest, float(size[_usable(start, end, size, largest)].max(initial=0.0)))
    length = -(-len(jobs) // ROWS)
    over_time = use_over_time(lambda: _use(jobs, query.chosen, period.last, largest), length)
    if known is None:
        # A suspended job counts as a constant part of its processors over its whole time.
        most = max(over_time.most, biggest)
        if len(jobs.clusters) > 1:
            most = max(most, _most_apart(jobs, period.last))
        known = most_in_use(machine, most, period.last, per_node)
    since, until = (
        None if text is None else moment(text, where, local, period.last)
        for text, where in ((query.since, "--since"), (query.until, "--until"))
    )
    low, high = (
        -np.inf if since is None else since,
        np.inf if until is None else until,
    )
    begin_log, finish_log = max(period.first, low), min(period.last, high)
    begin, finish = max(period.settled_from, low), min(period.settled_to, high)
    if not begin < finish:
        begin, finish = begin_log, finish_log
    if finish < begin:
        raise AssayError(
            "The log has no records in this period.",
            where=" ".join(
                f"{name} {text}"
                for name, text in (("--since", query.since), ("--until", query.until))
                if text is not None
            ),
            fix="Choose a period within the log's; `assay usage LOG` shows it.",
        )
    data = PreparedJobs(
        jobs=jobs,
        machine=machine,
        query=query,
        problems=problems,
        period=period,
        local=local,
        capacity=known,
        over_time=over_time,
        per_node=per_node,
        # A log without waits states starts as submissions.
        waits=waits,
        processor_times=processor_times,
        memory_doubt=memory_doubt(jobs, accounts.formats),
        largest=largest,
        since=low,
        until=high,
        begin=begin,
        finish=finish,
        begin_log=begin_log,
        finish_log=finish_log,
    )
    if not any(chunk.chosen.any() for chunk in data.chunks()):
        raise AssayError(
            f"None of the {len(jobs):,} jobs began in this period.",
            where="--since and --until",
            fix="Choose a longer period.",
        )
    return data


def _times(jobs: Jobs, last: float) -> tuple[Floats, Floats, Floats, Bools]:
    """Submissions, starts, ends, and which jobs were still running. Running jobs end with the
    log."""
    submit, start, end = (jobs.number(name) for name in ("submit", "start", "end"))
    running = (jobs.code("state") == State.RUNNING) & ~np.isnan(start) & np.isnan(end)
    return submit, start, np.where(running, np.fmax(start, last), end), running


def _active(jobs: Jobs, start: Floats, end: Floats) -> Floats:
    """The share of the time from start to end in which jobs used their processors.

    The log says how long they were suspended, not when. In units of 2^-20, so that sums of
    processors stay exact.
    """
    suspended = np.nan_to_num(jobs.number("suspended"))
    length = np.where(end > start, end - start, 1.0)
    share: Floats = np.clip(np.round((1.0 - suspended / length) / _UNIT) * _UNIT, 0.0, 1.0)
    return share


def _usable(start: Floats, end: Floats, processors: Floats, largest: float) -> Bools:
    usable: Bools = ~np.isnan(start) & ~np.isnan(end) & (processors > 0) & (processors <= largest)
    return usable


def _chunk(rows: slice, jobs: Jobs, data: PreparedJobs) -> JobChunk:
    submit, start, end, running = _times(jobs, data.period.last)
    processors = jobs.number("processors")
    usable = _usable(start, end, processors, data.largest)
    active = _active(jobs, start, end)
    run = jobs.number("end") - start - np.nan_to_num(jobs.number("suspended"))
    picked = data.query.chosen(jobs)
    when = np.where(np.isnan(start), submit, start)
    chosen = picked
    if math.isfinite(data.since) or math.isfinite(data.until):
        chosen = picked & (when >= data.since) & (when < data.until)
    unknown = np.full(len(jobs), np.nan)
    wait = start - submit if data.waits else unknown
    use = np.where(usable, processors * active * (end - start), 0.0)
    doubted = bool(data.memory_doubt)
    return JobChunk(
        rows=rows,
        jobs=jobs,
        entered=np.fmin(submit, start),
        submit=submit,
        start=start,
        end=end,
        run=run,
        active=active,
        wait=wait,
        slowdown=np.maximum((wait + run) / np.maximum(run, SHORTEST), 1.0),
        processors=processors,
        use=use,
        counted=usable,
        running=running,
        chosen=chosen,
        picked=picked,
        used=JobUse(
            use=use,
            run=run,
            processors=processors,
            processor_time=jobs.number("processor_time") if data.processor_times else unknown,
            used_memory=unknown if doubted else jobs.number("used_memory"),
            requested_memory=unknown if doubted else jobs.number("requested_memory"),
            gpus=jobs.number("gpus"),
            held=np.where(usable, active * (end - start), 0.0),
            energy=jobs.number("energy"),
        ),
    )


def _most_apart(jobs: Jobs, last: float) -> float:
    """The sum over clusters of the most processors that each ever had in use."""

    def most(cluster: int) -> float:
        def mine(each: Jobs) -> Bools:
            chosen: Bools = np.equal(each.columns["cluster"], cluster)
            return chosen

        length = -(-len(jobs) // ROWS)
        over_time = use_over_time(lambda: _use(jobs, mine, last, math.inf), length)
        return max(float(each.chosen.levels.max(initial=0.0)) for each in over_time.windows())

    return sum(map(most, range(len(jobs.clusters))))


def _use(
    jobs: Jobs, chosen: Callable[[Jobs], Bools], last: float, largest: float
) -> Iterator[UseChunk]:
    """The use of processors, and all times at which a job was submitted, started or ended.

    ``chosen``: which jobs' use is also counted separately.
    """
    for _, each in jobs.chunks():
        submit, start, end, _ = _times(each, last)
        processors = each.number("processors")
        usable = _usable(start, end, processors, largest)
        amount = (processors * _active(each, start, end))[usable]
        others = np.concatenate((submit, start[~usable], end[~usable]))
        yield UseChunk(
            start[usable],
            end[usable],
            amount,
            np.where(chosen(each)[usable], amount, 0.0),
            others[~np.isnan(others)],
        )


def ran_unseen(jobs: Jobs) -> Bools:
    """Jobs without a start that ran according to their state, or whose start can't be read."""
    missing = np.isnan(jobs.number("start"))
    unseen: Bools = missing & (np.isin(jobs.code("state"), _RAN) | (jobs.code("lost") == 1))
    return unseen


def _name_problems(jobs: Jobs, last: float, largest: float, problems: Problems) -> None:
    _, start, end, _ = _times(jobs, last)
    processors = jobs.number("processors")
    started, ended, sized = ~np.isnan(start), ~np.isnan(end), processors > 0
    for kind, wrong in (
        ("no start", ~started & ran_unseen(jobs)),
        ("no end", started & ~ended),
        ("no size", started & ended & ~sized),
        ("too large", processors > largest),
    ):
        places = np.flatnonzero(wrong)
        first = [jobs.place(int(index)) for index in places[:NAMED]]
        problems.add_many(kind, int(places.size), first)
