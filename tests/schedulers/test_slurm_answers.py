"""Answers of Slurm, by its manuals and sources, and their meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.schedulers import commands
from assay.schedulers.model import JobStatus, SchedulerSilent
from assay.schedulers.slurm import SlurmScheduler
from assay.schedulers.slurm_records import job_records, task_numbers
from scheduler_answers import Put, a_request, calls, put

__all__ = ["calls", "put"]  # fixtures

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
        ("7|N/A|NEW_STATE|x", None, ("unknown", None, "Slurm reports the state NEW_STATE")),
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


def test_slurm_arrays_are_reported_task_by_task(put: Put, calls) -> None:
    put("squeue", "7|3|PENDING|Resources\n7|2|RUNNING|None\n8|N/A|RUNNING|None\n")
    found = SlurmScheduler().status(["7", "8"])
    assert found["7"].state == "running"
    assert {task: status.state for task, status in found["7"].tasks.items()} == {
        2: "running",
        3: "queued",
    }
    assert found["8"] == JobStatus("running")
    # Otherwise waiting tasks are reported in one line.
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


def test_the_controller_is_asked_if_squeue_has_forgotten_a_job(put: Put) -> None:
    put("squeue", err=INVALID, status=1)
    put("scontrol", record("FAILED", "2:0", "NonZeroExitCode"))
    assert SlurmScheduler().status(["7"])["7"].exit == 2


def test_sacct_is_asked_if_the_controller_has_forgotten_a_job(put: Put, calls) -> None:
    put("squeue", err=INVALID, status=1)
    put("scontrol", err=INVALID, status=1)
    # sacct(1), --parsable2, JOB STATE CODES: the user who cancelled follows the state.
    put("sacct", "7|CANCELLED by 1000|0:15\n8_[0-1]|PENDING|0:0\n9_3|TIMEOUT|0:0\n")
    found = SlurmScheduler().status(["7", "8", "9", "10"])
    assert found["7"] == JobStatus("cancelled", "", 143)
    assert found["8"].state == "queued" and set(found["8"].tasks) == {0, 1}
    assert found["9"].tasks[3].state == "timeout"
    assert found["10"].state == "unknown"
    assert calls()[-1].endswith("--jobs=7,8,9,10 --format=JobID,State,ExitCode")


def test_a_job_unknown_to_all_is_unknown_and_has_not_ended(put: Put) -> None:
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


def test_a_hanging_command_counts_as_no_answer() -> None:
    with pytest.raises(SchedulerSilent, match=r"did not answer within 0\.3 s"):
        commands.run(["sleep", "20"], scheduler="Slurm", patience=0.3)


def test_slurm_submits_and_reads_the_id(put: Put, calls, tmp_path: Path) -> None:
    put("sbatch", "welcome to the cluster\n1234;alba\n")
    assert SlurmScheduler().submit(a_request(tmp_path), tmp_path / "jobs") == "1234"
    script = tmp_path / "jobs" / "1.sh"
    assert calls() == [f"sbatch --parsable {script}"]
    assert script.read_text() == SlurmScheduler().script(a_request(tmp_path))


def test_a_rejection_has_the_schedulers_message(put: Put, tmp_path: Path) -> None:
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


def test_an_unreadable_id_is_reported(put: Put, tmp_path: Path) -> None:
    put("sbatch", "thank you\n")
    with pytest.raises(AssayError, match="its id can't be read"):
        SlurmScheduler().submit(a_request(tmp_path), tmp_path)


def test_slurm_cancels_and_skips_ended_jobs(put: Put, calls) -> None:
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


def test_a_surrounding_job_does_not_affect_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    around = {"SLURM_JOB_ID": "5", "SLURM_NTASKS": "4", "SLURM_CONF": "/x", "HOME": "/root"}
    assert commands.outside(around).keys() == {"SLURM_CONF", "HOME"}
    chosen = {"SLURM_CLUSTERS": "alba", "SBATCH_PARTITION": "batch"}
    assert commands.outside(chosen) == chosen


def test_a_controller_that_shows_no_record_is_not_understood(put: Put) -> None:
    put("squeue")
    put("scontrol", "slurm_load_jobs: nothing to show\n")
    with pytest.raises(SchedulerSilent):
        SlurmScheduler().status(["7"])


# ---- nodes and limits ------------------------------------------------------------------------

# scontrol(1), show config, of Slurm 22.05: some of its lines.
CONFIG = """\
Configuration data as of 2026-01-01T00:00:00
MaxArraySize            = {size}
MaxJobCount             = 10000
SchedulerParameters     = {parameters}
SelectType              = select/cons_tres
"""


@pytest.mark.parametrize(
    ("size", "parameters", "expected"),
    [
        ("1001", "(null)", 1001),
        ("0", "(null)", 0),
        ("4000", "bf_continue,max_array_tasks=300,defer", 300),
        ("4000", "max_array_tasks=300", 300),
        ("200", "max_array_tasks=300", 200),
    ],
)
def test_the_limit_of_arrays_is_the_configured_one(
    put: Put, size: str, parameters: str, expected: int
) -> None:
    put("scontrol", CONFIG.format(size=size, parameters=parameters))
    assert SlurmScheduler().array_limit() == expected


def test_without_an_answer_no_limit_is_known(put: Put) -> None:
    put("scontrol", "", "scontrol: error: Access denied", 1)
    assert SlurmScheduler().array_limit() is None


# sinfo(1), NODE STATE CODES, with --Node and --format=%N|%P|%T|%E.
SINFO = """\
n1|batch*|idle|none
n1|debug|idle|none
n2|batch*|drained|bad DIMM | slot 3
n3|batch*|mixed-|none
n4|batch*|down*|Not responding
n5|batch*|idle~|none
n6|batch*|maint|none
n7|debug|idle|none
n8|batch*|powering_up#|none
n9|batch*|draining|fan
"""


def test_each_node_of_the_default_partition_is_listed_once_with_its_state(put: Put) -> None:
    put("sinfo", SINFO)
    found = SlurmScheduler().nodes(None)
    assert found is not None
    assert [node.name for node in found if node.usable] == ["n1", "n3", "n5", "n8"]
    why = {node.name: (node.state, node.reason) for node in found if not node.usable}
    assert why == {
        "n2": ("drained", "bad DIMM | slot 3"),
        "n4": ("down*", "Not responding"),
        "n6": ("maint", ""),
        "n9": ("draining", "fan"),
    }


def test_a_named_partition_is_asked_for(put: Put, calls: Callable[[], list[str]]) -> None:
    put("sinfo", "n1|debug|idle|none\n")
    assert [node.name for node in SlurmScheduler().nodes("debug") or ()] == ["n1"]
    assert "--partition=debug" in calls()[0]
    put("sinfo", "", "sinfo: error: Invalid partition specified", 1)
    with pytest.raises(SchedulerSilent):
        SlurmScheduler().nodes("other")


# ---- arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("3", [3]),
        ("2-5%1", [2, 3, 4, 5]),
        ("[1-4]", [1, 2, 3, 4]),
        ("[0-2%2]", [0, 1, 2]),
        ("[0-2]%2", [0, 1, 2]),
        ("0,3,7-9:2", [0, 3, 7, 9]),
        ("0-99:50", [0, 50]),
        ("[0,2,4,...]", [0, 2, 4]),
        ("N/A", [None]),
        (None, [None]),
        ("", [None]),
        ("5-3", [None]),
        ("1-4:0", [None]),
        ("0-99999999", [None]),
    ],
)
def test_tasks_of_an_array(written: str | None, numbers: list[int | None]) -> None:
    assert task_numbers(written) == numbers


HOSTILE = "scan JobState=FAILED ExitCode=1:0 UserId=x(1) ArrayTaskId=9"


@pytest.mark.parametrize("one_line", [False, True])
def test_records_are_read_by_name(one_line: bool) -> None:
    name = "scan of two = 2" if one_line else HOSTILE
    text = f"""\
