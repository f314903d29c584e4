"""Logs of schedulers for tests: small ones by hand for each format, and planted ones in SWF."""

# ruff: noqa: E501 - a record is a line

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.usage.accounts.reading import Accounts, read_accounts

# 1 July 2024, 00:00 UTC, a Monday.
MONDAY = 1719792000

# SWF 2.2 (Chapin et al., 1999): job, submission, wait, run time, processors, CPU time, memory,
# requested processors, time and memory, status, user, group, executable, queue, partition, ...
SWF = f"""; Version: 2.2
; MaxRecords: 5
; UnixStartTime: {MONDAY}
; TimeZoneString: Europe/Stockholm
; MaxNodes: 4
; MaxProcs: 16
; Note: made for tests
1    0   60 3600  8  -1   1024  8  7200  2048 1  3  1 -1 2 -1 -1 -1
2  100   -1  100  4  -1     -1  4   100    -1 0  4  1 -1 2 -1 -1 -1
3  200   10   -1  4  -1     -1  4   300    -1 1  4 -1 -1 2 -1 -1 -1
4  300  500    0 -1  -1     -1  2   300    -1 5  3  1 -1 2 -1 -1 -1
5  400    0   50 -1  -1     -1  2    60    -1 1  3  1 -1 -1 -1 -1 -1
"""

SLURM = """\
JobID|JobIDRaw|JobName|User|Account|Partition|State|Submit|Start|End|AllocCPUS|AllocNodes|ReqMem|Timelimit|AllocTRES|MaxRSS|TRESUsageInTot
100|100|a|ann|phys|batch|COMPLETED|2024-07-01T00:00:00|2024-07-01T00:10:00|2024-07-01T02:10:00|8|2|16G|1-00:00:00|billing=8,cpu=8,gres/gpu:a100=4,mem=16G,node=2||
100.batch|100.batch|batch||phys||COMPLETED|2024-07-01T00:10:00|2024-07-01T00:10:00|2024-07-01T02:10:00|4|1||||1024K|cpu=00:01:00,mem=2G
100.0|100.0|x|y||phys||COMPLETED|2024-07-01T00:10:00|2024-07-01T00:10:00|2024-07-01T02:10:00|8|2||||2048K|cpu=00:01:00,mem=3G
101_7|102|arr|bob|chem|batch|TIMEOUT|2024-07-01T00:00:00|2024-07-01T01:00:00|2024-07-01T02:00:00|1|1|4Gc|01:00:00|cpu=1,node=1||
103|103|odd|name|bob|chem|long|CANCELLED by 1001|2024-07-01T00:30:00|None|2024-07-01T00:40:00|0|0|4Gn|UNLIMITED|||
104|104|p|bob|chem|long|PENDING|2024-07-01T03:00:00|Unknown|Unknown|2|1|4Gn|2-00:00:00|||
105|105|r|ann|phys|long|RUNNING|2024-07-01T03:00:00|2024-07-01T03:30:00|Unknown|2|1|4Gn|02:30|cpu=2,gres/gpu=1,node=1||
this|is|no|record
"""

# Two clusters that one accounting has.
SLURM_CLUSTERS = """\
JobID|Cluster|User|Account|State|Submit|Start|End|AllocCPUS|TotalCPU
1|alpha|ann|phys|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:10:00|2026-03-02T02:10:00|8|15:00:00
2|alpha|bob|chem|COMPLETED|2026-03-03T00:00:00|2026-03-03T00:10:00|2026-03-03T06:10:00|4|12:00:00
1|beta|ann|phys|COMPLETED|2026-03-02T00:00:00|2026-03-02T01:00:00|2026-03-02T02:00:00|2|01:00:00
"""

# The fields of 20.11: ReqGRES per node, no AllocTRES.
SLURM_OLD = """\
JobID|User|Partition|State|Submit|Start|End|NCPUS|NNodes|ReqMem|ReqGRES
7|ann|gpu|COMPLETED|2020-11-01T00:00:00|2020-11-01T00:00:05|2020-11-01T01:00:00|8|2|4Gc|gpu:v100:2
8|ann|gpu|COMPLETED|2020-11-01T00:00:00|2020-11-01T00:00:05|2020-11-01T01:00:00|8|2|4Gn|0
"""

