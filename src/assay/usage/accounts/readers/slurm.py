"""Slurm's ``sacct``: a header of field names, then jobs and their steps.

The layout is any that ``tables`` reads. Fields of releases since 20.11 are read: before 21.08
``ReqMem`` is per CPU (``4Gc``) or per node (``4Gn``), and ``ReqGRES`` and ``AllocGRES`` take the
place of ``ReqTRES`` and ``AllocTRES``. Times are local times of the host, without a zone.
"""

from __future__ import annotations

import math
import re
from itertools import combinations_with_replacement, islice

from assay.usage.accounts.model import AccountFormat, Log, OtherOutput
from assay.usage.accounts.slurm_use import (
    TOTAL,
    StepUse,
    allocated_processors,
    energy_of,
    gpus,
    of_tres,
    requested_memory,
    total_time,
    used_fields,
)
from assay.usage.accounts.stated import (
    Stated,
    count_in,
    duration_in,
    settle,
    time_in,
)
from assay.usage.accounts.tables import DASHES, TableLayout, layout_of, may_be_ruled
from assay.usage.accounts.values import (
    absent,
    date,
    hosts,
    local,
    whole,
)
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State

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
    # The record of a job before a resize; another record follows.
    "RESIZING": State.UNKNOWN,
}
# Times. A job needs two of them; the third follows.
_TIMES = ("Start", "End", "Elapsed")
COMMAND = (
    "sacct -aP -S START -E END -o JobID,JobIDRaw,State,ExitCode,Submit,Eligible,Start,End,Elapsed,"
    "Suspended,AllocCPUS,AllocNodes,AllocTRES,ReqTRES,ReqMem,Timelimit,User,Account,Partition,"
    "MaxRSS,TRESUsageInTot,TotalCPU,ConsumedEnergyRaw,Cluster,NodeList"
)
# Fields whose text may hold the separator.
_FREE_TEXT = frozenset(
    (
        "JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir",
        "Constraints", "Extra", "Licenses", "Container", "StdIn", "StdOut", "StdErr",
    )
)  # fmt: skip
# Number of ways that are tried to assign separators within texts.
_MOST_TRIES = 3000
_NOW = "which lists present jobs, not jobs that ended"
# Other commands of Slurm, each with the beginning of a line of its output.
_OTHERS = (
    (r"JobId=\d+ (?:Array|Het|Pack)?Job(?:Name|Id)=", f"`scontrol show job`, {_NOW}"),
    (r"(?:NodeName|PartitionName)=\S", "`scontrol show`, which lists no jobs"),
    (r".*\bJOBID\b.*\b(?:PARTITION|ST|STATE|NODELIST)\b", f"`squeue`, {_NOW}"),
    (r".*\bPARTITION\b.*\bAVAIL\b|NODELIST +NODES +PARTITION", "`sinfo`, which lists no jobs"),
    (r"(?:Cluster|Account|User|Top|Job Size)s?.* (?:Utilization|Usage|Users|Sizes)\b",
     "`sreport`, which prints sums over jobs"),
    (r"sacct: (?:error|fatal)|Slurm accounting storage is disabled",
     "a failed `sacct` (a site without accounting_storage/slurmdbd may have the file of "
     "jobcomp/filetxt, which assay reads)"),
)  # fmt: skip
_NUMBERS = ("AllocCPUS", "AllocNodes", "NNodes", "NCPUS", "ReqCPUS", "ElapsedRaw", "UID")
_JOB = re.compile(r"(\d{1,18})(?:_(\d+|\[.*\]))?(?:\+(\d+))?", re.ASCII)


def table_of(header: str, rule: str = "") -> TableLayout | None:
    """The table of sacct that begins with these two lines; None for other text."""
    if "obI" not in header and "obid" not in header:  # most lines are records without the word
        return None
    layout = layout_of(header, rule)
    if layout is None or not {"JobID", "JobIDRaw"} & set(layout.names):
        return None
    return layout


def missing(names: list[str]) -> list[str]:
    """Columns that jobs need and that the table lacks."""
    times = [name for name in _TIMES if name in names or f"{name}Raw" in names]
    lacks = [] if "State" in names else ["State"]
    if len(times) < 2:
        lacks += [name for name in _TIMES[:2] if name not in times]
    return lacks


def takes(head: str) -> bool:
    """Whether the first line names the fields that jobs need."""
    header, _, rest = head.partition("\n")
    table = table_of(header.rstrip("\r"), rest.partition("\n")[0].rstrip("\r"))
    return table is not None and not missing(table.names)


