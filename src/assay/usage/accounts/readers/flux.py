"""Flux's list of jobs: ``flux jobs --json`` (a document) or one JSON object per line.

Fields: ``id``, ``t_submit``, ``t_run``, ``t_cleanup``, ``t_inactive`` (Unix times), ``ncores``,
``nnodes``, ``ntasks``, ``duration`` (the limit in s, 0 for none), ``state``, ``result``,
``username`` or ``userid``, ``bank``, ``queue`` (RFC 31 and flux-jobs(1)). Ids are not consecutive.
"""

from __future__ import annotations

import math
import re
from typing import Any

from assay.usage.accounts.model import AccountFormat, Log, OtherOutput
from assay.usage.accounts.stated import Stated, settle
from assay.usage.accounts.values import absent, date, hosts, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

# States by name, and by number as the job manager stores them.
_RESULTS = {
    "COMPLETED": State.COMPLETED, "1": State.COMPLETED,
    "FAILED": State.FAILED, "2": State.FAILED,
    "CANCELED": State.CANCELLED, "4": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT, "8": State.TIMEOUT,
}  # fmt: skip

_NONE = re.compile(r'\s*\{\s*"jobs"\s*:\s*\[\s*\]\s*\}')
_FLOAT = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def takes(head: str) -> bool:
    """Whether the text is JSON with Flux's key for submission times, or only an empty list of
    jobs."""
    if head.lstrip()[:1] not in ("{", "["):
        return False
    return '"t_submit"' in head or _NONE.match(head) is not None


def read(log: Log, out: JobCollector) -> None:
    """All jobs."""
    for line, job in log.objects():
        record = _job(job, line, out)
        if record is None:
            out.problem("malformed", line)
        else:
            out.add(record, line)


def _number(job: dict[str, Any], name: str, line: int, out: JobCollector) -> float:
    """A number of seconds, which may be in quotes, or a date; NaN if there is none."""
    value = job.get(name)
    if value is None:
        return NAN
    found = NAN
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        found = float(value) if abs(value) < 1e15 else NAN
    elif isinstance(value, str):
        if absent(value):
            return NAN
        found = float(value) if _FLOAT.fullmatch(value) else date(value)
    if math.isnan(found):
        out.unreadable(name, str(value), line, time=name.startswith("t_"))
    return found if found != 0 else NAN


def _job(job: dict[str, Any], line: int, out: JobCollector) -> JobRecord | None:
    if "id" not in job or "t_submit" not in job:
        return None
    submit, start, end, inactive, runtime, duration = (
        _number(job, name, line, out)
        for name in ("t_submit", "t_run", "t_cleanup", "t_inactive", "runtime", "duration")
    )
    if math.isnan(end):
        end = inactive
    state = _RESULTS.get(str(job.get("result", "")), State.UNKNOWN)
    if state is State.UNKNOWN and (math.isnan(start) or math.isnan(end)):
        state = State.PENDING if math.isnan(start) else State.RUNNING
    cores, nodes = (whole(job.get(name)) for name in ("ncores", "nnodes"))
    if cores <= 0:
        cores = whole(job.get("ntasks"))
    stated = Stated(state, submit, start, end, elapsed=runtime)
    settle(stated, line, out)
    gpus = whole(job.get("ngpus"))
    return JobRecord(
        key=str(job["id"]),
        submit=stated.submit,
        start=stated.start,
        end=stated.end,
        processors=cores if cores > 0 else -1,
        nodes=nodes if nodes > 0 else -1,
        gpus=gpus,
        requested_time=duration if duration > 0 else NAN,
        user=str(job.get("username") or job.get("userid") or ""),
        group=str(job.get("bank") or ""),
        queue=str(job.get("queue") or ""),
        state=state,
        hosts=hosts(job.get("nodelist")),
    )


FORMAT = AccountFormat(
    "Flux (list of jobs)",
    takes,
    read,
    others=(
        OtherOutput(
            r".*\bJOBID\b.*\bNTASKS\b.*\bNNODES\b",
            "`flux jobs` without --json",
            "Print the jobs with `flux jobs -a --json`.",
        ),
    ),
)
