"""The times and the state that a record states, checked against each other.

Schedulers state one fact in several fields: start, end, run time, suspended time, processor time,
state, exit status. If they contradict each other, the record becomes a problem, and one rule
decides which field is used. An unknown field is derived from the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.usage.accounts.values import (
    absent,
    date,
    memory,
    number_of,
    seconds,
    zero_date,
)
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, State

# Fields are rounded to seconds, each separately.
_ROUNDED = 2.0
# Differences in s by which clocks change.
_CLOCKS = (1800.0, 3600.0, 7200.0)
_RAN = (State.COMPLETED, State.FAILED, State.TIMEOUT, State.OUT_OF_MEMORY, State.NODE_FAILURE,
        State.PREEMPTED)  # fmt: skip


@dataclass
class Stated:
    """The values that one record states: Unix times and durations in s, NaN if it states none."""

    state: State
    submit: float = NAN
    start: float = NAN
    end: float = NAN
    #: Run time without the time ``suspended``.
    elapsed: float = NAN
    suspended: float = NAN
    #: Processor time as the scheduler counts it: processors × run time.
    used: float = NAN
    eligible: float = NAN
    #: Time from ``eligible`` to the start.
    planned: float = NAN
    processors: int = -1
    #: Exit status; "" if unknown.
    exit: str = ""
    #: Whether times are wall-clock times.
    local: bool = False
    #: Whether the record has fields for start and end. Values without a field are derived silently.
    known: bool = True


def time_in(values: dict[str, str], column: str, line: int, out: JobCollector) -> float:
    """A time in a column. A time that can't be read becomes a problem, and NaN."""
    text = values.get(column, "").strip()
    found = date(text)
    if math.isnan(found) and not absent(text) and not zero_date(text):
        out.unreadable(column, text, line, time=True)
    return found


def duration_in(values: dict[str, str], column: str, line: int, out: JobCollector) -> float:
    """A duration in a column, in s. A duration that can't be read becomes a problem, and NaN."""
    text = values.get(column, "").strip()
    found = seconds(text) if text else NAN
    if math.isnan(found) and not absent(text):
        out.unreadable(column, text, line)
    return found


def count_in(values: dict[str, str], column: str, line: int, out: JobCollector) -> int:
    """A count in a column. A count that can't be read becomes a problem, and -1."""
    text = values.get(column, "").strip()
    found = number_of(text) if text else -1
    if found < 0 and not absent(text):
        out.unreadable(column, text, line)
    return found


def memory_in(
    values: dict[str, str], column: str, line: int, out: JobCollector, default: str = ""
) -> float:
    """Bytes in a column. An amount that can't be read becomes a problem, and NaN."""
    text = values.get(column, "").strip()
    found = memory(text.rstrip("cn"), default)
    if math.isnan(found) and not absent(text):
        out.unreadable(column, text, line)
    return found


def settle(job: Stated, line: int, out: JobCollector) -> None:
    """Resolve contradictions and derive unknown values. Each becomes a problem of the line."""
    suspended = job.suspended if job.suspended > 0 else 0.0
    if job.state is State.PENDING:
        if job.start <= job.end:
            out.problem("state", line, "pending, with a start and an end")
        job.start = job.end = job.suspended = NAN
    elif job.state is State.RUNNING:
        if not math.isnan(job.end):
            out.problem("state", line, "running, with an end")
        job.end = NAN
    else:
        _ended(job, suspended, line, out)
    if not math.isnan(job.start):
        _submission(job, line, out)
    if job.state is State.COMPLETED and job.exit.replace("0", "") not in ("", ":"):
        out.problem("exit status", line, job.exit)


def _ended(job: Stated, suspended: float, line: int, out: JobCollector) -> None:
    """Start, end and run time of a job that ended."""
    length = job.elapsed + suspended
    # A job that was cancelled while it waited has an end but no start.
    derivable = length > 0 or (length == 0 and job.state in _RAN)
    if math.isnan(job.start) != math.isnan(job.end) and derivable:
        if job.known:
            out.problem("derived", line)
        job.start = job.end - length if math.isnan(job.start) else job.start
        job.end = job.start + length if math.isnan(job.end) else job.end
    if math.isnan(job.start):
        job.end = NAN
    if math.isnan(job.end):
        return
    run = job.end - job.start
    apart = length - run
    if abs(apart) > _ROUNDED and abs(job.elapsed - run) > _ROUNDED:
        if job.local and any(abs(abs(apart) - clock) <= _ROUNDED for clock in _CLOCKS):
            out.problem("clock", line)
            job.end, run = job.start + length, length
        elif run >= 0 or job.elapsed > 0:
            out.problem("run time", line, f"{job.elapsed:.0f} s, end - start {run:.0f} s")
    if suspended > max(run, 0.0) + _ROUNDED:
        out.problem("suspended", line)
        suspended = job.suspended = 0.0
    run = job.elapsed if job.elapsed >= 0 else run - suspended
    if job.processors > 0 and abs(job.used - job.processors * run) > _ROUNDED * job.processors:
        said = f"{job.used:.0f} s, {job.processors} × {run:.0f} s"
        out.problem("processor time", line, said)


def _submission(job: Stated, line: int, out: JobCollector) -> None:
    """The submission of a job that started, and its time since it was eligible."""
    apart = abs(job.start - job.eligible - job.planned)
    if apart > _ROUNDED and not (job.local and any(abs(apart - c) <= _ROUNDED for c in _CLOCKS)):
        said = f"{job.planned:.0f} s, start - eligible {job.start - job.eligible:.0f} s"
        out.problem("planned", line, said)
    if math.isnan(job.submit):
        job.submit = job.start - job.planned if math.isnan(job.eligible) else job.eligible
