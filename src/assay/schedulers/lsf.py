"""IBM Spectrum LSF: bsub, bjobs, bkill."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.hostnames import compress_hosts
from assay.records.jobs import JobAccounting
from assay.schedulers.batch import Batch, of_array, unpolled
from assay.schedulers.commands import CommandResult, unreadable
from assay.schedulers.loose_json import read_json
from assay.schedulers.model import (
    Ask,
    BatchSystem,
    Granted,
    JobRequest,
    JobState,
    JobStatus,
    Prospect,
)
from assay.schedulers.reading import lines_of
from assay.schedulers.script import WARNING, at_once, begin_at, plain, refused, seconds, warning
from assay.units import whole_number

if TYPE_CHECKING:
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor


# bjobs(1), "Job status".
_STATES: dict[str, JobState] = {
    **dict.fromkeys(("PEND", "PROV", "PSUSP", "WAIT"), "queued"),
    **dict.fromkeys(("RUN", "USUSP", "SSUSP", "UNKWN"), "running"),
    "DONE": "complete",
    "EXIT": "failed",
    "ZOMBI": "node-failed",
}
# bacct(1), "Termination reasons displayed by bacct, bhist, and bjobs".
_REASONS: dict[str, JobState] = {
    **dict.fromkeys(("TERM_RUNLIMIT", "TERM_DEADLINE", "TERM_WINDOW"), "timeout"),
    **dict.fromkeys(
        ("TERM_OWNER", "TERM_FORCE_OWNER", "TERM_ADMIN", "TERM_FORCE_ADMIN"), "cancelled"
    ),
    "TERM_PREEMPT": "preempted",
    **dict.fromkeys(("TERM_REMOVE_HUNG_JOB", "TERM_ZOMBIE", "TERM_RC_RECLAIM"), "node-failed"),
}
_ACCOUNTED = "jobid jobindex stat run_time cpu_used exec_host"
_FIELDS = "jobid jobindex stat exit_code exit_reason kill_reason pend_reason job_name"
# bsub(1), -J: brackets and a percent sign denote an array; other commands expand * and ?.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@/+-]*", re.ASCII)
# bsub(1), -R: an expression with operators and parentheses; quotes or brackets would end it.
_EXPRESSION = re.compile(r"""[^"'\\`$\[\]]+""")


