"""Slurm's ``sacct --parsable2``: a header of field names, then jobs and their steps.

Fields of releases from 20.11 on: before 21.08 ``ReqMem`` is per CPU (``4Gc``) or per node
(``4Gn``), and ``ReqGRES`` and ``AllocGRES`` stand for ``ReqTRES`` and ``AllocTRES``. Times are in
the local time of the host that ran sacct, without a zone.
"""

from __future__ import annotations

import math
import re
from itertools import combinations_with_replacement, islice

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.values import (
    date,
    gpus_of,
    hosts,
    local,
    memory,
    resources,
    seconds,
    whole,
)
from assay.usage.jobs import NAN, JobCollector, JobRecord, State

STATES = {
    "COMPLETED": State.COMPLETED,
    "FAILED": State.FAILED,
    "BOOT_FAIL": State.NODE_FAILURE,
    "NODE_FAIL": State.NODE_FAILURE,
    "CANCELLED": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT,
    "DEADLINE": State.TIMEOUT,
    "OUT_OF_MEMORY": State.OUT_OF_MEMORY,
    "PREEMPTED": State.PREEMPTED,
    "RUNNING": State.RUNNING,
    "COMPLETING": State.RUNNING,
    "SUSPENDED": State.RUNNING,
    "PENDING": State.PENDING,
    "REQUEUED": State.CANCELLED,
    "REVOKED": State.CANCELLED,
    "CONFIGURING": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "STAGE_OUT": State.RUNNING,
    "STOPPED": State.RUNNING,
    "SPECIAL_EXIT": State.FAILED,
    "LAUNCH_FAILED": State.NODE_FAILURE,
    "RECONFIG_FAIL": State.NODE_FAILURE,
    "REQUEUE_FED": State.PENDING,
    "REQUEUE_HOLD": State.PENDING,
    "RESV_DEL_HOLD": State.PENDING,
    # A record of a job before it was resized; another one follows.
    "RESIZING": State.UNKNOWN,
}
_NEEDED = {"JobID", "State", "Start", "End"}
# Fields whose text may hold the separator.
_FREE_TEXT = frozenset(
    (
        "JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir",
        "Constraints", "Extra", "Licenses", "Container", "StdIn", "StdOut", "StdErr",
    )
)  # fmt: skip
# Ways in which separators within texts are tried to be distributed.
_MOST_TRIES = 3000
# Fields of steps that say how much memory they used.
_USED = ("TRESUsageInTot", "MaxRSS")
_TOTAL = re.compile(r"(?:^|,)mem=([^,]*)")
_NO_TIME = frozenset(("Unknown", "None", "", "N/A", "0"))
_NUMBERS = ("AllocCPUS", "AllocNodes", "NNodes", "NCPUS", "ReqCPUS", "ElapsedRaw", "UID")
_JOB = re.compile(r"(\d{1,18})(?:_(\d+|\[.*\]))?(?:\+(\d+))?", re.ASCII)
_GRES = re.compile(r"(?:gres[:/])?gpu(?::[A-Za-z]\w*)?[:=](\d{1,9})(?:\(.*)?", re.ASCII)


def takes(head: str) -> bool:
    """The first line names the fields that jobs need."""
    # Most lines are records without the word: the fields need not be split.
    return "JobID" in head and set(head.partition("\n")[0].strip().split("|")) >= _NEEDED


def read(log: Log, out: JobCollector) -> None:
    """All jobs; steps add the memory that their job used."""
    names: list[str] = []
    at: dict[str, int] = {}
    last: tuple[JobRecord, int] | None = None
    for line, text in log.lines():
        if not text.strip():
            continue
        if takes(text):  # also in the middle, where files were joined
            names = text.split("|")
            at = {name: place for place, name in enumerate(names)}
            continue
        words = text.split("|")
        # Most lines are steps, of which only the memory counts: no dictionary of their fields.
        if names and len(words) == len(names) and "." in words[at["JobID"]]:
            if last and words[at["JobID"]].partition(".")[0] == last[0].key:
                _add_used(last[0], {name: words[at[name]] for name in _USED if name in at})
            continue
        values = _fields(words, names)
        if values is None:
            out.problem("malformed", line)
            continue
        job_id = values["JobID"]
        if "." in job_id:
            if last and job_id.partition(".")[0] == last[0].key:
                _add_used(last[0], values)
            continue
        if last:
            out.add(*last)
        job = _job(values)
        last = (job, line) if job else None
        out.machine.local |= local(values["Start"])
        if job is None:
            out.problem("malformed", line)
    if last:
        out.add(*last)


