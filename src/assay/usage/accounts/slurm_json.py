"""Slurm's ``sacct --json``: a document with a list of jobs (data_parser v0.0.36 to today's)."""

from __future__ import annotations

from typing import Any

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.slurm import STATES
from assay.usage.accounts.values import hosts, whole
from assay.usage.jobs import NAN, JobCollector, JobRecord, State


def takes(head: str) -> bool:
    """A JSON document of Slurm: it has a job's association, or Slurm's version."""
    return head.lstrip().startswith("{") and (
        '"association"' in head or '"allocation_nodes"' in head or '"Slurm"' in head
    )


def read(log: Log, out: JobCollector) -> None:
    """All jobs of the document."""
    for line, job in log.objects():
        try:
            record = _job(job)
        except (KeyError, TypeError, AttributeError, IndexError):
            record = None
        if record is None:
            out.problem("malformed", line)
        else:
            out.add(record, line)


def _number(value: object) -> int:
    """A number, or a structure of ``set``, ``infinite`` and ``number``; -1 where it is not set."""
    if isinstance(value, dict):
        return whole(value.get("number")) if value.get("set") else -1
    return whole(value)


def _time(value: object) -> float:
    number = _number(value)
    return float(number) if number > 0 else NAN


def _counts(tres: list[dict[str, Any]] | None) -> dict[str, int]:
    """Counts by ``type/name``, GPUs of all types together as ``gpu``."""
    counts: dict[str, int] = {}
    typed = 0
    for each in tres or ():
        name = f"{each['type']}/{each.get('name') or ''}".rstrip("/")
        if name.startswith("gres/gpu:"):
            typed += max(whole(each["count"]), 0)
        counts[name] = whole(each["count"])
    counts["gpu"] = counts.get("gres/gpu", typed)
    return counts


def _job(job: dict[str, Any]) -> JobRecord | None:
    current = job["state"]["current"]
    if isinstance(current, list):
        current = current[0]
    state = STATES.get(str(current))
    number = whole(job["job_id"])
    if state is None or number < 0:
        return None
    time, array = job["time"], job.get("array") or {}
    allocated = _counts(job["tres"].get("allocated"))
    requested = _counts(job["tres"].get("requested"))
    started = state is not State.PENDING
    limit = _number(time.get("limit"))
    processors = allocated.get("cpu", -1)
    if processors <= 0:
        processors = _number(job.get("required", {}).get("CPUs"))
    nodes = allocated.get("node", _number(job.get("allocation_nodes")))
    asked, used = requested.get("mem", -1), _used(job)
    return JobRecord(
        key=str(number),
        number=number,
        submit=_time(time.get("submission")),
        start=_time(time.get("start")) if started else NAN,
        end=_time(time.get("end")) if started and state is not State.RUNNING else NAN,
        processors=processors if processors > 0 else -1,
        nodes=nodes if nodes > 0 else -1,
        gpus=allocated["gpu"] if allocated.get("cpu") else requested["gpu"],
        requested_time=60.0 * limit if limit > 0 else NAN,
        requested_memory=asked * 2.0**20 if asked > 0 else NAN,
        used_memory=float(used) if used > 0 else NAN,
        user=str(job.get("user") or ""),
        group=str(job.get("account") or job.get("group") or ""),
        queue=str(job.get("partition") or ""),
        state=state,
        array=_array(array),
        hosts=hosts(job.get("nodes")),
    )


def _array(array: dict[str, Any]) -> int:
    number = _number(array.get("job_id"))
    return number if number > 0 else -1


def _used(job: dict[str, Any]) -> int:
    """Bytes of the step that used most (its usage stands under ``requested``)."""
    totals = (
        each["count"]
        for step in job.get("steps") or ()
        for each in (step.get("tres", {}).get("requested", {}).get("total") or ())
        if each.get("type") == "mem"
    )
    return max((whole(count) for count in totals), default=-1)


FORMAT = AccountFormat("Slurm (sacct --json)", takes, read)
