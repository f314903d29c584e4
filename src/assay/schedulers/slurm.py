"""Slurm: sbatch, squeue, scancel; scontrol and sacct for jobs that have ended."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.hostnames import compress_hosts, expand_hosts
from assay.model.placement import Placement
from assay.records.jobs import JobAccounting
from assay.schedulers.batch import Batch, by_signal, of_array, unpolled
from assay.schedulers.commands import CommandResult, unreadable
from assay.schedulers.model import (
    ENDED,
    Ask,
    BatchSystem,
    Granted,
    JobRequest,
    JobState,
    JobStatus,
    SchedulerNode,
)
from assay.schedulers.reading import match_in, number_in
from assay.schedulers.script import (
    APART,
    PROGRAM,
    around_task,
    array_range,
    begin_at,
    clock,
    refused,
    seconds,
    warning,
)
from assay.schedulers.slurm_reasons import prospect_of
from assay.schedulers.slurm_records import job_records, task_numbers

if TYPE_CHECKING:
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor


# squeue(1) and sacct(1), JOB STATE CODES.
_STATES: dict[str, JobState] = {
    **dict.fromkeys(
        ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
        "queued",
    ),
    "SPECIAL_EXIT": "queued",
    **dict.fromkeys(
        ("RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"),
        "running",
    ),
    "COMPLETED": "complete",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "NODE_FAIL": "node-failed",
    "BOOT_FAIL": "node-failed",
    "PREEMPTED": "preempted",
}
# squeue(1), ENVIRONMENT VARIABLES: expressions of tasks are not truncated, and the user's own
# squeue filters, which would hide jobs, do not apply.
_FILTERS = ("ACCOUNT", "LICENSES", "NAMES", "PARTITION", "QOS", "USERS")
_WHOLE = {"SLURM_BITSTR_LEN": "0", **{f"SQUEUE_{name}": None for name in _FILTERS}}
_EXIT = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_ACCOUNTED = "--format=JobIDRaw,State,ElapsedRaw,Suspended,TotalCPU,UserCPU,SystemCPU,NodeList"
# sinfo(1), NODE STATE CODES: states in which a node runs jobs now, or later without a person's
# action. The suffix * marks nodes that do not answer, $ marks maintenance and ! marks powering
# down.
_USABLE = r"(?:allocated|completing|idle|mixed|planned|power(?:ed|ing)?_(?:up|down))[~#%@^+-]?"
_NO_REASON = ("", "None", "(null)", "N/A")
_UNKNOWN = re.compile(r"invalid job id", re.I)
# Values that need no quotes in a directive.
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=-]+", re.ASCII)


class SlurmScheduler(Batch):
    """Slurm."""

    kind = "slurm"
    title = "Slurm"
    command = "sbatch"
    task = '"$SLURM_ARRAY_TASK_ID"'
    names_nodes = True
    # squeue(1), --jobs: a job, tasks of an array, a part of a heterogeneous job.
    job_id = re.compile(r"\d{1,18}(?:_(?:\d{1,9}|\[[\d,%-]{1,200}\])|\+\d{1,9})?", re.ASCII)
    gone = re.compile(r"invalid job id|already completing or completed", re.I)

    variables = _WHOLE

    def make_executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor; its submit command is not used."""
        from psij.executors.batch.slurm import SlurmExecutorConfig, SlurmJobExecutor

        return unpolled(SlurmJobExecutor)(config=SlurmExecutorConfig())

    def quote(self, value: object) -> str:
        """Adds double quotes if needed; sbatch removes them."""
        text = str(value)
        if _PLAIN.fullmatch(text):
            return text
        inside = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{inside}"'

    def submit_command(self, script: Path) -> list[str]:
        """``--parsable`` prints the id only; an absolute path can't be read as an option."""
        return ["sbatch", "--parsable", str(script.absolute())]

    def cancel_command(self, job: str) -> list[str]:
        """scancel(1); it prints no error for ended jobs."""
        return ["scancel", "-Q", "--", job]

    def submitted_id(self, output: str) -> str:
        """From "123" or "123;cluster"; a site's plugins may print other lines before it."""
        found = re.findall(r"^(\d+)(?:;\S*)?\s*$", output, re.M)
        return found[-1] if found else ""

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """sbatch(1), OPTIONS and FILENAME PATTERN."""
        options = request.options
        path = str(request.output)
        if "\\" in path:
            raise refused("output file", path, "Slurm treats a backslash as a special character")
        if request.tasks == 1:
            output = path.replace("%", "%%")
        else:
            before, after = around_task(request)
            output = f"{before.replace('%', '%%')}%a{after.replace('%', '%%')}"
        return {
            "name": request.name,
            "output": output,
            "nodes": str(request.nodes),
            "exclusive": options.exclusive,
            "walltime": clock(request.walltime),
            "warning": warning(request),
            "array": array_range(request),
            "hosts": compress_hosts(request.hosts) or None,
            "begin": begin_at(request, "%Y-%m-%dT%H:%M:%S"),
            "partition": options.partition,
            "account": options.account,
            "reservation": options.reservation,
            "constraint": options.constraint,
            "directives": list(options.directives),
        }

    def array_limit(self) -> int | None:
        """slurm.conf(5): MaxArraySize (0 if there are no arrays) and max_array_tasks."""
        answer = self.run(["scontrol", "show", "config"])
        if answer.status != 0:
            return None
        limits = re.findall(r"^MaxArraySize\s*=\s*(\d{1,18})\s*$", answer.out, re.M)
        parameters = match_in(r"(?m)^SchedulerParameters\s*=\s*(.*)$", answer.out) or ""
        limits += re.findall(r"(?:^|,)max_array_tasks=(\d{1,18})(?=,|\s*$)", parameters)
        return min(map(int, limits), default=None)

    def nodes(self, partition: str | None) -> list[SchedulerNode] | None:
        """sinfo(1): a line per node and partition; the default one's name ends with ``*``."""
        words = [f"--partition={partition}"] if partition else []
        answer = self.run(["sinfo", "--noheader", "--Node", *words, "--format=%N|%P|%T|%E"])
        if answer.status != 0:
            raise unreadable(self.title, "sinfo", answer)
        found: dict[str, SchedulerNode] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 3)
            if len(fields) != 4:
                raise unreadable(self.title, "sinfo", answer)
            name, where, state, reason = fields
            if partition or where.endswith("*"):
                usable = re.fullmatch(_USABLE, state) is not None
                why = "" if usable or reason in ("none", "None") else reason
                found[name] = SchedulerNode(name, state, usable, why)
        return list(found.values())

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """The status of each of these jobs, from squeue, or for ended jobs from scontrol or sacct.

        squeue keeps a job for some minutes after its end, but does not report its exit status.
        """
        requested = self.checked(ids)
        found = self._queue(requested) if requested else {}
        for job in requested:
            if job not in found or any(status.ended for status in found[job].values()):
                # Tasks that occur in only one of the answers also count, so that none is lost.
                found[job] = {**found.get(job, {}), **self._record(job)}
        forgotten = [job for job in requested if not found[job]]
        if forgotten:
            found |= self._accounting(forgotten)
        return {job: _whole(found.get(job, {})) for job in requested}

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The names of the jobs among these that squeue lists."""
        requested = ",".join(self.checked(ids))
        if not requested:
            return {}
        answer = self.run(["squeue", "--noheader", f"--jobs={requested}", "--format=%F|%j"])
        if answer.status != 0 and not _UNKNOWN.search(answer.said):
            raise unreadable(self.title, "squeue", answer)
        pairs = (line.strip().partition("|") for line in answer.out.splitlines())
        return {job: name for job, _, name in pairs if name}

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """sacct(1): the line of the job, which includes the CPU time of its steps.

        With --allocations, which omits the steps' lines, CPU times would be missing. Sites that
        don't gather CPU times report zero.
        """
        requested = self.checked(ids)
        if not requested:
            return {}
        answer = self.run(
            ["sacct", "--noheader", "--parsable2", f"--jobs={','.join(requested)}", _ACCOUNTED]
        )
        if answer.status != 0:
            return None
        found: dict[str, JobAccounting] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|")
            if len(fields) != _ACCOUNTED.count(",") + 1 or fields[0] not in requested:
                continue  # a step, a task of an array, or another line printed by the site
            job, state, elapsed, suspended, cpu, user, system, hosts = fields
            word = state.split()[0] if state else ""
            if _STATES.get(word) not in ENDED:
                continue  # the accounting isn't up to date
            found[job] = JobAccounting(
                source="sacct",
                state=word,
                elapsed=seconds(elapsed),
                suspended=seconds(suspended),
                cpu=seconds(cpu) or None,
                user=seconds(user) if seconds(cpu) else None,
                system=seconds(system) if seconds(cpu) else None,
                hosts=hosts if hosts not in ("", "None assigned") else None,
            )
        return found

    def _queue(self, ids: list[str]) -> dict[str, dict[int | None, JobStatus]]:
        answer = self.run(
            [
                *("squeue", "--noheader", "--array", "--states=all"),
                f"--jobs={','.join(ids)}",
                "--format=%F|%K|%T|%r",
            ]
        )
        if answer.status != 0:
            if _UNKNOWN.search(answer.said):
                return {}
            raise unreadable(self.title, "squeue", answer)
        found: dict[str, dict[int | None, JobStatus]] = defaultdict(dict)
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 3)
            if len(fields) != 4:
                raise unreadable(self.title, "squeue", answer)
            job, task, state, reason = fields
            found[job] |= dict.fromkeys(task_numbers(task), self._status(state, reason))
        return dict(found)

    def _record(self, job: str) -> dict[int | None, JobStatus]:
        """The status of a job in the controller, by task; empty for a forgotten job."""
        answer = self.run(["scontrol", "show", "job", job])
        if answer.status != 0:
            if _UNKNOWN.search(answer.said):
                return {}
            raise unreadable(self.title, "scontrol", answer)
        records = job_records(answer.out)
        found: dict[int | None, JobStatus] = {}
        for record in records:
            state, code = record.get("JobState"), _EXIT.fullmatch(record.get("ExitCode", ""))
            if state is None or code is None:
                raise unreadable(self.title, "scontrol", answer)
            if (record.get("ArrayJobId") or record["JobId"]) == job:
                exits = (int(code[1]), int(code[2]))
                status = self._status(state, record.get("Reason", ""), exits, record.get("JobName"))
                found |= dict.fromkeys(task_numbers(record.get("ArrayTaskId")), status)
        if not records:
            raise unreadable(self.title, "scontrol", answer)
        return found

    def _accounting(self, ids: list[str]) -> dict[str, dict[int | None, JobStatus]]:
        """The status of forgotten jobs from sacct, by task; empty on sites without accounting."""
        answer = self.run(
            [
                *("sacct", "--noheader", "--parsable2", "--allocations", "--array"),
                *(f"--jobs={','.join(ids)}", "--format=JobID,State,ExitCode"),
            ]
        )
        return {} if answer.status != 0 else self._accounted(answer)

    def _accounted(self, answer: CommandResult) -> dict[str, dict[int | None, JobStatus]]:
        found: dict[str, dict[int | None, JobStatus]] = defaultdict(dict)
        for line in answer.out.splitlines():
            match = re.fullmatch(r"(\d+)(?:_(\S+?))?\|([^|]*)\|(\d{1,9}):(\d{1,9})", line.strip())
            if match is None:
                raise unreadable(self.title, "sacct", answer)
            # "CANCELLED by 1000"
            state = match[3].split()[0] if match[3] else ""
            status = self._status(state, "", (int(match[4]), int(match[5])))
            found[match[1]] |= dict.fromkeys(task_numbers(match[2]), status)
        return dict(found)

    def _sentence(self, reason: str) -> str:
        """Slurm's reason code, with PSI/J's sentence if it has one."""
        sentence = getattr(self.executor, "_REASONS_MAP", {}).get(reason, "")
        return f"{reason}: {sentence}" if sentence else reason

    def _status(
        self, word: str, reason: str, code: tuple[int, int] | None = None, name: str | None = None
    ) -> JobStatus:
        state = _STATES.get(word, "unknown")
        why = "" if reason in _NO_REASON else self._sentence(reason)
        if state == "unknown":
            why = f"Slurm reports the state {word}"
        number = by_signal(*code) if code else None
        # For a job that was ended externally, an exit status of 0 has no meaning.
        known = state in ("complete", "failed") or bool(number)
        prospect = prospect_of(word, reason) if state == "queued" else ""
        return JobStatus(state, why, number if known else None, name=name or "", prospect=prospect)


def _whole(found: Mapping[int | None, JobStatus]) -> JobStatus:
    tasks = {task: status for task, status in found.items() if task is not None}
    other = found.get(None)
    if tasks:
        whole = of_array(tasks)
        # Waiting tasks whose numbers can't be read.
        waits = other is not None and not other.ended and whole.ended
        return replace(whole, state=other.state, reason=other.reason) if other and waits else whole
    return found.get(None, JobStatus("unknown", "Slurm does not know the job"))


# Variables that would apply the job's options to each step in it (srun(1), INPUT ENVIRONMENT
# VARIABLES); a step for one command on one node must not request all tasks of the job.
_STEP_VARIABLES = (
    *("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"),
    *("SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_CORE", "SLURM_NNODES"),
    *("SLURM_JOB_NUM_NODES", "SLURM_DISTRIBUTION", "SLURM_CPU_BIND", "SLURM_MEM_PER_CPU"),
    *("SLURM_MEM_PER_NODE", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_ARBITRARY_NODEFILE"),
)


def _granted(environ: Mapping[str, str], ask: Ask) -> Granted | None:
    job = environ.get("SLURM_JOB_ID")
    nodes = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    if not job or not nodes:
        return None
    ends = number_in(environ.get("SLURM_JOB_END_TIME"))
    if ends is None:
        # SLURM_TIME_FORMAT=%s makes scontrol(1) print Unix times.
        printed = ask(("scontrol", "--oneliner", "show", "job", job), {"SLURM_TIME_FORMAT": "%s"})
        record = next(iter(job_records(printed or "")), {})
        ends = number_in(record.get("EndTime"))
    return Granted(job, expand_hosts(nodes), ends)


def _thread_options(placement: Placement, per_core: int) -> list[str]:
    """The option for hardware threads per core, if a core has several."""
    if per_core == 1:
        return []
    return [f"--threads-per-core={per_core if placement.smt == 'on' else 1}"]


def _launch_line(placement: Placement, per_core: int) -> str:
    sockets = "cyclic" if placement.binding in APART else "block"
    threads = f"OMP_NUM_THREADS={placement.threads} " if placement.threads > 1 else ""
    bind = "threads" if placement.smt == "on" else "cores"
    words = [
        f"{threads}srun --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        *_thread_options(placement, per_core),
        f"--distribution={placement.order}:{sockets}",
        f"--cpu-bind={'none' if placement.binding == 'none' else bind}",
    ]
    return " ".join([*words, PROGRAM])


def _job_line(placement: Placement, per_core: int) -> str:
    words = [
        f"#SBATCH --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        *_thread_options(placement, per_core),
        "--exclusive",
    ]
    return " ".join(words)


SYSTEM = BatchSystem(
    name="slurm",
    title="Slurm",
    command="sbatch",
    version_options=("--version",),
    job_variable="SLURM_JOB_ID",
    prefix="SLURM_",
    node_variables=("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
    granted=_granted,
    shell_program="srun",
    shell_line=f"unset {' '.join(_STEP_VARIABLES)}\n"
    'exec {program} --overlap --jobid="$SLURM_JOB_ID" --nodes=1 --ntasks=1 '
    '--nodelist="$host" --cpu-bind=none --mpi=none --quiet '
    '--input="$([ -p /dev/stdin ] && echo all || echo none)" sh -c "$*"',
    shell_silent=r"^srun: error: .*(?:contact slurm controller|Socket timed out"
    r"|Connection refused|Zero Bytes were transmitted|Communication connection failure)",
    shell_lost=r"^srun: .*(?:Invalid job id specified|Expired or invalid job"
    r"|Job/step already completing or completed)",
    starter="slurm",
    launch_line=_launch_line,
    job_line=_job_line,
)
SCHEDULERS = (SlurmScheduler,)
