"""The jobs of a log with the machine, ready to be counted: what can't be used is named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.questions.usage.query import UsageQuery, moment
from assay.usage.accounts.reading import Accounts
from assay.usage.capacity import Capacity, known_capacity, most_in_use
from assay.usage.jobs import Floats, Jobs, MachineFacts, State
from assay.usage.period import LocalTime, LogPeriod, period_of
from assay.usage.problems import Problems
from assay.usage.timeline import StepFunction, occupied

Mask = NDArray[np.bool_]
# Run times below this count as this, in s, in the bounded slowdown.
SHORTEST = 10.0


@dataclass(frozen=True)
class PreparedJobs:
    """All jobs by column, NaN where unknown. ``entered``: submission, or start if that is unknown.
    ``end``: running jobs end with the log. ``use``: processor × s, 0 for jobs that are not
    ``counted``. ``chosen``: by the filter. ``busy``, ``busy_chosen``: processors in use. ``begin``,
    ``finish``: the period of utilisation; ``begin_log``, ``finish_log``: with its unsettled ends.
    """

    jobs: Jobs
    machine: MachineFacts
    problems: Problems
    period: LogPeriod
    local: LocalTime
    capacity: Capacity
    entered: Floats
    submit: Floats
    start: Floats
    end: Floats
    run: Floats
    wait: Floats
    slowdown: Floats
    processors: Floats
    use: Floats
    counted: Mask
    running: Mask
    chosen: Mask
    busy: StepFunction
    busy_chosen: StepFunction
    begin: float
    finish: float
    begin_log: float
    finish_log: float


def prepare(accounts: Accounts, query: UsageQuery) -> PreparedJobs:
    """The jobs of a log. Raises AssayError if the query leaves no job or no time."""
    jobs, machine = accounts.jobs, accounts.machine
    problems = accounts.problems.copy()
    local = LocalTime.of(query.zone, machine)
    period = period_of(jobs, machine)
    submit, start, end = (jobs.number(name) for name in ("submit", "start", "end"))
    processors = jobs.number("processors")
    entered = np.fmin(submit, start)
    run = end - start
    running = (jobs.code("state") == State.RUNNING) & ~np.isnan(start) & np.isnan(end)
    end = np.where(running, np.fmax(start, period.last), end)
    started = ~np.isnan(start)
    _name(problems, "no end", started & np.isnan(end), jobs)
    sized = processors > 0
    _name(problems, "no size", started & ~np.isnan(end) & ~sized, jobs)
    usable = started & ~np.isnan(end) & sized
    capacity = known_capacity(machine, query.processors, period.last)
    if capacity is not None:
        too_large = processors > capacity.processors
        _name(problems, "too large", too_large, jobs)
        usable &= ~too_large
    busy = _in_use(start, end, processors, usable)
    if capacity is None:
        capacity = most_in_use(machine, busy, period.last)
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
            "The log has no record in this period.",
            where=" ".join(
                f"{name} {text}"
                for name, text in (("--since", query.since), ("--until", query.until))
                if text is not None
            ),
            fix="Choose a period within that of the log, which `assay usage LOG` shows.",
        )
    when = np.where(started, start, submit)
    chosen = query.chosen(jobs)
    if since is not None or until is not None:
        chosen &= (when >= low) & (when < high)
        if not chosen.any():
            raise AssayError(
                f"None of the {len(jobs):,} jobs began in this period.",
                where="--since and --until",
                fix="Choose a longer period.",
            )
    wait = start - submit
    if not np.any(wait > 0):  # a log without waits states starts as submissions
        wait = np.full(len(jobs), np.nan)
    picked = usable & query.chosen(jobs)
    return PreparedJobs(
        jobs=jobs,
        machine=machine,
        problems=problems,
        period=period,
        local=local,
        capacity=capacity,
        entered=entered,
        submit=submit,
        start=start,
        end=end,
        run=run,
        wait=wait,
        slowdown=np.maximum((wait + run) / np.maximum(run, SHORTEST), 1.0),
        processors=processors,
        use=np.where(usable, processors * (end - start), 0.0),
        counted=usable,
        running=running,
        chosen=chosen,
        busy=busy,
        busy_chosen=_in_use(start, end, processors, picked),
        begin=begin,
        finish=finish,
        begin_log=begin_log,
        finish_log=finish_log,
    )


def _in_use(start: Floats, end: Floats, amount: Floats, kept: Mask) -> StepFunction:
    return occupied(start[kept], end[kept], amount[kept])


def _name(problems: Problems, kind: str, wrong: Mask, jobs: Jobs) -> None:
    for index in np.flatnonzero(wrong):
        problems.add(kind, jobs.place(int(index)))
