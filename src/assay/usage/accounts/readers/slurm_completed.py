"""Slurm's text file of jobs that have ended (``JobCompType=jobcomp/filetxt``): a job per line.

Fields are ``Name=value``, in the order of the plugin's source (src/plugins/jobcomp/filetxt), which
has been the same since 18.08; later releases append fields. Values are not quoted. Times are in
the local time of the controller, without a zone. A job that is requeued has a line per run.
"""

from __future__ import annotations

import re

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.readers.slurm import STATES
from assay.usage.accounts.stated import Stated, settle, time_in
from assay.usage.accounts.values import gpus_of, memory, resources, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

# Names of jobs and folders may contain blanks and "=". Each name ends where the next field begins.
_RECORD = re.compile(
    r"JobId=(?P<id>\d{1,18}) UserId=(?P<user>.*?)\(\d+\) GroupId=(?P<group>.*?)\(\d+\) "
    r"Name=.* JobState=(?P<state>[A-Z_]+) Partition=(?P<partition>\S*) "
    r"TimeLimit=(?P<limit>\S+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+) "
    r"NodeList=(?P<list>\S*) NodeCnt=(?P<nodes>\d+) ProcCnt=(?P<processors>\d+) "
    r"WorkDir=.* ReservationName=(?P<rest>.*)",
    re.ASCII,
)
_FIELD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)", re.ASCII)


def takes(head: str) -> bool:
    """Whether the first line is a job that has ended."""
    return bool(_RECORD.match(head.partition("\n")[0]))


def read(log: Log, out: JobCollector) -> None:
    """All jobs. Records with the same id are runs of a requeued job."""
    out.machine.local = True
    out.machine.at_ends = True
    for line, text in log.lines():
        if not text.strip():
            continue
        job = _job(text, line, out)
        if job is None:
            if log.hands_over(line, text):
                return
            out.problem("malformed" if "JobId=" in text else "other text", line)
        else:
            out.add(job, line)


def _job(text: str, line: int, out: JobCollector) -> JobRecord | None:
    match = _RECORD.match(text)
    state = STATES.get(match["state"]) if match else None
    if match is None or state is None:
        return None
    # The first value of each name counts: the text after the known fields is free.
    rest: dict[str, str] = {}
    for name, value in _FIELD.findall(match["rest"]):
        rest.setdefault(name, value)
    times = {"StartTime": match["start"], "EndTime": match["end"], **rest}
    submit, start, end, eligible = (
        time_in(times, f"{name}Time", line, out) for name in ("Submit", "Start", "End", "Eligible")
    )
    nodes, processors = int(match["nodes"]), int(match["processors"])
    if state is State.CANCELLED and not nodes:
        start = NAN  # cancelled while it waited
    stated = Stated(state, submit, start, end, eligible=eligible, exit=rest.get("ExitCode", ""))
    settle(stated, line, out)
    minutes = whole(match["limit"])
    tres = resources(rest.get("Tres", ""))
    array = whole(rest.get("ArrayJobId", ""))
    task = rest.get("ArrayTaskId", "")
    asked = memory(tres.get("mem", ""), "M")
    return JobRecord(
        key=f"{array}_{task}" if array > 0 else match["id"],
        number=int(match["id"]),
        submit=stated.submit,
        start=stated.start,
        end=stated.end,
        processors=processors if processors > 0 else -1,
        nodes=nodes if nodes > 0 else -1,
        gpus=max(gpus_of(tres), 0) if tres else -1,
        requested_time=60.0 * minutes if minutes > 0 else NAN,
        requested_memory=asked if asked > 0 else NAN,
        user=match["user"],
        group=rest.get("Account", "") or match["group"],
        queue=match["partition"],
        state=state,
        array=array,
        cluster=rest.get("Cluster", "").removeprefix("unknown"),
    )


FORMAT = AccountFormat("Slurm (jobcomp/filetxt)", takes, read)
