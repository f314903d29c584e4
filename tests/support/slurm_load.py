"""Loads for the lab's Slurm, what became of their jobs, and a recording of both as a text file."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from assay.arrays import Floats, Ints
from assay.lab.slurm import SlurmCluster
from assay.usage.accounts.reading import read_accounts
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.as_slurm import NAME, as_slurm

# Whole nodes, first in first out with backfilling every 30 s (the default of bf_interval).
SETTINGS = {
    "SelectType": "select/linear",
    "SelectTypeParameters": "CR_ONE_TASK_PER_CORE",
    "PriorityType": "priority/basic",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=30,bf_resolution=1",
    # With an epilog, as most sites have one, the end of each job requests a pass over the queue.
    "Epilog": "/bin/true",
    # Times in ms of what its accounts state in whole seconds.
    "SlurmctldDebug": "debug2",
    "LogTimeFormat": "iso8601_ms",
}
# Shares of jobs, by nodes and by minutes of the limit. Few jobs have most of the nodes: while the
# scheduler waits for these, smaller ones pass them.
_SIZES = {1: 0.45, 2: 0.25, 3: 0.06, 4: 0.12, 6: 0.04, 8: 0.04, 16: 0.02, 24: 0.01, 32: 0.01}
_MINUTES = {1: 0.3, 2: 0.3, 3: 0.2, 5: 0.2}
# No job sleeps for less, s.
_LEAST = 10.0
_LINE = re.compile(r"\[([\dT:.-]+)\] (.*)")
_EVENTS = {
    "submit": re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) "),
    "start": re.compile(r"sched: Allocate JobId=(\d+) |.*Started JobId=(\d+) in "),
    "end": re.compile(r"_job_complete: JobId=(\d+) done"),
    "free": re.compile(r"debug2: _slurm_rpc_epilog_complete: JobId=(\d+) "),
}
_PASS = "sched: Running job scheduler"
COLUMNS = ("sleep", "minutes", "nodes", "submit", "start", "end", "free", "first", "backfilled")


def machine(nodes: int) -> Machine:
    return Machine(nodes=(EqualNodes(count=nodes),))


def synthetic(
    seed: int, *, jobs: int = 500, nodes: int = 40, busy: float = 1260.0, load: float = 1.6
) -> Workload:
    """Jobs of a few seconds to tens of seconds, with limits of 1 to 3 minutes.

    In the median a limit is about 15 times the run time: users ask for far too much as well.
    ``busy``: s for which they would keep all nodes busy. ``load``: ``busy`` ÷ the time in which
    they are submitted.
    """
    rng = np.random.default_rng(seed)
    size = rng.choice(list(_SIZES), jobs, p=list(_SIZES.values()))
    size = np.minimum(size, nodes)
    minutes = rng.choice(list(_MINUTES), jobs, p=list(_MINUTES.values()))
    run = 60.0 * minutes * (0.05 + 0.9 * rng.beta(0.8, 2.0, jobs))
    run *= busy * nodes / np.sum(run * size)
    run = np.round(np.clip(run, _LEAST, 54.0 * minutes), 1)
    submit = np.sort(rng.uniform(0.0, busy / load, jobs))
    return workload(submit - submit[0], run, 60.0 * minutes, size)


def workload(submit: Floats, run: Floats, limit: Floats, size: Ints) -> Workload:
    """Jobs of one user on whole nodes with one processor each."""
    zeros = np.zeros(len(submit), dtype=np.int64)
    return Workload(
        submit=submit,
        run=run,
        limit=limit,
        nodes=size,
        processors=size,
        memory=np.zeros(len(submit)),
        gpus=zeros,
        user=zeros,
        account=zeros,
        partition=zeros,
        qos=zeros,
        after=zeros - 1,
        think=np.zeros(len(submit)),
        users=["user"],
        accounts=["account"],
        qualities=["normal"],
    )


@dataclass(frozen=True)
class Recording:
    """What a Slurm made of jobs, in their order; columns of shape (n,).

    ``sleep``: s requested of the job's program. ``minutes``: its limit. ``submit``, ``start``,
    ``end`` and ``free`` (all its nodes are): s by the controller's log, after the first whole
    second. ``first``: the lowest index of its nodes. ``backfilled``: 1 if backfilling started it.
    ``cycles``: times at which backfilling began; ``loop``: of the first pass in order, which the
    controller's loop makes.
    """

    columns: dict[str, Floats]
    size: int
    settings: dict[str, str] = field(default_factory=dict)
    cycles: list[float] = field(default_factory=list)
    loop: float = 0.0

    def __getattr__(self, name: str) -> Floats:
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def write(self, path: Path) -> None:
        lines = [f"# nodes {self.size}"]
        lines += [f"# {name} {value}" for name, value in self.settings.items()]
        lines += [f"# loop {self.loop:.3f}"]
        lines += [f"# cycles {' '.join(f'{time:.2f}' for time in self.cycles)}"]
        lines += [" ".join(COLUMNS)]
        lines += [
            " ".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in row)
            for row in zip(*(self.columns[name] for name in COLUMNS), strict=True)
        ]
        path.write_text("".join(f"{line}\n" for line in lines))


def read_recording(path: Path) -> Recording:
    lines = path.read_text().splitlines()
    head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    body = [line.split() for line in lines if not line.startswith("#")]
    values = np.array(body[1:], dtype=np.float64)
    cycles = [float(word) for word in head.pop("cycles").split()]
    columns = {name: values[:, index] for index, name in enumerate(body[0])}
    loop = float(head.pop("loop"))
    return Recording(columns, int(head.pop("nodes")), head, cycles, loop)


def run_load(slurm: SlurmCluster, load: Workload, folder: Path, patience: float = 900.0) -> None:
    """Submit the jobs with the script of ``as_slurm``, and wait until all have ended."""
    script = folder / "submit.sh"
    script.write_text(as_slurm(load, machine(len(slurm.nodes)), scale=1.0).text)
    until = time.monotonic() + patience
    subprocess.run(["sh", str(script)], check=True, timeout=patience, cwd=folder)
    while completed(slurm) < len(load):
        if time.monotonic() > until:
            raise TimeoutError(f"{completed(slurm)} of {len(load)} jobs have ended.")
        time.sleep(1.0)


def completed(slurm: SlurmCluster) -> int:
    try:
        return slurm.accounts.read_text().count("\n")
    except FileNotFoundError:
        return 0


def jobs_by_name(text: str) -> dict[int, int]:
    """The indices of jobs in the load by their ids, from the lines of the accounts."""
    pattern = re.compile(r"JobId=(\d+) .* Name=" + NAME.format(r"(\d+) "))
    return {int(match[1]): int(match[2]) for match in pattern.finditer(text)}


def recording(
    load: Workload, accounts: str, log: str, names: list[str], settings: Mapping[str, str]
) -> Recording:
    """From the accounts and the controller's log; ``names``: of the nodes."""
    ids = jobs_by_name(accounts)
    columns = {name: np.full(len(load), np.nan) for name in COLUMNS}
    columns["sleep"], columns["minutes"] = load.run, np.ceil(load.limit / 60.0)
    columns["nodes"] = load.nodes.astype(np.float64)
    columns["backfilled"] = np.zeros(len(load))
    cycles = []
    begin = loop = None
    for line in log.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        now = datetime.fromisoformat(match[1]).timestamp()
        if match[2].endswith("_attempt_backfill: beginning"):
            cycles.append(now)
        if begin is not None and loop is None and _PASS in match[2]:
            loop = now - begin
        for name, pattern in _EVENTS.items():
            found = pattern.match(match[2])
            if found is None:
                continue
            index = ids.get(int(next(filter(None, found.groups()))))
            if index is None:
                continue
            begin = float(int(now)) if begin is None else begin
            columns[name][index] = now - begin  # the last one: the last node is free
            if name == "start":
                columns["backfilled"][index] = float(found[1] is None)
    assert begin is not None and loop is not None
    for match in re.finditer(r"JobId=(\d+) .* NodeList=(\S+) ", accounts):
        columns["first"][ids[int(match[1])]] = names.index(first_name(match[2]))
    since = [time - begin for time in cycles if time >= begin]
    return Recording(columns, len(names), dict(settings), since, loop)


def first_name(listed: str) -> str:
    """The first of names such as ``h[03-05,9],i1``."""
    match = re.match(r"([^,\[]+)(?:\[(\d+))?", listed)
    assert match is not None
    return match[1] + (match[2] or "")


def account_times(path: Path) -> dict[str, Floats]:
    """Columns of the accounts, in the order of the load; s after the first submission."""
    jobs = read_accounts([path]).jobs
    ids = jobs_by_name(path.read_text())
    order = np.argsort([ids[number] for number in jobs.code("number").tolist()])
    first = np.nanmin(jobs.number("submit"))
    return {name: jobs.number(name)[order] - first for name in ("submit", "start", "end")}