def read(log: Log, out: JobCollector) -> None:
    """All jobs; steps add what their job used."""
    rows = _Rows(out)
    for line, text in log.lines():
        stripped = text.strip()
        if not stripped or rows.heads(line, text):
            continue
        words = rows.divided(text, stripped)
        if words is not None and (rows.step(words) or rows.job(line, words)):
            continue
        if log.hands_over(line, text):
            break
        out.problem("malformed" if words is not None else "other text", line)
    rows.finish()


class _Rows:
    """Reads the rows of the tables of one file. A job is held back until its steps have been
    read."""

    def __init__(self, out: JobCollector) -> None:
        self._out = out
        self._table: TableLayout | None = None
        self._names: list[str] = []
        self._plain = ""
        self._lacks: list[str] = []
        self._job_id = 0
        self._used: list[tuple[str, int]] = []
        self._header: tuple[int, str] | None = None
        # The last job, its line and its ``JobID``.
        self._last: tuple[JobRecord, int, str] | None = None
        self._steps = StepUse()

    def heads(self, line: int, text: str) -> bool:
        """Take a header, which may also occur where files were joined. Returns False for another
        line."""
        header, self._header = self._header, None
        if header is not None:
            if DASHES.fullmatch(text):
                self._begin(table_of(header[1], text))
                return True
            self._out.problem("other text", header[0])
        if "obI" not in text and "obid" not in text:
            return self._plain == "" and DASHES.fullmatch(text) is not None
        found = table_of(text)
        if found is not None:
            self._begin(found)
        elif may_be_ruled(text):
            self._header = line, text
        else:
            return False
        return True

    def _begin(self, table: TableLayout | None) -> None:
        self._table = table
        self._names = table.names if table else []
        self._plain = table.delimiter if table and table.plain else ""
        self._lacks = missing(self._names)
        at = {name: place for place, name in enumerate(self._names)}
        self._job_id = at.get("JobID", at.get("JobIDRaw", 0))
        self._used = used_fields(self._names)

    def divided(self, text: str, stripped: str) -> list[str] | None:
        """The fields of a row; None for other text."""
        if self._plain:
            words = stripped.split(self._plain)
            if len(words) == len(self._names):
                return words
        return self._table.words(text) if self._table is not None else None

    def step(self, words: list[str]) -> bool:
        """Take a step. Only what it used counts, so no dictionary of all its fields is built."""
        if len(words) != len(self._names) or "." not in words[self._job_id]:
            return False
        self._add_used(words[self._job_id], {name: words[place] for name, place in self._used})
        return True

    def _add_used(self, job_id: str, values: dict[str, str]) -> None:
        if self._last is not None and job_id.partition(".")[0] == self._last[2]:
            self._steps.add(values)

    def job(self, line: int, words: list[str]) -> bool:
        """Take a job. Returns False for a row that isn't a job."""
        if self._lacks:
            self._out.problem("columns", line, f"without {', '.join(self._lacks)}")
            return True
        values = _fields(words, self._names)
        if values is None:
            return False
        values.setdefault("JobID", values.get("JobIDRaw", ""))
        if "." in values["JobID"]:
            self._add_used(values["JobID"], values)
            return True
        self.finish()
        job = _job(values, line, self._out)
        if job is not None:
            self._last = job, line, values["JobID"]
            self._steps.add(values)
        return job is not None

    def finish(self) -> None:
        """Pass on the last job."""
        if self._last is not None:
            job, line, _ = self._last
            self._steps.complete(job)
            self._out.add(job, line)
        self._last, self._steps = None, StepUse(timed=TOTAL not in self._names)


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
    """The fields if each field at ``places`` contains one separator (two if the place occurs
    twice)."""
    values, at = {}, 0
    for place, name in enumerate(names):
        end = at + 1 + places.count(place)
        values[name] = "|".join(words[at:end])
        at = end
    return values


def _plausible(values: dict[str, str]) -> bool:
    """Whether the fields with a fixed form have this form."""
    job = values.get("JobID", values.get("JobIDRaw", ""))
    if state_of(values["State"]) is None:
        return False
    if "." not in job and _JOB.fullmatch(job) is None:
        return False
    times = (values[name] for name in ("Submit", "Eligible", "Start", "End") if name in values)
    if not all(absent(time) or date(time) > 0 for time in times):
        return False
    numbers = (values[name] for name in _NUMBERS if name in values)
    return all(not number or whole(number) >= 0 for number in numbers)


