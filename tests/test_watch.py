"""``assay watch`` as people run it: real programs, slowed, hung and killed on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.stats.online import Settings
from assay.watch.heartbeat import library
from assay.watch.series import Series
from assay.watch.steps import Step

PATIENCE = 60.0
WATCH = [sys.executable, "-m", "assay", "watch"]


def watch(*words, program, stdin=None, **options):
    """Run it to its end; what it printed, and its status."""
    return subprocess.run(
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
    """Whether the process ends within so many seconds."""
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
    """The command while it runs; ended with all that it started, whatever happens."""
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
        # All of it is in one session; who left it isn't started by any test here.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        for left in Path("/dev/shm").glob(f"assay-heartbeat-*-{process.pid}-*"):
            shutil.rmtree(left)


# What passes through.


def test_output_passes_untouched_whatever_it_is(tmp_path):
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


def test_lines_come_through_at_once():
    code = "import time\nprint('first', flush=True)\ntime.sleep(30)"
    with running("--quiet", program=python(code)) as process:
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert ready
        assert os.read(process.stdout.fileno(), 100) == b"first\n"
        assert process.poll() is None


@pytest.mark.parametrize("status", [0, 3, 77])
def test_the_exit_status_is_the_programs(status):
    assert watch(program=python(f"raise SystemExit({status})")).returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_is_told_as_shells_do(number):
    no_core = "import os, resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    code = f"{no_core}os.kill(os.getpid(), {int(number)})"
    done = watch("--json", program=python(code))
    assert done.returncode == 128 + number
    assert json.loads(done.stdout)["signal"] == number


def test_a_program_that_is_none_is_an_error_of_use():
    done = watch(program=["/nowhere/at/all"])
    assert done.returncode == 2
    assert b"can't be started" in done.stderr
    done = subprocess.run(WATCH, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and b"No program" in done.stderr
    done = watch("--step", "(", program=["true"])
    assert done.returncode == 2 and b"no regular expression" in done.stderr


def test_a_reader_that_goes_ends_the_program_as_without():
    code = "import itertools\nfor i in itertools.count(): print(i)"
    with running("--quiet", program=python(code)) as process:
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        process.stdout = None
        # Python takes the broken pipe for an error of its own: 1, or 120 at its end.
        assert process.wait(PATIENCE) in (1, 120, 128 + signal.SIGPIPE)


# Signals, and ends.


def test_ctrl_c_reaches_the_program_and_its_last_words_come_through():
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


def test_the_program_lives_on_unblocked_when_assay_is_killed(tmp_path):
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


def test_the_program_is_not_held_up_when_assay_is_stopped(tmp_path):
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


def test_what_a_killed_one_left_is_cleared_away_by_the_next():
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


def test_assay_ends_with_the_program_though_something_of_it_goes_on(tmp_path):
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


def test_output_that_is_lost_is_said_and_the_program_lives_on(tmp_path):
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


def test_a_log_that_cannot_be_written_does_not_end_the_following():
    done = watch("--log", "/dev/full", "--step", "^step", "--json", program=steps(30))
    assert done.returncode == 0
    assert b"log can't be written any more" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["sources"][0]["steps"] > 10


def test_a_fault_of_ours_is_not_the_programs():
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


def test_a_step_of_before_a_stop_is_no_later_than_its_end():
    series = Series("lines", Settings())
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

hand_on, kept = program.hand_on, []

def late(pid):
    kept.append(hand_on(pid))
    return len(kept) > 1 and kept[-2]

program.hand_on = late
sys.argv[0] = "assay"
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("told", ["at once", "late"])
def test_a_stop_by_the_terminal_is_no_hang(told):
    """Late: the signal that continued us is seen one look after the gap."""
    words = ["--step", "^step", "--patience", "1 s", "--json"]
    assay = WATCH if told == "at once" else [sys.executable, "-c", LATE, "watch"]
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


# What is said of the steps.

STEPS = """
import sys, time
for i in range(1, {n} + 1):
    time.sleep({slow} if {first} <= i < {last} else {usual})
    print(f"step {{i}} of {n}", flush=True)