SLURM_EVENTS = """\
NodeName|TimeStart|TimeEnd|State|TRES
|2024-07-01T00:00:00|2024-07-02T00:00:00||cpu=16,mem=64G
|2024-07-02T00:00:00|Unknown||cpu=32,mem=64G
n1|2024-07-01T06:00:00|2024-07-01T12:00:00|DOWN|cpu=8
n1|2024-07-01T10:00:00|2024-07-01T18:00:00|DRAIN|cpu=8
n2|2024-07-03T00:00:00|Unknown|DOWN|cpu=8
n3|2024-07-03T06:00:00|2024-07-03T05:00:00|DOWN|cpu=8
n4|not a time|Unknown|DOWN|cpu=8
"""

# As ``sshare -a -P`` prints it: phys has 3 of 4 parts, of which its part opt has half.
SLURM_SHARES = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.000000|1000|1.000000|
 root|root|1|0.200000|0|0.000000|1.000000
 phys||3|0.600000|900|0.900000|
  phys|ann|1|0.500000|900|1.000000|0.2
  phys|eve|parent|0.500000|0|0.000000|0.2
  opt||1|0.500000|0|0.000000|
 chem||1|0.200000|100|0.100000|
  chem|bob|1|1.000000|100|1.000000|0.4
"""

# What JobCompType=jobcomp/filetxt of 22.05 writes: a job, one cancelled while it waited, a task of an
# array that a failed node ended, and a record cut short.
SLURM_COMPLETED = """\
JobId=7 UserId=ann(1001) GroupId=phys(100) Name=a name=b JobState=COMPLETED Partition=batch TimeLimit=120 StartTime=2024-07-01T00:10:00 EndTime=2024-07-01T01:10:00 NodeList=n[1-2] NodeCnt=2 ProcCnt=8 WorkDir=/home/ann/a b ReservationName= Tres=cpu=8,mem=16G,node=2,billing=8,gres/gpu=4 Account=proj QOS=normal WcKey= Cluster=c SubmitTime=2024-07-01T00:00:00 EligibleTime=2024-07-01T00:00:00 DerivedExitCode=0:0 ExitCode=0:0\x20
JobId=8 UserId=bob(1002) GroupId=chem(101) Name=x JobState=CANCELLED Partition=long TimeLimit=UNLIMITED StartTime=2024-07-01T00:20:00 EndTime=2024-07-01T00:20:00 NodeList=(null) NodeCnt=0 ProcCnt=0 WorkDir=/tmp ReservationName= Tres=cpu=1,node=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2024-07-01T00:05:00 EligibleTime=2024-07-01T00:05:00 DerivedExitCode=0:0 ExitCode=0:0\x20
JobId=10 UserId=bob(1002) GroupId=chem(101) Name=arr JobState=NODE_FAIL Partition=long TimeLimit=5 StartTime=2024-07-01T00:30:00 EndTime=2024-07-01T00:31:30 NodeList=n3 NodeCnt=1 ProcCnt=2 WorkDir=/tmp ReservationName= Tres=cpu=2,node=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2024-07-01T00:05:00 EligibleTime=2024-07-01T00:05:00 ArrayJobId=9 ArrayTaskId=1 DerivedExitCode=0:0 ExitCode=0:1\x20
JobId=11 UserId=bob(1002) GroupId=chem(101) Name=cut JobState=COMP
"""

SLURM_JSON = json.dumps(
    {
        "jobs": [
            {
                "job_id": 42,
                "association": {"account": "phys"},
                "account": "phys",
                "user": "ann",
                "partition": "batch",
                "state": {"current": ["TIMEOUT"]},
                "array": {"job_id": 40},
                "time": {
                    "submission": MONDAY,
                    "start": MONDAY + 60,
                    "end": MONDAY + 3660,
                    "limit": {"set": True, "infinite": False, "number": 60},
                },
                "tres": {
                    "allocated": [
                        {"type": "cpu", "name": "", "count": 8},
                        {"type": "node", "name": "", "count": 2},
                        {"type": "gres", "name": "gpu:a100", "count": 4},
                    ],
                    "requested": [
                        {"type": "cpu", "name": "", "count": 8},
                        {"type": "mem", "name": "", "count": 1024},
                    ],
                },
                "steps": [{"tres": {"requested": {"total": [{"type": "mem", "count": 5}]}}}],
            },
            {
                "job_id": 43,
                "user": "bob",
                "partition": "batch",
                "state": {"current": "PENDING"},
                "required": {"CPUs": 3},
                "time": {"submission": MONDAY, "start": 0, "end": 0, "limit": 60},
                "tres": {"allocated": [], "requested": [{"type": "cpu", "name": "", "count": 3}]},
            },
            {"job_id": 44},
        ]
    },
    indent=1,
)

# PBS: a record per event; the file's dates are two hours ahead of UTC.
PBS = f"""\
07/01/2024 02:00:00;Q;9.server;queue=work
07/01/2024 02:10:00;S;9.server;user=ann group=phys queue=work ctime={MONDAY} start={MONDAY + 600}
07/01/2024 03:10:00;E;9.server;user=ann group=phys jobname="a b" queue=work ctime={MONDAY} qtime={MONDAY} etime={MONDAY} start={MONDAY + 600} exec_host=n1/0*4+n2/0*4 Resource_List.ncpus=8 Resource_List.mem=16gb Resource_List.ngpus=2 Resource_List.walltime=02:00:00 session=1 end={MONDAY + 4200} Exit_status=0 resources_used.mem=1048576kb resources_used.walltime=01:00:00
07/01/2024 03:10:00;E;10[3].server;user=bob group=chem queue=work ctime={MONDAY} start={MONDAY + 600} exec_host=n3/0-3 Resource_List.nodes=1:ppn=4 Resource_List.walltime=00:30:00 end={MONDAY + 2400} Exit_status=-29
07/01/2024 03:15:00;D;11.server;requestor=bob@login
07/01/2024 03:20:00;S;12.server;user=bob group=chem queue=work ctime={MONDAY} start={MONDAY + 4800} exec_host=n4/0+n4/1
07/01/2024 04:20:00;R;12.server;user=bob
07/01/2024 05:00:00;S;12.server;user=bob group=chem queue=work ctime={MONDAY} start={MONDAY + 10800} exec_host=n4/0+n4/1
13/45/2024 99:00:00;E;13.server;user=bob
"""


def lsf_record(job: int, *, slots: Sequence[str], status: int, reason: int, index: int = 0) -> str:
    """A ``JOB_FINISH`` record: submitted at ``MONDAY``, run from 60 s to an hour after it."""
    begin = f'"JOB_FINISH" "10.1" {MONDAY + 3600} {job} 1001 33816578 4 {MONDAY} 0 0 {MONDAY + 60}'
    texts = '"ann" "normal" "select[mem>1]" "" "" "login" "/home/ann" "" "out" "" "1.1"'
    hosts = " ".join(f'"{host}"' for host in slots)
    usage = " ".join(["1.5"] * 19)
    rest = f'"" "phys" 0 4 "" "" {index} 2048 4096 "" "" "" "" 0 "" {reason} ""'
    return (
        f'{begin} {texts} 1 "n1" {len(slots)} {hosts} {status} 60.0 "a ""b"" c" "./x y" '
        f"{usage} {rest}"
    )


LSF = "\n".join(
    [
        '"EVENT_ADRSV_FINISH" "10.1" 1719792000 1 2',
        lsf_record(7, slots=["n1", "n1", "n2"], status=64, reason=0),
        lsf_record(8, slots=["16*n1"], status=32, reason=5, index=2),
        '"JOB_FINISH" "10.1" 1719792000 9 broken',
    ]
)

FLUX = json.dumps(
    {
        "jobs": [
            {
                "id": 151, "userid": 1001, "username": "ann", "t_submit": MONDAY + 0.5,
                "t_run": MONDAY + 10.5, "t_cleanup": MONDAY + 20.5, "t_inactive": MONDAY + 21,
                "ncores": 8, "nnodes": 2, "duration": 60.0, "result": "TIMEOUT", "bank": "phys",
                "queue": "batch", "state": "INACTIVE",
            },
            {"id": 152, "userid": 1002, "t_submit": MONDAY + 1.0, "t_run": MONDAY + 2.0,
             "ntasks": 4, "state": "RUN"},
            {"id": 153, "userid": 1002, "t_submit": MONDAY + 1.0, "state": "SCHED", "ncores": 2},
        ]
    }
)  # fmt: skip

SAMPLES = {
    "swf": SWF,
    "slurm": SLURM,
    "slurm_old": SLURM_OLD,
    "slurm_events": SLURM_EVENTS,
    "slurm_shares": SLURM_SHARES,
    "slurm_completed": SLURM_COMPLETED,
    "slurm_json": SLURM_JSON,
    "pbs": PBS,
    "lsf": LSF,
    "flux": FLUX,
}


# Formats without jobs.
WITHOUT_JOBS = {"slurm_events", "slurm_shares"}


def read_text(folder: Path, *texts: str) -> Accounts:
    """The accounts of these texts, a file each."""
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"log{number}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return read_accounts(paths)


# A planted job: id, submission, wait, run time, processors; and as options what else it has.
PlantedJob = tuple[int, int, int, int, int]


def swf_of(jobs: Iterable[PlantedJob], *, processors: int = 0, users: int = 1) -> str:
    """A log of planted jobs, with ``processors`` in its header if that is not 0."""
    head = f"; UnixStartTime: {MONDAY}\n; TimeZoneString: UTC\n"
    head += f"; MaxProcs: {processors}\n" if processors else ""
    return head + "".join(
        f"{job} {submit} {wait} {run} {size} -1 -1 {size} {2 * run + 60} -1 1 {job % users} 1 "
        f"-1 {job % 2} -1 -1 -1\n"
        for job, submit, wait, run, size in jobs
    )


def _hour(text: str) -> str:
    """A time of 1 July 2024 by its hour; other text as it is; "Unknown" for none."""
    if not text:
        return "Unknown"
    return f"2024-07-01T{int(text):02}:00:00" if text.isdigit() and len(text) < 3 else text


def sacct(*rows: str) -> str:
    """A table of sacct: rows of job, state, hours of submission, start and end, and processors."""
    lines = ["JobID|State|Submit|Start|End|AllocCPUS"]
    for row in rows:
        job, state, *times, processors = row.split("|")
        lines.append("|".join([job, state, *map(_hour, times), processors]))
    return "\n".join(lines) + "\n"


def sacct_json(job: int, first: int, last: int, processors: int, **times: object) -> str:
    """The answer of ``sacct --json`` with one job, by the hours of its start and end."""
    record = {
        "account": "phys", "association": {}, "job_id": job, "user": "ann", "nodes": "n1",
        "state": {"current": ["COMPLETED"]},
        "time": {"submission": MONDAY + 3600 * 8, "start": MONDAY + 3600 * first,
                 "end": MONDAY + 3600 * last, **times},
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": processors}], "requested": []},
    }  # fmt: skip
    return json.dumps({"jobs": [record], "meta": {"plugin": {}}})


# As sacct prints by default, with the columns that are needed.
SLURM_FIXED = """\
JobID             State              Submit               Start                 End  AllocCPUS 
------------ ---------- ------------------- ------------------- ------------------- ---------- 
1             COMPLETED 2024-07-01T08:00:00 2024-07-01T08:00:00 2024-07-01T10:00:00          4 
2                FAILED 2024-07-01T08:00:00 2024-07-01T09:00:00 2024-07-01T10:00:00          2 
2.batch          FAILED                     2024-07-01T09:00:00 2024-07-01T10:00:00          2 
"""  # noqa: W291
