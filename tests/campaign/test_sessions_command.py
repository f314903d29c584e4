"""Runs of several sessions by the command: killed, and in real time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.records.directory import RunDirectory, list_runs
from assay.records.reading import read_run
from assay.records.sessions import held_sessions, read_sessions
from waiting import wait_for

HOUR = 3600.0
PLAN = """
schema = 1
seed = 5
[replication]
budget = "1 s"
every = "3 s"
cell_budget = "20 ms"
min_launches = 2
max_launches = 2
[[measure]]
kernel = "npb.ep"
class = "S"
ppn = [1, 2]
"""
DRIVER = Path(__file__).parents[1] / "support" / "assay_by_the_clock.py"


class Folder:
    """A folder with that plan, and the command in real time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "plan.toml").write_text(PLAN)
        text = 'schema = 1\nseed = 1\nlaunch_time = "1 ms"\n[[kernel]]\ntime = 0.001\n'
        (path / "scenario.toml").write_text(text)

    def start(self, *words: str) -> subprocess.Popen[str]:
        flags = ["--fake", "scenario.toml", "--runs", "runs", "--no-report", "--json"]
        return subprocess.Popen(
            [sys.executable, str(DRIVER), "run", *words, *flags],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self) -> RunDirectory:
        (run,) = list_runs(self.path / "runs")
        return run

    def over(self) -> int:
        """Sessions that have begun."""
        runs = list_runs(self.path / "runs")
        return sum(one.over for one in held_sessions(read_sessions(runs[0].path))) if runs else 0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    yield Folder(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
        ),
    ],
)
def test_ended_while_it_waits_it_is_resumed(folder: Folder, number: signal.Signals) -> None:
    process = folder.start("plan.toml", "--sessions", "2")
    wait_for(lambda: folder.over() == 1)
    time.sleep(0.2)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 130, said
        assert "4 measurements are kept" in said
        assert "The next session is due on " in said
        assert "assay run --resume" in said
    assert not folder.run().complete
    process = folder.start("--resume")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    run = folder.run()
    assert run.complete
    assert len(read_run(run.path).measurements) == 8
    first, second = (e for e in read_sessions(run.path) if e.event == "begun")
    assert first.due is not None and second.due is not None
    # Begun when due, or at a later turn if this machine was slow.
    assert (second.due - first.due) % 3.0 == pytest.approx(0.0, abs=1e-6)
    assert second.utc >= second.due


@pytest.mark.long
@pytest.mark.slow
def test_two_sessions_in_real_time(folder: Folder) -> None:
    process = folder.start("plan.toml", "--sessions", "2")
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert json.loads(out)["run"] == folder.run().name
    assert "Session 2 of 2 begins on " in said
    begun = [e for e in read_sessions(folder.run().path) if e.event == "begun"]
    assert begun[1].utc - begun[0].utc >= 3.0 - 0.1


def test_the_command_simulates_days_in_a_moment_on_a_fake_machine(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "assay", "run", "plan.toml", "--duration", "2 days"),
            *("--every", "6 h", "--fake", "scenario.toml", "--runs", "runs", "--no-report"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    begun = [e for e in read_sessions(folder.run().path) if e.event == "begun"]
    assert len(begun) == 8
    assert begun[-1].utc - begun[0].utc == pytest.approx(42 * HOUR, abs=60.0)
