"""assay-check as a process: its orders, its options, and its end in every case."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from check_programs import answers, plain, sanitized

pytestmark = pytest.mark.slow
BAD_ORDERS = (
    "",
    " ",
    "measure",
    "measure core",
    "measure core fast",
    "measure core nan",
    "measure core inf",
    "measure core 1e400",
    "measure core -1",
    "measure core 0",
    "measure core 61",
    "measure core 0x1",
    "measure core 1s",
    "measure core 0.1 none further",
    "measure cores 0.1",
    "measure \x00 0.1",
    "Measure core 0.1",
    "quit",
    "measure message_latency",
    "x" * 5000,
    "measure " + "core " * 900,
)


def test_an_order_that_is_none_gets_one_line_and_the_next_is_carried_out() -> None:
    found = answers(plain(), *BAD_ORDERS, "measure core 0.1")
    assert len(found) == len(BAD_ORDERS) + 1
    assert all(list(each) == ["problem"] for each in found[:-1])
    assert found[-1]["component"] == "core" and found[-1]["verified"]


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_random_orders_are_answered_line_by_line() -> None:
    draw = random.Random(43)
    words = [b"measure", b"core", b"0.05", b"nan", b"9" * 400, b"\xff\xfe", b"\0", b"-", b"fault"]
    lines = []
    for _ in range(400):
        if draw.random() < 0.5:
            line = b" ".join(draw.choices(words, k=draw.randrange(6)))
        else:
            line = draw.randbytes(draw.randrange(3000)).replace(b"\n", b" ")
        lines.append(line)
    # A sound order would measure: none may occur.
    lines = [line for line in lines if line.split()[:3] != [b"measure", b"core", b"0.05"]]
    done = subprocess.run(
        [sanitized()],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert len(found) == len(lines)
    assert all(list(each) == ["problem"] for each in found)


def test_a_last_line_without_an_end_is_not_an_order() -> None:
    done = subprocess.run([plain()], input=b"measure core 0.1", capture_output=True, check=True)
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scratch"], "the option '--scratch' has no value"),
        (["--sctatch", "/tmp"], "there is no option '--sctatch'"),
        (["--port", "0"], "the value '0' of --port is not a number in its range"),
        (["--deadline", "nan"], "the value 'nan' of --deadline is not a number in its range"),
        (["--wait", "2x"], "the value '2x' of --wait is not a number in its range"),
    ],
)
def test_bad_options_are_one_sentence(options: list[str], words: str) -> None:
    done = subprocess.run([plain(), *options], input="", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"assay-check: {words}\n")
    assert done.stdout == ""


def test_it_says_first_what_it_is() -> None:
    done = subprocess.run([plain()], input="", capture_output=True, text=True, check=True)
    hello = json.loads(done.stdout)
    assert hello["program"] == "assay-check"
    assert set(hello["cpus"]) <= os.sched_getaffinity(0)
    assert hello["test"] is False


def test_its_own_deadline_ends_it_while_it_measures() -> None:
    done = subprocess.run(
        [plain(), "--deadline", "0.3"], input="measure core 50\n", capture_output=True, text=True
    )
    assert done.returncode == 4
    assert done.stderr == "assay-check: the deadline has passed\n"
    assert len(done.stdout.splitlines()) == 1


def test_it_does_not_outlive_a_parent_that_ended_before() -> None:
    done = subprocess.run([plain(), "--parent", "1"], input="", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "assay-check: the parent has ended\n")


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.argv[1], "--scratch", sys.argv[2]], stdin=subprocess.PIPE)
child.stdin.write(b"measure storage 0.2\\n" * 1000)
child.stdin.flush()
print(child.pid, flush=True)
child.wait()
"""


def test_it_ends_with_its_parent_and_leaves_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(plain()), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        lines = iter(parent.stdout.readline, "")
        child = next(int(line) for line in lines if line.strip().isdigit())
        next(line for line in lines if '"storage"' in line)  # it measures
        parent.send_signal(signal.SIGKILL)
        # It has more orders, and this process still reads its answers.
        limit = time.monotonic() + 30
        while Path(f"/proc/{child}").exists() and time.monotonic() < limit:
            time.sleep(0.01)
        assert not Path(f"/proc/{child}").exists()
    assert list(tmp_path.iterdir()) == []


WITHOUT_NAMELESS_FILES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
typedef int Open(const char*, int, ...);
static int opened(const char* name, const char* path, int flags, int mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return ((Open*)dlsym(RTLD_NEXT, name))(path, flags, mode);
}
#define REPLACED(name) \
  int name(const char* path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    const int mode = va_arg(rest, int); \
    va_end(rest); \
    return opened(#name, path, flags, mode); \
  }
REPLACED(open)
REPLACED(open64)
"""


def test_a_file_system_without_nameless_files_keeps_no_name(tmp_path: Path) -> None:
    """A stand-in for a file system such as NFS: opening nameless files fails there."""
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(WITHOUT_NAMELESS_FILES)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    log = tmp_path / "calls"
    if not shutil.which("strace"):
        pytest.skip("no strace")
    command = ["strace", "-f", "-e", "trace=unlink,unlinkat,openat", "-E", f"LD_PRELOAD={library}"]
    command += ["-o", str(log), str(plain())]
    (answer,) = answers(command, "measure storage 0.1", options=["--scratch", scratch])
    assert answer["verified"] and answer["values"]
    assert list(scratch.iterdir()) == []
    calls = [line for line in log.read_text().splitlines() if str(scratch) in line]
    names = {name for line in calls for name in re.findall(r'"([^"]*)"', line)}
    assert len(names) == 1
    assert "openat" in calls[0] and "unlink" in calls[1]


def test_an_endless_order_takes_no_memory() -> None:
    with subprocess.Popen([plain()], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for _ in range(64):
            process.stdin.write(b"x" * (1 << 20))
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        assert json.loads(process.stdout.readline()) == {"problem": "the order is too long"}
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < 20 * 1024
        process.stdin.close()


def test_it_has_no_file_but_the_scratch_file_open(tmp_path: Path) -> None:
    """It needs nothing besides itself, and writes to nothing else."""
    log = tmp_path / "calls"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    if not shutil.which("strace"):
        pytest.skip("no strace")
    command = ["strace", "-f", "-e", "trace=open,openat,creat", "-o", log, plain()]
    answers(command, "measure storage 0.1", "measure core 0.1", options=["--scratch", scratch])
    writing = [
        line for line in log.read_text().splitlines() if "O_WRONLY" in line or "O_RDWR" in line
    ]
    assert writing
    assert all(str(scratch) in line for line in writing)
