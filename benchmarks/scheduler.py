"""The scheduler's model: times by the number of jobs, and AccaSim on the same logs.

    python benchmarks/scheduler.py [--accasim PYTHON] [--jobs N]

``--accasim``: the Python in whose environment AccaSim is installed (``pip install accasim``). Logs
are made by the model of Lublin and Feitelson with fixed seeds. The results are written to
results/scheduler/MACHINE.json and printed as tables (results/2026-11-24-scheduler.md).
"""

from __future__ import annotations

import argparse
import calendar
import dataclasses
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import machine, machine_name

from assay.kernels.builds.scheduler import build_scheduler
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.replay import replay
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import offered_load, rescaled
from assay.usage.workload.lublin import lublin, lublin_machine

HERE = Path(__file__).parent
PROCESSORS = 256
SATURATED, USUAL = 0.95, 0.7
SIZES = (25_000, 50_000, 100_000, 200_000)
ROUNDS = 3


def load(jobs: int, offered: float, *, exact: bool, seed: int = 1) -> Workload:
    """Whole seconds; requests are 1 to 5 times the run time, in whole minutes, unless exact."""
    made = rescaled(lublin(jobs, PROCESSORS, seed), PROCESSORS, offered)
    made = dataclasses.replace(made, submit=np.floor(made.submit))
    if exact:
        return made
    factor = np.random.default_rng(seed).uniform(1.0, 5.0, jobs)
    return dataclasses.replace(made, limit=np.ceil(made.run * factor / 60) * 60)


def timed(jobs: Workload, on: Machine, policy: Policy) -> tuple[float, Schedule]:
    """The median of three replays, s: with the start of the program and all data to and from it."""
    program = build_scheduler()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        made = replay(jobs, on, policy, program=program)
        times.append(time.perf_counter() - begin)
    return statistics.median(times), made


def growth(policy: Policy, sizes: tuple[int, ...]) -> list[dict[str, float]]:
    """Time, longest queue and passes by the number of jobs of a saturated load."""
    rows = []
    for size in sizes:
        jobs = load(size, SATURATED, exact=False)
        seconds, made = timed(jobs, lublin_machine(PROCESSORS), policy)
        rows.append(
            {
                "jobs": size,
                "offered": round(offered_load(jobs, PROCESSORS), 3),
                "seconds": seconds,
                "ns_per_job_log_jobs": float(1e9 * seconds / (size * np.log2(size))),
                "longest_queue": made.longest_queue,
                "passes": made.passes,
                "mean_wait": float(np.mean(made.start - made.submit)),
            }
        )
    return rows


def accasim(python: str, jobs: Workload, policy: str) -> tuple[float, np.ndarray]:
    """AccaSim's time, s, without that of imports, and its starts by job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(jobs, folder / "log.swf")
        config = {
            "groups": {"node": {"core": 1}},
            "resources": {"node": PROCESSORS},
            "start_time": 0,
            "equivalence": {"processor": {"core": 1}},
        }
        (folder / "config.json").write_text(json.dumps(config))
        # AccaSim writes its results below the folder of the script.
        script = shutil.copy(HERE / "accasim_peer.py", folder)
        done = subprocess.run(
            [python, script, folder / "log.swf", folder / "config.json", policy, folder],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = float(done.stdout.split("seconds ")[1].split()[0])
        starts = np.full(len(jobs), np.nan)
        for line in next(folder.rglob("sched-*")).read_text().splitlines():
            begin = line.split("__")[2].split(";")[0]
            when = calendar.timegm(time.strptime(begin, "%Y-%m-%d %H:%M:%S"))
            starts[int(line.split(";")[0]) - 1] = when
        return seconds, starts


def write_log(jobs: Workload, path: Path) -> None:
    with path.open("w") as file:
        for j in range(len(jobs)):
            size, run, limit = jobs.processors[j], int(jobs.run[j]), int(jobs.limit[j])
            file.write(
                f"{j + 1} {int(jobs.submit[j])} -1 {run} {size} -1 -1 {size} {limit} "
                "-1 1 1 1 1 1 -1 -1 -1\n"
            )


def beside(python: str, count: int) -> list[dict[str, object]]:
    """Time and starts of both on the same logs."""
    rows: list[dict[str, object]] = []
    cases = (
        ("FIFO", "FIFO", Policy(backfill="none")),
        ("EASY", "EASY, beside ours without a reservation", Policy(reservations=0)),
        ("EASY", "EASY, beside ours", Policy()),
    )
    jobs = load(count, USUAL, exact=True)
    for theirs, what, policy in cases:
        seconds, made = timed(jobs, lublin_machine(PROCESSORS), policy)
        peer, starts = accasim(python, jobs, theirs)
        rows.append(
            {
                "what": what,
                "jobs": count,
                "seconds": seconds,
                "accasim_seconds": peer,
                "ratio": peer / seconds,
                "same_starts": int((starts == made.start).sum()),
                "mean_wait": float(np.mean(made.start - made.submit)),
                "accasim_mean_wait": float(np.nanmean(starts - jobs.submit)),
            }
        )
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--accasim", metavar="PYTHON")
    options.add_argument("--jobs", type=int, default=2_000, help="of the log beside AccaSim")
    given = options.parse_args()
    facts = machine()
    result = {
        "machine": facts,
        "easy": growth(Policy(backfill="easy"), SIZES),
        "conservative": growth(Policy(backfill="conservative"), (2_500, 5_000)),
        "accasim": beside(given.accasim, given.jobs) if given.accasim else [],
    }
    path = HERE / "results/scheduler" / f"{machine_name(facts)}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    for name in ("easy", "conservative", "accasim"):
        rows = result[name]
        if rows:
            print(f"\n{name}\n| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
            for row in rows:
                cells = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