JobId=66 ArrayJobId=65 ArrayTaskId=2-5%1 ArrayTaskThrottle=1 JobName={name}
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=PENDING Reason=held: see Dependency=x, ask us Dependency=afterok:7
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   NumNodes=1-1 NumCPUs=1 ReqB:S:C:T=0:0:*:*
   Comment=JobState=RUNNING now
   Command=/x/job.sh a=1 JobState=FAILED
   WorkDir=/x y
"""
    if one_line:
        text = " ".join(line.strip() for line in text.splitlines()) + "\n"
    (record,) = job_records(text)
    assert record["JobId"] == "66"
    assert (record["ArrayJobId"], record["ArrayTaskId"]) == ("65", "2-5%1")
    assert record["JobName"] == name
    assert (record["JobState"], record["ExitCode"]) == ("PENDING", "0:0")
    assert record["Reason"] == "held: see Dependency=x, ask us"
    assert record["ReqB:S:C:T"] == "0:0:*:*"
    assert record["WorkDir"] == "/x y"


def test_a_task_that_only_the_queue_knows_is_not_lost(put: Put) -> None:
    put("squeue", "65|1|COMPLETED|None\n65|[2-4%1]|PENDING|JobHeldUser\n")
    put("scontrol", record("COMPLETED", array=" ArrayJobId=65 ArrayTaskId=1"))
    status = SlurmScheduler().status(["65"])["65"]
    assert (status.state, status.prospect) == ("queued", "held")
    assert {task: each.state for task, each in status.tasks.items()} == {
        1: "complete", 2: "queued", 3: "queued", 4: "queued",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "prospect"),
    [
        ("PENDING|Resources", ""),
        ("PENDING|ReqNodeNotAvail, UnavailableNodes:n1", ""),
        ("PENDING|DependencyNeverSatisfied", "never"),
        ("PENDING|JobHeldUser", "held"),
        ("PENDING|JobHeldAdmin", "held"),
        ("PENDING|launch failed requeued held", "held"),
        ("REQUEUE_HOLD|None", "held"),
        ("PENDING|PartitionNodeLimit", "limited"),
        ("PENDING|PartitionTimeLimit", "limited"),
        ("PENDING|QOSMaxWallDurationPerJobLimit", "limited"),
        ("PENDING|AssocMaxNodePerJobLimit", "limited"),
        ("PENDING|AssocMaxJobsLimit", ""),
        ("RUNNING|None", ""),
    ],
)
def test_what_a_reason_says_on_the_start(put: Put, line: str, prospect: str) -> None:
    put("squeue", f"7|N/A|{line}\n")
    assert SlurmScheduler().status(["7"])["7"].prospect == prospect


def test_filters_of_the_user_hide_no_jobs(
    put: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    put("squeue")
    program = tmp_path / "bin/squeue"
    program.write_text(
        '#!/bin/sh\n[ -z "$SQUEUE_PARTITION" ] && [ "$SLURM_BITSTR_LEN" = 0 ] && '
        "echo '7|N/A|RUNNING|None'\n"
    )
    assert SlurmScheduler().status(["7"])["7"].state == "running"
