"""What schedulers answer, as their manuals and sources have it, and what it is taken for."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.config import Config, SchedulerConfig, load_config
from assay.errors import AssayError
from assay.schedulers import commands
from assay.schedulers.find import scheduler_for
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.model import JobRequest, JobStatus, SchedulerSilent
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from assay.schedulers.slurm import SlurmScheduler

Put = Callable[..., None]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """``put("squeue", out, err, status)``: a command that says so and notes how it was called.

    ``when``: a shell pattern of its words for which the answer holds; those put later come first.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    cases: dict[str, list[str]] = {}

    def add(name: str, out: str = "", err: str = "", status: int = 0, when: str = "*") -> None:
        text = f"printf %s {shlex.quote(out)}; printf %s {shlex.quote(err)} >&2; exit {status}"
        cases.setdefault(name, []).insert(0, f"{when}) {text} ;;\n")
        program = folder / name
        log = shlex.quote(str(tmp_path / "calls"))
        program.write_text(
            f'#!/bin/sh\necho {name} "$@" >>{log}\ncase " $* " in\n{"".join(cases[name])}esac\n'
        )
        program.chmod(0o700)

    return add


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    log = tmp_path / "calls"
    return lambda: log.read_text().splitlines() if log.exists() else []


def a_request(tmp_path: Path, tasks: int = 1) -> JobRequest:
    return JobRequest("assay", ("true",), tmp_path, 1, 600.0, tmp_path / "1.out", tasks)


# ---- Slurm -----------------------------------------------------------------------------------

# scontrol(1), show job; the lines of Slurm 22.05's slurm_sprint_job_info.
RECORD = """\
JobId={job}{array} JobName={name}
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=4294901757 Nice=0 Account=(null) QOS=(null)
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={code}
   RunTime=00:00:01 TimeLimit=00:10:00 TimeMin=N/A
   SubmitTime=2026-01-01T00:00:00 EligibleTime=2026-01-01T00:00:00
   NodeList=node[1-4]
   Command=/runs/x/jobs/1.sh
   WorkDir=/runs/x

"""


def record(
    state: str, code: str = "0:0", reason: str = "None", *, array: str = "", name: str = "assay"
) -> str:
    return RECORD.format(job=7, array=array, name=name, state=state, reason=reason, code=code)


@pytest.mark.parametrize(
    ("queue", "scontrol", "expected"),
    [
        # squeue(1), JOB STATE CODES and JOB REASON CODES.
        ("7|N/A|PENDING|Resources", None, ("queued", None, "Resources")),
        ("7|N/A|PENDING|PartitionTimeLimit", None, ("queued", None, "PartitionTimeLimit")),
        ("7|N/A|CONFIGURING|None", None, ("queued", None, "")),
        ("7|N/A|RUNNING|None", None, ("running", None, "")),
        ("7|N/A|COMPLETING|None", None, ("running", None, "")),
        ("7|N/A|SUSPENDED|None", None, ("running", None, "")),
        ("7|N/A|COMPLETED|None", record("COMPLETED"), ("complete", 0, "")),
        (
            "7|N/A|FAILED|NonZeroExitCode",
            record("FAILED", "3:0", "NonZeroExitCode"),
            ("failed", 3, "NonZeroExitCode"),
        ),
        (
            "7|N/A|FAILED|RaisedSignal:9(Killed)",
            record("FAILED", "0:9", "RaisedSignal:9(Killed)"),
            ("failed", 137, "RaisedSignal:9(Killed)"),
        ),
        ("7|N/A|CANCELLED|None", record("CANCELLED", "0:15"), ("cancelled", 143, "")),
        (
            "7|N/A|TIMEOUT|TimeLimit",
            record("TIMEOUT", "0:0", "TimeLimit"),
            ("timeout", None, "Tim"),
        ),
        (
            "7|N/A|NODE_FAIL|NodeDown",
            record("NODE_FAIL", "1:0", "NodeDown"),
            ("node-failed", 1, ""),
        ),
        ("7|N/A|PREEMPTED|None", record("PREEMPTED", "0:15"), ("preempted", 143, "")),
        ("7|N/A|OUT_OF_MEMORY|OutOfMemory", record("OUT_OF_MEMORY", "0:125"), ("failed", 253, "")),
        ("7|N/A|DEADLINE|Deadline", record("DEADLINE"), ("timeout", None, "")),
        ("7|N/A|BOOT_FAIL|x", record("BOOT_FAIL"), ("node-failed", None, "")),
        ("7|N/A|NEW_STATE|x", None, ("unknown", None, "Slurm calls it NEW_STATE")),
        # A reason with spaces and bars in it.
        (
            "7|N/A|PENDING|(ReqNodeNotAvail, UnavailableNodes:n1|n2)",
            None,
            ("queued", None, "(ReqNodeNotAvail, UnavailableNodes:n1|n2)"),
        ),
    ],
)
def test_slurm_states(put: Put, queue: str, scontrol: str | None, expected: tuple) -> None:
    put("squeue", f"{queue}\n")
    if scontrol:
        put("scontrol", scontrol)
    state, exit_status, reason = expected
    status = SlurmScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == (state, exit_status)
    assert status.reason.startswith(reason)


