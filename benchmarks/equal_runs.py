"""Pairs of equal runs on a real machine: how often a comparison calls a cell different.

    python benchmarks/equal_runs.py measure STORE [--runs 40] [--beside-load]
    python benchmarks/equal_runs.py compare STORE [--apart]

``measure`` makes runs of a small plan of ten cells, about 13 s each, one after the other.
``--beside-load`` keeps a random number of other processes busy meanwhile. ``compare`` compares the
first with the second, the third with the fourth, and so on: with the other runs of the store that
precede them, or, with ``--apart``, each pair alone. It prints a line per pair and the share of
pairs with a cell called different (95% interval: Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import ASSAY

from assay.records.directory import RunDirectory, list_runs
from assay.stats.core.proportions import clopper_pearson

PLAN = """schema = 1
title = "Equal runs"
[replication]
precision = "0.1%"
budget = "20 s"
min_launches = 6
max_launches = 6
min_samples = 3
max_samples = 200
cell_budget = "120 ms"

[[measure]]
kernel = "memory.stream"
op = "triad"
elements = 4000000
ppn = [1, 2]

[[measure]]
kernel = "compute.dgemm"
n = [200, 500]

[[measure]]
kernel = "npb.cg"
class = "S"
ppn = [1, 2]

[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [8, 65536, 1048576]

[[measure]]
kernel = "network.collective"
op = "allreduce"
ppn = 2
bytes = 8
"""
# Busy for the first number of seconds, idle for the second, until its standard input is closed.
LOAD = """
import os, sys, threading, time
busy, idle = float(sys.argv[1]), float(sys.argv[2])
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    end = time.monotonic() + busy
    while time.monotonic() < end:
        pass
    time.sleep(idle)
"""


@contextmanager
def other_load(seed: int) -> Iterator[str]:
    """One or two other processes, each busy for 0.1 to 3 s and idle equally long on average."""
    drawn = random.Random(seed)
    spans = [
        (drawn.uniform(0.1, 3.0), drawn.uniform(0.1, 3.0)) for _ in range(drawn.choice((1, 2)))
    ]
    processes = [
        subprocess.Popen([sys.executable, "-c", LOAD, str(busy), str(idle)], stdin=subprocess.PIPE)
        for busy, idle in spans
    ]
    try:
        yield ", ".join(f"busy {busy:.1f} s of {busy + idle:.1f} s" for busy, idle in spans)
    finally:
        for process in processes:
            if process.stdin:
                process.stdin.close()
            process.wait()


@contextmanager
def _no_load() -> Iterator[str]:
    yield "no other load"


def measure(store: Path, runs: int, beside_load: bool) -> None:
    store.mkdir(parents=True, exist_ok=True)
    plan = store / "equal-runs.toml"
    plan.write_text(PLAN)
    before = len(list_runs(store))
    for number in range(before, before + runs):
        with other_load(number) if beside_load else _no_load() as load:
            subprocess.run(
                [*ASSAY, "run", str(plan), "--runs", str(store), "--seed", str(number)],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        print(f"run {number + 1}: {load}", flush=True)


def compare(store: Path, apart: bool) -> None:
    runs = sorted(list_runs(store), key=lambda run: run.manifest().utc)
    pairs = list(zip(runs[::2], runs[1::2], strict=False))
    differing = 0
    for one, other in pairs:
        found = _compared(store, [one, other], apart)
        different = [c for c in found["cells"] if c["verdict"] in ("faster", "slower")]
        differing += bool(different)
        counts = {
            verdict: sum(cell["verdict"] == verdict for cell in found["cells"])
            for verdict in ("faster", "slower", "same", "open")
        }
        named = "; ".join(f"{cell['name']} {cell['speed']:.3f}" for cell in different)
        print(one.name, other.name, counts, named, flush=True)
    low, high = clopper_pearson(differing, len(pairs))
    print(
        f"{differing} of {len(pairs)} pairs with a cell called different: "
        f"{differing / len(pairs):.0%} [{low:.0%}, {high:.0%}]"
    )


def _compared(store: Path, pair: Sequence[RunDirectory], apart: bool) -> Any:
    """The findings; of pairs that are not apart, with the runs of the store that precede them."""
    names = [run.name for run in pair]
    last = pair[-1].manifest().utc
    with tempfile.TemporaryDirectory() as folder:
        for run in list_runs(store):
            if run.name in names or (not apart and run.manifest().utc <= last):
                shutil.copytree(run.path, Path(folder, run.name), symlinks=True)
        done = subprocess.run(
            [*ASSAY, "compare", *names, "--runs", folder, "--json"],
            check=True,
            capture_output=True,
        )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("store", type=Path)
    measuring.add_argument("--runs", type=int, default=40)
    measuring.add_argument("--beside-load", action="store_true")
    comparing = commands.add_parser("compare")
    comparing.add_argument("store", type=Path)
    comparing.add_argument("--apart", action="store_true")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.store, given.runs, given.beside_load)
    else:
        compare(given.store, given.apart)


if __name__ == "__main__":
    main()
