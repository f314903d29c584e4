"""Runs ``assay watch`` on programs, as users do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import prepared_assay

PATIENCE = 60.0
WATCH = [sys.executable, "-m", "assay", "watch"]


def watch(*words, program, stdin=None, **options):
    """Run it to its end; return its output and its status."""
    return prepared_assay.run(
        [*WATCH, *map(str, words), "--", *map(str, program)],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        input=stdin,
        **options,
    )


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def log_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def gone(pid: int, patience: float = 20.0) -> bool:
    """Whether the process ends within this many seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def running(*words, program, assay=WATCH, **options):
    """The command while it runs; at the end it and all its processes are ended in any case."""
    process = subprocess.Popen(
        [*assay, *map(str, words), "--", *map(str, program)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    try:
        yield process
    finally:
        # All processes are in one session; no test starts a process that leaves it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        for left in Path("/dev/shm").glob(f"assay-heartbeat-*-{process.pid}-*"):
            shutil.rmtree(left)


STEPS = """
import sys, time
for i in range(1, {n} + 1):
    time.sleep({slow} if {first} <= i < {last} else {usual})
    print(f"step {{i}} of {n}", flush=True)
"""


def steps(n=120, usual=0.02, slow=0.06, first=10**9, last=10**9):
    return python(STEPS.format(n=n, usual=usual, slow=slow, first=first, last=last))
