"""Accounting files of PBS and Torque: ``date;type;job;name=value ...`` per event.

Types: ``E`` a job ended, ``S`` it started, ``D`` it was deleted, ``A`` aborted, ``R`` requeued;
others, such as ``Q`` and ``L``, say nothing about use. Dates are in the server's local time; times
within records are Unix times (PBS Administrator's Guide, "Accounting").
"""

from __future__ import annotations

import re
from datetime import datetime

from assay.usage.accounts.model import AccountFormat, Log, OtherOutput
from assay.usage.accounts.stated import duration_in, memory_in, time_in
from assay.usage.accounts.values import exit_status, hosts, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

_RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]{1,2});([^;]*);(.*)", re.DOTALL)
_ID = re.compile(r"(\d{1,18})(\[\d*\])?(?:\..*)?", re.ASCII)
_ITEM = re.compile(r"([A-Za-z_][\w.]*)=((?:\"[^\"]*\"|'[^']*'|[^\s])*)", re.ASCII)
_SLOTS = re.compile(r"[^/+]+/([\d,-]+)(?:\*(\d{1,9}))?", re.ASCII)
# Form of ``exec_vnode``: (n1:ncpus=4:mem=8gb)+(n2:ncpus=4+n2b:ncpus=2)
_VNODE = re.compile(r"[(+]?([^(+:)]+)((?::[^+:)]*)*)\)?")
_NCPUS = re.compile(r":ncpus=(\d{1,9})(?=:|$)", re.ASCII)
_PER_NODE = re.compile(
    r"(\d{1,9}|[A-Za-z][\w.-]*)(?::ppn=(\d{1,9}))?(?::gpus=(\d{1,9}))?.*", re.ASCII
)
# Exit status of a job that PBS Professional killed at its time limit, and 256 + SIGTERM.
_KILLED_AT_LIMIT, _TERMINATED = -29, 271
# Seconds, and share of the run time, by which the used walltime may differ from the run time: moms
# poll, and the walltime excludes prologues, epilogues and staging.
_DELAY, _DELAYED = 300.0, 0.1
_TYPES = frozenset("ESDAR")
# Time zone offsets are multiples of this, in s, and at most 14 hours.
_ZONE_STEP, _ZONE_MOST = 900, 14 * 3600


def takes(head: str) -> bool:
    """Whether the first line with text is a record."""
    return _RECORD.match(head.lstrip()) is not None


def read(log: Log, out: JobCollector) -> None:
    """All jobs that ended; jobs that only started are running."""
    offset = 0.0
    for line, text in log.lines():
        if not text.strip():
            continue
        match = _RECORD.fullmatch(text)
        if match is None:
            if log.hands_over(line, text):
                return
            out.problem("malformed" if ";" in text else "other text", line)
            continue
        when, kind, job_id, rest = match.groups()
        try:
            written = datetime.strptime(when + " +0000", "%m/%d/%Y %H:%M:%S %z").timestamp()
        except ValueError:
            out.problem("malformed", line)
            continue
        if kind not in _TYPES:
            continue
        items = dict(_ITEM.findall(rest))
        if "[]" in job_id and "exec_host" not in items:
            out.problem("array", line)
            continue
        record = _job(job_id, items, line, out)
        if record is None:
            out.problem("malformed", line)
            continue
        apart = written - (record.end if kind == "E" else record.start if kind == "S" else NAN)
        if abs(apart) <= _ZONE_MOST:
            offset = _ZONE_STEP * round(apart / _ZONE_STEP)
        if kind in "DA":
            # For a job that started, an end record follows; other jobs never ran.
            if record.key not in out.started:
                record.state = State.CANCELLED
                record.start = record.end = NAN
                out.add(record, line)
            continue
        if kind == "S":
            out.machine.starts = True
            record.state, record.end = State.RUNNING, NAN
            out.started[record.key] = (record, len(out.files) - 1, line)
        else:
            _ended(record, kind, written - offset, line, out)


def _ended(record: JobRecord, kind: str, written: float, line: int, out: JobCollector) -> None:
    """The end of a job, or of one of its runs, at ``written`` (Unix time)."""
    begun = out.started.pop(record.key, None)
    if kind == "R" and begun is not None:
        # The part of a requeued job that has run so far; the job itself starts again.
        record = begun[0]
        record.end, record.state = written, State.PREEMPTED
    elif kind == "R":
        return
    if not record.end >= 0:
        out.problem("malformed", line)
        return
    out.machine.at_ends = True
    out.add(record, line)


