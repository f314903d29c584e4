"""The cost of watching: its CPU time, a program's time with and without it, and the cost of a
heartbeat.

    .venv/bin/python benchmarks/watch.py [--rounds N] [--seconds S] [--only cpu|wall]

The CPU time of all processes of assay watch is the maximum loss of a program that keeps all cores
busy, and doesn't depend on other load of the machine. The difference between long and short runs
excludes startup and end, which are reported separately.

The program's steps are amounts of CPU work on every core, so that watching takes its time from the
program. Runs with and without alternate (A B B A …); the ratio of each pair counts. The heartbeat
is timed in a loop, in CPU time, without and with a ring.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assay.stats.core.intervals import median_interval
from assay.watch.heartbeat import library

ASSAY = [sys.executable, "-m", "assay", "watch", "--quiet"]
GOAL = 0.005

LOOP = r"""
#include <stdio.h>
#include <time.h>
#include "heartbeat.h"
int main(void) {
  struct timespec a, b;
  const int many = 20000000;
  assay_heartbeat();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  for (int i = 0; i < many; ++i) assay_heartbeat();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  printf("%g\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / many);
}
"""
# One process per core, all busy; each step is a fixed number of additions, with a heartbeat and a
# line. They wait for each other at the end only.
WORK = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "heartbeat.h"
static void work(long additions) {
  double x = 1.0;
  for (long i = 0; i < additions; ++i) __asm__ volatile("addsd %1, %0" : "+x"(x) : "x"(1e-9));
}
int main(int argc, char **argv) {
  const int processes = atoi(argv[1]), steps = atoi(argv[2]);
  const long additions = atol(argv[3]);
  struct timespec a, b;
  struct rusage used;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int p = 0; p < processes; ++p) {
    if (fork() == 0) {
      for (int i = 0; i < steps; ++i) {
        work(additions);
        assay_heartbeat();
        if (p == 0 && argc > 4) printf("step %d\n", i), fflush(stdout);
      }
      _exit(0);
    }
  }
  while (wait(0) > 0) continue;
  clock_gettime(CLOCK_MONOTONIC, &b);
  fprintf(stderr, "took %.9f\n", (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec));
  getrusage(RUSAGE_CHILDREN, &used);
  fprintf(stderr, "used %.6f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec +
          1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec));
}
"""
PR_SET_CHILD_SUBREAPER = 36


def build(folder: Path, name: str, source: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    words = [str(folder / f"{name}.c"), str(library() / "heartbeat.c"), f"-I{library()}"]
    subprocess.run(["cc", "-O2", *words, "-o", str(folder / name)], check=True)
    return folder / name


def heartbeats(program: Path, folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """ns per call without and with a ring."""
    off, on = [], []
    for _ in range(rounds):
        for values, more in ((off, {}), (on, {"ASSAY_HEARTBEAT": str(folder)})):
            env = {k: v for k, v in os.environ.items() if k != "ASSAY_HEARTBEAT"} | more
            done = subprocess.run([program], env=env, capture_output=True, check=True)
            values.append(float(done.stdout))
    return off, on


def took(command: list[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    match = re.search(r"^took (\S+)$", done.stderr, re.MULTILINE)
    assert match, done.stderr
    return float(match[1])


def spent() -> float:
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def taken(command: list[str]) -> tuple[float, float]:
    """The program's seconds, and the CPU seconds of all other processes of the command, including
    those that outlived it.
    """
    before = spent()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    own, used = (re.search(rf"^{what} (\S+)$", done.stderr, re.M) for what in ("took", "used"))
    assert own and used, done.stderr
    return float(own[1]), spent() - before - float(used[1])


def cpu_shares(command: list[str], place: int, steps: int, rounds: int) -> Iterator[float]:
    """CPU seconds of watching per second and core of the program, one value per round.

    ``place``: position of the number of steps in the command. Runs with this number and four times
    this number are compared.
    """
    cores = len(os.sched_getaffinity(0))
    for index in range(rounds):
        short, long = (
            taken([*command[:place], str(many), *command[place + 1 :]])
            for many in (steps, 4 * steps)
        )
        share = (long[1] - short[1]) / (long[0] - short[0]) / cores
        start = short[1] - share * cores * short[0]
        print(
            f"  round {index + 1}: {100 * share:.4f}%, to start and end {start:.2f} s", flush=True
        )
        yield share


def additions_for(program: Path, seconds: float) -> int:
    """The number of additions that take this long, on all cores together."""
    cores = len(os.sched_getaffinity(0))
    many = 10_000_000
    return int(many * seconds / took([str(program), str(cores), "10", str(many)]) * 10)


def ratios(plain: list[str], watched: list[str], rounds: int) -> list[float]:
    """The program's own time with over without, one pair per round, in an order that reverses."""
    found = []
    for index in range(rounds):
        pair = [took(each) for each in ((plain, watched) if index % 2 == 0 else (watched, plain))]
        without, with_it = pair if index % 2 == 0 else reversed(pair)
        found.append(with_it / without)
        print(f"  round {index + 1}: {100 * (found[-1] - 1):+.3f}%", flush=True)
    return found


def tell(found: list[float]) -> None:
    """Median and interval of shares, against the goal."""
    interval = median_interval(np.array(found))
    said = f" [{100 * interval[0]:+.4f}, {100 * interval[1]:+.4f}]" if interval else ""
    verdict = "no interval" if interval is None else "met" if interval[1] < GOAL else "not shown"
    print(f"  {100 * statistics.median(found):+.4f}%{said}, under 0.5%: {verdict}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cpu-rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0, help="the program's length")
    parser.add_argument("--only", choices=("cpu", "wall"))
    given = parser.parse_args()
    # Temporary processes of watching are children of this process, too.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-watch-"))
    try:
        off, on = heartbeats(build(folder, "loop", LOOP), folder, 7)
        print(f"heartbeat: {statistics.median(off):.1f} ns with nobody listening, ", end="")
        print(f"{statistics.median(on):.1f} ns with a ring (medians of 7)", flush=True)
        work = build(folder, "work", WORK)
        cores = len(os.sched_getaffinity(0))
        for length, words in ((0.1, []), (0.01, []), (0.1, ["lines"]), (0.01, ["lines"])):
            steps = int(given.seconds / length)
            plain = [str(work), str(cores), str(steps), str(additions_for(work, length)), *words]
            options = ["--step", "^step"] if words else []
            watched = [*ASSAY, *options, "--", *plain]
            label = f"steps of {length:g} s on {cores} cores, {words[0] if words else 'heartbeats'}"
            if given.only != "wall":
                print(f"{label}: CPU time of watching per second and core of the program")
                place = len(watched) - len(plain) + 2
                tell(list(cpu_shares(watched, place, steps, given.cpu_rounds)))
            if given.only != "cpu":
                print(f"{label}: the program's time with watching over without, less one")
                tell([ratio - 1.0 for ratio in ratios(plain, watched, given.rounds)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
