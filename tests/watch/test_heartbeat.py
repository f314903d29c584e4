"""Heartbeat rings: the layout, writers in all languages, and invalid files."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.watch.heartbeat import HEADER, Mark, Ring, Rings, Together, library

SLOTS = 8192
SLOT = struct.Struct("=QII")
FACTS = struct.Struct("=8sIIIiiIQQ64s")


class FakeRing:
    """A writer that follows the documented layout."""

    def __init__(self, path: Path, slots: int = 128, host: str = "n1", pid: int = 7):
        self.path, self.slots, self.count = path, slots, 0
        path.write_bytes(bytes(HEADER + slots * SLOT.size))
        head = FACTS.pack(b"ASSAY-HB", 1, slots, pid, 3, 4, 0, 5, 6, host.encode())
        self._put(0, head)

    def mark(self, time_ns: int, thread: int = 1) -> None:
        self.count += 1
        self._put(128, struct.pack("=Q", self.count))
        at = HEADER + (self.count - 1) % self.slots * SLOT.size
        self._put(at, SLOT.pack(time_ns, thread, self.count & 0xFFFFFFFF))

    def _put(self, at: int, data: bytes) -> None:
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(data)


def test_the_header_and_steps_are_read(tmp_path):
    writer = FakeRing(tmp_path / "a.heartbeat")
    ring = Ring(writer.path)
    assert (ring.host, ring.pid, ring.rank, ring.ranks) == ("n1", 7, 3, 4)
    assert ring.read() == []
    writer.mark(10)
    writer.mark(20, thread=2)
    assert ring.read() == [Mark(10, 1), Mark(20, 2)]
    assert ring.read() == []


def test_steps_wrap_around_and_overwritten_ones_are_counted(tmp_path):
    writer = FakeRing(tmp_path / "a.heartbeat")
    ring = Ring(writer.path)
    found = []
    for step in range(1, 1001):
        writer.mark(step)
        if step % 50 == 0:
            found += [mark.time for mark in ring.read()]
    assert found == list(range(1, 1001))
    assert ring.lost == 0
    for step in range(1001, 1301):
        writer.mark(step)
    late = [mark.time for mark in ring.read()]
    assert late == list(range(1301 - len(late), 1301))
    assert 0 < len(late) < 128
    assert ring.lost == 300 - len(late)


def test_an_incomplete_step_is_waited_for(tmp_path):
    writer = FakeRing(tmp_path / "a.heartbeat")
    ring = Ring(writer.path)
    writer.mark(10)
    writer._put(128, struct.pack("=Q", 2))  # begun, and the writer is not running
    assert ring.read() == [Mark(10, 1)]
    writer.count = 1
    writer.mark(20)
    assert ring.read() == [Mark(20, 1)]
    assert ring.lost == 0


def test_a_step_that_is_never_finished_is_given_up(tmp_path):
    writer = FakeRing(tmp_path / "a.heartbeat", slots=256)
    ring = Ring(writer.path)
    writer.count = 1  # a thread that was killed in the first one
    for step in range(2, 102):
        writer.mark(step)
    assert [mark.time for mark in ring.read()] == list(range(2, 102))
    assert ring.lost == 1


def test_steps_overwritten_while_read_are_dropped(tmp_path, monkeypatch):
    writer = FakeRing(tmp_path / "a.heartbeat")
    ring = Ring(writer.path)
    for step in range(1, 61):
        writer.mark(step)
    # Immediately after the copy the writer had begun to overwrite the first forty.
    counts = iter([60, 128 - 64 + 40])
    monkeypatch.setattr(ring, "_count", lambda: next(counts))
    assert [mark.time for mark in ring.read()] == list(range(41, 61))
    assert ring.lost == 40


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(0, "=8s", b"ASSAY-HX"), (8, "=I", 2), (12, "=I", 0), (12, "=I", 127), (12, "=I", 1 << 31)],
)
def test_another_magic_version_or_size_is_no_ring(tmp_path, at, form, value):
    writer = FakeRing(tmp_path / "a.heartbeat")
    Ring(writer.path).close()
    writer._put(at, struct.pack(form, value))
    with pytest.raises(ValueError, match=r"no ring|invalid size"):
        Ring(writer.path)


def test_folders_are_scanned_again(tmp_path):
    rings = Rings(tmp_path / "later")
    assert rings.look() == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "half.heartbeat").write_bytes(b"")
    assert rings.look() == []
    FakeRing(tmp_path / "later" / "half.heartbeat")
    assert [ring.pid for ring in rings.look()] == [7]
    assert rings.look() == []
    rings.remove()
    assert not (tmp_path / "later").exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_rings_are_no_rings_or_yield_only_steps(tmp_path, data):
    path = tmp_path / "a.heartbeat"
    path.unlink(missing_ok=True)
    writer = FakeRing(path)
    for step in range(data.draw(st.integers(0, 200))):
        writer.mark(step)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 8))):
        where = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(content) - 1)))
        content[where] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    path.write_bytes(content[:cut])
    try:
        ring = Ring(path)
    except ValueError:
        return
    for _ in range(3):
        assert all(isinstance(mark, Mark) for mark in ring.read())
        path.write_bytes(data.draw(st.binary(min_size=cut, max_size=cut)) if cut < 200 else content)
    ring.close()


def test_what_is_no_file_is_no_ring(tmp_path):
    os.mkfifo(tmp_path / "pipe.heartbeat")
    (tmp_path / "folder.heartbeat").mkdir()
    (tmp_path / "link.heartbeat").symlink_to("/proc/self/mem")
    assert Rings(tmp_path).look() == []


# Several writers as one series.


def marks(*times: int) -> list[Mark]:
    return [Mark(time, 1) for time in times]


def make(tmp_path: Path, name: str) -> Ring:
    return Ring(FakeRing(tmp_path / f"{name}.heartbeat").path)


def test_a_step_is_over_when_the_last_rank_is(tmp_path):
    together, first, second = Together(), make(tmp_path, "a"), make(tmp_path, "b")
    together.add(first, marks(100, 200, 300))
    together.add(second, marks(110, 190))
    found = together.take()
    assert [(at, seconds) for at, seconds, _, _ in found] == [(200, pytest.approx(90e-9))]
    assert found[0][2] is first
    assert found[0][3] == pytest.approx(10e-9)
    together.add(second, marks(340))
    (step,) = together.take()
    assert (step[0], step[2]) == (340, second)


def test_a_late_process_joins_at_the_others_step(tmp_path):
    together, first, second = Together(), make(tmp_path, "a"), make(tmp_path, "b")
    together.add(first, marks(100, 200))
    assert len(together.take()) == 1
    together.add(second, marks(90, 190, 310))
    together.add(first, marks(300))
    assert [step[0] for step in together.take()] == [310]


def test_a_process_with_different_steps_is_left_out(tmp_path):
    together, first, second = Together(), make(tmp_path, "a"), make(tmp_path, "b")
    together.add(second, marks(5))
    together.add(first, marks(*range(10, 1010, 10)))
    assert len(together.take()) == 99 - 1 or together.apart == 1
    assert (together.streams, together.apart) == (1, 1)


def test_ended_processes_are_not_waited_for(tmp_path):
    together, first, second = Together(), make(tmp_path, "a"), make(tmp_path, "b")
    together.add(first, marks(10, 20, 30))
    together.add(second, marks(10))
    assert together.take() == []
    together.end(second)
    assert [step[0] for step in together.take()] == [20, 30]


# Real writers.


def compiled(tmp_path: Path, *words: str) -> Path:
    program = tmp_path / "program"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{library()}", "-o", str(program)]
    subprocess.run([*words, *flags], check=True, timeout=120, capture_output=True)
    return program


C_PROGRAM = r"""
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "heartbeat.h"
static void *three(void *unused) {
  for (int i = 0; i < 3; ++i) assay_heartbeat();
  return unused;
}
int main(void) {
  pthread_t thread;
  assay_heartbeat();
  pthread_create(&thread, 0, three, 0);
  pthread_join(thread, 0);
  assay_heartbeat();
  if (fork() == 0) {
    assay_heartbeat();
    _exit(0);
  }
  wait(0);
  return 0;
}
"""


def run(program: list[str | Path], folder: Path | None, **environment: str):
    env = {**os.environ, **environment}
    env.pop("ASSAY_HEARTBEAT", None)
    if folder is not None:
        folder.mkdir(exist_ok=True)
        env["ASSAY_HEARTBEAT"] = str(folder)
    return subprocess.run(
        [*map(str, program)], env=env, timeout=60, capture_output=True, check=True
    )


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_c_marks_steps_of_threads_and_of_children(tmp_path):
    (tmp_path / "program.c").write_text(C_PROGRAM)
    source = str(library() / "heartbeat.c")
    program = compiled(
        tmp_path, "cc", "-std=gnu99", str(tmp_path / "program.c"), source, "-pthread"
    )
    run([program], None)
    run([program], tmp_path / "rings", OMPI_COMM_WORLD_RANK="2", OMPI_COMM_WORLD_SIZE="8")
    found = sorted(Rings(tmp_path / "rings").look(), key=lambda ring: ring.monotonic)
    assert len(found) == 2
    parent, child = found
    steps = parent.read()
    assert [step.thread for step in steps] == [1, 2, 2, 2, 1]
    assert all(a.time <= b.time for a, b in pairwise(steps))
    assert parent.monotonic <= steps[0].time <= time.monotonic_ns()
    assert (parent.rank, parent.ranks, parent.host) == (2, 8, os.uname().nodename)
    assert len(child.read()) == 1
    assert child.pid != parent.pid


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_the_header_is_one_for_cpp_and_the_source_is_c99(tmp_path):
    (tmp_path / "program.cpp").write_text(
        '#include "heartbeat.h"\nint main() { assay_heartbeat(); }\n'
    )
    source = library() / "heartbeat.c"
    object_file = tmp_path / "heartbeat.o"
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", object_file],
        check=True,
        timeout=60,
    )
    program = compiled(tmp_path, "c++", str(tmp_path / "program.cpp"), str(object_file))
    run([program], tmp_path / "rings")
    assert len(Rings(tmp_path / "rings").look()[0].read()) == 1


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler (gfortran)")
def test_fortran_marks_steps(tmp_path):
    (tmp_path / "program.f90").write_text(
        "program steps\n  use assay\n  integer :: i\n  do i = 1, 4\n    call assay_heartbeat()\n"
        "  end do\nend program steps\n"
    )
    object_file = tmp_path / "heartbeat.o"
    subprocess.run(
        ["cc", "-c", library() / "heartbeat.c", "-o", object_file], check=True, timeout=60
    )
    program = compiled(
        tmp_path,
        "gfortran",
        f"-J{tmp_path}",
        str(library() / "heartbeat.f90"),
        str(object_file),
        str(tmp_path / "program.f90"),
    )
    run([program], tmp_path / "rings")
    assert len(Rings(tmp_path / "rings").look()[0].read()) == 4


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_threads_lose_nothing_and_the_sanitizers_find_nothing(tmp_path):
    (tmp_path / "program.c").write_text(
        r"""