"""


def steps(n=120, usual=0.02, slow=0.06, first=10**9, last=10**9):
    return python(STEPS.format(n=n, usual=usual, slow=slow, first=first, last=last))


def test_steps_are_counted_and_summed_up(tmp_path):
    log = tmp_path / "log"
    done = watch(
        "--step", r"step (?P<i>\d+) of (?P<n>\d+)", "--json", "--log", log, program=steps(60)
    )
    assert done.returncode == 0
    found = json.loads(done.stdout.splitlines()[-1])
    (source,) = found["sources"]
    # Where this machine is busy, lines come together, and of the first ones no time is known.
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
def test_a_slowdown_is_said_while_it_lasts_and_then_that_it_is_over():
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


def test_a_program_that_fails_keeps_its_status_whatever_was_asked():
    code = steps(n=80, slow=0.1, first=60)
    code[-1] += "\nsys.exit(5)"
    done = watch("--step", "^step", "--fail-on", "alarm", program=code)
    assert done.returncode == 5


def test_a_hang_is_said_while_it_happens(tmp_path):
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
def test_a_program_that_keeps_its_lines_back_is_told_of_pty(monkeypatch):
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
    told = subprocess.run([*WATCH, "--heartbeat"], capture_output=True, timeout=60, check=True)
    assert b"assay_heartbeat()" in told.stdout and b"gfortran" in told.stdout


# Competition for the core, made on purpose. A step is 20 ms of CPU time, whatever the machine.

STEP, FIRST, MANY = 0.02, 80, 200
BURN = """
import os, time
os.sched_setaffinity(0, {%d})
print("there", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end: pass
"""
PYTHON_PROGRAM = f"""
import os, time
from assay_heartbeat import heartbeat
os.sched_setaffinity(0, {{%d}})
for i in range({MANY}):
    end = time.thread_time() + {STEP}
    while time.thread_time() < end: pass
    heartbeat()
"""
C_PROGRAM = f"""
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include "heartbeat.h"
#ifdef WITH_MPI
#include <mpi.h>
#endif
static double used(void) {{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}}
int main(int argc, char **argv) {{
  int cpu[] = {{CPUS}}, rank = 0;
  cpu_set_t set;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  (void)argc, (void)argv;
  CPU_ZERO(&set);
  CPU_SET(cpu[rank], &set);
  sched_setaffinity(0, sizeof set, &set);
  for (int i = 0; i < {MANY}; ++i) {{
    const double end = used() + {STEP};
    while (used() < end) continue;
    assay_heartbeat();
#ifdef WITH_MPI
    MPI_Barrier(MPI_COMM_WORLD);
#endif
  }}
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}}
"""
FORTRAN_PROGRAM = f"""
program steps
  use assay
  implicit none
  integer :: i
  real(8) :: start, now
  do i = 1, {MANY}
    call cpu_time(start)
    now = start
    do while (now < start + {STEP}d0)
      call cpu_time(now)
    end do
    call assay_heartbeat()
  end do
end program steps
"""


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def last_step(log: Path) -> int:
    """The greatest number of a step among the log's last lines, of which one may be torn."""
    steps = [0]
    for line in log.read_bytes().splitlines()[-40:] if log.exists() else []:
        with contextlib.suppress(ValueError):
            steps.append(json.loads(line).get("step", 0))
    return max(steps)


def competed(tmp_path: Path, program: list[str], cpu: int, env=None) -> None:
    """Watch it; a competitor comes to the CPU after 80 steps, and is named before the end."""
    log = tmp_path / "log"
    words = ["--json", "--log", str(log)]
    other = None
    asked = 0  # the step at which the competitor was started
    with running(*words, program=program, env=env) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while other is None and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.02)
                asked = last_step(log)
                if asked >= FIRST:
                    burn = [sys.executable, "-c", BURN % cpu]
                    other = subprocess.Popen(burn, stdout=subprocess.PIPE)
                    assert other.stdout is not None and other.stdout.readline() == b"there\n"
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            if other is not None:
                other.kill()
                other.communicate()
    assert process.returncode == 0 and other is not None, err
    found = json.loads(out.splitlines()[-1])
    # Of ranks, the first to come may have made a step or two before the other was there.
    assert MANY - 1 <= sum(source["steps"] for source in found["sources"]) <= MANY + 1
    records = log_of(log)
    at = next(r["time"] for r in records if r["record"] == "step" and r["step"] >= asked)
    waits = [
        record["covariates"].get("run_queue_seconds", 0.0)
        for record in records
        if record["record"] == "sample" and record["time"] < at
    ]
    if waits and max(waits) > 0.2:
        pytest.skip("others use this machine's CPUs, before a competitor is started on purpose")
    # How soon is told by benchmarks/watch.py: here others may compete before and after.
    alarms = [c for c in found["changes"] if c["alarm"] and c["step"] > asked]
    assert alarms, found
    causes = {cause["name"]: cause for alarm in alarms for cause in alarm["why"]["causes"]}
    if Path("/proc/self/schedstat").exists():
        assert "competition" in causes, alarms
        assert str(other.pid) in causes["competition"]["sentence"]


@pytest.mark.slow
@pytest.mark.alone
def test_a_python_program_that_is_competed_with(tmp_path):
    env = {**os.environ, "PYTHONPATH": f"{library()}:{os.environ.get('PYTHONPATH', '')}"}
    competed(tmp_path, python(PYTHON_PROGRAM % cpus()[-1]), cpus()[-1], env)


def built(tmp_path: Path, compiler: str, *flags: str) -> list[str]:
    (tmp_path / "program.c").write_text(C_PROGRAM)
    program = tmp_path / "program"
    source = [str(tmp_path / "program.c"), str(library() / "heartbeat.c")]
    command = [compiler, "-O2", f"-I{library()}", *flags, *source, "-o", str(program)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return [str(program)]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_c_program_that_is_competed_with(tmp_path):
    competed(tmp_path, built(tmp_path, "cc", f"-DCPUS={cpus()[-1]}"), cpus()[-1])


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler (gfortran)")
def test_a_fortran_program_that_is_competed_with(tmp_path):
    (tmp_path / "program.f90").write_text(FORTRAN_PROGRAM)
    heartbeat = str(tmp_path / "heartbeat.o")
    subprocess.run(["cc", "-O2", "-c", library() / "heartbeat.c", "-o", heartbeat], check=True)
    sources = [str(library() / "heartbeat.f90"), str(tmp_path / "program.f90")]
    command = ["gfortran", "-O2", f"-J{tmp_path}", *sources, heartbeat]
    subprocess.run([*command, "-o", str(tmp_path / "program")], check=True, timeout=120)
    pinned = ["taskset", "-c", str(cpus()[-1]), str(tmp_path / "program")]
    competed(tmp_path, pinned, cpus()[-1])


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks need two CPUs")
def test_ranks_of_which_one_is_competed_with(tmp_path):
    tools = Path(sys.prefix) / "bin"
    given = f"-DCPUS={cpus()[0]},{cpus()[1]}"
    (program,) = built(tmp_path, str(tools / "mpicc"), given, "-DWITH_MPI")
    competed(tmp_path, [str(tools / "mpirun"), "-n", "2", program], cpus()[1])
