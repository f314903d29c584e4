"""Records as real schedulers write them: separators in texts, unknown times, arrays, zones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.usage.accounts.reading import Accounts
from assay.usage.accounts.values import date
from assay.usage.analysis.query import UsageQuery
from assay.usage.jobs import State
from usage_logs import MONDAY, PBS, lsf_record, read_text

HEAD = "JobID|JobIDRaw|JobName|Constraints|State|Submit|Start|End|AllocCPUS|AllocNodes|"
HEAD += "Timelimit|NodeList|SubmitLine"
DAY = "2024-07-01T"


def one(folder: Path, row: str) -> Accounts:
    log = read_text(folder, f"{HEAD}\n{row}\n")
    assert len(log.jobs) == 1
    assert log.problems.found() == []
    return log


def nodes(log: Accounts, place: int = 0) -> list[str]:
    """The names of a job's nodes."""
    lists = log.jobs.nodes
    if lists is None:
        return []
    at, count = (log.jobs.code(name)[[place]] for name in ("hosts_at", "hosts"))
    return [lists.name(int(node)) for node in lists.expanded(at, count)[1]]


def test_separators_in_several_texts(tmp_path: Path) -> None:
    """A constraint with a bar is also in the line of the submission."""
    times = f"{DAY}00:00:00|{DAY}01:00:00|{DAY}03:00:00"
    log = one(
        tmp_path,
        f"7|7|a|b|amd|intel|COMPLETED|{times}|8|2|1-00:00:00|n[1-2]|sbatch -C amd|intel --wrap x",
    )
    assert log.jobs.number("processors").tolist() == [8]
    assert log.jobs.number("start").tolist() == [MONDAY + 3600]
    assert log.jobs.number("requested_time").tolist() == [86400]
    assert nodes(log) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("row", "start", "limit", "state", "array"),
    [
        (f"9_[4-9%2]|9|a||PENDING|{DAY}00:00:00|Unknown|Unknown|0|0|UNLIMITED|None assigned|x",
         math.nan, math.nan, State.PENDING, 9),
        (f"123+0|123|a||COMPLETED|{DAY}00:00:00|{DAY}01:00:00|{DAY}02:00:00|4|1|Partition_Limit|"
         "n7|x", MONDAY + 3600, math.nan, State.COMPLETED, -1),
        (f"5|5|a||CANCELLED by 1000|{DAY}00:00:00|None|{DAY}02:00:00|0|1|00:10:00|None assigned|x",
         math.nan, 600, State.CANCELLED, -1),
        (f"6|6|a||REQUEUE_HOLD|{DAY}00:00:00|Unknown|Unknown|0|1|INVALID|None assigned|x",
         math.nan, math.nan, State.PENDING, -1),
    ],
)  # fmt: skip
def test_unknown_values(
    tmp_path: Path, row: str, start: float, limit: float, state: State, array: int
) -> None:
    log = one(tmp_path, row)
    assert log.jobs.number("start")[0] == pytest.approx(start, nan_ok=True)
    assert log.jobs.number("requested_time")[0] == pytest.approx(limit, nan_ok=True)
    assert log.jobs.code("state").tolist() == [state]
    assert log.jobs.code("array").tolist() == [array]
    assert bool(nodes(log)) == ("n7" in row)


def test_times_with_a_zone(tmp_path: Path) -> None:
    assert date("2024-07-01T02:00:00+02:00") == MONDAY
    assert date("2024-06-30T19:00:00-0500") == MONDAY
    assert date("2024-07-01T00:00:00Z") == MONDAY
    times = f"{DAY}02:00:00+0200|{DAY}03:00:00+0200|{DAY}05:00:00+0200"
    log = one(tmp_path, f"7|7|a||COMPLETED|{times}|8|2|1-00:00:00|n1|x")
    assert log.jobs.number("start").tolist() == [MONDAY + 3600]
    assert not log.machine.local


def test_json_of_today(tmp_path: Path) -> None:
    """Numbers as structures, a list of states, an array of its own."""
    number = {"set": True, "infinite": False, "number": 30}
    unset = {"set": False, "infinite": True, "number": 0}
    job = {
        "job_id": 42, "association": {}, "user": "ann", "nodes": "cn[01-03]",
        "allocation_nodes": 3, "array": {"job_id": 40, "task_id": number},
        "state": {"current": ["CANCELLED"], "reason": "None"},
        "time": {"submission": MONDAY, "start": MONDAY + 5, "end": MONDAY + 65, "limit": unset},
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": 12}], "requested": []},
    }  # fmt: skip
    waiting = {
        **job, "job_id": 43, "nodes": "None assigned", "state": {"current": ["PENDING"]},
        "array": {"job_id": 0},
        "time": {"submission": MONDAY, "start": 0, "end": 0, "limit": number},
    }  # fmt: skip
    log = read_text(tmp_path, json.dumps({"jobs": [job, waiting], "meta": {}}))
    assert nodes(log) == ["cn01", "cn02", "cn03"]
    assert nodes(log, 1) == []
    limits = log.jobs.number("requested_time")
    assert math.isnan(limits[0])
    assert limits[1] == 1800
    assert log.jobs.code("array").tolist() == [40, -1]
    assert log.jobs.code("state").tolist() == [State.CANCELLED, State.PENDING]


