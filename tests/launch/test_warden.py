"""Launchers whose agent has ended while they wait for it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.kernels.builds.toolchain import Toolchain
from assay.launch import warden
from assay.launch.executor import LaunchOrder
from assay.launch.local import LocalExecutor
from assay.model.placement import Placement
from assay.records.model import LaunchRecord
from assay.records.schema import Job


@contextmanager
def launcher(script: str, beside: str) -> Iterator[tuple[int, int]]:
    """The process ids of a shell, once its script has printed a line, and of its parent, which has
    also started ``beside``.
    """
    process = subprocess.Popen(
        ["sh", "-c", f"{beside} sh -c 'echo $$; {script}' & exec sleep 100"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert process.stdout.readline() == "ready\n"
        yield pid, process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(
    ("script", "beside", "rank", "alone", "lost"),
    [
        ("echo ready; exec sleep 100", "", "", True, False),  # nothing started yet
        ("sleep 100 & echo ready; wait", "", "", False, False),
        ("sleep 100 & echo ready; wait", "", "sleep", False, False),  # a rank with its parent
        ("sleep 100 & sleep 0; echo ready; wait", "", "", False, True),  # one of two has ended
        ("sleep 0; echo ready; exec sleep 100", "", "", True, True),
        # An orphan of what it started, which the warden has taken over: an agent, or a rank.
        ("sleep 0; echo ready; exec sleep 100", "sleep 100 &", "", False, True),
        ("sleep 0; echo ready; exec sleep 100", "sleep 100 &", "sleep", True, True),
    ],
)
def test_what_is_seen_of_a_launcher(
    script: str, beside: str, rank: str, alone: bool, lost: bool
) -> None:
    with launcher(script, beside) as (pid, parent):
        program = (rank and shutil.which(rank)) or "/nowhere"
        # A process started beside it is still a shell until it executes its program.
        deadline = time.monotonic() + 10.0
        while warden.is_alone(pid, parent, program) != alone and time.monotonic() < deadline:
            time.sleep(0.01)
        assert warden.is_alone(pid, parent, program) == alone
        assert warden.has_lost_children(pid) == lost


def launched(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    mpirun: str,
    rank: str = "true",
    within: float = 15.0,
) -> LaunchRecord | None:
    """The record of a launch of ranks by this script as MPICH's mpirun; None if it runs on."""
    text = Path(warden.__file__).read_text()
    assert "\nLOOK = 2.0\n" in text
    quick = folder / "warden.py"
    quick.write_text(text.replace("\nLOOK = 2.0\n", "\nLOOK = 0.02\n"))
    monkeypatch.setattr(warden, "__file__", str(quick))
    program = folder / "mpirun"
    program.write_text(f"#!/bin/sh\n{mpirun}\n")
    program.chmod(0o755)
    mpich = Toolchain("t", "site", "mpicxx", str(program), "mpich", "1", "g++", "g++ 12", None)
    job = Job(1, "l1", 1, "compact", 7, [])
    order = LaunchOrder("l1", "t", Placement(ppn=2), job, folder / "l1.jsonl")
    ranks = Path(shutil.which(rank) or "/nowhere")
    launch = LocalExecutor({"t": mpich}, {"t": ranks}, grace=0.1).start(order)
    record = launch.wait(within)
    launch.stop()
    return record


@pytest.mark.flaky(
    reruns=2,
    reason="on a busy machine the launcher's children may still run when the warden first looks",
)
@pytest.mark.parametrize("agent", ["sleep 0", "(sleep 100 &)"])
def test_a_launch_whose_agent_has_ended_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    """As mpirun after its agent was killed before it had connected, or had started all ranks."""
    record = launched(tmp_path, monkeypatch, f"{agent}\nexec sleep 100", rank="sleep")
    assert record is not None
    assert (record.outcome, record.signal, record.blamed) == ("crash", signal.SIGKILL, None)
    assert record.error == (
        "it never began its stream: the launcher was ended by SIGKILL: assay: its agent had ended"
    )


@pytest.mark.parametrize(
    "mpirun", ["exec sleep 100", "sleep 100 & sleep 0; wait", "(sleep 100 &)\nexec sleep 100"]
)
def test_a_launch_that_may_go_on_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpirun: str
) -> None:
    assert launched(tmp_path, monkeypatch, mpirun, within=0.5) is None


RANK = """
import mmap, sys, time
with open(sys.argv[1], "w+b") as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
print("ready", flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="/dev/shm can't be written to")
@pytest.mark.parametrize("is_rank", [True, False])
def test_shared_memory_of_killed_ranks_is_removed(is_rank: bool) -> None:
    """As MPI libraries leave it; what other programs have mapped stays."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="assay-test-", delete=False) as file:
        path = Path(file.name)
    program = sys.executable if is_rank else "/bin/sh"
    watched = subprocess.Popen(
        [sys.executable, warden.__file__, warden.HERE, program, sys.executable, "-c", RANK, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert watched.stdin is not None and watched.stdout is not None
        assert watched.stdout.readline() == b"ready\n"
        watched.stdin.close()
        watched.wait(30)
        assert path.exists() != is_rank
    finally:
        watched.kill()
        watched.wait()
        watched.stdout.close()
        path.unlink(missing_ok=True)
