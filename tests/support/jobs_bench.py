"""A folder with a plan, a scenario, runs and a scheduler, and commands that use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import prepared_assay
from assay.records.directory import RunDirectory, list_runs
from assay.records.jobs import JobBook
from assay.records.reading import measurement_id, read_run
from assay.records.stream import read_stream
from process_scheduler import ProcessScheduler
from waiting import wait_for

# The number of launches is fixed: a measurement that is stopped keeps the samples it has, and with
# fewer samples an adaptive plan may rightly need another number of launches.
PLAN = """
schema = 1
title = "Six cells"
seed = 5

[replication]
precision = "5%"
budget = "1000 s"
min_launches = 7
max_launches = 7
cell_budget = "20 ms"

[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [0, 8, 64]

[[measure]]
kernel = "npb.ep"
class = ["S", "W"]
ppn = [1, 2]
"""

SCENARIO = """
schema = 1
seed = 3
delay = "{delay}"
launch_time = "1 ms"
[[kernel]]
time = 0.001
noise = {{ sigma = 0.02, launch_sigma = 0.01 }}
{failures}
"""
DRIVER = Path(__file__).with_name("assay_with_processes.py")


class Bench:
    """One test's folder."""

    def __init__(self, path: Path, driver: Path = DRIVER) -> None:
        self.path = path
        self.runs = path / "runs"
        self.driver = driver
        self.scheduler = ProcessScheduler(path / "scheduler")
        self.environment = {
            **os.environ,
            "ASSAY_TEST_SCHEDULER": str(self.scheduler.folder),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        (path / "assay.toml").write_text("[scheduler]\n")
        (path / "plan.toml").write_text(PLAN)
        self.scenario()

    def used(self) -> Iterator[Bench]:
        """For a fixture: yields itself, and checks afterwards that no process remains."""
        try:
            yield self
            wait_for(lambda: not self.scheduler.processes(), 10)
        finally:
            self.scheduler.end()

    def scenario(self, delay: str = "0 s", failures: str = "") -> None:
        text = SCENARIO.format(delay=delay, failures=failures)
        (self.path / "scenario.toml").write_text(text)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(self.driver), *words, "--config", "assay.toml"]

    def assay(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return prepared_assay.run(
            self.command(*words),
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def run(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """``assay run`` of the plan on the machine of the scenario."""
        plan = () if "--resume" in words else ("plan.toml",)
        fake = () if "--resume" in words else ("--fake", "scenario.toml")
        return self.assay("run", *plan, *words, *fake, "--no-report", "--json", timeout=timeout)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The same in the background."""
        return subprocess.Popen(
            self.command("run", "plan.toml", *words, "--fake", "scenario.toml", "--no-report"),
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def only_run(self) -> RunDirectory:
        (run,) = list_runs(self.runs)
        return run

    def book(self) -> JobBook:
        return JobBook(self.only_run().path)

    def measuring(self) -> bool:
        """Whether a job has measured a part, but not all, of the plan."""
        return (
            len(list_runs(self.runs)) == 1
            and sum(measurement_counts(self.only_run()).values()) >= 3
        )


def measurement_counts(run: RunDirectory) -> Counter[str]:
    """Number of records of each measurement in all streams."""
    return Counter(
        record.measurement
        for path in run.streams()
        for record in read_stream(path).measurements
        if record.status != "interrupted"
    )


def counted(run: RunDirectory) -> dict[str, list[float]]:
    """The samples of each measurement that counts."""
    return {
        measurement_id(m.cell, m.replicate): m.record.series[0].values
        for m in read_run(run.path).measurements
    }


def is_whole(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    """Check that the run is complete and sealed, and that each measurement was made once."""
    run = bench.only_run()
    assert run.complete
    assert run.broken_seal() == []
    assert counted(run).keys() == undisturbed.keys()
    assert set(measurement_counts(run).values()) == {1}


def read_json(text: str) -> object:
    return json.loads(text)


def local_results(folder: Path) -> dict[str, list[float]]:
    """The results of the same run without jobs and faults."""
    bench = Bench(folder)
    done = bench.run("--here")
    assert done.returncode == 0, done.stderr
    return counted(bench.only_run())


def slowly(bench: Bench) -> None:
    """Measurements last long enough to be watched and disturbed."""
    bench.scenario(delay="40 ms")