def state_of(text: str) -> State | None:
    """A state, which may be cut to the width of its column (``CANCELLED+``)."""
    name = text.strip().partition(" ")[0].upper()
    state = STATES.get(name)
    if state is None and name.endswith("+"):
        whole_names = {STATES[each] for each in STATES if each.startswith(name[:-1])}
        state = whole_names.pop() if len(whole_names) == 1 and len(name) > 3 else None
    return state


def _stated(values: dict[str, str], state: State, line: int, out: JobCollector) -> Stated:
    """The times that a row states, which may contradict each other."""
    submit, start, end, eligible = (
        time_in(values, name, line, out) if name in values else NAN
        for name in ("Submit", "Start", "End", "Eligible")
    )
    durations = {}
    for raw, name in (
        ("ElapsedRaw", "Elapsed"),
        ("", "Suspended"),
        ("CPUTimeRAW", "CPUTime"),
        ("", "Planned" if "Planned" in values else "Reserved"),
    ):
        column = raw if raw in values else name
        durations[name] = duration_in(values, column, line, out) if column in values else NAN
    return Stated(
        state,
        submit,
        start,
        end,
        elapsed=durations["Elapsed"],
        suspended=durations["Suspended"],
        used=durations["CPUTime"],
        eligible=eligible,
        planned=durations.get("Planned", durations.get("Reserved", NAN)),
        exit=values.get("ExitCode", ""),
        local=local(values.get("Start") or values.get("End", "")),
        known="Start" in values and "End" in values,
    )


def _job(values: dict[str, str], line: int, out: JobCollector) -> JobRecord | None:
    match = _JOB.fullmatch(values["JobID"])
    if match is None:
        return None
    state = state_of(values["State"])
    if state is None:
        out.unreadable("State", values["State"], line)
        state = State.UNKNOWN
    raw = whole(values.get("JobIDRaw", "").partition("+")[0])
    in_array = match[2] is not None
    # Tasks of an array and components have their own numbers, which only JobIDRaw shows.
    number = raw if raw >= 0 else -1 if in_array or match[3] else int(match[1])
    allocated, requested = of_tres(values)
    nodes = max(
        count_in(values, name, line, out) if name in values else -1
        for name in ("AllocNodes", "NNodes")
    )
    stated = _stated(values, state, line, out)
    given = count_in(values, "AllocCPUS", line, out)
    processors = stated.processors = allocated_processors(values, allocated, given)
    for name in ("NCPUS", "ReqCPUS"):
        if processors <= 0 and name in values:
            processors = count_in(values, name, line, out)
    processors = processors if processors > 0 else -1
    names = hosts(values.get("NodeList", ""))
    _never_started(stated, values, names)
    settle(stated, line, out)
    out.machine.local |= stated.local
    if processors < 0 and stated.used > 0 and stated.elapsed > 0:
        processors = round(stated.used / stated.elapsed)
    limit = whole(values.get("TimelimitRaw", ""))
    return JobRecord(
        key=values["JobID"],
        number=number,
        submit=stated.submit,
        start=stated.start,
        end=stated.end,
        processors=processors,
        nodes=nodes if nodes > 0 else -1,
        gpus=gpus(values, allocated, requested, nodes),
        requested_time=60.0 * limit if limit > 0 else duration_in(values, "Timelimit", line, out),
        requested_memory=requested_memory(
            values, allocated, line, out, processors=processors, nodes=nodes
        ),
        processor_time=total_time(values, running=stated.state is State.RUNNING),
        energy=energy_of(values, allocated),
        cluster=values.get("Cluster", ""),
        user=values.get("User", ""),
        group=values.get("Account", "") or values.get("Group", ""),
        queue=values.get("Partition", ""),
        state=stated.state,
        array=int(match[1]) if in_array else -1,
        hosts=names,
        suspended=stated.suspended if stated.suspended > 0 else NAN,
    )


def _never_started(stated: Stated, values: dict[str, str], names: str) -> None:
    """Recognise jobs that were cancelled while they waited."""
    if values["State"].startswith("DEADLINE") and math.isnan(stated.start):
        stated.state = State.CANCELLED
    # Slurm records their end as their start, and no node.
    instant = stated.start == stated.end and "NodeList" in values and not names
    if stated.state is State.CANCELLED and instant:
        stated.start = NAN


FORMAT = AccountFormat(
    "Slurm (sacct)",
    takes,
    read,
    memory="MiB for requests and bytes for use, except for numbers with a unit",
    dates=f"Print dates with their year: `env -u SLURM_TIME_FORMAT {COMMAND}`.",
    others=tuple(
        OtherOutput(pattern, what, f"Print the accounts with `{COMMAND}`.")
        for pattern, what in _OTHERS
    ),
)