def _job(job_id: str, items: dict[str, str], line: int, out: JobCollector) -> JobRecord | None:
    match = _ID.fullmatch(job_id)
    if match is None:
        return None
    submit, start, end = (time_in(items, name, line, out) for name in ("ctime", "start", "end"))
    limit, ran = (
        duration_in(items, f"{of}.walltime", line, out)
        for of in ("Resource_List", "resources_used")
    )
    if _apart(ran, end - start):
        out.problem("run time", line, f"{ran:.0f} s, end - start {end - start:.0f} s")
    processors, nodes, names = _size(items)
    gpus = whole(items.get("Resource_List.ngpus", ""))
    if gpus < 0 and ":gpus=" in items.get("Resource_List.nodes", ""):
        gpus = _requested(items["Resource_List.nodes"])[2]
    status = exit_status(items.get("Exit_status", ""))
    return JobRecord(
        key=match[1] + (match[2] or ""),
        number=int(match[1]),
        submit=submit,
        start=start,
        end=end,
        processors=processors,
        nodes=nodes,
        gpus=max(gpus, 0),
        requested_time=limit if limit > 0 else NAN,
        requested_memory=_positive(memory_in(items, "Resource_List.mem", line, out)),
        used_memory=_positive(memory_in(items, "resources_used.mem", line, out)),
        processor_time=duration_in(items, "resources_used.cput", line, out),
        user=items.get("user", ""),
        group=items.get("group", ""),
        queue=items.get("queue", ""),
        state=_state(status, end - start, limit),
        array=int(match[1]) if match[2] else -1,
        hosts=",".join(sorted(names)) if all(map(hosts, names)) else "",
    )


def _positive(value: float) -> float:
    return value if value > 0 else NAN


def _apart(ran: float, length: float) -> bool:
    """Whether the walltime used contradicts start and end, beyond the server's own delays."""
    return abs(ran - length) > max(_DELAY, _DELAYED * length)


def _state(status: int | None, ran: float, limit: float) -> State:
    if status is None:
        return State.UNKNOWN
    if status == 0:
        return State.COMPLETED
    if status == _KILLED_AT_LIMIT or (ran >= limit):
        return State.TIMEOUT
    return State.CANCELLED if status == _TERMINATED else State.FAILED


def _size(items: dict[str, str]) -> tuple[int, int, set[str]]:
    """Processors, nodes and node names: from the hosts that the job ran on, else as requested."""
    count, names = 0, set()
    for part in items.get("exec_host", "").split("+"):
        slot = _SLOTS.fullmatch(part)
        if slot is None:
            continue
        names.add(part.partition("/")[0])
        count += int(slot[2]) if slot[2] else sum(map(_range, slot[1].split(",")))
    if count:
        return count, len(names), names
    for name, given in _VNODE.findall(items.get("exec_vnode", "")):
        names.add(name)
        ncpus = _NCPUS.search(given)
        count += int(ncpus[1]) if ncpus else 0
    if count:
        return count, len(names), names
    processors, nodes, _ = _requested(items.get("Resource_List.nodes", ""))
    asked = whole(items.get("Resource_List.ncpus", ""))
    known = whole(items.get("Resource_List.nodect", ""))
    return max(processors, asked, 0) or -1, known if known > 0 else nodes or -1, names


def _range(text: str) -> int:
    low, _, high = text.partition("-")
    return max(whole(high) - whole(low) + 1, 1) if high else 1


def _requested(text: str) -> tuple[int, int, int]:
    """Processors, nodes and GPUs of ``2:ppn=8:gpus=1+n007:ppn=4``."""
    processors = nodes = gpus = 0
    for part in filter(None, text.split("+")):
        match = _PER_NODE.fullmatch(part)
        if match is None:
            continue
        number = int(match[1]) if match[1].isdigit() else 1
        nodes += number
        processors += number * int(match[2] or 1)
        gpus += number * int(match[3] or 0)
    return processors, nodes, gpus


_FIX = "Name the server's accounting files, such as /var/spool/pbs/server_priv/accounting/20260301."
FORMAT = AccountFormat(
    "PBS or Torque accounting",
    takes,
    read,
    others=(
        OtherOutput(r"Job ?[Ii][Dd]:? +(?:Name|Username)\b|Job Id: \S| +Req'd", "`qstat`", _FIX),
        OtherOutput(r'\s*"(?:pbs_version|pbs_server)"|\{.*"pbs_version"', "`qstat -F json`", _FIX),
    ),
)
