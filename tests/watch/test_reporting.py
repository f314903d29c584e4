"""Reports of ``assay watch`` on real programs whose steps are slowed and hung on purpose."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from watch_program import PATIENCE, WATCH, log_of, python, running, steps, watch

pytestmark = pytest.mark.usefixtures("patient_ranks")


def test_steps_are_counted_and_summed_up(tmp_path):
    log = tmp_path / "log"
    done = watch(
        "--step", r"step (?P<i>\d+) of (?P<n>\d+)", "--json", "--log", log, program=steps(60)
    )
    assert done.returncode == 0
    found = json.loads(done.stdout.splitlines()[-1])
    (source,) = found["sources"]
    # On a busy machine lines arrive together, and the time of the first ones is unknown.
    assert 40 <= source["steps"] <= 59
    assert 0.0 < source["min"] <= source["median"] <= source["p95"] <= source["max"]
    assert source["mean"] > 0.015
    assert source["walltime_steps"] == 60
    assert source["walltime"] is None or source["walltime"] > 0.9
    records = log_of(log)
    assert [records[0]["record"], records[-1]["record"]] == ["start", "end"]
    assert sum(r["count"] for r in records if r["record"] == "step") == source["steps"]
    assert records[-1] == found
    assert b"median" in done.stderr and b"alarm" in done.stderr


@pytest.mark.alone
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_a_slowdown_is_reported_while_it_lasts_and_then_its_end():
    code = steps(n=200, slow=0.1, first=80, last=110)
    done = watch("--step", "^step", "--json", "--fail-on", "alarm", program=code)
    found = json.loads(done.stdout.splitlines()[-1])
    slower = [c for c in found["changes"] if c["kind"] == "slower" and c["ratio"] > 2]
    assert slower, found["changes"]
    assert 79 <= slower[0]["step"] <= 90
    assert 76 <= slower[0]["since"] <= 81
    assert done.returncode == 1
    assert b"steps take longer since step" in done.stderr
    assert b"cause:" in done.stderr
    later = [c["kind"] for c in found["changes"] if c["step"] > slower[0]["step"]]
    assert {"recovered", "faster"} & set(later), found


def test_a_failing_program_keeps_its_status():
    code = steps(n=80, slow=0.1, first=60)
    code[-1] += "\nsys.exit(5)"
    done = watch("--step", "^step", "--fail-on", "alarm", program=code)
    assert done.returncode == 5


def test_a_hang_is_reported_while_it_lasts(tmp_path):
    code = (
        "import time\n"
        "for i in range(40):\n    time.sleep(0.01)\n    print('step', i, flush=True)\n"
        "    if i == 30: time.sleep(2.5)\n"
    )
    with running("--step", "^step", "--patience", "1 s", program=python(code)) as process:
        seen = b""
        while b"no step for" not in seen:
            line = process.stderr.readline()
            assert line
            seen += line
        assert process.poll() is None
        assert b"sleep" in seen
        rest = process.communicate(timeout=PATIENCE)[1]
    assert b"it goes on" in rest


def test_no_match_at_all_says_so_with_a_hint():
    code = "for i in range(30): print(f'iteration {i}: residual 0.{i}')"
    done = watch("--step", "^step", program=python(code))
    assert done.returncode == 0
    assert b"No line of 30 matched" in done.stderr
    assert rb"--step 'iteration (?P<i>\d+)'" in done.stderr
    silent = watch("--step", "^step", program=["true"])
    assert b"printed no line at all" in silent.stderr
    neither = watch(program=["true"])
    assert b"No step was seen" in neither.stderr and b"--heartbeat" in neither.stderr


@pytest.mark.slow
@pytest.mark.alone
def test_a_program_that_buffers_its_lines_is_recommended_pty(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = "import time\nfor i in range(8000):\n    time.sleep(0.0005)\n    print('step', i)\n"
    done = watch("--step", "^step", program=python(code))
    assert b"--pty" in done.stderr
    shown = watch("--pty", "--step", "^step", program=python(code.replace("8000", "1000")))
    assert shown.stdout == b"".join(b"step %d\n" % i for i in range(1000))
    assert b"bursts" not in shown.stderr


def test_with_pty_the_program_has_a_terminal():
    code = "import sys\nprint(sys.stdout.isatty(), sys.stderr.isatty())"
    assert watch("--quiet", program=python(code)).stdout == b"False False\n"
    assert watch("--quiet", "--pty", program=python(code)).stdout == b"True False\n"


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.flaky(reruns=2, reason="other work delays assay, which then skips lines and says so")
def test_a_flood_of_lines_is_followed():
    code = (
        "import sys\nfor b in range(0, 300000, 10000):\n"
        "    sys.stdout.write(''.join(f'step {i}\\n' for i in range(b, b + 10000)))\n"
    )
    done = watch("--step", r"step (?P<i>\d+)", "--json", program=python(code))
    *lines, last = done.stdout.splitlines()
    assert len(lines) == 300_000 and lines[-1] == b"step 299999"
    found = json.loads(last)
    assert found["notes"] == [] or "bursts" in found["notes"][0]
    assert found["sources"][0]["steps"] > 270_000


def test_where_the_heartbeat_files_are():
    done = subprocess.run(
        [*WATCH, "--heartbeat", "--json"], capture_output=True, timeout=60, check=True
    )
    for path in json.loads(done.stdout).values():
        assert Path(path).is_file()
    printed = subprocess.run([*WATCH, "--heartbeat"], capture_output=True, timeout=60, check=True)
    assert b"assay_heartbeat()" in printed.stdout and b"gfortran" in printed.stdout


def test_a_silence_of_few_steps_is_an_alarm():
    """Thirteen steps (some lines may arrive together), then a much longer silence."""
    code = (
        "import time\n"
        "for i in range(13):\n    time.sleep(0.1)\n    print('step', i, flush=True)\n"
        "time.sleep(7.5)\nprint('step 13', flush=True)\n"
    )
    done = watch("--step", "^step", "--json", "--fail-on", "alarm", program=python(code))
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["outcome"], done.returncode) == ("alarm", 1)
    assert [hang["over"] for hang in found["hangs"]] == [False, True]
    assert found["sources"][0]["needed"] == 20
    assert b"no step for" in done.stderr and b" of the 20 steps needed" in done.stderr