def test_pbs_nodes_arrays_and_vnodes(tmp_path: Path) -> None:
    log = read_text(tmp_path, PBS)
    assert nodes(log) == ["n1", "n2"]
    row = PBS.splitlines()[2]
    vnodes = row.replace(
        "exec_host=n1/0*4+n2/0*4",
        "exec_vnode=(a1:ncpus=4:mem=8gb)+(a2[0]:ncpus=1+a2[1]:ncpus=2)",
    )
    (tmp_path / "vnodes").mkdir()
    log = read_text(tmp_path / "vnodes", vnodes)
    assert log.jobs.number("processors").tolist() == [7]
    assert log.jobs.number("nodes").tolist() == [3]
    whole = row.replace("9.server", "9[].server").replace("exec_host=n1/0*4+n2/0*4 ", "")
    task = row.replace("9.server", "9[4].server")
    (tmp_path / "array").mkdir()
    log = read_text(tmp_path / "array", f"{task}\n{whole}\n")
    assert [each.kind for each in log.problems.found()] == ["array"]
    assert log.jobs.code("array").tolist() == [9]


def lsf_with_limit(limit: int, pairs: int = 1, hosts: int = 2) -> str:
    """A record up to the requirement, in the order of IBM's description of ``lsb.acct``."""
    options = " ".join(f'"key{n}" "a ""quoted"" value"' for n in range(pairs))
    usage = " ".join(f'"n{n}" 10 20 30 40' for n in range(hosts))
    return (
        lsf_record(7, slots=["4*n1", "2*n2"], status=64, reason=0)
        + f' -1 "/ann" "" "app" "" 0 "" "" 1040 "" 0 "" "" {pairs} {options} {hosts} {usage}'
        + f' 0 {limit} 100 "select[type == any]" "" 0 "" 0 0'
    )


@pytest.mark.parametrize(("pairs", "hosts"), [(0, 0), (1, 2), (3, 1)])
def test_lsf_run_limit_and_nodes(tmp_path: Path, pairs: int, hosts: int) -> None:
    log = read_text(tmp_path, lsf_with_limit(5400, pairs, hosts))
    assert log.jobs.number("requested_time").tolist() == [5400]
    assert log.jobs.number("processors").tolist() == [6]
    assert nodes(log) == ["n1", "n2"]
    (tmp_path / "none").mkdir()
    log = read_text(tmp_path / "none", lsf_with_limit(0, pairs, hosts))
    assert math.isnan(log.jobs.number("requested_time")[0])


EVENTS = f"""\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User|ClusterNodes
c||{DAY}00:00:00|Unknown||||n[1-4]
c|n1|{DAY}06:00:00|{DAY}12:00:00|DOWN*|disk|root(0)|
c|n9|{DAY}00:00:00|{DAY}06:00:00|DRAIN|new|root(0)|
"""


def machine_of_four(folder: Path, **options: object) -> UsageFindings:
    """Jobs of 8 processors on 2 nodes (1 and 2), of half a node together on node 3, on 1 July."""
    rows = ["JobID|State|Submit|Start|End|AllocCPUS|AllocNodes|NodeList"]
    for job, (begin, hours, processors, count, names) in enumerate(
        [(0, 6, 8, 2, "n[1-2]"), (6, 3, 2, 1, "n3"), (7, 4, 2, 1, "n3"), (12, 11, 8, 2, "n[1-2]"),
         (13, 1, 1, 1, "n4"), (23, 0, 4, 1, "n4")], 1,
    ):  # fmt: skip
        start = MONDAY + 3600 * begin
        times = f"{start - 60}|{start}|{start + 3600 * hours}"
        rows.append(f"{job}|COMPLETED|{times}|{processors}|{count}|{names}")
    return find(read_text(folder, EVENTS, "\n".join(rows)), UsageQuery(**options))  # type: ignore[arg-type]


def test_capacity_and_down_time_without_processors_in_the_events(tmp_path: Path) -> None:
    found = machine_of_four(tmp_path)
    assert (found.capacity.source, found.capacity.processors) == ("node counts", 16)
    course = found.course
    assert course is not None
    assert course.step == 3600
    # The log begins a minute before its first hour.
    assert course.utc[1] == MONDAY
    assert course.busy[1:23] == [8] * 6 + [2, 4, 4, 2, 2, 0, 8, 9] + [8] * 8
    # n9 was down before it was part of the machine; its processors count as down.
    assert course.available[1:23] == [12] * 12 + [16] * 10
    assert course.down is not None
    assert course.down[1:23] == [4] * 12 + [0] * 10


def test_use_and_sharing_by_node(tmp_path: Path) -> None:
    found = machine_of_four(tmp_path, identify=True)
    assert found.nodes is not None
    # Of three jobs on a part of a node, two had n3 together from 7 to 9 o'clock.
    assert (found.nodes.per_node, found.nodes.jobs, found.nodes.shared) == (4, 3, 2)
    use = found.by_node
    assert use is not None
    assert [row.name for row in use.rows] == ["n1", "n2", "n3", "n4", "n9"]
    width = use.edges[1] - use.edges[0]
    hours = [sum(row.busy) * 4 * width / 3600 for row in use.rows]
    assert hours == pytest.approx([68, 68, 14, 1, 0], abs=0.2)
    assert [(node.name, node.times) for node in use.down] == [("n1", 1), ("n9", 1)]
    assert use.down[0].time == 6 * 3600
    assert {(bar.job, bar.first, bar.last) for bar in use.bars} == {
        ("job 1", 0, 1), ("job 2", 2, 2), ("job 3", 2, 2), ("job 4", 0, 1), ("job 5", 3, 3),
    }  # fmt: skip
    hidden = machine_of_four(tmp_path)
    assert hidden.by_node is not None
    assert hidden.by_node.rows[0].name == "node 1"
    assert hidden.by_node.down[1].name == "node 5"
