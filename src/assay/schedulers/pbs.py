"""PBS Pro and OpenPBS, and the classic PBS of Torque: qsub, qstat, qdel."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.hostnames import compress_hosts
from assay.model.placement import Placement
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
from assay.schedulers.output_relay import RELAYED
from assay.schedulers.reading import clock_seconds, lines_of, local_time, match_in, number_in
from assay.schedulers.script import array_range, begin_at, clock, plain, refused, seconds

if TYPE_CHECKING:
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor


# PBS Reference Guide, 8.1 (states of jobs) and 8.2 (of subjobs); qstat(1B) of Torque adds C.
_QUEUED, _RUNNING, _ENDED = "QHWTM", "RESUB", "FXC"
# The substates of a deleted and of a failed job (PBS Reference Guide, 8.3). For a deleted job that
# never ran, the substate is the only indication. While one of its nodes is lost, OpenPBS 23.06.06
# reports a deleted job as failed with status 0; only its comment is right.
_TERMINATED, _FAILED = "91", "93"
_DELETED = re.compile(r" and terminated(?: by \S+)?$")
# Comments on a subjob without its own record. PBS then reports the array's status and substate: in
# OpenPBS 23.06.06 the subjob was deleted before it ran, or ended while no history is kept.
_WITHOUT_RECORD = ("Subjob finished", "Subjob failed", "Subjob terminated")
# An Exit_status of at least this is 256 + a signal's number (PBS Reference Guide, 10.9).
_SIGNAL = 256
# Negative statuses are PBS's own: PBS Administrator's Guide, job exit codes; Torque's, B.1.
_PRO: dict[int, tuple[JobState, str]] = {
    -4: ("node-failed", "the node's MoM was restarted"),
    -5: ("node-failed", "the node's MoM was restarted"),
    -6: ("node-failed", "the node's MoM was restarted"),
    -14: ("node-failed", "one node's MoM lost another's"),
    -20: ("node-failed", "the MoM of its first node was lost"),
    -29: ("timeout", "the walltime was reached"),
}
_CLASSIC: dict[int, tuple[JobState, str]] = {
    **{number: _PRO[number] for number in (-4, -5, -6)},
    -11: ("timeout", "the walltime was reached"),
}
_ID = re.compile(r"(?P<number>\d+)(?:\[(?P<task>\d*)\])?(?P<server>\..*)?", re.ASCII)
# qsub(1B): printable, no white space. This pattern is stricter, since no manual documents quoting.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._+-]*", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", re.ASCII)
# pbs_resources(7B): resources of a chunk; Torque's nodes also have properties. A + would begin a
# second chunk.
_CHUNK = re.compile(r"(?:(?:^|:)[A-Za-z]\w*=[\w.-]+)+", re.ASCII)
_PROPERTIES = re.compile(r"(?:(?:^|:)[A-Za-z][\w.-]*(?:=[\w.-]+)?)+", re.ASCII)
_GONE = re.compile(r"unknown job id|job has finished|invalid for state of job", re.I)
_NO_HISTORY = re.compile(r"not configured to maintain job history|not been configured", re.I)
_LONGEST_CLASSIC_NAME = 15
# Commands that only PBS Pro and OpenPBS have.
_PRO_COMMANDS = ("pbs_rstat", "pbs_python", "pbs_release_nodes")
PBS_CONF = Path("/etc/pbs.conf")


def _is_pbs() -> bool:
    """Whether qsub is PBS's: Grid Engine has a qsub too, but also a qconf."""
    return shutil.which("qsub") is not None and shutil.which("qconf") is None


def _is_pro() -> bool:
    return any(shutil.which(command) for command in _PRO_COMMANDS) or PBS_CONF.exists()


class _Pbs(Batch):
    """What all versions of PBS have in common."""

    # PBS Reference Guide, "Job identifier": the id of a job, an array, or a subjob.
    job_id = re.compile(
        r"\d{1,18}(?:\[\d{0,9}\])?(?:\.[A-Za-z0-9][A-Za-z0-9.-]{0,254})?(?:@[A-Za-z0-9.-]{1,255})?",
        re.ASCII,
    )

    def array_limit(self) -> int | None:
        """pbs_server_attributes(7B): max_array_size; Torque's is max_job_array_size."""
        answer = self.run(["qstat", "-B", "-f"])
        found = number_in(match_in(r"\bmax_(?:job_)?array_size = (\d+)", answer.out))
        return None if found is None else int(found)


