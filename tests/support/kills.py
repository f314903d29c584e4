"""Campaigns in which a process is killed at a random moment, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay.processes import POLITE_WAITING
from assay.records.directory import RunDirectory, list_runs
from assay.records.reading import measurement_id, read_run
from unforeseen import UNFORESEEN

TOKEN = "ASSAY_TEST_KILL"
LAUNCHES = 2
PLAN = f"""
schema = 1
seed = 5
[replication]
budget = "20 s"
min_launches = {LAUNCHES}
max_launches = {LAUNCHES}
max_samples = 20
[[measure]]
kernel = "compute.dgemm"
n = [32, 48]
[[measure]]
kernel = "network.barrier"
ppn = 2
"""
SCENARIO = """
schema = 1
seed = 3
delay = "150 ms"
[[kernel]]
time = 0.001
"""
VICTIMS = ("rank", "launcher", "warden", "tree", "assay")
# Seconds within which killed processes have ended, even on a busy machine.
PATIENCE = 60.0
# Seconds within which a campaign of a few seconds has ended; less than the campaign's own patience
# (600 s), so that a launch which only that would end is found.
LONGEST = 240.0


@dataclass
class Tally:
    """Results of many kills."""

    victims: Counter[str] = field(default_factory=Counter)
    exits: Counter[int] = field(default_factory=Counter)
    measurements: int = 0
    missed: int = 0  # the process to kill had already ended
    slowest: tuple[float, int] = (0.0, 0)  # seconds from start to end, and the seed


class Broken(AssertionError):
    """A condition that must hold was violated."""


def one_kill(folder: Path, seed: int, *, real: bool, last: float, tally: Tally) -> None:
    """Run a campaign, kill a process within ``last`` seconds, resume until it ends, and check it.

    Raises Broken, with the seed.
    """
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "scenario.toml").write_text(SCENARIO)
    token = uuid.uuid4().hex
    began = time.monotonic()
    victim = draw.choice(VICTIMS if real else ("assay",))
    process = _start(folder, token, real, "plan.toml")
    if draw.random() < 0.3:  # at any time, including before the first launch
        time.sleep(draw.uniform(0.0, last))
    else:  # in one of the launches
        _wait_for_launch(folder, process, draw.randint(1, 2 * LAUNCHES))
        time.sleep(draw.uniform(0.0, 0.4))
    kept: set[str] = set()
    killed = False
    while not killed and process.poll() is None and last > 0.0:
        killed = _kill(victim, process, token, draw)
        time.sleep(0.0 if killed else 0.02)
    tally.victims[victim] += killed
    tally.missed += not killed
    status = _ended(process, seed)
    _gone(token, seed)
    if list_runs(folder / "runs"):
        kept = set(_counted(folder))
    if status < 0 or status == 137 or (victim == "assay" and killed):
        words = ["--resume"] if list_runs(folder / "runs") else ["plan.toml"]
        if not (list_runs(folder / "runs") and _run(folder).complete):
            process = _start(folder, token, real, *words)
            status = _ended(process, seed)
    tally.exits[status] += 1
    _look(folder, status, kept, seed, victim)
    _gone(token, seed)
    tally.slowest = max(tally.slowest, (time.monotonic() - began, seed))
    tally.measurements += len(_counted(folder))


def _start(folder: Path, token: str, real: bool, *words: str) -> subprocess.Popen[bytes]:
    flags = ["--runs", "runs", "--no-report", "--json", "--here"]
    if not real:
        flags = ["--fake", "scenario.toml", *flags[:-1]]
    return subprocess.Popen(
        [sys.executable, "-m", "assay", "run", *words, *flags],
        cwd=folder,
        stdout=(folder / "out").open("wb"),
        stderr=(folder / "err").open("wb"),
        env={**os.environ, **POLITE_WAITING, TOKEN: token},
        start_new_session=True,
    )


def _wait_for_launch(folder: Path, process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until this many launches were started, or the campaign has ended."""
    # A run's folder has another name, which begins with a dot, while it is made.
    while process.poll() is None and len(list(folder.glob("runs/[0-9]*/raw/*.jsonl"))) < count:
        time.sleep(0.005)


def _ended(process: subprocess.Popen[bytes], seed: int) -> int:
    try:
        return process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()  # its warden then ends the rest
        raise Broken(f"seed {seed}: no end within {LONGEST:g} s") from None


def _of(token: str) -> Iterator[tuple[int, str, str]]:
    """Process, name and command line of every running process that a campaign started."""
    mark = f"{TOKEN}={token}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if mark not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            yield int(entry.name), (entry / "comm").read_text().strip(), words


def _kill(victim: str, process: subprocess.Popen[bytes], token: str, draw: random.Random) -> bool:
    """Send SIGKILL; return whether there was a process."""
    found = [each for each in _of(token) if each[0] != process.pid]
    groups = {
        "rank": [pid for pid, name, _ in found if name.startswith("assay-kernels")],
        "launcher": [pid for pid, name, _ in found if name.startswith(("mpi", "hydra"))],
        "warden": [pid for pid, _, words in found if "warden.py" in words],
        "tree": [pid for pid, _, _ in found],
        "assay": [process.pid],
    }[victim]
    if not groups:
        return False
    chosen = groups if victim == "tree" else [draw.choice(groups)]
    for pid in chosen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return True


def _gone(token: str, seed: int) -> None:
    until = time.monotonic() + PATIENCE
    while left := list(_of(token)):
        if time.monotonic() > until:
            raise Broken(f"seed {seed}: these still run: {left}")
        time.sleep(0.05)


def _run(folder: Path) -> RunDirectory:
    runs = list_runs(folder / "runs")
    if len(runs) != 1:
        raise Broken(f"{len(runs)} runs in {folder}")
    return runs[0]


def _counted(folder: Path) -> list[str]:
    return [
        measurement_id(m.cell, m.replicate)
        for m in read_run(_run(folder).path).measurements
        if m.record.status == "ok"
    ]


def _look(folder: Path, status: int, kept: set[str], seed: int, victim: str) -> None:
    """Check a campaign that has ended, whichever process was killed."""
    where = f"seed {seed}, {victim}, exit {status}, {folder}"
    said = (folder / "err").read_text("utf-8", "replace")
    run = _run(folder)
    counted = _counted(folder)
    data = read_run(run.path)
    if "Traceback" in said or UNFORESEEN in said:
        raise Broken(f"{where}: {said}")
    if lost := kept - set(counted):
        raise Broken(f"{where}: lost {sorted(lost)}")
    if len(set(counted)) != len(counted):
        raise Broken(f"{where}: measured twice")
    per_cell = Counter(name.rpartition("-")[0] for name in counted)
    missing = [c.id for c in data.manifest.plan.cells if per_cell[c.id] < LAUNCHES]
    if status == 0 and (missing or not run.complete):
        raise Broken(f"{where}: exit 0 with {missing} missing")
    if missing:
        cells = json.loads((folder / "out").read_bytes() or b'{"cells": []}')["cells"]
        explained = {c["id"] for c in cells if c["error"] or c["lost_launches"]}
        if unexplained := set(missing) - explained:
            raise Broken(f"{where}: not explained: {sorted(unexplained)}; {said}")
    list_runs(folder / "runs")
    from assay.records.listing import describe_run

    describe_run(run)
    places = (folder / "runs", run.path, run.raw)
    hidden = [p.name for place in places for p in place.iterdir() if p.name.startswith(".")]
    if odd := [name for name in hidden if name not in (".lock", ".jobs.lock", ".submit.lock")]:
        raise Broken(f"{where}: files are left: {odd}")