def test_slurm_reasons_come_with_a_sentence(put: Put) -> None:
    put("squeue", "7|N/A|PENDING|PartitionNodeLimit\n")
    reason = SlurmScheduler().status(["7"])["7"].reason
    assert reason.startswith("PartitionNodeLimit: The number of nodes required by this job")


def test_slurm_arrays_are_told_task_by_task(put: Put, calls) -> None:
    put("squeue", "7|3|PENDING|Resources\n7|2|RUNNING|None\n8|N/A|RUNNING|None\n")
    found = SlurmScheduler().status(["7", "8"])
    assert found["7"].state == "running"
    assert {task: status.state for task, status in found["7"].tasks.items()} == {
        2: "running",
        3: "queued",
    }
    assert found["8"] == JobStatus("running")
    # Tasks that wait are told in one line otherwise.
    assert calls() == [
        "squeue --noheader --array --states=all --jobs=7,8 --format=%F|%K|%T|%r",
    ]


def test_an_array_ends_as_its_worst_task_has(put: Put) -> None:
    put("squeue", "7|0|COMPLETED|None\n7|1|FAILED|NonZeroExitCode\n7|2|COMPLETED|None\n")
    array = " ArrayJobId=7 ArrayTaskId="
    put(
        "scontrol",
        record("COMPLETED", array=f"{array}0")
        + record("FAILED", "5:0", "NonZeroExitCode", array=f"{array}1")
        + record("COMPLETED", array=f"{array}2"),
    )
    status = SlurmScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == ("failed", 5)
    assert [status.tasks[i].exit for i in range(3)] == [0, 5, 0]


INVALID = "slurm_load_jobs error: Invalid job id specified\n"


def test_what_squeue_has_forgotten_the_controller_may_know(put: Put) -> None:
    put("squeue", err=INVALID, status=1)
    put("scontrol", record("FAILED", "2:0", "NonZeroExitCode"))
    assert SlurmScheduler().status(["7"])["7"].exit == 2


def test_what_the_controller_has_forgotten_sacct_may_know(put: Put, calls) -> None:
    put("squeue", err=INVALID, status=1)
    put("scontrol", err=INVALID, status=1)
    # sacct(1), --parsable2, JOB STATE CODES: who cancelled stands behind the state.
    put("sacct", "7|CANCELLED by 1000|0:15\n8_[0-1]|PENDING|0:0\n9_3|TIMEOUT|0:0\n")
    found = SlurmScheduler().status(["7", "8", "9", "10"])
    assert found["7"] == JobStatus("cancelled", "", 143)
    assert found["8"].state == "queued" and set(found["8"].tasks) == {0, 1}
    assert found["9"].tasks[3].state == "timeout"
    assert found["10"].state == "unknown"
    assert calls()[-1].endswith("--jobs=7,8,9,10 --format=JobID,State,ExitCode")


def test_a_job_that_nobody_knows_is_unknown_and_has_not_ended(put: Put) -> None:
    put("squeue", err=INVALID, status=1)
    put("scontrol", err=INVALID, status=1)
    put("sacct", err="Slurm accounting storage is disabled\n", status=1)
    status = SlurmScheduler().status(["7"])["7"]
    assert status.state == "unknown"
    assert not status.ended
    assert SlurmScheduler().status([]) == {}


