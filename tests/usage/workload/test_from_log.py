"""The load of a log: every job is in it or counted, with requests, machine and real starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.usage.accounts.reading import read_accounts
from assay.usage.scheduler.machine import EqualNodes, Machine, Partition
from assay.usage.workload.from_log import load_of, machine_of
from usage_logs import MONDAY, SLURM, read_text, swf_of

EXCERPT = Path(__file__).parents[2] / "data" / "usage" / "seth-2002-excerpt.swf"
HEAD = f"; UnixStartTime: {MONDAY}\n; MaxProcs: 16\n"
# job, submission, wait, run, processors, cpu, memory, asked processors, time, memory, status …
LINES = """\
1   100   50  600  4 -1 -1  4  900 -1 1 7 1 -1 1 -1 -1 -1
2     0    0  300  2 -1 -1  2   -1 -1 1 8 1 -1 2 -1 -1 -1
3   200   10  500  8 -1 -1  8  400 -1 1 7 1 -1 1 -1 -1 -1
4   300   -1   -1  4 -1 -1  4  300 -1 5 7 1 -1 1 -1 -1 -1
5   400    0  100 32 -1 -1 32  300 -1 1 7 1 -1 1 -1 -1 -1
6   500    0    0  1 -1 -1  1   60 -1 1 7 1 -1 1 -1 -1 -1
"""


def test_each_job_is_in_the_load_or_counted(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, HEAD + LINES)
    found = load_of(accounts.jobs, accounts.machine)
    load = found.workload
    assert found.machine == Machine(nodes=(EqualNodes(count=16),))
    assert found.capacity == "header" and found.waits and found.origin == MONDAY
    assert found.left_out == {"never started": 1, "too large": 1}
    assert load.submit.tolist() == [0, 100, 200, 500]
    assert load.run.tolist() == [300, 600, 500, 0]
    # Exact without a request; raised where the job ran longer; 1 s at least.
    assert load.limit.tolist() == [300, 900, 500, 60]
    assert load.processors.tolist() == [2, 4, 8, 1]
    assert (found.start - load.submit).tolist() == [0, 50, 10, 0]
    assert found.requests == 3 and found.overran == 1 and not found.sharing
    assert [load.users[code] for code in load.user] == ["8", "7", "7", "7"]
    doubled = load_of(accounts.jobs, accounts.machine, factor=2.0).workload
    assert doubled.limit.tolist() == [600, 900, 500, 60]


def test_stated_machines_and_partitions(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, HEAD + LINES)
    stated = load_of(accounts.jobs, accounts.machine, processors=64)
    assert stated.capacity == "stated" and stated.machine.size == 64
    assert stated.left_out == {"never started": 1}
    machine = Machine(
        nodes=(EqualNodes(count=64),), partitions=(Partition(name="3"), Partition(name="1"))
    )
    found = load_of(accounts.jobs, accounts.machine, machine=machine)
    assert found.workload.partition.tolist() == [0, 1, 1, 1, 1]
    assert found.queues == 1


def test_nodes_by_what_the_log_says(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, SLURM)
    machine, source = machine_of(accounts.jobs, accounts.machine)
    # The most in use at once are 9 processors; a job had 8 on 2 nodes.
    assert source == "most in use"
    assert machine.nodes == (EqualNodes(count=2, processors=4), EqualNodes(count=1, processors=1))
    found = load_of(accounts.jobs, accounts.machine)
    assert found.sharing and found.workload.nodes.tolist() == [2, 1]
    assert found.left_out["running"] == 1
    lines = "; MaxNodes: 4\n" + HEAD + LINES
    nodes = read_text(tmp_path, lines)
    machine, source = machine_of(nodes.jobs, nodes.machine)
    assert machine.nodes == (EqualNodes(count=4, processors=4),) and source == "header"


def test_a_log_without_waits_is_submitted_when_it_started(tmp_path: Path) -> None:
    lines = "".join(f"{n} {n * 100} -1 50 2 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n" for n in (1, 2))
    accounts = read_text(tmp_path, HEAD + lines)
    found = load_of(accounts.jobs, accounts.machine)
    assert not found.waits and found.requests == 0
    assert found.workload.submit.tolist() == found.start.tolist() == [0, 100]


def test_brute_force_on_a_real_excerpt() -> None:
    accounts = read_accounts([EXCERPT])
    found = load_of(accounts.jobs, accounts.machine)
    rows = []
    for line in EXCERPT.read_text().splitlines():
        if line.startswith(";") or not line.strip():
            continue
        numbers = [float(word) for word in line.split()]
        if numbers[2] >= 0 and numbers[3] >= 0 and not (numbers[10] == 5 and numbers[3] == 0):
            rows.append((numbers[1], numbers[0], numbers[2], numbers[3], numbers[4], numbers[8]))
    rows.sort()
    first = rows[0][0]
    load = found.workload
    assert load.submit.tolist() == [row[0] - first for row in rows]
    assert (found.start - load.submit).tolist() == [row[2] for row in rows]
    assert load.run.tolist() == [row[3] for row in rows]
    assert load.processors.tolist() == [row[4] for row in rows]
    assert load.limit.tolist() == [max(row[5], row[3], 1.0) for row in rows]
    assert len(load) + sum(found.left_out.values()) == len(accounts.jobs)


def test_no_job_is_left(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, swf_of([(1, 0, 0, 10, 8)], processors=4))
    with pytest.raises(AssayError, match="larger than the machine"):
        load_of(accounts.jobs, accounts.machine)
    with pytest.raises(AssayError, match="no job"):
        load_of(accounts.jobs, accounts.machine, chosen=np.zeros(1, dtype=bool))
