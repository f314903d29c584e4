"""Times of questions over a million measurements.

    python benchmarks/analysis.py history [--runs 500] [--cells 334] [--launches 6] [--keep FOLDER]
    python benchmarks/analysis.py steadiness [--cells 60] [--launches 16667]

A store of nightly runs is generated, with a step and a drift in some cells and a new kernel at the
step, and `assay history` is run on it, each time in a new process: wall-clock seconds from start to
end, and CPU seconds of all its threads.

For steadiness, the analysis of results in memory is timed: spread, effects of factors and
covariates, and recommended walltimes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

NIGHT = 86400.0


def make(root: Path, runs: int, cells: int, launches: int) -> None:
    """Sealed runs with manifests and tables of measurements, and empty tables of samples."""
    import polars as pl

    from assay.model.cell import Cell
    from assay.model.placement import Placement
    from assay.model.plan import Plan
    from assay.model.replication import Replication
    from assay.records.directory import RunDirectory
    from assay.records.model import MANIFEST_SCHEMA, Manifest, RunData
    from assay.records.summary import summarise_run
    from assay.records.tables import (
        MEASUREMENTS,
        SAMPLES,
        TABLES_SCHEMA,
        measurement_columns,
        sample_columns,
    )

    drawn = np.random.default_rng(7)
    plan = tuple(
        Cell("npb.cg", {"class": "ABCD"[i % 4]}, Placement(ppn=1 + i // 4), "embedded")
        for i in range(cells)
    )
    covariates = ("steal_seconds", "other_cpu_seconds", "load_average", "clock_rate")
    level = np.exp(drawn.normal(0.0, 2.0, cells))
    for night in range(runs):
        utc = 1.7e9 + NIGHT * night
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(utc))}-cluster-nightly"
        path = root / name
        (path / "raw").mkdir(parents=True)
        late = night >= 0.8 * runs
        manifest = Manifest(
            schema=MANIFEST_SCHEMA,
            run=name,
            utc=utc,
            assay="0.0",
            command=["assay", "run", "nightly"],
            plan=Plan("nightly", "Nightly", plan, Replication(), night),
            system={"name": "cluster", "os": {"kernel": "6.8" if late else "6.1"}},
            toolchains={"embedded": {"mpi_version": "5.0"}},
        )
        (path / "manifest.json").write_bytes(msgspec.json.encode(manifest))
        course = np.ones(cells)
        course[::10] += 0.04 * late
        course[1::50] += 0.05 * night / runs
        of_run = level * course * np.exp(0.01 * drawn.standard_normal(cells))
        values = np.repeat(of_run, launches) * np.exp(
            0.004 * drawn.standard_normal(cells * launches)
        )
        rows = cells * launches
        numbers = np.tile(np.arange(launches), cells)
        table = pl.DataFrame(
            {
                "run": [name] * rows,
                "cell": [cell.id for cell in plan for _ in range(launches)],
                "measurement": [f"{c.id}-{r}" for c in plan for r in range(launches)],
                "kernel": ["npb.cg"] * rows,
                "toolchain": ["embedded"] * rows,
                "parameters": [json.dumps(c.parameters) for c in plan for _ in range(launches)],
                "replicate": numbers,
                "launch": [f"{n:04d}-a" for n in numbers],
                "utc": utc + 60.0 * numbers,
                "status": ["ok"] * rows,
                "verified": [True] * rows,
                "median": values,
                "hosts": ["n1,n2"] * rows,
                **{f"covariate.{c}": drawn.random(rows) for c in covariates},
            },
            schema_overrides={"replicate": pl.Int64},
        )
        missing = {n: t for n, t in measurement_columns().items() if n not in table.columns}
        table = table.with_columns(pl.lit(None, dtype=t).alias(n) for n, t in missing.items())
        named = [c for c in table.columns if c.startswith("covariate.")]
        table.select(*measurement_columns(), *named).write_parquet(path / MEASUREMENTS)
        pl.DataFrame(schema=sample_columns()).write_parquet(path / SAMPLES)
        data = RunData(path, manifest, (), (), complete=True)
        summary = summarise_run(data, launches=launches, tables=TABLES_SCHEMA)
        RunDirectory(path).seal(msgspec.structs.replace(summary, covariates=covariates))


def timed(what: str, words: list[str]) -> None:
    """Run it three times; the median of the wall-clock time, and the CPU time of that run."""
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", *words], stdout=subprocess.DEVNULL, check=True)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        taken.append((wall, cpu))
    wall, cpu = sorted(taken)[1]
    print(f"{what:<58} {wall:8.2f} s  {cpu:8.2f} s of CPU", flush=True)


def steadiness(cells: int, launches: int) -> None:
    """Analyse this many results in this process, without the imports."""
    from assay.model.cell import Cell
    from assay.model.placement import Placement
    from assay.model.plan import Plan
    from assay.model.replication import Replication
    from assay.questions.steadiness.causes.findings import find as find_causes
    from assay.questions.steadiness.factors.findings import find as find_factors
    from assay.questions.steadiness.variation.findings import variation_of
    from assay.records.model import MANIFEST_SCHEMA, Manifest, RunData
    from assay.stats.core.one_thread import one_thread
    from assay.stats.repeats.repeats import Repeats

    drawn = np.random.default_rng(1)
    covariates = ("steal_seconds", "other_cpu_seconds", "sampling_seconds")
    covariates += ("involuntary_switches", "minor_faults", "clock_rate")
    plan = tuple(
        Cell("npb.ep", {"class": "S"}, Placement(ppn=1 + k), "embedded") for k in range(cells)
    )

    def results(cell: Cell, count: int) -> Repeats:
        late = (drawn.random(count) < 0.03) * drawn.exponential(0.1, count)
        return Repeats(
            cell,
            *("time", "s", "less"),
            np.exp(drawn.normal(0.0, 0.02, count) + late),
            1.7e9 + np.cumsum(drawn.exponential(60.0, count)),
            ("run",) * count,
            tuple(f"{k:06d}" for k in range(count)),
            ("n1",) * count,
            {name: drawn.gamma(1.0, 1.0, count) for name in covariates},
            cores=(f"cpu[0-{cell.placement.ppn}]",) * count,
        )

    manifest = Manifest(
        *(MANIFEST_SCHEMA, "run", 1.7e9, "0.0", []),
        *(Plan("steadiness", "Steadiness", plan, Replication(), 1), {}, {}),
    )
    data = RunData(None, manifest, (), (), complete=True)

    @one_thread
    def find(repeats: list[Repeats]) -> list[tuple[str, float]]:
        parts = [("before", time.perf_counter())]
        variation = variation_of(repeats)
        parts.append(("variation of each cell, walltimes", time.perf_counter()))
        find_factors(variation)
        parts.append(("factors", time.perf_counter()))
        find_causes(repeats, data)
        parts.append(("causes", time.perf_counter()))
        return parts

    find([results(cell, 100) for cell in plan[:2]])  # loads late imports
    repeats = [results(cell, launches) for cell in plan]
    cpu = time.process_time()
    parts = find(repeats)
    cpu = time.process_time() - cpu
    print(f"{cells * launches:,} results of {cells} cells; load average {os.getloadavg()[0]:.1f}")
    for (_, before), (what, after) in itertools.pairwise(parts):
        print(f"{what:<58} {after - before:8.2f} s")
    print(f"{'all of it':<58} {parts[-1][1] - parts[0][1]:8.2f} s  {cpu:8.2f} s of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", default="history", choices=["history", "steadiness"])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--cells", type=int)
    parser.add_argument("--launches", type=int)
    parser.add_argument("--keep", type=Path, help="a folder for the store, used again if there")
    asked = parser.parse_args()
    if asked.what == "steadiness":
        steadiness(asked.cells or 60, asked.launches or 16_667)
        return
    asked.cells, asked.launches = asked.cells or 334, asked.launches or 6
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="assay-analysis-"))
    try:
        store = folder / "store"
        if not store.is_dir():
            make(store, asked.runs, asked.cells, asked.launches)
        count = asked.runs * asked.cells * asked.launches
        print(f"{count:,} measurements: {asked.runs} runs of {asked.cells} cells, "
              f"{asked.launches} launches each; load average {os.getloadavg()[0]:.1f}")  # fmt: skip
        words = ["assay", "history", "--runs", str(store)]
        timed("assay history --json", [*words, "--json"])
        timed("assay history", words)
        timed("assay history --format openmetrics", [*words, "--format", "openmetrics"])
        timed("assay history --html", [*words, "--html", "-o", str(folder / "history.html")])
    finally:
        if asked.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