def test_a_job_name_can_not_pretend_to_be_a_state(put: Put) -> None:
    put("squeue", err=INVALID, status=1)
    name = "x   JobState=COMPLETED Reason=None Dependency=(null) Requeue=0 ExitCode=0:0"
    put("scontrol", record("FAILED", "3:0", "NonZeroExitCode", name=name))
    assert SlurmScheduler().status(["7"])["7"].state == "failed"


@pytest.mark.parametrize(
    "words",
    [
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        "squeue: error: slurm_receive_msg: Socket timed out on send/recv operation",
        "slurm_load_jobs error: Zero Bytes were transmitted or received",
        "squeue: error: Slurm backup controller in standby mode",
    ],
)
def test_a_silent_controller_is_no_end_of_a_job(put: Put, words: str) -> None:
    put("squeue", err=f"{words}\n", status=1)
    with pytest.raises(SchedulerSilent, match="Slurm does not answer") as error:
        SlurmScheduler().status(["7"])
    assert words in error.value.detail


def test_half_an_answer_is_none(put: Put) -> None:
    put("squeue", "7|N/A|RUN")
    with pytest.raises(SchedulerSilent, match="can't be read"):
        SlurmScheduler().status(["7"])


def test_a_command_that_hangs_is_silence() -> None:
    with pytest.raises(SchedulerSilent, match=r"no answer within 0\.3 s"):
        commands.run(["sleep", "20"], scheduler="Slurm", patience=0.3)


def test_slurm_submits_and_reads_the_id(put: Put, calls, tmp_path: Path) -> None:
    put("sbatch", "welcome to the cluster\n1234;alba\n")
    assert SlurmScheduler().submit(a_request(tmp_path), tmp_path / "jobs") == "1234"
    script = tmp_path / "jobs" / "1.sh"
    assert calls() == [f"sbatch --parsable {script}"]
    assert script.read_text() == SlurmScheduler().script(a_request(tmp_path))


def test_a_rejection_has_the_schedulers_words(put: Put, tmp_path: Path) -> None:
    words = "sbatch: error: invalid partition specified: x\n"
    words += "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    put("sbatch", err=words, status=1)
    with pytest.raises(AssayError, match="Slurm rejects the job: Batch job") as error:
        SlurmScheduler().submit(a_request(tmp_path), tmp_path)
    assert error.value.what.endswith("Invalid partition name specified.")
    assert error.value.detail == words.strip()
    assert error.value.where == str(tmp_path / "1.sh")
    assert not isinstance(error.value, SchedulerSilent)


def test_a_submission_without_an_answer_is_not_a_rejection(put: Put, tmp_path: Path) -> None:
    words = "sbatch: error: Batch job submission failed: Unable to contact slurm controller"
    put("sbatch", err=words, status=1)
    with pytest.raises(SchedulerSilent):
        SlurmScheduler().submit(a_request(tmp_path), tmp_path)


def test_an_id_that_can_not_be_read_is_said(put: Put, tmp_path: Path) -> None:
    put("sbatch", "thank you\n")
    with pytest.raises(AssayError, match="its id can't be read"):
        SlurmScheduler().submit(a_request(tmp_path), tmp_path)


def test_slurm_cancels_and_passes_over_what_has_ended(put: Put, calls) -> None:
    put(
        "scancel",
        err="scancel: error: Kill job error on job id 8: Invalid job id specified",
        status=1,
    )
    put("scancel", when="*' 7 '*")
    SlurmScheduler().cancel(["7", "8"])
    assert [call.split()[-1] for call in calls()] == ["7", "8"]
    put(
        "scancel",
        err="scancel: error: Kill job error on job id 9: Access/permission denied",
        status=1,
    )
    with pytest.raises(AssayError, match=r"does not cancel the job 9: .*permission denied"):
        SlurmScheduler().cancel(["9"])


def test_a_job_around_assay_is_no_template_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    around = {"SLURM_JOB_ID": "5", "SLURM_NTASKS": "4", "SLURM_CONF": "/x", "HOME": "/root"}
    assert commands.outside(around).keys() == {"SLURM_CONF", "HOME"}
    chosen = {"SLURM_CLUSTERS": "alba", "SBATCH_PARTITION": "batch"}
    assert commands.outside(chosen) == chosen


# ---- PBS Pro ---------------------------------------------------------------------------------