class PbsScheduler(_Pbs):
    """PBS Pro, OpenPBS."""

    kind = "pbs"
    title = "PBS"
    command = "qsub"
    writes_output = False
    task = '"$PBS_ARRAY_INDEX"'
    gone = _GONE
    longest_name = 236

    @classmethod
    def is_here(cls) -> bool:
        """Whether this host has PBS's qsub and a command or file of PBS Pro or OpenPBS only."""
        return _is_pbs() and _is_pro()

    def make_executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor for PBS Pro."""
        from psij.executors.batch.pbs import PBSJobExecutor
        from psij.executors.batch.pbs_base import PBSExecutorConfig

        return unpolled(PBSJobExecutor)(config=PBSExecutorConfig())

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """qsub(1B), OPTIONS; pbs_resources(7B) for select and place.

        A reservation is a queue. A chunk has one CPU, since the number of cores of a host is
        unknown; ``exclusive`` reserves the whole host, and ``constraint`` may be ``ncpus=64``.
        """
        options = request.options
        if options.partition and options.reservation:
            raise refused(
                "reservation",
                options.reservation,
                "in PBS a reservation is a queue, like the partition",
            )
        return {
            **_common(request, self.longest_name, _CHUNK),
            "queue": options.reservation or options.partition,
        }

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """qstat(1B): full, with finished jobs and single subjobs, as JSON."""
        requested = self.checked(ids)
        if not requested:
            return {}
        answer = self._asked("-t", requested, history=True)
        if _NO_HISTORY.search(answer.err):
            answer = self._asked("-t", requested, history=False)
        return _by_job(requested, self._jobs(answer), _PRO)

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """qstat(1B): ``resources_used`` of finished jobs."""
        requested = self.checked(ids)
        if not requested:
            return {}
        answer = self._asked("", requested, history=True)
        if _NO_HISTORY.search(answer.err):
            return None
        return _accounted(requested, self._jobs(answer))

    def _asked(self, option: str, ids: Iterable[str], *, history: bool) -> CommandResult:
        """The full answer on these jobs, as JSON; ``history``: including ended jobs.

        -E queries all jobs at once. Without it OpenPBS 23.06.06 lists only the first of several
        jobs. By default it keeps no history; qstat -x then says so, lists no job, and exits with 0.
        """
        options = ["-E", *(["-x"] if history else []), *([option] if option else [])]
        return self.run(["qstat", *options, "-f", "-F", "json", *ids])

    def _jobs(self, answer: CommandResult) -> dict[str, Mapping[str, Any]]:
        # Unknown jobs are reported as errors, while the others are still listed.
        if not answer.out.strip() and (answer.status == 0 or _GONE.search(answer.said)):
            return {}
        try:
            jobs = read_json(answer.out).get("Jobs", {})
            return {str(job): dict(fields) for job, fields in jobs.items()}
        except (ValueError, AttributeError, TypeError) as error:
            why = str(error) if isinstance(error, ValueError) else "its jobs are not a group"
            raise unreadable(self.title, "qstat", answer, f"invalid JSON ({why})") from None


class ClassicPbsScheduler(_Pbs):
    """Torque and the PBS from which it derives."""

    kind = "pbs-classic"
    title = "PBS"
    command = "qsub"
    writes_output = False
    task = '"$PBS_ARRAYID"'
    gone = _GONE

    @classmethod
    def is_here(cls) -> bool:
        """Whether this host has PBS's qsub but nothing that only PBS Pro and OpenPBS have."""
        return _is_pbs() and not _is_pro()

    def make_executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor for classic PBS."""
        from psij.executors.batch.pbs_base import PBSExecutorConfig
        from psij.executors.batch.pbs_classic import PBSClassicJobExecutor

        return unpolled(PBSClassicJobExecutor)(config=PBSExecutorConfig())

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """qsub(1B) of Torque, OPTIONS. ``constraint`` may be ``ppn=64``. Names are truncated."""
        options = request.options
        return {
            **_common(request, _LONGEST_CLASSIC_NAME, _PROPERTIES),
            "queue": options.partition,
            "reservation": options.reservation,
        }

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """qstat(1B) of Torque: full, with single tasks; it forgets a job minutes after its end."""
        requested = self.checked(ids)
        if not requested:
            return {}
        answer = self.run(["qstat", "-f", "-t", *requested])
        if answer.status != 0 and not answer.out.strip() and not _GONE.search(answer.said):
            raise unreadable(self.title, "qstat", answer)
        return _by_job(requested, _read_full(answer.out), _CLASSIC)

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting]:
        """qstat(1B) of Torque: ``resources_used``, for some minutes after the end."""
        requested = self.checked(ids)
        if not requested:
            return {}
        return _accounted(requested, _read_full(self.run(["qstat", "-f", *requested]).out))


def _common(
    request: JobRequest, longest_name: int, constraint: re.Pattern[str]
) -> dict[str, object]:
    options = request.options
    plain([("name", request.name)], _NAME, "PBS")
    values = [
        ("partition", options.partition),
        ("account", options.account),
        ("reservation", options.reservation),
    ]
    plain(values, _VALUE, "PBS")
    plain([("constraint", options.constraint)], constraint, "PBS")
    return {
        "name": request.name[:longest_name],
        "nodes": str(request.nodes),
        "exclusive": options.exclusive,
        "walltime": clock(request.walltime),
        "begin": begin_at(request, "%Y%m%d%H%M.%S"),
        "array": array_range(request),
        "account": options.account,
        "constraint": options.constraint,
        "directives": list(options.directives),
    }


def _read_full(text: str) -> dict[str, Mapping[str, Any]]:
    """The jobs in the output of ``qstat -f``: indented "name = value", continued after a tab."""
    jobs: dict[str, dict[str, str]] = {}
    job: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("Job Id: "):
            job = jobs.setdefault(line.removeprefix("Job Id: ").strip(), {})
        elif line.startswith("\t"):
            job[name] = job.get(name, "") + line.removeprefix("\t")
        elif line.startswith("    ") and " = " in line:
            name, _, value = line.strip().partition(" = ")
            job[name] = value
    return jobs  # type: ignore[return-value]


def _by_job(
    requested: Iterable[str],
    reported: Mapping[str, Mapping[str, Any]],
    own: Mapping[int, tuple[JobState, str]],
) -> dict[str, JobStatus]:
    """The status of each requested job (of arrays, by their tasks); ignores servers' names."""
    jobs: dict[str, JobStatus] = {}
    tasks: dict[str, dict[int, JobStatus]] = {}
    for name, fields in reported.items():
        match = _ID.fullmatch(name)
        if match is None:
            continue
        if match["task"]:
            tasks.setdefault(match["number"], {})[int(match["task"])] = _named(fields, own)
        else:
            jobs[match["number"]] = _named(fields, own)
    found = {}
    for job in requested:
        match = _ID.fullmatch(job)
        number = match["number"] if match else job
        if number in tasks:
            found[job] = of_array(tasks[number])
        else:
            found[job] = jobs.get(number, JobStatus("unknown", "PBS does not know the job"))
    return found


