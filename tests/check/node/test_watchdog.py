"""A check ends at its deadline whatever it does, and nothing that it started is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FREEZER = Path("/sys/fs/cgroup/freezer")
# Work for `run_watched`, and what it prints about how that ended.
SCRIPT = """
import json, os, signal, subprocess, sys, time
from dataclasses import asdict
from assay.check.node.watchdog import run_watched, start_of_process

def work(reporter):
{work}

began = time.monotonic()
end = run_watched(work, begun=began, deadline={deadline})
print(json.dumps({{**asdict(end), "took": time.monotonic() - began}}))
"""


def script(work: str, deadline: float) -> str:
    return SCRIPT.format(work=textwrap.indent(textwrap.dedent(work), "    "), deadline=deadline)


def run(work: str, deadline: float = 30.0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", script(work, deadline)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def alive(mark: str) -> list[int]:
    """The processes that sleep with a mark as their argument and are not zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [b"sleep"] and mark.encode() in words:
            found.append(int(path.name))
    return found


def wait_until(reached: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> Iterator[str]:
    """A duration of sleep that no other process uses."""
    text = f"4{abs(hash(request.node.name)) % 10**6:06d}.{os.getpid() % 1000:03d}"
    yield text
    for pid in alive(text):
        os.kill(pid, signal.SIGKILL)


def test_what_a_check_reports_arrives() -> None:
    end = run(
        """
        reporter.stage("facts")
        reporter.limit(20.0)
        assert 15 < reporter.remaining() < 20
        reporter.warn("The record is missing.")
        reporter.output("é" * 300_000, 1)
        """
    )
    said = end["said"]
    assert said["complete"]
    assert (said["stage"], said["deadline"], said["status"]) == ("facts", 20.0, 1)
    assert said["output"] == "é" * 300_000
    assert said["warnings"] == ["The record is missing."]
    assert (end["late"], end["status"], end["hung"]) == (False, 0, [])


def test_a_hung_check_ends_at_its_deadline_with_all_its_processes(mark: str) -> None:
    """A process in a session of its own, a grandchild, and one that ignores signals."""
    end = run(
        f"""
        reporter.stage("mounts")
        subprocess.Popen(["sleep", "{mark}"], start_new_session=True)
        subprocess.Popen(["sh", "-c", "setsid sleep {mark} & sleep {mark}"])
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.setsid()
            os.execvp("sleep", ["sleep", "{mark}"])
        time.sleep(1000)
        """,
        deadline=1.5,
    )
    assert end["late"]
    assert end["said"]["stage"] == "mounts"
    assert not end["said"]["complete"]
    assert end["hung"] == []
    assert alive(mark) == []


def test_nothing_is_left_of_a_check_that_ended_in_time(mark: str) -> None:
    end = run(f'subprocess.Popen(["setsid", "sleep", "{mark}"], start_new_session=True)')
    assert end["said"]["complete"]
    assert alive(mark) == []


def test_the_deadline_can_be_changed_by_the_check() -> None:
    end = run("reporter.limit(0.5)\ntime.sleep(1000)")
    assert end["late"]
    assert end["said"]["deadline"] == 0.5


def test_what_was_known_before_the_deadline_is_kept() -> None:
    end = run('reporter.output("healthy", 0)\nreporter.stage("record")\ntime.sleep(1000)', 1.0)
    assert end["late"]
    assert (end["said"]["output"], end["said"]["status"]) == ("healthy", 0)


@pytest.mark.parametrize(
    ("work", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os._exit(9)", 9),
        ("raise ValueError", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
)
def test_a_check_that_dies_is_seen_to_die(work: str, status: int) -> None:
    end = run(work)
    assert (end["status"], end["late"]) == (status, False)
    assert not end["said"]["complete"]


def test_a_stopped_process_is_killed_as_well() -> None:
    end = run("os.kill(os.getpid(), signal.SIGSTOP)", 1.0)
    assert end["late"]
    assert end["hung"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_check_leaves_nothing(mark: str, number: signal.Signals) -> None:
    work = f"""
        subprocess.Popen(["sleep", "{mark}"], start_new_session=True)
        time.sleep(1000)
    """
    with subprocess.Popen(
        [sys.executable, "-c", script(work, 30.0)], stdout=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: alive(mark))
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    end = json.loads(out)
    assert end["interrupted"]
    assert not end["late"]
    assert alive(mark) == []


def test_a_check_ends_if_its_watching_process_is_killed(mark: str) -> None:
    """Nothing can be done in the killed process itself: the kernel ends the check."""
    work = f'os.execvp("sleep", ["sleep", "{mark}"])'
    with subprocess.Popen([sys.executable, "-c", script(work, 30.0)]) as process:
        wait_until(lambda: alive(mark))
        process.kill()
    wait_until(lambda: not alive(mark))


def test_nobody_waits_for_the_streams_of_a_check(tmp_path: Path) -> None:
    """A process that can't be killed would otherwise keep the reader of the output waiting."""
    end = run(
        f"""
        with open("{tmp_path}/streams", "w") as file:
            for number in (0, 1, 2):
                file.write(os.readlink(f"/proc/self/fd/{{number}}"))
        """
    )
    assert end["said"]["complete"]
    assert (tmp_path / "streams").read_text() == "/dev/null" * 3


@pytest.mark.skipif(
    not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="needs a freezer control group"
)
def test_processes_that_cannot_be_killed_are_named() -> None:
    """A frozen process of a version 1 group doesn't die, as one that hangs in the kernel."""
    group = FREEZER / f"assay-test-{os.getpid()}"
    group.mkdir()
    try:
        end = run(
            f"""
            with open("{group}/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))
            with open("{group}/freezer.state", "w") as file:
                file.write("FROZEN")
            time.sleep(1000)
            """,
            1.0,
        )
        assert end["late"]
        assert len(end["hung"]) == 1
    finally:
        (group / "freezer.state").write_text("THAWED")
        until = time.monotonic() + 20
        while (group / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.05)
        group.rmdir()