def qstat(**jobs: dict[str, object]) -> str:
    """qstat(1B) -f -F json."""
    told = {"timestamp": 1, "pbs_version": "20.0.1", "pbs_server": "srv", "Jobs": jobs}
    return json.dumps(told)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # PBS Reference Guide, 8.1 and 8.3; Administrator's Guide, job exit codes.
        ({"job_state": "Q", "comment": "Not Running: Insufficient nodes"}, ("queued", None)),
        ({"job_state": "H"}, ("queued", None)),
        ({"job_state": "R", "substate": 42}, ("running", None)),
        ({"job_state": "E"}, ("running", None)),
        ({"job_state": "F", "substate": 92, "Exit_status": 0}, ("complete", 0)),
        ({"job_state": "F", "substate": 93, "Exit_status": 3}, ("failed", 3)),
        ({"job_state": "F", "substate": 93, "Exit_status": -29}, ("timeout", None)),
        ({"job_state": "F", "substate": 93, "Exit_status": -14}, ("node-failed", None)),
        ({"job_state": "F", "substate": 93, "Exit_status": -1}, ("failed", None)),
        # Deleted while it ran; deleted before; ended by a signal at its limit.
        ({"job_state": "F", "substate": 91, "Exit_status": 271}, ("cancelled", None)),
        ({"job_state": "F", "substate": 91}, ("cancelled", None)),
        (
            {
                "job_state": "F",
                "substate": 93,
                "Exit_status": 271,
                "resources_used": {"walltime": "00:10:03"},
                "Resource_List": {"walltime": "00:10:00"},
            },
            ("timeout", 143),
        ),
        ({"job_state": "?"}, ("unknown", None)),
    ],
)
def test_pbs_states(put: Put, calls, fields: dict[str, object], expected: tuple) -> None:
    put("qstat", qstat(**{"12.srv": fields}))
    status = PbsScheduler().status(["12.srv"])["12.srv"]
    assert (status.state, status.exit) == expected
    if "comment" in fields:
        assert status.reason == fields["comment"]
    assert calls() == ["qstat -x -t -f -F json 12.srv"]


def test_pbs_arrays_are_told_task_by_task(put: Put) -> None:
    jobs = {
        "12[].srv": {"job_state": "B", "array": "True"},
        "12[0].srv": {"job_state": "X", "Exit_status": 0},
        "12[1].srv": {"job_state": "R"},
        "12[2].srv": {"job_state": "Q"},
    }
    put("qstat", qstat(**jobs))
    status = PbsScheduler().status(["12[].srv"])["12[].srv"]
    assert status.state == "running"
    assert [status.tasks[i].state for i in range(3)] == ["complete", "running", "queued"]


def test_pbs_without_a_history(put: Put) -> None:
    put("qstat", qstat(**{"12.srv": {"job_state": "R"}}))
    put(
        "qstat",
        err="qstat: PBS is not configured to maintain job history",
        status=1,
        when="*' -x '*",
    )
    assert PbsScheduler().status(["12.srv"])["12.srv"].state == "running"


def test_pbs_knows_some_and_forgot_others(put: Put) -> None:
    put(
        "qstat",
        qstat(**{"13.srv": {"job_state": "R"}}),
        "qstat: Unknown Job Id 12.srv\n",
        status=153,
    )
    found = PbsScheduler().status(["12.srv", "13.srv"])
    assert [found[job].state for job in ("12.srv", "13.srv")] == ["unknown", "running"]
    put("qstat", "", "qstat: Unknown Job Id 12.srv\n", status=153)
    assert PbsScheduler().status(["12.srv"])["12.srv"].state == "unknown"


@pytest.mark.parametrize("scheduler", [PbsScheduler, ClassicPbsScheduler])
def test_a_silent_pbs(put: Put, tmp_path: Path, scheduler) -> None:
    words = "Connection refused\nqstat: cannot connect to server srv (errno=15010)\n"
    put("qstat", err=words, status=255)
    put("qsub", err=words.replace("qstat", "qsub"), status=255)
    with pytest.raises(SchedulerSilent, match="PBS does not answer"):
        scheduler().status(["12.srv"])
    with pytest.raises(SchedulerSilent):
        scheduler().submit(a_request(tmp_path), tmp_path)


@pytest.mark.parametrize("answer", ["{", "[]", '{"Jobs": 3}'])
def test_half_an_answer_of_pbs_is_none(put: Put, answer: str) -> None:
    put("qstat", answer)
    with pytest.raises(SchedulerSilent, match="can't be read"):
        PbsScheduler().status(["12.srv"])