#include <pthread.h>
#include "heartbeat.h"
static void *many(void *unused) {
  for (int i = 0; i < 1500; ++i) assay_heartbeat();
  return unused;
}
int main(void) {
  pthread_t thread[4];
  assay_heartbeat();
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], 0, many, 0);
  for (int i = 0; i < 4; ++i) pthread_join(thread[i], 0);
  return 0;
}
"""
    )
    for sanitizer in ("address,undefined", "thread"):
        folder = tmp_path / sanitizer
        program = compiled(
            tmp_path,
            "cc",
            f"-fsanitize={sanitizer}",
            "-fno-sanitize-recover=all",
            str(tmp_path / "program.c"),
            str(library() / "heartbeat.c"),
            "-pthread",
        )
        run([program], folder)
        (ring,) = Rings(folder).look()
        steps = ring.read()
        assert len(steps) == 6001 and ring.lost == 0
        assert sorted(sum(s.thread == t for s in steps) for t in range(1, 6)) == [1, *[1500] * 4]


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_killed_program_leaves_its_marked_steps(tmp_path):
    (tmp_path / "program.c").write_text(
        '#include <signal.h>\n#include "heartbeat.h"\n'
        "int main(void) { assay_heartbeat(); assay_heartbeat(); raise(SIGKILL); }\n"
    )
    program = compiled(tmp_path, "cc", str(tmp_path / "program.c"), str(library() / "heartbeat.c"))
    with pytest.raises(subprocess.CalledProcessError):
        run([program], tmp_path / "rings")
    assert len(Rings(tmp_path / "rings").look()[0].read()) == 2


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize("folder", ["/nowhere/at/all", "/proc", "x" * 5000])
def test_an_invalid_folder_does_no_harm(tmp_path, folder):
    (tmp_path / "program.c").write_text(
        '#include <errno.h>\n#include "heartbeat.h"\n'
        "int main(void) { errno = 7; assay_heartbeat(); assay_heartbeat(); return errno != 7; }\n"
    )
    program = compiled(tmp_path, "cc", str(tmp_path / "program.c"), str(library() / "heartbeat.c"))
    subprocess.run([program], env={"ASSAY_HEARTBEAT": folder}, timeout=60, check=True)


PYTHON_PROGRAM = """
import os, threading
from assay_heartbeat import heartbeat
heartbeat()
thread = threading.Thread(target=lambda: [heartbeat() for _ in range(3)])
thread.start()
thread.join()
heartbeat()
if os.fork() == 0:
    heartbeat()
    os._exit(0)