def _accounted(
    requested: Iterable[str], reported: Mapping[str, Mapping[str, Any]]
) -> dict[str, JobAccounting]:
    """The accounting of each requested job that has ended; servers' names are ignored."""
    by_number: dict[str, Mapping[str, Any]] = {}
    for name, fields in reported.items():
        match = _ID.fullmatch(name)
        if match is not None and match["task"] is None:
            by_number[match["number"]] = fields
    found = {}
    for job in requested:
        match = _ID.fullmatch(job)
        fields = by_number.get(match["number"] if match else job, {})
        word = str(fields.get("job_state", ""))
        elapsed = seconds(_nested(fields, "resources_used", "walltime"))
        if not word or word not in _ENDED or elapsed is None:
            continue
        # "n1/0*4+n1/1*4+n2/0*4": a host is listed once per part.
        hosts = re.findall(r"(?:^|\+)([^/+]+)", str(fields.get("exec_host", "")))
        found[job] = JobAccounting(
            source="qstat",
            state=word,
            elapsed=elapsed,
            # A MoM that has not sampled the job's processes reports zero.
            cpu=seconds(_nested(fields, "resources_used", "cput")) or None,
            hosts=compress_hosts(list(dict.fromkeys(hosts))) or None,
        )
    return found


def _named(fields: Mapping[str, Any], own: Mapping[int, tuple[JobState, str]]) -> JobStatus:
    return replace(_status(fields, own), name=str(fields.get("Job_Name", "")))