def test_pbs_submits_and_cancels(put: Put, calls, tmp_path: Path) -> None:
    put("qsub", "12[].srv.example\n")
    put("qdel", err="qdel: Job has finished 12[].srv.example", status=35)
    scheduler = PbsScheduler()
    job = scheduler.submit(a_request(tmp_path, 4), tmp_path)
    assert job == "12[].srv.example"
    scheduler.cancel([job])
    assert calls() == [f"qsub {tmp_path}/1.sh", "qdel 12[].srv.example"]
    put("qsub", err="qsub: Unknown queue", status=168)
    with pytest.raises(AssayError, match="PBS rejects the job: Unknown queue"):
        scheduler.submit(a_request(tmp_path), tmp_path)


# ---- Torque ----------------------------------------------------------------------------------

# qstat(1B) of Torque, -f: attributes indented by four, long values continued after a tab.
FULL = """\
Job Id: 12.srv
    Job_Name = assay
    job_state = {state}
    Resource_List.nodes = 2:ppn=64
    Resource_List.walltime = 00:10:00
    resources_used.walltime = {used}
    Variable_List = PBS_O_HOME=/home/u,PBS_O_LANG=C,
\tPBS_O_PATH=/bin, job_state = Q
{more}
"""


@pytest.mark.parametrize(
    ("state", "used", "more", "expected"),
    [
        ("Q", "00:00:00", "", ("queued", None)),
        ("R", "00:00:10", "", ("running", None)),
        ("C", "00:00:10", "    exit_status = 0\n", ("complete", 0)),
        ("C", "00:00:10", "    exit_status = 4\n", ("failed", 4)),
        ("C", "00:00:10", "    exit_status = 271\n", ("cancelled", 143)),
        ("C", "00:10:04", "    exit_status = 271\n", ("timeout", 143)),
        ("C", "00:10:04", "    exit_status = -11\n", ("timeout", None)),
        ("C", "00:00:00", "", ("cancelled", None)),
    ],
)
def test_torque_states(put: Put, state: str, used: str, more: str, expected: tuple) -> None:
    put("qstat", FULL.format(state=state, used=used, more=more))
    status = ClassicPbsScheduler().status(["12.srv"])["12.srv"]
    assert (status.state, status.exit) == expected


def test_long_values_of_torque_are_continued(put: Put) -> None:
    comment = "    comment = Not Running: too few\n\t nodes are up\n"
    put("qstat", FULL.format(state="Q", used="00:00:00", more=comment))
    reason = ClassicPbsScheduler().status(["12.srv"])["12.srv"].reason
    assert reason == "Not Running: too few nodes are up"


def test_torque_arrays_and_forgotten_jobs(put: Put) -> None:
    put(
        "qstat",
        "Job Id: 12[0].srv\n    job_state = C\n    exit_status = 0\n\n"
        "Job Id: 12[1].srv\n    job_state = Q\n\n",
        "qstat: Unknown Job Id Error 11.srv\n",
        status=153,
    )
    found = ClassicPbsScheduler().status(["12[].srv", "11.srv"])
    assert found["12[].srv"].state == "queued"
    assert found["12[].srv"].tasks[0] == JobStatus("complete", "", 0)
    assert found["11.srv"].state == "unknown"


# ---- LSF -------------------------------------------------------------------------------------


def bjobs(*records: dict[str, str]) -> str:
    """bjobs(1) -json -o."""
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": list(records)})


