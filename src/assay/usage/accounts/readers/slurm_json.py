"""Slurm's ``sacct --json``: a document with a list of jobs (data_parser v0.0.36 to today's)."""

from __future__ import annotations

import math
import re
from typing import Any

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.readers.slurm import COMMAND, STATES
from assay.usage.accounts.stated import Stated, settle
from assay.usage.accounts.values import absent, date, hosts, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

_TIMES = ("submission", "start", "end", "eligible")
_NO_JOBS = re.compile(r'"jobs"\s*:\s*\[\s*\]')


def takes(head: str) -> bool:
    """Whether the text is Slurm's JSON: it has a job's association, Slurm's version, or an empty
    list of jobs."""
    if head.lstrip()[:1] not in ("{", "[") or '"t_submit"' in head:
        return False
    named = ('"association"', '"allocation_nodes"', '"Slurm"', '"slurm"')
    return any(name in head for name in named) or _NO_JOBS.search(head) is not None


def read(log: Log, out: JobCollector) -> None:
    """All jobs of the document."""
    for line, job in log.objects():
        try:
            record = _job(job, line, out)
        except (KeyError, TypeError, AttributeError, IndexError):
            record = None
        if record is None:
            other = "job_state" in job and "time" not in job
            out.problem("malformed", line, "as squeue --json writes it, not sacct" if other else "")
        else:
            out.add(record, line)


def _number(value: object) -> int:
    """A number, or a structure of ``set``, ``infinite`` and ``number``; -1 if it is not set."""
    if isinstance(value, dict):
        return whole(value.get("number")) if value.get("set") else -1
    return whole(value)


def _seconds(time: dict[str, Any], name: str, line: int, out: JobCollector) -> float:
    """A time or a duration in s; NaN if it is not set."""
    value = time.get(name)
    number = _number(value)
    if isinstance(value, str) and number < 0:
        found = date(value)
        if math.isnan(found) and not absent(value):
            out.unreadable(f"time.{name}", value, line, time=name in _TIMES)
        return found
    return float(number) if number > 0 else NAN


def _counts(tres: list[dict[str, Any]] | None) -> dict[str, int]:
    """Counts by ``type/name``; GPUs of all types are counted together as ``gpu``."""
    counts: dict[str, int] = {}
    typed = 0
    for each in tres or ():
        name = f"{each['type']}/{each.get('name') or ''}".rstrip("/")
        if name.startswith("gres/gpu:"):
            typed += max(whole(each["count"]), 0)
        counts[name] = whole(each["count"])
    counts["gpu"] = counts.get("gres/gpu", typed)
    return counts


def _stated(job: dict[str, Any], line: int, out: JobCollector) -> Stated:
    """The job's state and times."""
    current = job["state"]["current"]
    if isinstance(current, list):
        current = current[0]
    state = STATES.get(str(current))
    if state is None:
        out.unreadable("state.current", str(current), line)
    names = (*_TIMES, "elapsed", "suspended", "planned")
    times = {name: _seconds(job["time"], name, line, out) for name in names}
    stated = Stated(
        State.UNKNOWN if state is None else state,
        times["submission"],
        times["start"],
        times["end"],
        elapsed=times["elapsed"],
        suspended=times["suspended"],
        eligible=times["eligible"],
        planned=times["planned"],
    )
    if stated.state is State.PENDING:
        # For a waiting job this may be the start that Slurm expects.
        stated.start = stated.end = NAN
    elif current == "DEADLINE" and math.isnan(stated.start):
        stated.state = State.CANCELLED
    elif stated.state is State.CANCELLED and not hosts(job.get("nodes")):
        stated.start = NAN if stated.start == stated.end else stated.start
    settle(stated, line, out)
    return stated


def _job(job: dict[str, Any], line: int, out: JobCollector) -> JobRecord | None:
    number = whole(job["job_id"])
    if number < 0:
        return None
    stated = _stated(job, line, out)
    time, array = job["time"], job.get("array") or {}
    allocated = _counts(job["tres"].get("allocated"))
    requested = _counts(job["tres"].get("requested"))
    limit = _number(time.get("limit"))
    processors = allocated.get("cpu", -1)
    if processors <= 0:
        processors = _number(job.get("required", {}).get("CPUs"))
    nodes = allocated.get("node", _number(job.get("allocation_nodes")))
    asked, used = requested.get("mem", -1), _used(job)
    asked = allocated["mem"] if allocated.get("mem", 0) > 0 else asked
    energy = allocated.get("energy", -1)
    return JobRecord(
        key=str(number),
        number=number,
        submit=stated.submit,
        start=stated.start,
        end=stated.end,
        processors=processors if processors > 0 else -1,
        nodes=nodes if nodes > 0 else -1,
        gpus=allocated["gpu"] if allocated.get("cpu") else requested["gpu"],
        requested_time=60.0 * limit if limit > 0 else NAN,
        requested_memory=asked * 2.0**20 if asked > 0 else NAN,
        used_memory=float(used) if used > 0 else NAN,
        processor_time=_processor_time(job) if stated.state is not State.RUNNING else NAN,
        energy=float(energy) if energy > 0 else NAN,
        cluster=str(job.get("cluster") or ""),
        user=str(job.get("user") or ""),
        group=str(job.get("account") or job.get("group") or ""),
        queue=str(job.get("partition") or ""),
        state=stated.state,
        array=_array(array),
        hosts=hosts(job.get("nodes")),
        suspended=stated.suspended if stated.suspended > 0 else NAN,
    )


def _processor_time(job: dict[str, Any]) -> float:
    """Processor time of all steps, s."""
    total = job["time"].get("total") or {}
    whole_seconds = whole(total.get("seconds"))
    return whole_seconds + max(whole(total.get("microseconds")), 0) / 1e6 if total else NAN


def _array(array: dict[str, Any]) -> int:
    number = _number(array.get("job_id"))
    return number if number > 0 else -1


def _used(job: dict[str, Any]) -> int:
    """Bytes of the step that used most. Slurm writes its usage under ``requested``."""
    totals = (
        each["count"]
        for step in job.get("steps") or ()
        for each in (step.get("tres", {}).get("requested", {}).get("total") or ())
        if each.get("type") == "mem"
    )
    return max((whole(count) for count in totals), default=-1)


FORMAT = AccountFormat(
    "Slurm (sacct --json)",
    takes,
    read,
    memory="MiB for requests and bytes for use, as sacct writes them",
    dates=f"Print the accounts with `{COMMAND}`.",
)
