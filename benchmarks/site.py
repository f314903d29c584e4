"""Time of ``assay site`` on many stored runs, and the sizes of its pages.

    python benchmarks/site.py FOLDER --machines 10 --runs 1000 --cells 100

Writes the runs of so many machines into FOLDER, unless they are there, and prints the wall
time and the CPU time (user and system) of each build: a new site, without changes, with a new run,
with a new run in which all cells of a machine are slower, and with a second one, with which all of
them are judged again.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from many_runs import ManyRuns


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(what: str, command: list[str]) -> None:
    began, before = time.monotonic(), spent()
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    took, cpu = time.monotonic() - began, spent() - before
    print(f"{what:28} {took:7.2f} s, CPU {cpu:7.2f} s: {said.rpartition(': ')[2]}", flush=True)


def machine(root: Path, number: int, runs: int, cells: int) -> ManyRuns:
    """A machine: each tenth cell becomes 5% slower, and all cells 20% slower at the end."""

    def factor(cell: int, run: int) -> float:
        if run > runs:
            return 1.2
        return 1.05 if cell % 10 == 0 and run > 0.6 * runs else 1.0

    name = f"machine{number:02d}"
    return ManyRuns(root / f"m{number:02d}", name, cells=cells, seed=number, factor=factor)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--machines", type=int, default=10)
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--cells", type=int, default=100)
    given = options.parse_args()
    machines = [
        machine(given.folder, number, given.runs, given.cells) for number in range(given.machines)
    ]
    for each in machines:
        if not each.root.exists():
            each.write(given.runs)
        each.skip(given.runs)
    site = given.folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    stores = [str(each.root) for each in machines]
    command = [sys.executable, "-P", "-m", "assay", "site", *stores, "--output", str(site)]
    timed("first build", command)
    timed("no change", command)
    added = []
    try:
        added += machines[0].write(1)
        timed("a new run", command)
        added += machines[0].write(1)
        timed("a new run that deviates", command)
        added += machines[0].write(1)
        timed("a second one", command)
    finally:
        for path in added:
            shutil.rmtree(path)
    timed("three runs removed", command)
    sizes = sorted(
        (path.stat().st_size, str(path.relative_to(site))) for path in site.rglob("*.html")
    )
    print(f"{len(sizes)} pages, the largest {sizes[-1][0] / 1e3:.0f} kB ({sizes[-1][1]})")
    scripts = [path.stat().st_size for path in (site / "search").iterdir()]
    print(f"search: {len(scripts)} files, {sum(scripts) / 1e3:.0f} kB")
    data = sum(path.stat().st_size for path in (site / ".assay-site").iterdir())
    print(f"data for the next build: {data / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