def lsf(stat: str, code: str = "", exit_reason: str = "", **more: str) -> dict[str, str]:
    fields = {"JOBID": "7", "JOBINDEX": "0", "STAT": stat, "EXIT_CODE": code}
    return {**fields, "EXIT_REASON": exit_reason, "KILL_REASON": "", "PEND_REASON": "", **more}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # bjobs(1), job status; bacct(1), termination reasons.
        (lsf("PEND", PEND_REASON="Job slot limit reached"), ("queued", None, "Job slot limit")),
        (lsf("PSUSP"), ("queued", None, "")),
        (lsf("RUN"), ("running", None, "")),
        (lsf("SSUSP"), ("running", None, "")),
        (lsf("UNKWN"), ("running", None, "")),
        (lsf("DONE"), ("complete", 0, "")),
        (lsf("EXIT", "3"), ("failed", 3, "")),
        (
            lsf("EXIT", "140", "TERM_RUNLIMIT: job killed after reaching LSF run time limit"),
            ("timeout", 140, "TERM_RUNLIMIT"),
        ),
        (lsf("EXIT", "143", "TERM_OWNER: job killed by owner"), ("cancelled", 143, "TERM_OWNER")),
        (lsf("EXIT", "143", "TERM_PREEMPT: job killed after preemption"), ("preempted", 143, "")),
        (lsf("EXIT", "", "TERM_REMOVE_HUNG_JOB: job removed"), ("node-failed", None, "")),
        (lsf("EXIT", "137", "TERM_MEMLIMIT: job killed"), ("failed", 137, "TERM_MEMLIMIT")),
        (lsf("NEW"), ("unknown", None, "LSF calls its state NEW")),
        ({"JOBID": "7", "ERROR": "Job <7> is not found"}, ("unknown", None, "LSF does not know")),
    ],
)
def test_lsf_states(put: Put, record: dict[str, str], expected: tuple) -> None:
    put("bjobs", bjobs(record))
    status = LsfScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == expected[:2]
    assert status.reason.startswith(expected[2])
    assert status.tasks == {}


def test_lsf_arrays_count_from_0(put: Put) -> None:
    put("bjobs", bjobs(lsf("DONE", JOBINDEX="1"), lsf("EXIT", "2", JOBINDEX="2")))
    status = LsfScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == ("failed", 2)
    assert {task: each.state for task, each in status.tasks.items()} == {0: "complete", 1: "failed"}


def test_lsf_submits_on_standard_input(put: Put, tmp_path: Path) -> None:
    bsub = tmp_path / "bin" / "bsub"
    put("bsub")
    words = "echo 'Job <99> is submitted to queue <normal>.'"
    bsub.write_text(f"#!/bin/sh\ntest $# = 0 && cat >{tmp_path}/read; {words}\n")
    scheduler = LsfScheduler()
    assert scheduler.submit(a_request(tmp_path), tmp_path) == "99"
    assert (tmp_path / "read").read_text() == scheduler.script(a_request(tmp_path))
    put("bsub", err="bogus: No such queue. Job not submitted.", status=255)
    with pytest.raises(AssayError, match=r"LSF rejects the job: .*No such queue"):
        scheduler.submit(a_request(tmp_path), tmp_path)
    put("bsub", err="LSF is down. Please wait ...", status=255)
    with pytest.raises(SchedulerSilent):
        scheduler.submit(a_request(tmp_path), tmp_path)


def test_lsf_cancels_and_passes_over_what_has_ended(put: Put) -> None:
    put("bkill", err="Job <7>: Job has already finished", status=255)
    LsfScheduler().cancel(["7"])
    put("bkill", err="Job <7>: User permission denied", status=255)
    with pytest.raises(AssayError, match="permission denied"):
        LsfScheduler().cancel(["7"])


# ---- Flux ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # flux-jobs(1): JOB STATUS, and the fields returncode and exception.
        ("ƒ2qvX|PENDING|||", ("queued", None, "")),
        ("f2qvX|SCHED|||", ("queued", None, "")),
        ("f2qvX|RUNNING|||", ("running", None, "")),
        ("f2qvX|COMPLETED|0||", ("complete", 0, "")),
        ("f2qvX|FAILED|3||", ("failed", 3, "")),
        ("f2qvX|FAILED|-9||", ("failed", 137, "")),
        ("f2qvX|FAILED|-128|exec|no such file", ("failed", None, "exec: no such file")),
        (
            "f2qvX|FAILED|-9|node-failure|node1 | lost",
            ("node-failed", 137, "node-failure: node1 | l"),
        ),
        ("f2qvX|CANCELED|-128|cancel|", ("cancelled", None, "cancel")),
        ("f2qvX|TIMEOUT|142|timeout|resource allocation expired", ("timeout", 142, "timeout: res")),
        ("f2qvX|NEW|||", ("unknown", None, "Flux calls it NEW")),
    ],
)
def test_flux_states(put: Put, line: str, expected: tuple) -> None:
    put("flux", f"{line}\n")
    status = FluxScheduler().status(["f2qvX"])["f2qvX"]
    assert (status.state, status.exit) == expected[:2]
    assert status.reason.startswith(expected[2])


