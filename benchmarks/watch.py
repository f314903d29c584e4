"""What watching costs: a program's time with and without, and a heartbeat's.

    .venv/bin/python benchmarks/watch.py [--rounds N] [--seconds S]

The program's steps are amounts of CPU work on every core, so that whatever watching takes, it
takes from the program. With and without take turns (A B B A …); the ratio of each pair is what
counts. The heartbeat is timed by a loop around it, in CPU time, with nobody listening and with a
ring.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from assay.stats.intervals import median_interval
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
# One process a core, all at work; each step is a fixed number of additions, with a heartbeat and a
# line. They wait for each other at the end only.
WORK = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
}
"""


def build(folder: Path, name: str, source: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    words = [str(folder / f"{name}.c"), str(library() / "heartbeat.c"), f"-I{library()}"]
    subprocess.run(["cc", "-O2", *words, "-o", str(folder / name)], check=True)
    return folder / name


def heartbeats(program: Path, folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """ns a call without and with a ring."""
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


def additions_for(program: Path, seconds: float) -> int:
    """How many additions take so long, on all cores at once."""
    cores = len(os.sched_getaffinity(0))
    many = 10_000_000
    return int(many * seconds / took([str(program), str(cores), "10", str(many)]) * 10)


def ratios(plain: list[str], watched: list[str], rounds: int) -> list[float]:
    """The program's own time with over without, a pair a round, in an order that reverses."""
    found = []
    for index in range(rounds):
        pair = [took(each) for each in ((plain, watched) if index % 2 == 0 else (watched, plain))]
        without, with_it = pair if index % 2 == 0 else reversed(pair)
        found.append(with_it / without)
        print(f"  round {index + 1}: {100 * (found[-1] - 1):+.3f}%", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="the program's length")
    given = parser.parse_args()
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
            print(f"steps of {length:g} s on {cores} cores, {words[0] if words else 'heartbeats'}:")
            began = time.monotonic()
            found = ratios(plain, [*ASSAY, *options, "--", *plain], given.rounds)
            interval = median_interval(np.array(found))
            more = 100 * (statistics.median(found) - 1)
            said = (
                f" [{100 * (interval[0] - 1):+.3f}, {100 * (interval[1] - 1):+.3f}]"
                if interval
                else ""
            )
            verdict = "" if interval is None else "met" if interval[1] - 1 < GOAL else "not shown"
            print(f"  {more:+.3f}%{said}, under 0.5%: {verdict} ({time.monotonic() - began:.0f} s)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