class LsfScheduler(Batch):
    """LSF."""

    kind = "lsf"
    title = "LSF"
    command = "bsub"
    writes_output = False
    script_on_stdin = True
    # Indices of LSF's arrays begin with 1.
    task = '"$((LSB_JOBINDEX - 1))"'
    # bjobs(1): a job, or an element of an array.
    job_id = re.compile(r"\d{1,18}(?:\[\d{1,9}\])?", re.ASCII)
    gone = re.compile(r"no matching job|already finished|is not found", re.I)

    def make_executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor; its submit command is not used."""
        from psij.executors.batch.lsf import LsfExecutorConfig, LsfJobExecutor

        return unpolled(LsfJobExecutor)(None, LsfExecutorConfig())

    def submit_command(self, script: Path) -> list[str]:
        """``bsub < script``, as in LSF's manual.

        With the script's name as argument, bsub ignores the script's directives unless the site has
        set LSB_BSUB_PARSE_SCRIPT.
        """
        return ["bsub"]

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """bsub(1), OPTIONS."""
        options = request.options
        plain([("name", request.name)], _NAME, "LSF")
        values = [
            ("partition", options.partition),
            ("account", options.account),
            ("reservation", options.reservation),
        ]
        plain(values, _VALUE, "LSF")
        constraint = options.constraint
        if constraint is not None and not _EXPRESSION.fullmatch(constraint):
            raise refused("constraint", constraint, "quotes and brackets would end the value")
        name = request.name
        return {
            "name": f'"{name}[1-{request.tasks}]{at_once(request)}"' if request.tasks > 1 else name,
            "nodes": str(request.nodes),
            "exclusive": options.exclusive,
            "walltime": _minutes(request.walltime),
            "begin": begin_at(request, "%Y:%m:%d:%H:%M", unit=60.0),
            "warning": _minutes(WARNING) if warning(request) else None,
            "partition": options.partition,
            "account": options.account,
            "reservation": options.reservation,
            "constraint": f'"select[{constraint}]"' if constraint else None,
            "directives": list(options.directives),
        }

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """bjobs(1), in every state, as JSON; LSF forgets a job about an hour after its end."""
        requested = self.checked(ids)
        if not requested:
            return {}
        answer = self.run(["bjobs", "-a", "-json", "-o", _FIELDS, *requested])
        tasks: dict[str, dict[int, JobStatus]] = {}
        for record in self._records(answer):
            job, index = str(record.get("JOBID", "")), str(record.get("JOBINDEX", ""))
            if "ERROR" not in record:
                number = int(index) if index.isdecimal() else 0
                tasks.setdefault(job, {})[number - 1] = _status(record)
        return {job: _whole(tasks.get(job, {})) for job in requested}

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting]:
        """bjobs(1): run_time and cpu_used; LSF forgets a job about an hour after its end."""
        requested = self.checked(ids)
        if not requested:
            return {}
        found: dict[str, JobAccounting] = {}
        answer = self.run(["bjobs", "-a", "-json", "-o", _ACCOUNTED, *requested])
        for record in self._records(answer):
            job, word = str(record.get("JOBID", "")), str(record.get("STAT", ""))
            ended = word in ("DONE", "EXIT")
            if job not in requested or not ended or record.get("JOBINDEX") != "0":
                continue
            # "2*n1:2*n2": hosts with their slots.
            hosts = re.findall(r"(?:^|:)(?:\d+\*)?([^:]+)", str(record.get("EXEC_HOST") or ""))
            found[job] = JobAccounting(
                source="bjobs",
                state=word,
                elapsed=seconds(str(record.get("RUN_TIME") or "")),
                cpu=seconds(str(record.get("CPU_USED") or "")),
                hosts=compress_hosts(list(dict.fromkeys(hosts))) or None,
            )
        return found

    def _records(self, answer: CommandResult) -> list[Mapping[str, Any]]:
        if not answer.out.strip() and self.gone.search(answer.said):
            return []
        try:
            return [dict(record) for record in read_json(answer.out)["RECORDS"]]
        except (ValueError, KeyError, TypeError) as error:
            why = str(error) if isinstance(error, ValueError) else "it contains no records"
            raise unreadable(self.title, "bjobs", answer, f"invalid JSON ({why})") from None


def _whole(tasks: Mapping[int, JobStatus]) -> JobStatus:
    """The status of a job; LSF gives a job without an array the index 0, which is -1 here."""
    if not tasks:
        return JobStatus("unknown", "LSF does not know the job")
    return tasks[-1] if list(tasks) == [-1] else of_array(tasks)


def _status(record: Mapping[str, Any]) -> JobStatus:
    word = str(record.get("STAT", ""))
    state = _STATES.get(word)
    if state is None:
        return JobStatus(
            "unknown", f"LSF reports the state {word}" if word else "LSF reports no state"
        )
    ended = state in ("complete", "failed")
    keys = ("EXIT_REASON", "KILL_REASON") if ended else ("PEND_REASON",)
    reason = next((text for key in keys if (text := str(record.get(key) or "").strip())), "")
    if state == "failed":
        code = re.match(r"TERM_\w+", reason)
        state = _REASONS.get(code[0], state) if code else state
    exit_code = str(record.get("EXIT_CODE") or "")
    number = whole_number(exit_code)
    if state == "complete":
        number = 0
    name = str(record.get("JOB_NAME") or "")
    prospect = _prospect(word, reason) if state == "queued" else ""
    return JobStatus(state, reason, number if ended else None, name=name, prospect=prospect)


def _prospect(state: str, reason: str) -> Prospect:
    """What LSF says about the start of a pending job (bjobs(1), "Pending jobs")."""
    if re.search(r"never satisfied", reason, re.IGNORECASE):
        return "never"
    return "held" if state == "PSUSP" else ""


def _minutes(seconds: float) -> str:
    """``H:MM``, rounded up."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def _granted(environ: Mapping[str, str], ask: Ask) -> Granted | None:
    job = environ.get("LSB_JOBID")
    file, counted = environ.get("LSB_DJOB_HOSTFILE"), environ.get("LSB_MCPU_HOSTS")
    if not job or not (file or counted):
        return None
    # "hostA 4 hostB 2": each host with its slots.
    hosts = lines_of(file) if file else (counted or "").split()[::2]
    return Granted(job, tuple(dict.fromkeys(hosts)), None)


SYSTEM = BatchSystem(
    name="lsf",
    title="LSF",
    command="bsub",
    version_options=("-V",),
    job_variable="LSB_JOBID",
    prefix="LSB_",
    granted=_granted,
    shell_program="blaunch",
    shell_line='exec {program} "$host" "$*"',
    shell_silent=r"LSF is down|[Dd]aemon (?:is )?not responding",
)
SCHEDULERS = (LsfScheduler,)
