"""Answers of PBS Pro and Torque, by their manuals, and their meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.schedulers.model import JobStatus, SchedulerSilent
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from scheduler_answers import Put, a_request, calls, put

__all__ = ["calls", "put"]  # fixtures

# ---- PBS Pro ---------------------------------------------------------------------------------


def qstat(**jobs: dict[str, object]) -> str:
    """qstat(1B) -f -F json."""
    answer = {"timestamp": 1, "pbs_version": "20.0.1", "pbs_server": "srv", "Jobs": jobs}
    return json.dumps(answer)


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
        # OpenPBS 23.06.06: by qdel, while it ran; by qdel -W force; by kill -9 in its script.
        ({"job_state": "F", "substate": 91, "Exit_status": 0}, ("cancelled", None)),
        ({"job_state": "F", "substate": 91, "Exit_status": 265}, ("cancelled", None)),
        ({"job_state": "F", "substate": 93, "Exit_status": 137}, ("failed", 137)),
        # OpenPBS 23.06.06: its only node was lost; one of two was, and it was deleted.
        ({"job_state": "F", "substate": 93, "Exit_status": -20}, ("node-failed", None)),
        (
            {
                "job_state": "F",
                "substate": 93,
                "Exit_status": 0,
                "comment": "Job run at Thu Nov 26 at 04:26 on (n1:ncpus=1) and terminated by u@n1",
            },
            ("cancelled", None),
        ),
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
    assert calls() == ["qstat -E -x -t -f -F json 12.srv"]


def test_pbs_arrays_are_reported_task_by_task(put: Put) -> None:
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


def of_openpbs(state: str, substate: int, status: int | None, comment: str) -> dict[str, object]:
    """A job's record in OpenPBS 23.06.06."""
    exit_status = {} if status is None else {"Exit_status": status}
    return {"job_state": state, "substate": substate, "comment": comment, **exit_status}


RAN = "Job run at Thu Nov 26 at 04:20 on (n1:ncpus=1)"


def test_subjobs_of_openpbs_without_a_record(put: Put) -> None:
    """Recorded: task 3 was deleted while it ran, task 4 before; then the array's end."""
    ended = {
        0: of_openpbs("X", 92, 0, f"{RAN} and finished"),
        1: of_openpbs("X", 93, 4, f"{RAN} and failed"),
        3: of_openpbs("X", 91, 0, f"{RAN} and terminated by root@n1"),
    }
    during = {
        **ended,
        2: of_openpbs("R", 42, None, RAN),
        4: of_openpbs("X", 70, 0, "Subjob finished"),
    }
    array = of_openpbs("B", 70, 0, "Job Array Began at Thu Nov 26 at 04:20")
    subjobs = {f"39[{task}].srv": fields for task, fields in during.items()}
    put("qstat", qstat(**{"39[].srv": array}, **subjobs))
    status = PbsScheduler().status(["39[].srv"])["39[].srv"]
    states = {task: (found.state, found.exit) for task, found in (status.tasks or {}).items()}
    assert status.state == "running"
    assert states == {
        0: ("complete", 0),
        1: ("failed", 4),
        2: ("running", None),
        3: ("cancelled", None),
        4: ("unknown", None),
    }
    # At the end the fifth has the array's own values.
    put("qstat", qstat(**{"39[4].srv": of_openpbs("F", 93, 0, "Subjob finished")}))
    status = PbsScheduler().status(["39[].srv"])["39[].srv"]
    assert (status.state, status.reason) == ("cancelled", "it was deleted before it ran")


def test_ended_subjobs_of_openpbs_without_a_history(put: Put) -> None:
    """Recorded: task 0 had ended with 0 and task 1 with 4; both have the array's 1."""
    gone = of_openpbs("X", 70, 1, "Subjob finished")
    tasks = {"40[0].srv": gone, "40[1].srv": gone, "40[2].srv": of_openpbs("R", 42, None, RAN)}
    put("qstat", qstat(**tasks))
    status = PbsScheduler().status(["40[].srv"])["40[].srv"]
    assert [found.state for found in (status.tasks or {}).values()] == [
        *("unknown", "unknown", "running"),
    ]


# OpenPBS 23.06.06 answers qstat -x so, without a history, which is its default.
NO_HISTORY = '{\n\t"timestamp":\t1,\n\t"pbs_version":\t"23.06.06",\n\t"pbs_server":\t"srv"\n}'


@pytest.mark.parametrize(("out", "status"), [("", 1), (NO_HISTORY, 0)])
def test_pbs_without_a_history(put: Put, out: str, status: int) -> None:
    put("qstat", qstat(**{"12.srv": {"job_state": "R"}}))
    words = "qstat: PBS is not configured to maintain job history 12.srv\n"
    put("qstat", out, words, status, when="*' -x '*")
    assert PbsScheduler().status(["12.srv"])["12.srv"].state == "running"
    assert PbsScheduler().accounting(["12.srv"]) is None


def test_pbs_is_asked_for_several_jobs_at_once(put: Put) -> None:
    """Without -E, OpenPBS 23.06.06 lists only the first of several jobs as JSON."""
    jobs = {"12.srv": {"job_state": "R"}, "13.srv": {"job_state": "Q"}}
    put("qstat", qstat(**{"12.srv": jobs["12.srv"]}))
    put("qstat", qstat(**jobs), when="*' -E '*")
    found = PbsScheduler().status(["12.srv", "13.srv"])
    assert [status.state for status in found.values()] == ["running", "queued"]


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