os.wait()
"""


def test_python_marks_steps_of_threads_and_of_children(tmp_path):
    program = [sys.executable, "-c", PYTHON_PROGRAM]
    run(program, None, PYTHONPATH=str(library()))
    run(program, tmp_path / "rings", PYTHONPATH=str(library()), PMI_RANK="0", PMI_SIZE="2")
    parent, child = sorted(Rings(tmp_path / "rings").look(), key=lambda ring: ring.monotonic)
    assert [step.thread for step in parent.read()] == [1, 2, 2, 2, 1]
    assert (parent.rank, parent.ranks, parent.slots) == (0, 2, SLOTS)
    assert parent.host == os.uname().nodename
    assert len(child.read()) == 1


def test_python_in_an_invalid_folder_does_no_harm(tmp_path):
    program = "from assay_heartbeat import heartbeat; heartbeat(); heartbeat()"
    env = {**os.environ, "PYTHONPATH": str(library()), "ASSAY_HEARTBEAT": "/nowhere/at/all"}
    subprocess.run([sys.executable, "-c", program], env=env, timeout=60, check=True)


def test_reading_while_writing_yields_every_step_once(tmp_path):
    path = str(library())
    sys.path.insert(0, path)
    try:
        os.environ["ASSAY_HEARTBEAT"] = str(tmp_path)
        import assay_heartbeat

        ring = assay_heartbeat._Ring()
    finally:
        del os.environ["ASSAY_HEARTBEAT"]
        sys.path.remove(path)
    (reader,) = Rings(tmp_path).look()
    thread = threading.Thread(target=lambda: [ring.mark() for _ in range(30_000)])
    thread.start()
    found = []
    while thread.is_alive():
        found += reader.read()
    thread.join()
    found += reader.read()
    assert len(found) + reader.lost == 30_000
    assert len(found) > 1000
    assert all(a.time <= b.time for a, b in pairwise(found))