def test_flux_forgets_and_is_silent(put: Put) -> None:
    put("flux", err="flux-jobs: ERROR: JobID f2qvX unknown", status=1)
    assert FluxScheduler().status(["f2qvX"])["f2qvX"].state == "unknown"
    put(
        "flux",
        err="flux-jobs: ERROR: Unable to connect to Flux: No such file or directory",
        status=1,
    )
    with pytest.raises(SchedulerSilent):
        FluxScheduler().status(["f2qvX"])


def test_flux_arrays_are_jobs_that_know_their_numbers(put: Put, calls, tmp_path: Path) -> None:
    put("flux", "ƒAb\n", when="*TASK=0*")
    put("flux", "ƒAc\n", when="*TASK=1*")
    scheduler = FluxScheduler()
    job = scheduler.submit(a_request(tmp_path, 2), tmp_path)
    assert job == "fAb,fAc"
    assert calls() == [
        f"flux batch --env=ASSAY_TASK={i} --output={tmp_path}/1-{i}.out {tmp_path}/1.sh"
        for i in range(2)
    ]
    put("flux", "fAb|COMPLETED|0||\nfAc|RUNNING|||\n", when="*jobs*")
    status = scheduler.status([job])[job]
    assert (status.state, status.tasks[0].state, status.tasks[1].state) == (
        "running",
        "complete",
        "running",
    )
    put("flux", when="*cancel*")
    scheduler.cancel([job])
    assert calls()[-2:] == ["flux cancel fAb", "flux cancel fAc"]


def test_half_an_array_of_flux_is_taken_back(put: Put, calls, tmp_path: Path) -> None:
    put("flux", "ƒAb\n")
    put(
        "flux",
        err="flux-batch: ERROR: [Errno 22] queue x not configured",
        status=1,
        when="*TASK=1*",
    )
    with pytest.raises(AssayError, match="queue x not configured"):
        FluxScheduler().submit(a_request(tmp_path, 3), tmp_path)
    assert calls()[-1] == "flux cancel fAb"


def test_within_a_job_of_flux_the_instance_around_it_is_asked(
    put: Put, calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUX_ENCLOSING_ID", "fX")
    put("flux", "f2qvX|RUNNING|||\n")
    FluxScheduler().status(["f2qvX"])
    assert calls()[0].startswith("flux --parent jobs ")


# ---- which one is here -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "kind"),
    [
        ([], None),
        (["sbatch"], "slurm"),
        (["sbatch", "qsub", "bsub"], "slurm"),
        (["qsub", "pbs_rstat"], "pbs"),
        (["qsub"], "pbs-classic"),
        (["qsub", "qconf"], None),
        (["bsub"], "lsf"),
        (["flux"], "flux"),
    ],
)
def test_the_scheduler_that_is_here_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: list[str], kind: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("assay.schedulers.pbs.PBS_CONF", tmp_path / "pbs.conf")
    for name in present:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    found = scheduler_for(Config())
    assert (found.name if found else None) == kind


def test_one_that_is_named_must_be_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssayError, match="no command `bsub` here"):
        scheduler_for(Config(scheduler=SchedulerConfig(kind="lsf")))
    (tmp_path / "bsub").write_text("")
    (tmp_path / "bsub").chmod(0o700)
    found = scheduler_for(Config(scheduler=SchedulerConfig(kind="lsf")))
    assert found is not None and found.name == "lsf"


def test_one_that_is_unknown_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "assay.toml"
    path.write_text("[scheduler]\nkind = 'slrum'\n")
    with pytest.raises(AssayError, match="'slrum'") as error:
        scheduler_for(load_config(path))
    assert error.value.where == f"{path}:2"
    assert error.value.fix == "Did you mean 'slurm'?"


# ---- what no scheduler should answer -----------------------------------------------------------


def test_a_controller_that_shows_no_record_is_not_understood(put: Put) -> None:
    put("squeue")
    put("scontrol", "slurm_load_jobs: nothing to show\n")
    with pytest.raises(SchedulerSilent):
        SlurmScheduler().status(["7"])


@pytest.mark.parametrize("code", ["9" * 30, "-" + "9" * 5000, "²"])
def test_exit_statuses_beyond_all_bounds_are_unknown(put: Put, code: str) -> None:
    put("flux", f"f7|COMPLETED|{code}||\n")
    status = FluxScheduler().status(["f7"])["f7"]
    assert (status.state, status.exit) == ("complete", None)
    json.dumps(status.exit)
