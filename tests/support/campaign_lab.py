"""Campaigns on the fake machine, for several tests."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import prepared_assay
from assay.records.directory import RunDirectory, list_runs
from assay.records.reading import measurement_id, read_run
from assay.records.stream import read_stream

PLAN = """
schema = 1
title = "Twelve cells"
seed = 5

[replication]
precision = "5%"
budget = "1000 s"
max_launches = 9

[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [0, 8, 64, 512, 4096, 32768]

[[measure]]
kernel = "npb.ep"
class = ["S", "W", "A"]
ppn = [1, 2]
"""


SCENARIO = """
schema = 1
seed = 3
delay = "{delay}"
[[kernel]]
time = 0.001
noise = {{ sigma = 0.02, launch_sigma = 0.01 }}
{failures}
"""


class Lab:
    """A folder with a plan, a scenario and runs, and the commands that use them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        (path / "plan.toml").write_text(PLAN)
        self.scenario()

    def scenario(self, delay: str = "0 s", failures: str = "") -> None:
        text = SCENARIO.format(delay=delay, failures=failures)
        (self.path / "scenario.toml").write_text(text)

    def command(self, *words: str) -> list[str]:
        flags = ["--fake", "scenario.toml", "--runs", str(self.runs), "--no-report", "--json"]
        return [sys.executable, "-m", "assay", "run", *words, *flags]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return prepared_assay.run(
            self.command(*words), cwd=self.path, capture_output=True, text=True, timeout=120
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*words),
            cwd=self.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def only_run(self) -> RunDirectory:
        (run,) = list_runs(self.runs)
        return run


class InProcessLab(Lab):
    """The same without a process per command: faster, for tests that kill nothing."""

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.command(*words)[3:])

    def call(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        from assay.cli.app import main

        said = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(self.path))
            stack.enter_context(contextlib.redirect_stdout(said[0]))
            stack.enter_context(contextlib.redirect_stderr(said[1]))
            try:
                main(words)
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
        texts = []
        for stream in said:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(words, status, *texts)


def measurement_counts(run: RunDirectory) -> Counter[str]:
    """Number of records of each measurement in all streams."""
    return Counter(
        record.measurement for path in run.streams() for record in read_stream(path).measurements
    )


def counted(run: RunDirectory) -> dict[str, list[float]]:
    """The samples of each measurement that counts."""
    return {
        measurement_id(m.cell, m.replicate): m.record.series[0].values
        for m in read_run(run.path).measurements
    }
