"""``assay watch`` as users run it: real programs that end, are stopped or killed on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.stats.changes.step_change import Settings
from assay.watch.heartbeat import library
from assay.watch.series import StepSeries
from assay.watch.steps import Step
from watch_program import PATIENCE, WATCH, gone, python, running, steps, watch

pytestmark = pytest.mark.usefixtures("patient_ranks")

# Input and output.


def test_any_output_passes_unchanged(tmp_path):
    data = os.urandom(300_000) + b"\r\n\0\xff no end"
    (tmp_path / "data").write_bytes(data)
    code = (
        "import sys\n"
        f"data = open({str(tmp_path / 'data')!r}, 'rb').read()\n"
        "sys.stdout.buffer.write(data)\nsys.stdout.flush()\nsys.stderr.write('an error\\n')\n"
    )
    done = watch("--quiet", program=python(code))
    assert done.returncode == 0
    assert done.stdout == data
    assert done.stderr == b"an error\n"


def test_both_streams_keep_their_order_where_they_go_to_one_place():
    code = (
        "import os\n"
        "for i in range(200):\n    os.write(1, b'o%d\\n' % i)\n    os.write(2, b'e%d\\n' % i)\n"
    )
    done = subprocess.run(
        [*WATCH, "--quiet", "--", *python(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=True,
    )
    expected = b"".join(b"o%d\ne%d\n" % (i, i) for i in range(200))
    assert done.stdout == expected


def test_input_reaches_the_program():
    done = watch("--quiet", program=python("print(input()[::-1])"), stdin=b"abc\n")
    assert done.stdout == b"cba\n"


def test_lines_pass_immediately():
    code = "import time\nprint('first', flush=True)\ntime.sleep(30)"
    with running("--quiet", program=python(code)) as process:
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert ready
        # Unbuffered, Python writes the end of the line separately.
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None


@pytest.mark.parametrize("status", [0, pytest.param(3, marks=pytest.mark.long), 77])
def test_the_exit_status_is_the_programs(status):
    assert watch(program=python(f"raise SystemExit({status})")).returncode == status


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        signal.SIGKILL,
        pytest.param(signal.SIGSEGV, marks=pytest.mark.long),
    ],
)
def test_a_signal_is_reported_as_by_shells(number):
    no_core = "import os, resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    code = f"{no_core}os.kill(os.getpid(), {int(number)})"
    done = watch("--json", program=python(code))
    assert done.returncode == 128 + number
    assert json.loads(done.stdout)["signal"] == number


def test_an_invalid_program_is_a_usage_error():
    done = watch(program=["/nowhere/at/all"])
    assert done.returncode == 2
    assert b"can't be started" in done.stderr
    done = subprocess.run(WATCH, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and b"No program" in done.stderr
    done = watch("--step", "(", program=["true"])
    assert done.returncode == 2 and b"not a regular expression" in done.stderr


def test_a_closed_reader_ends_the_program_as_without_assay():
    code = "import itertools\nfor i in itertools.count(): print(i)"
    with running("--quiet", program=python(code)) as process:
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        process.stdout = None
        # Python treats the broken pipe as an error: 1, or 120 at its end.
        assert process.wait(PATIENCE) in (1, 120, 128 + signal.SIGPIPE)


# Signals, and ends.


def test_ctrl_c_reaches_the_program_and_its_last_output_passes():
    code = (
        "import time\nprint('ready', flush=True)\ntry:\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('caught', flush=True)\n    raise SystemExit(9)"
    )
    with running("--quiet", program=python(code)) as process:
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGINT)  # to assay alone, as `kill -INT` does
        assert process.stdout.readline() == b"caught\n"
        assert process.wait(PATIENCE) == 9


def test_ctrl_c_in_a_terminal_reaches_the_program_once(tmp_path):
    code = (
        "import signal, sys, time\nn = 0\n"
        "def count(*_):\n    global n\n    n += 1\n"
        "signal.signal(signal.SIGINT, count)\nprint('ready', flush=True)\n"
        "end = time.monotonic() + 2\n"
        "while time.monotonic() < end: time.sleep(0.05)\n"
        f"open({str(tmp_path / 'count')!r}, 'w').write(str(n))\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(WATCH[0], [*WATCH, "--", *python(code)])
    seen = b""
    deadline = time.monotonic() + PATIENCE
    try:
        sent = False
        while time.monotonic() < deadline:
            ready, _, _ = select.select([terminal], [], [], 0.2)
            if ready:
                try:
                    data = os.read(terminal, 4096)
                except OSError:
                    break
                if not data:
                    break
                seen += data
            if b"ready" in seen and not sent:
                time.sleep(0.3)
                os.write(terminal, b"\x03")
                sent = True
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    finally:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert (tmp_path / "count").read_text() == "1"


def test_the_program_continues_unblocked_when_assay_is_killed(tmp_path):
    done = tmp_path / "done"
    code = (
        "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1)\n"
        "for i in range(40000): print('x' * 100)\n"  # far more than pipes hold
        f"open({str(done)!r}, 'w').write('all of it')\n"
    )
    with running("--step", "x", program=python(code)) as process:
        pid = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        rest = process.stdout.read()  # until the relay has ended, too
        assert rest == b"x" * 100 + b"\n" + (b"x" * 100 + b"\n") * 39999
        assert gone(pid)
    assert done.read_text() == "all of it"


@pytest.mark.long
def test_the_program_is_not_delayed_when_assay_is_stopped(tmp_path):
    done = tmp_path / "done"
    code = (
        "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1)\n"
        "for i in range(400000): print('x' * 100)\n"
        f"open({str(done)!r}, 'w').write('all of it')\n"
    )
    with running("--step", "x", program=python(code)) as process:
        pid = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGSTOP)
        # Some 600 pieces: if the relay waited half a second for each, that would be minutes.
        left, deadline = 400000 * 101, time.monotonic() + PATIENCE
        while left and time.monotonic() < deadline:
            ready, _, _ = select.select([process.stdout], [], [], 1.0)
            left -= len(process.stdout.read1(1 << 16)) if ready else 0
        assert left == 0
        assert gone(pid)
        assert done.read_text() == "all of it"
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(PATIENCE) == 0


def test_heartbeats_of_a_killed_assay_are_cleaned_up(tmp_path):
    code = (
        "import os, time\nfrom assay_heartbeat import heartbeat\nheartbeat()\n"
        "print(os.environ['ASSAY_HEARTBEAT'], flush=True)\ntime.sleep(1)\nheartbeat()\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{library()}:{os.environ.get('PYTHONPATH', '')}"}
    with running(program=python(code), env=env) as process:
        folder = Path(process.stdout.readline().decode().strip())
        assert list(folder.glob("*.heartbeat"))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        process.stdout.read()
        deadline = time.monotonic() + 20
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not folder.exists()


def test_leftovers_of_a_killed_assay_are_removed_by_the_next():
    code = "import os\nprint(os.environ['ASSAY_HEARTBEAT'], flush=True)\ninput()"
    with running("--quiet", program=["sh", "-c", "echo $ASSAY_HEARTBEAT; sleep 60"]) as process:
        folder = Path(process.stdout.readline().decode().strip())
        lives = Path(watch("--quiet", program=python(code), stdin=b"\n").stdout.decode().strip())
        assert folder.exists() and not lives.exists()
        os.killpg(process.pid, signal.SIGKILL)  # the relay, too
        process.wait(PATIENCE)
        assert folder.exists()
        assert watch("--quiet", program=["true"]).returncode == 0
        assert not folder.exists()


def test_assay_ends_with_the_program_though_a_child_continues(tmp_path):
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    for _ in range(600):\n"
        f"        if os.path.exists({str(tmp_path / 'go')!r}): break\n"
        "        time.sleep(0.1)\n"
        "    os.write(1, b'late\\n')\n    os._exit(0)\n"
        "print('over', flush=True)\nos._exit(4)"
    )
    with running("--quiet", program=python(code)) as process:
        assert process.stdout.readline() == b"over\n"
        assert process.wait(PATIENCE / 2) == 4
        (tmp_path / "go").touch()
        assert process.stdout.readline() == b"late\n"  # and is not cut off


def test_lost_output_is_reported_and_the_program_continues(tmp_path):
    done = tmp_path / "done"
    code = (
        "import os\nfor i in range(100): os.write(1, b'x' * 1000)\n"
        f"open({str(done)!r}, 'w').write('all of it')\n"
    )
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*WATCH, "--", *python(code)],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert ended.returncode == 0
    assert b"output is lost: standard output: No space left" in ended.stderr
    assert done.read_text() == "all of it"


def test_a_log_that_cannot_be_written_does_not_end_the_watch():
    done = watch("--log", "/dev/full", "--step", "^step", "--json", program=steps(30))
    assert done.returncode == 0
    assert b"log can't be written any more" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["sources"][0]["steps"] > 10


def test_an_internal_error_is_not_the_programs():
    code = (
        "from assay.watch.sampler import Sampler\n"
        "def fail(*_): raise ZeroDivisionError('planted')\n"
        "Sampler.read = fail\nfrom assay.cli.app import main\n"
        f"main(['watch', '--step', '^step', '--', *{steps(40)!r}])\n"
    )
    done = subprocess.run(python(code), capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert done.stdout == b"".join(b"step %d of 40\n" % i for i in range(1, 41))
    assert b"planted" in done.stderr and b"the program goes on" in done.stderr


def test_a_step_begun_before_a_stop_does_not_count_the_stop():
    series = StepSeries("lines", Settings())
    series.last = 9_000_000_000
    series.add(Step(0.02, 1, 7_000_000_000))
    assert series.last == 9_000_000_000
    series.add(Step(0.02, 1, 9_500_000_000))
    assert series.last == 9_500_000_000


LATE = """
import sys
from assay.watch.signals import hold
hold()
from assay.cli.app import main
from assay.watch import program

forward, kept = program.forward, []

def late(pid):
    kept.append(forward(pid))
    return len(kept) > 1 and kept[-2]

program.forward = late
sys.argv[0] = "assay"
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("moment", ["at once", pytest.param("late", marks=pytest.mark.long)])
def test_a_stop_by_the_terminal_is_no_hang(moment):
    """Late: the signal that continued assay is seen one reading after the gap."""
    words = ["--step", "^step", "--patience", "1 s", "--json"]
    assay = WATCH if moment == "at once" else [sys.executable, "-c", LATE, "watch"]
    with running(*words, program=steps(120), assay=assay) as process:
        for _ in range(40):
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.killpg(process.pid, signal.SIGCONT)
        out, _ = process.communicate(timeout=PATIENCE)
    found = json.loads(out.splitlines()[-1])
    assert found["hangs"] == []
    assert found["sources"][0]["max"] < 2.0
