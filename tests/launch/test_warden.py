"""Launchers whose agent has ended while they wait for it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.kernels.toolchains import Toolchain
from assay.launch import warden
from assay.launch.executor import LaunchOrder
from assay.launch.mpi.local import LocalExecutor
from assay.model.placement import Placement
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
    ("script", "beside", "alone"),
    [
        ("echo ready; exec sleep 100", "", False),  # nothing started yet
        ("sleep 100 & echo ready; wait", "", False),
        ("sleep 100 & sleep 0; echo ready; wait", "", False),  # one of two has ended
        ("sleep 0; echo ready; exec sleep 100", "", True),
        # An orphan of what it started, which the warden has taken over.
        ("sleep 0; echo ready; exec sleep 100", "sleep 100 &", False),
    ],
)
def test_a_launcher_is_left_alone_if_what_it_started_has_ended(
    script: str, beside: str, alone: bool
) -> None:
    with launcher(script, beside) as (pid, parent):
        assert warden.is_left_alone(pid, parent) == alone


def test_a_launch_whose_agent_has_ended_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As mpirun after its agent was killed before it had connected."""
    text = Path(warden.__file__).read_text()
    assert "\nLOOK = 10.0\n" in text
    quick = tmp_path / "warden.py"
    quick.write_text(text.replace("\nLOOK = 10.0\n", "\nLOOK = 0.02\n"))
    monkeypatch.setattr(warden, "__file__", str(quick))
    mpirun = tmp_path / "mpirun"
    mpirun.write_text("#!/bin/sh\nsleep 0\nexec sleep 100\n")
    mpirun.chmod(0o755)
    mpich = Toolchain("t", "site", "mpicxx", str(mpirun), "mpich", "1", "g++", "g++ 12", None)
    order = LaunchOrder(
        "l1", "t", Placement(ppn=2), Job(1, "l1", 1, "compact", 7, []), tmp_path / "l1.jsonl"
    )
    record = LocalExecutor({"t": mpich}, {"t": mpirun}).start(order).wait(60)
    assert record is not None
    assert (record.outcome, record.signal, record.blamed) == ("crash", signal.SIGKILL, None)
    assert record.error == (
        "it never began its stream: the launcher was ended by SIGKILL: "
        "assay: all processes that it had started had ended"
    )
