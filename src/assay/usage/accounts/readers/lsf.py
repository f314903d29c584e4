"""LSF's ``lsb.acct``: one record per event, words and quoted strings.

``JOB_FINISH`` records have, in this order: version, event time, job, user id, options, slots,
submission, begin and termination times, start time, user, queue, ... , the number of asked hosts
and these, the number of execution hosts (one per slot) and these, status, host factor, job name,
command, 19 numbers of resource usage, mail user, project, exit status, slots at most, login shell,
time event, array index, greatest memory in KiB, ..., reason of termination, ..., the number of
further options of the submission and these, the number of hosts with usage and five words for
each, options, the limit of the run time in s, ... (IBM, "lsb.acct").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.usage.accounts.model import AccountFormat, Log, OtherOutput
from assay.usage.accounts.values import hosts, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|([^\s"]+)')
_HOSTS = re.compile(r"(\d{1,6})\*(.+)", re.ASCII)
_DONE, _EXIT = 64, 32
# Reasons of termination (``exitInfo``) that correspond to states.
_RUN_LIMIT, _MEMORY_LIMIT, _PREEMPTED = 5, 16, 1
_BY_OWNER = (8, 9, 14, 15)
# SIGINT, SIGKILL and SIGTERM, with which owners and administrators end jobs.
_KILLS = (2, 9, 15)
_USAGE_FIELDS = 19
# Number of words from the array index to the reason of termination.
_TO_REASON = 9
# Number of words from the greatest swap to the number of the submission's options, and number of
# words per host of the usage.
_TO_PAIRS, _PER_HOST = 22, 5


def takes(head: str) -> bool:
    """Whether the first line begins with a quoted event of LSF and a version."""
    return re.match(r'\s*"[A-Z_0-9]+"\s+"\d+(\.\d+)*"\s', head) is not None


def read(log: Log, out: JobCollector) -> None:
    """All jobs that finished."""
    for line, text in log.lines():
        if not text.startswith('"JOB_FINISH"'):
            # Events of other kinds say nothing about use.
            if text.strip() and not takes(text + " "):
                if log.hands_over(line, text):
                    return
                quoted = text.lstrip().startswith('"')
                out.problem("malformed" if quoted else "other text", line)
            continue
        record = _job(iter([quoted or plain for quoted, plain in _WORD.findall(text)]))
        if record is None:
            out.problem("malformed", line)
            continue
        out.machine.at_ends = True
        out.add(record, line)


def _skip(words: Iterator[str], count: int) -> None:
    for _ in range(count):
        next(words)


def _count(words: Iterator[str]) -> int:
    return _whole(next(words))


def _job(words: Iterator[str]) -> JobRecord | None:
    """The job; None if words are missing or aren't numbers."""
    try:
        _skip(words, 2)
        end = _count(words)
        job = _count(words)
        _skip(words, 2)
        slots, submit = _count(words), _count(words)
        _skip(words, 2)
        start = _count(words)
        user, queue = next(words), next(words)
        # Resources, dependency, pre-execution, host, directory, input, output, error, job file.
        _skip(words, 9)
        _skip(words, _count(words))
        ran_on = [next(words) for _ in range(_count(words))]
        status = _count(words)
        _skip(words, 3 + _USAGE_FIELDS + 1)
        project = next(words)
        exit_status = next(words)
        _skip(words, 3)
        index, used = _count(words), whole(next(words))
    except (StopIteration, ValueError):
        return None
    reason = -1
    rest = list(words)
    if len(rest) >= _TO_REASON - 1:
        # Swap, input spool, command spool, reservation, SLA, exceptions, information, reason.
        reason = whole(rest[7])
    limit = _run_limit(rest)
    processors, names = 0, set()
    for host in ran_on:
        match = _HOSTS.fullmatch(host)
        processors += int(match[1]) if match else 1
        names.add(match[2] if match else host)
    return JobRecord(
        key=f"{job}[{index}] {submit}",
        number=job,
        submit=float(submit) if submit else NAN,
        start=float(start) if start else NAN,
        end=float(end) if start else NAN,
        processors=processors or slots or -1,
        nodes=len(names) or -1,
        requested_time=limit,
        used_memory=1024.0 * used if used > 0 else NAN,
        user=user,
        group=project,
        queue=queue,
        state=_state(status, exit_status, reason),
        array=job if index else -1,
        hosts=",".join(sorted(names)) if all(map(hosts, names)) else "",
    )


def _run_limit(rest: list[str]) -> float:
    """The limit of the run time in s, for records that have one. It follows pairs of the
    submission's options, the usage on each host, and other options.
    """
    try:
        at = _TO_PAIRS + 1 + 2 * _whole(rest[_TO_PAIRS])
        at += 1 + _PER_HOST * _whole(rest[at])
        limit = whole(rest[at + 1])
    except (IndexError, ValueError):
        return NAN
    return float(limit) if limit > 0 else NAN


def _whole(text: str) -> int:
    number = whole(text)
    if number < 0:
        raise ValueError
    return number


def _state(status: int, exit_status: str, reason: int) -> State:
    if status == _DONE:
        return State.COMPLETED
    if status != _EXIT:
        return State.UNKNOWN
    if reason == _RUN_LIMIT:
        return State.TIMEOUT
    if reason == _MEMORY_LIMIT:
        return State.OUT_OF_MEMORY
    if reason == _PREEMPTED:
        return State.PREEMPTED
    killed = reason in _BY_OWNER or (reason < 0 and _signal(whole(exit_status)) in _KILLS)
    return State.CANCELLED if killed else State.FAILED


def _signal(status: int) -> int:
    """The signal in a status as wait(2) returns it, or as a shell reports it for its child (128 +
    n)."""
    return status & 0x7F or max((status >> 8) - 128, 0)


_FIX = "Name LSF's accounting file: $LSB_SHAREDIR/CLUSTER/logdir/lsb.acct*."
FORMAT = AccountFormat(
    "LSF (lsb.acct)",
    takes,
    read,
    others=(
        OtherOutput(r".*\bJOBID\b.*\bSTAT\b.*\bQUEUE\b", "`bjobs`", _FIX),
        OtherOutput(r"USER/GROUP|Summary of time|Accounting information about jobs|Job <\d+>",
                    "`bacct`, `bhist` or `bjobs -l`", _FIX),
    ),
)  # fmt: skip
