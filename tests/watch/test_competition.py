"""``assay watch`` names a planted competitor for the core, in programs of each language.

A step is 20 ms of CPU time on any machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.watch.heartbeat import library
from watch_program import PATIENCE, log_of, python, running

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
    """The greatest step number among the log's last lines, of which one may be partial."""
    steps = [0]
    for line in log.read_bytes().splitlines()[-40:] if log.exists() else []:
        with contextlib.suppress(ValueError):
            steps.append(json.loads(line).get("step", 0))
    return max(steps)


def competed(tmp_path: Path, program: list[str], cpu: int, env=None) -> None:
    """Watch it; a competitor starts on the CPU after 80 steps, and is named before the end."""
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
    # The first rank may have made a step or two before the other started.
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
    # The delay is measured by benchmarks/watch.py: here others may compete before and after.
    alarms = [c for c in found["changes"] if c["alarm"] and c["step"] > asked]
    assert alarms, found
    causes = {cause["name"]: cause for alarm in alarms for cause in alarm["why"]["causes"]}
    if Path("/proc/self/schedstat").exists():
        assert "competition" in causes, alarms
        # With others of its name on these CPUs it is one of several processes.
        sentence = causes["competition"]["sentence"]
        assert f"({other.pid})" in sentence or re.search(r"python\S* \(\d+ processes\)", sentence)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_a_python_program_with_a_competitor(tmp_path):
    env = {**os.environ, "PYTHONPATH": f"{library()}:{os.environ.get('PYTHONPATH', '')}"}
    competed(tmp_path, python(PYTHON_PROGRAM % cpus()[-1]), cpus()[-1], env)


def built(tmp_path: Path, compiler: str, *flags: str) -> list[str]:
    (tmp_path / "program.c").write_text(C_PROGRAM)
    program = tmp_path / "program"
    source = [str(tmp_path / "program.c"), str(library() / "heartbeat.c")]
    command = [compiler, "-O2", f"-I{library()}", *flags, *source, "-o", str(program)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return [str(program)]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_a_c_program_with_a_competitor(tmp_path):
    competed(tmp_path, built(tmp_path, "cc", f"-DCPUS={cpus()[-1]}"), cpus()[-1])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler (gfortran)")
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_a_fortran_program_with_a_competitor(tmp_path):
    (tmp_path / "program.f90").write_text(FORTRAN_PROGRAM)
    heartbeat = str(tmp_path / "heartbeat.o")
    subprocess.run(["cc", "-O2", "-c", library() / "heartbeat.c", "-o", heartbeat], check=True)
    sources = [str(library() / "heartbeat.f90"), str(tmp_path / "program.f90")]
    command = ["gfortran", "-O2", f"-J{tmp_path}", *sources, heartbeat]
    subprocess.run([*command, "-o", str(tmp_path / "program")], check=True, timeout=120)
    pinned = ["taskset", "-c", str(cpus()[-1]), str(tmp_path / "program")]
    competed(tmp_path, pinned, cpus()[-1])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks need two CPUs")
@pytest.mark.flaky(
    reruns=2, reason="it measures this machine, whose CPUs other programs may take meanwhile"
)
def test_ranks_one_of_which_has_a_competitor(tmp_path):
    tools = Path(sys.prefix) / "bin"
    given = f"-DCPUS={cpus()[0]},{cpus()[1]}"
    (program,) = built(tmp_path, str(tools / "mpicc"), given, "-DWITH_MPI")
    competed(tmp_path, [str(tools / "mpirun"), "-n", "2", program], cpus()[1])
