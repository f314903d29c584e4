"""Flux' list of jobs: ``flux jobs --json`` (a document) and one JSON object per line.

Fields: ``id``, ``t_submit``, ``t_run``, ``t_cleanup``, ``t_inactive`` (Unix times), ``ncores``,
``nnodes``, ``ntasks``, ``duration`` (the limit in s, 0 for none), ``state``, ``result``,
``username`` or ``userid``, ``bank``, ``queue`` (RFC 31 and flux-jobs(1)). Ids are not consecutive.
"""

from __future__ import annotations

import math
from typing import Any

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.values import hosts, whole
from assay.usage.jobs import NAN, JobCollector, JobRecord, State

# By name, and by number as the job manager stores it.
_RESULTS = {
    "COMPLETED": State.COMPLETED, "1": State.COMPLETED,
    "FAILED": State.FAILED, "2": State.FAILED,
    "CANCELED": State.CANCELLED, "4": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT, "8": State.TIMEOUT,
}  # fmt: skip


def takes(head: str) -> bool:
    """JSON with the time of a submission as Flux names it."""
    return head.lstrip()[:1] in ("{", "[") and '"t_submit"' in head


def read(log: Log, out: JobCollector) -> None:
    """All jobs."""
    for line, job in log.objects():
        record = _job(job)
        if record is None:
            out.problem("malformed", line)
        else:
            out.add(record, line)


def _time(job: dict[str, Any], name: str) -> float:
    value = job.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return NAN
    return float(value) if 0 < abs(value) < 1e15 else NAN


def _job(job: dict[str, Any]) -> JobRecord | None:
    submit, start = _time(job, "t_submit"), _time(job, "t_run")
    if "id" not in job or math.isnan(submit):
        return None
    end = _time(job, "t_cleanup")
    if math.isnan(end):
        end = _time(job, "t_inactive")
    if math.isnan(start):
        end = NAN
    state = _RESULTS.get(str(job.get("result", "")), State.UNKNOWN)
    if math.isnan(end) and state is State.UNKNOWN:
        state = State.PENDING if math.isnan(start) else State.RUNNING
    cores, nodes = (whole(job.get(name)) for name in ("ncores", "nnodes"))
    if cores <= 0:
        cores = whole(job.get("ntasks"))
    duration = _time(job, "duration")
    gpus = whole(job.get("ngpus"))
    return JobRecord(
        key=str(job["id"]),
        submit=submit,
        start=start,
        end=end,
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


FORMAT = AccountFormat("Flux (list of jobs)", takes, read)