def _status(fields: Mapping[str, Any], own: Mapping[int, tuple[JobState, str]]) -> JobStatus:
    word = str(fields.get("job_state", ""))
    reason = str(fields.get("comment", ""))
    if word and word in _QUEUED:
        return JobStatus("queued", reason, prospect=_prospect(word, reason))
    if word and word in _RUNNING:
        return JobStatus("running", reason)
    if not word or word not in _ENDED:
        return JobStatus(
            "unknown", f"PBS reports the state {word}" if word else "PBS reports no state"
        )
    if reason in _WITHOUT_RECORD:
        if word == "F":
            return JobStatus("cancelled", "it was deleted before it ran")
        return JobStatus("unknown", "PBS keeps no record of it")
    exit_status = _integer(fields, "Exit_status", "exit_status")
    substate = str(fields.get("substate", ""))
    if substate == _TERMINATED or _DELETED.search(reason):
        return JobStatus("cancelled", reason)
    if exit_status is None:
        # It was deleted before it ran; jobs that ran have a status.
        return JobStatus("cancelled", reason)
    if exit_status in own:
        state, why = own[exit_status]
        return JobStatus(state, reason or why)
    if exit_status >= _SIGNAL:
        return _killed(fields, exit_status - _SIGNAL, reason)
    if exit_status < 0:
        return JobStatus("failed", reason or f"PBS ended it with its code {exit_status}")
    complete = exit_status == 0 and substate != _FAILED
    return JobStatus("complete" if complete else "failed", reason, exit_status)


def _prospect(state: str, comment: str) -> Prospect:
    """What PBS says about the start of a queued job (PBS Administrator's Guide, job comments)."""
    if re.match(r"Can Never Run\b", comment, re.IGNORECASE):
        return "never"
    return "held" if state == "H" else ""


def _killed(fields: Mapping[str, Any], number: int, reason: str) -> JobStatus:
    """The status of a job that a signal ended, at its walltime or because it was deleted."""
    used = seconds(_nested(fields, "resources_used", "walltime"))
    limit = seconds(_nested(fields, "Resource_List", "walltime"))
    over = used is not None and limit is not None and used >= limit
    return JobStatus("timeout" if over else "cancelled", reason, 128 + number)


def _nested(fields: Mapping[str, Any], group: str, name: str) -> str:
    """A resource's value: nested in JSON, ``group.name`` in text; empty if missing."""
    inside = fields.get(group)
    value = inside.get(name) if isinstance(inside, dict) else fields.get(f"{group}.{name}")
    return "" if value is None else str(value)


def _integer(fields: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        try:
            number = int(fields[name])
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if abs(number) < 2**31:  # larger numbers are not an exit status
            return number
    return None


def _granted(environ: Mapping[str, str], ask: Ask) -> Granted | None:
    job, file = environ.get("PBS_JOBID"), environ.get("PBS_NODEFILE")
    if not job or not file:
        return None
    hosts = tuple(dict.fromkeys(lines_of(file)))
    printed = ask(("qstat", "-f", job), {}) or ""
    left = number_in(match_in(r"Walltime\.Remaining = (\d+)", printed))  # Torque
    if left is not None:
        return Granted(job, hosts, time.time() + left)
    began = local_time(match_in(r"\b(?:stime|start_time) = (.+)", printed))
    requested = clock_seconds(match_in(r"\bResource_List\.walltime = ([\d:]+)", printed))
    return Granted(job, hosts, began + requested if began and requested else None)


def _job_line(placement: Placement, _: int) -> str:
    cpus = placement.ppn * placement.threads
    chunk = f"ncpus={cpus}:mpiprocs={placement.ppn}:ompthreads={placement.threads}"
    return f"#PBS -l select={placement.nodes}:{chunk} -l place=scatter:excl"


SYSTEM = BatchSystem(
    name="pbs",
    title="PBS",
    command="pbsnodes",  # Grid Engine has a qsub too
    version_options=("--version",),
    job_variable="PBS_JOBID",
    prefix="PBS_",
    node_variables=("PBS_NUM_NODES",),
    granted=_granted,
    # pbs_tmrsh(8B): output goes to the job's files, not to standard output; no shell interprets the
    # words.
    shell_program="pbs_tmrsh",
    shell_line=RELAYED,
    launch_line=_job_line,
    job_line=_job_line,
)
SCHEDULERS = (PbsScheduler, ClassicPbsScheduler)