def _fields(words: list[str], names: list[str]) -> dict[str, str] | None:
    extra = len(words) - len(names)
    if not extra:
        return dict(zip(names, words, strict=True))
    # With --parsable, the header too ends with a separator.
    free = [place for place, name in enumerate(names) if name in _FREE_TEXT]
    if extra < 0 or not free:
        return None
    tries = combinations_with_replacement(free, extra)
    for places in islice(tries, _MOST_TRIES):
        values = _joined(words, names, places)
        if _plausible(values):
            return values
    return None


def _joined(words: list[str], names: list[str], places: tuple[int, ...]) -> dict[str, str]:
    """The fields if those at ``places`` hold a separator each (those named twice, two)."""
    values, at = {}, 0
    for place, name in enumerate(names):
        end = at + 1 + places.count(place)
        values[name] = "|".join(words[at:end])
        at = end
    return values


def _plausible(values: dict[str, str]) -> bool:
    """Whether the fields of a fixed form have this form."""
    job = values["JobID"]
    if values["State"].partition(" ")[0] not in STATES:
        return False
    if "." not in job and _JOB.fullmatch(job) is None:
        return False
    times = (values[name] for name in ("Submit", "Eligible", "Start", "End") if name in values)
    if not all(time in _NO_TIME or date(time) > 0 for time in times):
        return False
    numbers = (values[name] for name in _NUMBERS if name in values)
    return all(not number or whole(number) >= 0 for number in numbers)


def _add_used(job: JobRecord, step: dict[str, str]) -> None:
    """The memory of the job is that of the step that used most."""
    used = _used(step)
    if used > 0:
        job.used_memory = used if math.isnan(job.used_memory) else max(used, job.used_memory)


def _used(values: dict[str, str]) -> float:
    """Bytes that a step used: of all its tasks if recorded, else of the greatest one."""
    total = NAN
    match = _TOTAL.search(values.get("TRESUsageInTot", ""))
    if match is not None:
        total = memory(match[1])
    return total if total >= 0 else memory(values.get("MaxRSS", ""))


def _job(values: dict[str, str]) -> JobRecord | None:
    match = _JOB.fullmatch(values["JobID"])
    state = STATES.get(values["State"].partition(" ")[0])
    if match is None or state is None:
        return None
    raw = whole(values.get("JobIDRaw", "").partition("+")[0])
    in_array = match[2] is not None
    # Tasks of an array and components have numbers of their own, which only JobIDRaw shows.
    number = raw if raw >= 0 else -1 if in_array or match[3] else int(match[1])
    allocated, requested = (resources(values.get(f"{how}TRES", "")) for how in ("Alloc", "Req"))
    nodes = max(whole(values.get(name, "")) for name in ("AllocNodes", "NNodes"))
    processors = next(
        (
            count
            for count in (
                whole(values.get("AllocCPUS", "")),
                whole(allocated.get("cpu", "")),
                whole(values.get("NCPUS", "")),
                whole(values.get("ReqCPUS", "")),
            )
            if count > 0
        ),
        -1,
    )
    start, end = date(values["Start"]), date(values["End"])
    if state is State.PENDING or (math.isnan(start) and not math.isnan(end)):
        start = end = NAN
    if state is State.RUNNING:
        end = NAN
    limit = whole(values.get("TimelimitRaw", ""))
    return JobRecord(
        key=values["JobID"],
        number=number,
        submit=date(values.get("Submit", "")),
        start=start,
        end=end,
        processors=processors,
        nodes=nodes if nodes > 0 else -1,
        gpus=_gpus(values, allocated, requested, nodes),
        requested_time=60.0 * limit if limit > 0 else seconds(values.get("Timelimit", "")),
        requested_memory=_requested_memory(values.get("ReqMem", ""), processors, nodes),
        user=values.get("User", ""),
        group=values.get("Account", "") or values.get("Group", ""),
        queue=values.get("Partition", ""),
        state=state,
        array=int(match[1]) if in_array else -1,
        hosts=hosts(values.get("NodeList", "")),
    )


def _gpus(
    values: dict[str, str], allocated: dict[str, str], requested: dict[str, str], nodes: int
) -> int:
    for counts in (allocated, requested):
        if counts:
            return max(gpus_of(counts), 0)
    for name in ("AllocGRES", "ReqGRES"):  # per node
        if name in values:
            counted = [_GRES.fullmatch(part) for part in values[name].split(",")]
            return sum(int(match[1]) for match in counted if match) * max(nodes, 1)
    return -1


def _requested_memory(text: str, processors: int, nodes: int) -> float:
    per = {"c": processors, "n": nodes}.get(text[-1:], 1)
    value = memory(text.rstrip("cn"), "M")
    return value * per if value > 0 and per > 0 else NAN


FORMAT = AccountFormat("Slurm (sacct --parsable2)", takes, read)
