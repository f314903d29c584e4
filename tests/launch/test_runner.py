"""Commands of users, launched for real: timed, checked, and ended with all their processes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.launch import warden
from assay.launch.commands.launch_command import environment, prepare_command
from assay.launch.executor import LaunchOrder
from assay.launch.local import LocalExecutor
from assay.model.placement import Placement
from assay.records.model import LaunchRecord
from assay.records.schema import Job, MeasurementOrder, MeasurementRecord
from assay.records.stream import Stream, read_stream

TWO = Placement(ppn=2, threads=3)
PYTHON = shlex.quote(sys.executable)
_RULE = "-" * 74


def order_of(
    folder: Path,
    command: str,
    *,
    placement: Placement = TWO,
    timeout: float = float("inf"),
    **parameters: str | int,
) -> LaunchOrder:
    given = {"command": command, "time": "", "verify": "", "shell": 0, "timeout": 0.0, **parameters}
    entry = MeasurementOrder("cell-0", "app", given, 0.01, 0.95, 1.0, 1, 1)
    job = Job(1, "0000", placement.threads, placement.binding, 1, [entry], order=placement.order)
    return LaunchOrder("0000", "own", placement, job, folder / "0000.jsonl", timeout=timeout)


def launch(folder: Path, command: str, **how) -> tuple[LaunchRecord, Stream]:
    order = order_of(folder, command, **how)
    running = LocalExecutor({}, {}, grace=0.5).start(order)
    record = running.wait(30.0)
    if record is None:
        running.stop()
        pytest.fail("the command did not end")
    return record, read_stream(order.stream)


def measured(folder: Path, command: str, **how) -> MeasurementRecord:
    launched, stream = launch(folder, command, **how)
    assert launched.outcome == "complete", launched
    assert stream.finished and stream.start is not None and stream.start.ranks == 2
    (record,) = stream.measurements
    return record


def values(record: MeasurementRecord) -> dict[str, float]:
    return {series.metric: series.values[0] for series in record.series}


def test_a_command_is_timed_by_the_clock_and_its_cpu_time_by_the_kernel(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass\ntime.sleep(0.2)"
    record = measured(tmp_path, f"{PYTHON} -c {shlex.quote(busy)}")
    assert (record.status, record.verified, record.stop) == ("ok", None, "samples")
    found = values(record)
    assert found["time"] == found["wall"] >= 0.5
    assert 0.3 <= found["cpu"] <= found["wall"]
    around = record.covariates
    assert around["sampling_seconds"] == found["wall"]
    assert around["user_seconds"] + around["system_seconds"] == pytest.approx(found["cpu"])
    assert around["voluntary_switches"] >= 1
    cpus = sum(line.startswith("cpu") for line in Path("/proc/stat").read_text().splitlines())
    assert around["online_cpus"] == cpus - 1


def test_the_cpu_time_of_child_processes_counts(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    two = f"{PYTHON} -c {shlex.quote(busy)} & {PYTHON} -c {shlex.quote(busy)}; wait"
    assert values(measured(tmp_path, two, shell=1))["cpu"] >= 0.4


@pytest.mark.parametrize(
    ("printed", "pattern", "seconds"),
    [
        ("Elapsed: 12.5 s", r"Elapsed: (\S+)", 12.5),
        ("CPU Time in seconds =   1.25D-02", r"seconds = .*", 0.0125),
        ("step 1\ntotal 3\ntotal 4.0e1", r"total (.*)", 40.0),
    ],
)
def test_a_printed_time_counts(tmp_path: Path, printed: str, pattern: str, seconds: float) -> None:
    record = measured(tmp_path, f"printf {shlex.quote(printed)}", time=pattern)
    assert values(record)["time"] == pytest.approx(seconds)
    assert values(record)["wall"] < seconds or seconds < 1


def test_its_stderr_counts_too(tmp_path: Path) -> None:
    record = measured(tmp_path, "echo took 7 >&2; echo right", shell=1, time="took (.*)",
                      verify="^right$")  # fmt: skip
    assert (values(record)["time"], record.verified) == (7.0, True)


def test_a_failed_verification_is_reported_as_wrong(tmp_path: Path) -> None:
    record = measured(tmp_path, "echo VERIFICATION FAILED", verify="VERIFICATION SUCCESSFUL")
    assert (record.status, record.verified) == ("ok", False)
    assert record.verification is not None and "SUCCESSFUL" in record.verification.what


@pytest.mark.parametrize(
    ("command", "how", "says"),
    [
        ("echo no room >&2; exit 3", {}, "exit status 3: no room"),
        (
            f"printf '%s\\n' begin {_RULE} '' 'no slots' 'ask for fewer' {_RULE}; exit 1",
            {},
            ": no slots",
        ),
        (f"printf '%s\\n' {_RULE} note {_RULE} 'no disk'; exit 1", {}, "exit status 1: no disk"),
        (f"printf '%s\\n' 'table 5' {_RULE}; exit 1", {}, "exit status 1: table 5"),
        ("kill -SEGV $$", {}, "SIGSEGV"),
        ("echo done", {"time": "took (.*)"}, "no time"),
        ("echo took long", {"time": "took (.*)"}, "'long'"),
        ("echo took -3", {"time": "took (.*)"}, "'-3'"),
        ("echo took nan", {"time": "took (.*)"}, "'nan'"),
        ("./no-such-program", {"shell": 0}, "No such file"),
    ],
)
def test_output_without_a_time_has_failed(
    tmp_path: Path, command: str, how: dict[str, str | int], says: str
) -> None:
    record = measured(tmp_path, command, **{"shell": 1, **how})
    assert record.status == "failed" and not record.series
    assert says in (record.error or "")


def test_placeholders_and_threads_reach_the_command(tmp_path: Path) -> None:
    placement = Placement(ppn=2, threads=3, binding="spread")
    command = "echo {nodes} {ppn} {ranks} {threads} {binding} {order} {adapter}"
    line = f"{command} $OMP_NUM_THREADS $OMP_PROC_BIND; cat {{hostfile}}"
    measured(tmp_path, line, shell=1, placement=placement)
    said = (tmp_path / "0000.out").read_text()
    assert said == "1 2 2 3 spread block default 3 spread\nlocalhost\nlocalhost\n"


def test_the_hostfile_has_one_line_per_rank_in_order(tmp_path: Path) -> None:
    for order, lines in {"block": "a a b b", "cyclic": "a b a b", "0,2,1,3": "a b a b"}.items():
        placement = Placement(nodes=2, ppn=2, order=order)
        launched = order_of(tmp_path, "cat {hostfile}", placement=placement)
        prepare_command(launched, ("a", "b"))
        assert (tmp_path / "0000.hosts").read_text().split() == lines.split()
        spec = json.loads((tmp_path / "0000.job.json").read_bytes())
        assert spec["here"] is False and spec["ranks"] == 4


def test_the_binding_is_unchanged_unless_the_command_uses_it() -> None:
    placement = Placement(threads=2)
    assert environment(placement, "./a {ranks}") == {"OMP_NUM_THREADS": "2"}
    assert environment(placement, "./a {binding}")["OMP_PROC_BIND"] == "close"


def test_no_shell_parses_the_command_unless_requested(tmp_path: Path) -> None:
    record = measured(tmp_path, "echo $HOME; exit 3")
    assert record.status == "ok"
    assert (tmp_path / "0000.out").read_text() == "$HOME; exit 3\n"


HANGS = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0: os.setsid()\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(60)"
)


def test_a_hanging_command_is_ended_completely_at_its_timeout(tmp_path: Path) -> None:
    record, stream = launch(tmp_path, f"{PYTHON} -c {shlex.quote(HANGS)}", timeout=3.0)
    assert (record.outcome, record.blamed) == ("timeout", "cell-0")
    assert "3 s" in (record.error or "")
    assert stream.measurements == []
    pids = [int(word) for word in (tmp_path / "0000.out").read_text().split()]
    assert len(pids) == 2
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


SLOW_FORK = """
import os, signal, threading, time
from assay.launch.commands import runner

fork = os.fork

def slow_fork():
    pid = fork()
    if pid == 0:
        time.sleep(0.5)
    return pid

os.fork = slow_fork
signal.signal(signal.SIGTERM, runner._hand_on)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
status, _ = runner._run(["sleep", "20"], dict(os.environ))
print(os.WIFSIGNALED(status) and os.WTERMSIG(status))
"""


def test_a_stop_that_comes_while_the_command_is_started_is_passed_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW_FORK], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == signal.SIGTERM


def test_a_stop_is_passed_on_and_reported(tmp_path: Path) -> None:
    before = set(warden.processes_below(os.getpid()))  # left by a test that failed, for example
    order = order_of(tmp_path, "sleep 60")
    running = LocalExecutor({}, {}, grace=10.0).start(order)
    deadline = time.monotonic() + 20
    while read_stream(order.stream).begun is None and time.monotonic() < deadline:
        time.sleep(0.02)
    record = running.stop()
    assert record.outcome == "interrupted"
    stream = read_stream(order.stream)
    assert [m.status for m in stream.measurements] == ["interrupted"]
    assert stream.end is not None and stream.end.reason == "signal"
    assert set(warden.processes_below(os.getpid())) <= before
