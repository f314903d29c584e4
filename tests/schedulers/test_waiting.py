"""What a user sees of jobs that wait: ``assay run --submit`` with recorded answers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from jobs_bench import PLAN, SCENARIO

DRIVER = Path(__file__).parents[1] / "support" / "assay_in_a_hurry.py"


class Site:
    """A folder with a plan, and commands of a scheduler that give recorded answers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "bin").mkdir()
        (path / "plan.toml").write_text(PLAN)
        (path / "scenario.toml").write_text(SCENARIO.format(delay="0 s", failures=""))

    def put(self, name: str, out: str, err: str = "", status: int = 0) -> None:
        program = self.path / "bin" / name
        text = f"printf %s {shlex.quote(out)}; printf %s {shlex.quote(err)} >&2; exit {status}"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o700)

    def run(self, kind: str, *words: str) -> tuple[int, str]:
        (self.path / "assay.toml").write_text(f'[scheduler]\nkind = "{kind}"\n')
        done = prepared_assay.run(
            [
                *(sys.executable, str(DRIVER), "run", "plan.toml", "--submit", *words),
                *("--fake", "scenario.toml", "--no-report", "--config", "assay.toml"),
            ],
            cwd=self.path,
            env={
                **os.environ,
                "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "ASSAY_TEST_UNREADABLE": "1",
                "ASSAY_TEST_LATE": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


# qstat -f -F json of PBS Pro 19 and 2020: openpbs issues 1255, 2049 and 2603. A number with leading
# zeros, other forms that strtod(3) takes, the backslashes of a list of variables, a control
# character, and quotes in a value.
PBS = """{
    "timestamp":1700000000,
    "pbs_version":"19.1.3",
    "pbs_server":"pbs01",
    "Jobs":{
        "7.pbs01":{
            "Job_Name":"assay-x-1",
            "job_state":"Q",
            "Priority":0,
            "comment":"COMMENT",
            "Variable_List":{
                "PBS_O_LOGNAME":005123,
                "FOO1":.123,
                "FOO2":123.,
                "FOO3":-00,
                "FOO4":0x1F,
                "MYVAR":"\\'\\"asads\\"\\'",
                "LIST":"ab\\,c",
                "BELL":"a\x07b",
                "SAID":"he said "no", twice"
            },
            "Submit_arguments":"x"
        }
    }
}
"""


def test_invalid_json_of_pbs_is_read(site: Site) -> None:
    site.put("qsub", "7.pbs01\n")
    site.put(
        "qstat", PBS.replace("COMMENT", "Can Never Run: Insufficient amount of resource: ncpus")
    )
    status, said = site.run("pbs", "--patience", "3 s")
    assert status == 1, said
    assert (
        "Job 7.pbs01 is queued: Can Never Run: Insufficient amount of resource: ncpus. "
        "The scheduler reports that the job will never start.\n"
    ) in said
    assert "Job 7.pbs01 has not started within 3.00 s (Can Never Run: " in said


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (PBS[: PBS.index('"Variable_List"')], "a text without an end (line 10)"),
        ("<html>proxy</html>", "it contains no group"),
        ('{"Jobs": {"7.pbs01": {"job_state": "Q", 7}}}', "no name where one must be (line 1)"),
    ],
)
def test_json_that_cannot_be_read_is_not_waited_for(site: Site, answer: str, why: str) -> None:
    site.put("qsub", "7.pbs01\n")
    site.put("qstat", answer)
    status, said = site.run("pbs")
    assert status == 2, said
    assert said.count(f"PBS's answer can't be read: `qstat` printed invalid JSON ({why}).") == 2
    assert "Run `qstat` yourself and check its output." in said
    assert "assay runs --follow" in said


def test_reasons_of_lsf(site: Site) -> None:
    """bjobs -json prints texts as they are."""
    answer = """{ "COMMAND":"bjobs", "JOBS":1, "RECORDS":[ {
        "JOBID":"7", "JOBINDEX":"0", "STAT":"PEND", "EXIT_CODE":"", "EXIT_REASON":"",
        "KILL_REASON":"", "JOB_NAME":"a "b" c",
        "PEND_REASON":"Job's dependency condition is invalid or never satisfied\n;" } ] }"""
    site.put("bsub", "Job <7> is submitted to queue <normal>.\n")
    site.put("bjobs", answer)
    status, said = site.run("lsf", "--patience", "3 s")
    assert status == 1, said
    assert "never satisfied" in said
    assert "The scheduler reports that the job will never start." in said


def test_reasons_of_flux(site: Site) -> None:
    (site.path / "bin" / "flux").write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "batch*) echo f7abc ;;\n"
        "*urgency*) echo 'f7abc|0||' ;;\n"
        "*{name}*) echo 'f7abc|assay' ;;\n"
        "jobs*) echo 'f7abc|SCHED|||' ;;\n"
        "esac\n"
    )
    (site.path / "bin" / "flux").chmod(0o700)
    status, said = site.run("flux", "--patience", "3 s")
    assert status == 1, said
    assert "Job f7abc is queued: held: its urgency is 0. It is held, and starts only" in said


# scontrol show job of Slurm 22.05, of an array with a limit of one task at a time.
ARRAY = """\
JobId=65 ArrayJobId=65 ArrayTaskId=1 ArrayTaskThrottle=1 JobName=scan Reason=x JobState=RUNNING
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=4294901757 Nice=0 Account=(null) QOS=(null)
   JobState=COMPLETED Reason=None Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0

JobId=66 ArrayJobId=65 ArrayTaskId=2-5%1 ArrayTaskThrottle=1 JobName=scan
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=4294901757 Nice=0 Account=(null) QOS=(null)
   JobState=PENDING Reason=JobArrayTaskLimit Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0

"""


def test_an_array_waits_while_a_task_waits(site: Site) -> None:
    """Slurm's queue has forgotten all but the tasks that ended; its records have the others."""
    site.put("sbatch", "65\n")
    site.put("squeue", "65|1|COMPLETED|None\n")
    site.put("scontrol", ARRAY)
    site.put("sacct", "", "Slurm accounting storage is disabled", 1)
    status, said = site.run("slurm", "--per-node", "--nodes", "5", "--patience", "3 s")
    assert status == 1, said
    assert "Job 65 is queued: JobArrayTaskLimit.\n" in said
    assert (
        "Job 65 has not started within 3.00 s (JobArrayTaskLimit). It stays in the queue." in said
    )
