"""Control experiments for memory contention: the cause is named with it and not named without it.

Two ranks of a benchmark in main memory are compared with two ranks in the caches. A benchmark on
one core is compared alone and with a neighbour that streams through memory on another core.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common import PeerError, Row, compare, load, say

from assay.models.placement.components import CONTENTION
from assay.questions.placement.causes.breakdown import WorkBreakdown, find_breakdowns
from assay.records.model import RunData
from assay.stats.cells.summarise import find_series, steady, summarise_cells
from assay.units import format_share

# Names, the classes in memory, and those in the caches of a core.
KERNELS = ("mg", "ft")
LARGE, SMALL = "A", "S"
ROUNDS = 6
PLAN = """schema = 1
title = "Controls of memory contention"
seed = 6
portable = true
[replication]
precision = "1%"
budget = "300 s"
min_launches = {launches}
max_launches = {launches}
min_samples = 1
max_samples = 5
cell_budget = "200 ms"
"""
WORK = """[[measure]]
kernel = [{kernels}]
class = ["{large}", "{small}"]
ppn = {ppn}
"""
STREAM = """[[measure]]
kernel = "memory.stream"
op = "triad"
ppn = [1, 2]
"""
# On the given CPU; it ends with its parent, whose end closes its standard input.
NEIGHBOUR = """
import os, sys, threading
import numpy as np
os.sched_setaffinity(0, {int(sys.argv[1])})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
a, b = np.zeros(1 << 25), np.ones(1 << 25)
print("streaming", flush=True)
while True:
    np.multiply(b, 3.0, out=a)
    np.multiply(a, 0.5, out=b)
"""

Measure = Callable[[str, str], RunData]


def plan_text(launches: int, ppn: str, *, stream: bool) -> str:
    """The plan of a control; ``ppn`` in TOML syntax."""
    kernels = ", ".join(f'"npb.{name}"' for name in KERNELS)
    work = WORK.format(kernels=kernels, large=LARGE, small=SMALL, ppn=ppn)
    return PLAN.format(launches=launches) + work + (STREAM if stream else "")


@contextmanager
def neighbour(cpu: int) -> Iterator[None]:
    """A process that streams through half a gigabyte on a CPU, until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", NEIGHBOUR, str(cpu)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        if process.stdout is None or process.stdout.readline().strip() != "streaming":
            raise PeerError("The neighbour that streams did not start.")
        yield
    finally:
        process.kill()
        process.communicate(timeout=60)


def computing(run: RunData) -> dict[tuple[str, str], list[float]]:
    """Seconds of computing on one rank, launch by launch, by kernel and class."""
    found: dict[tuple[str, str], list[float]] = {}
    for measurement in run.measurements:
        series = find_series(measurement.record, "compute")
        if series is not None and measurement.cell.placement.ranks == 1:
            key = measurement.cell.kernel, str(measurement.cell.parameters["class"])
            value = statistics.median(steady(measurement.record, series))
            found.setdefault(key, []).append(value)
    return found


def of_ranks(run: RunData) -> Iterator[Row]:
    """Memory's share of the time of two ranks, in memory and in the caches."""
    found: dict[tuple[str, str], WorkBreakdown] = {
        (work.cell.kernel, str(work.cell.parameters["class"])): work
        for work in find_breakdowns(summarise_cells(run), run)
    }
    for name in KERNELS:
        pair = [found.get((f"npb.{name}", size)) for size in (LARGE, SMALL)]
        if None in pair:
            continue
        large, small = (work.full.split.share(CONTENTION) for work in pair if work is not None)
        machine = next(work.machine for work in pair if work is not None)
        slower = machine.slowdown(2) or 1.0
        apart = None
        if large.ci95 is not None and small.ci95 is not None:
            apart = large.ci95[0] > small.ci95[1]
        yield Row(
            "placement",
            f"{name.upper()} class {LARGE}, memory contention of 2 ranks",
            "share",
            "less",
            large.value,
            small.value,
            f"class {SMALL}, in the caches",
            "interval above that in the caches, where streams slow each other down",
            apart if slower > 1.1 else None,
            note=f"{format_share(large.value, large.ci95)} beside "
            f"{format_share(small.value, small.ci95)}; two streams take {slower:.2f} times as long",
            details={"slowdown": slower},
        )


def of_neighbours(measure: Measure, cpu: int) -> Iterator[Row]:
    """Computing times on one core, alone and with a neighbour, in alternating rounds."""
    alone: dict[tuple[str, str], list[float]] = {}
    beside: dict[tuple[str, str], list[float]] = {}
    text = plan_text(1, "1", stream=False)
    for round_ in range(ROUNDS):
        order = (False, True) if round_ % 2 == 0 else (True, False)
        for there in order:
            if there:
                with neighbour(cpu):
                    run = measure(text, f"beside-{round_}")
            else:
                run = measure(text, f"alone-{round_}")
            for key, values in computing(run).items():
                (beside if there else alone).setdefault(key, []).extend(values)
    for name in KERNELS:
        grown = {}
        for size in (LARGE, SMALL):
            key = (f"npb.{name}", size)
            rounds = zip(beside[key], alone[key], strict=True)
            grown[size] = [with_it / without for with_it, without in rounds]
        row = compare(
            "placement",
            f"{name.upper()} class {LARGE}, computing beside a neighbour that streams, over alone",
            "×",
            "less",
            grown[LARGE],
            grown[SMALL],
            f"class {SMALL}, in the caches",
            goal="slowed down by more than in the caches",
            load=load(),
            details={"alone": alone[f"npb.{name}", LARGE], "beside": beside[f"npb.{name}", LARGE]},
        )
        interval = row.paired_interval
        row.met = None if interval is None else interval[1] < 1.0
        yield row


def control_rows(measure: Measure) -> Iterator[Row]:
    """All controls; ``measure`` runs the text of a plan in a folder of that name."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise PeerError("There is one CPU only: nobody shares its memory.")
    say("controls of memory contention: two ranks")
    yield from of_ranks(measure(plan_text(ROUNDS, "[1, 2]", stream=True), "ranks"))
    say("controls of memory contention: a neighbour that streams")
    yield from of_neighbours(measure, cpus[-1])


def in_folder(measure: Callable[[Path], RunData]) -> Iterator[Row]:
    """The same in a temporary folder; ``measure`` runs the plan of a file."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as place:

        def of_text(text: str, name: str) -> RunData:
            folder = Path(place, name)
            folder.mkdir()
            plan = folder / "plan.toml"
            plan.write_text(text)
            return measure(plan)

        yield from control_rows(of_text)
