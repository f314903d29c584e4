"""assay under load: plans and runs with 10,000 cells, stores with 2,000 runs.

    python benchmarks/load.py plan
    python benchmarks/load.py run [--cells 10000] [--real]
    python benchmarks/load.py store [--runs 2000] [--keep FOLDER]

Each prints one line per quantity: wall-clock seconds (the median of several where that is cheap),
CPU seconds of all threads, which hardly depend on other load, and the peak memory of a process,
from the kernel's own counter.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

KERNELS = [
    *("memory.stream", "compute.dgemm", "network.pingpong", "network.barrier", "network.stream"),
    *("npb.ep", "npb.cg", "npb.mg", "storage.write", "noise.fwq"),
]
SCENARIO = """\
schema = 1
[[kernel]]
match = "*"
time = "1 us"
noise = { sigma = 0.02 }
"""


def say(what: str, value: float, unit: str = "s") -> None:
    print(f"{what:<66} {value:10.3f} {unit}", flush=True)


def best_of(times: int, action: Callable[[], Any]) -> tuple[float, Any]:
    """The median of an action's seconds, and its last result."""
    taken = []
    result = None
    for _ in range(times):
        began = time.perf_counter()
        result = action()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), result


def plan_text(cells: int, samples: int = 5) -> str:
    """A plan of this many trivial cells: message sizes within a node."""
    return f"""\
schema = 1
title = "Load"
seed = 1
oversubscribe = true
[replication]
precision = "0.001%"
min_launches = 1
max_launches = 1
min_samples = {min(samples, 5)}
max_samples = {samples}
budget = "1 h"
cell_budget = "10 ms"
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = {{ from = 1, to = {cells}, step = 1 }}
"""


# ---- plans -----------------------------------------------------------------------------------


def measure_plan() -> None:
    from assay.campaign.engine.execute import state_of
    from assay.model.plan import PlanContext
    from assay.plans.schedule import block_order
    from assay.plans.suites import load_plan
    from assay.records.creation import create_run

    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder, "one.toml")
        one.write_text(plan_text(10_000))
        many = Path(folder, "many.toml")
        many.write_text(
            'schema = 1\nseed = 1\n[[measure]]\nkernel = "network.collective"\n'
            "nodes = { from = 2, to = 101, step = 1 }\nppn = [1, 2, 4, 8]\n"
            'order = ["block", "cyclic"]\nop = ["allreduce", "bcast", "alltoall"]\n'
            'bytes = [8, 1024, 65536, "1 MiB"]\n'
        )
        context = PlanContext(cores=64, nodes=101)
        for name, path in (("10,000 sizes", one), ("sizes x placements", many)):
            taken, plan = best_of(3, lambda path=path: load_plan(path, context))
            say(f"plan, {name}: load_plan, {len(plan.cells)} cells", taken)
            pending = {cell.id for cell in plan.cells}
            taken, order = best_of(3, lambda: block_order(plan, 1, pending))  # noqa: B023
            say(f"plan, {name}: the order of a block, {len(order)} launches", taken)
            taken, run = best_of(
                1,
                lambda: create_run(
                    Path(folder, "runs"),
                    plan=plan,  # noqa: B023
                    system_name="x",
                    system={},
                    toolchains={},
                    command=[],
                ),
            )
            say(f"plan, {name}: the run directory with its manifest", taken)
            taken, manifest = best_of(3, run.manifest)
            say(f"plan, {name}: the manifest read back", taken)
            state = state_of(manifest)
            taken, _ = best_of(3, lambda: state.measurement_budgets(0, order[0]))  # noqa: B023
            say(f"plan, {name}: the budgets of a launch", taken)


# ---- runs ------------------------------------------------------------------------------------


def measure_runs(cells: int, real: bool) -> None:
    for count, samples in ((cells // 10, 5), (cells, 5), (cells, 100), (cells, 1000)):
        if real and samples > 5:
            continue
        with tempfile.TemporaryDirectory() as folder:
            plan, scenario = Path(folder, "load.toml"), Path(folder, "scenario.toml")
            plan.write_text(plan_text(count, samples))
            scenario.write_text(SCENARIO)
            words = ["run", str(plan), "--runs", str(Path(folder, "runs"))]
            words += [] if real else ["--fake", str(scenario)]
            began = time.perf_counter()
            children = subprocess.run(
                [sys.executable, __file__, "_child", *words], stdout=subprocess.PIPE, text=True
            )
            taken = time.perf_counter() - began
            how = "real kernels" if real else "fake executor"
            what = f"run, {how}: {count} cells, {samples} samples each"
            if children.returncode not in (0, 1):
                raise SystemExit(f"{what}: exit status {children.returncode}")
            say(what, taken)
            say(f"{what}: peak memory", int(children.stdout.splitlines()[-1]) / 1e6, "MB")
            (run,) = Path(folder, "runs").iterdir()
            for name in ("manifest.json", "measurements.parquet", "samples.parquet", "report.html"):
                say(f"{what}: {name}", (run / name).stat().st_size / 1e6, "MB")
            raw = sum(path.stat().st_size for path in (run / "raw").iterdir())
            say(f"{what}: raw/", raw / 1e6, "MB")


def child(words: Sequence[str]) -> None:
    """Run assay, and report the peak of its resident memory at the end."""
    from assay.cli.app import main

    try:
        status = main(list(words))
    except SystemExit as end:
        status = int(end.code or 0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    raise SystemExit(status)


# ---- stores ----------------------------------------------------------------------------------

PER_CELL = 6
SAMPLES = 100
TEMPLATES = 4


def write_template(root: Path, number: int, cells: int) -> Path:
    """One run as a campaign stores it: streams, tables, seal."""
    from assay.model.cell import Cell
    from assay.model.placement import Placement
    from assay.model.plan import Plan
    from assay.model.replication import Replication
    from assay.records.creation import create_run
    from assay.records.reading import read_run
    from assay.records.schema import (
        ClockRecord,
        MeasurementBegin,
        MeasurementRecord,
        RankRecord,
        SampleSeries,
        StreamEnd,
        StreamStart,
    )
    from assay.records.summary import summarise_run
    from assay.records.tables import TABLES_SCHEMA, write_tables

    drawn = random.Random(number)
    of_plan = tuple(
        Cell(KERNELS[i % len(KERNELS)], {"size": i}, Placement(ppn=2), "embedded")
        for i in range(cells)
    )
    run = create_run(
        root,
        plan=Plan("load", "Load", of_plan, Replication(), number),
        system_name=f"system{number}",
        system={"name": f"system{number}", "os": {"hostname": f"host{number}"}},
        toolchains={"embedded": {}},
        command=["assay", "run", "load"],
    )
    covariates = ("steal_seconds", "other_cpu_seconds", "load_average", "clock_rate")
    for replicate in range(PER_CELL):
        name = f"{replicate:04d}-abcdef"
        records: list[Any] = [
            StreamStart(1, "load", "0", name, 2, run.manifest().utc, ClockRecord("x", 2e-8, 1e-9)),
            *(RankRecord(r, "host", 1, r, [r], 0, True, False) for r in range(2)),
        ]
        for cell in of_plan:
            values = [drawn.lognormvariate(-10, 0.05) for _ in range(SAMPLES)]
            starts, now = [], 0.0
            for value in values:
                starts.append(now)
                now += value
            measurement = f"{cell.id}-{replicate}"
            records.append(MeasurementBegin(measurement, cell.kernel))
            records.append(
                MeasurementRecord(
                    *(measurement, cell.kernel, "ok", 0.0, now, cell.parameters),
                    verified=True,
                    batch=1,
                    warmup=2,
                    stop="precision",
                    half_width=0.01,
                    series=[SampleSeries("time", "s", None, None, starts, values)],
                    rank_medians=[values[0], values[1]],
                    covariates={c: drawn.random() for c in covariates},
                )
            )
        records.append(StreamEnd(cells, "complete"))
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
        (run.raw / f"{name}.jsonl").write_bytes(lines)
    data = read_run(run.path)
    write_tables(data)
    run.seal(summarise_run(data, launches=PER_CELL, tables=TABLES_SCHEMA))
    return run.path


def copy_run(template: Path, root: Path, number: int) -> None:
    """A copy of the template with another name and time: manifest, seal and measurements are new,
    the samples and streams are hard links to the template's.
    """
    import polars as pl

    from assay.records.directory import Seal

    manifest = json.loads((template / "manifest.json").read_bytes())
    utc = 1.6e9 + 3600.0 * number
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
    name = "-".join((stamp, *template.name.split("-")[1:]))
    run = root / name
    (run / "raw").mkdir(parents=True)
    manifest |= {"run": name, "utc": utc}
    (run / "manifest.json").write_text(json.dumps(manifest, indent=2))
    table = pl.read_parquet(template / "measurements.parquet").with_columns(
        pl.lit(name).alias("run"),
        (pl.col("median") * random.Random(number).lognormvariate(0.0, 0.02)).alias("median"),
    )
    table.write_parquet(run / "measurements.parquet", compression="zstd", statistics=True)
    for linked in (template / "samples.parquet", *(template / "raw").iterdir()):
        os.link(linked, run / linked.relative_to(template))
    seal = msgspec.json.decode((template / "seal.json").read_bytes(), type=Seal)
    assert seal.summary is not None
    own = {
        each: hashlib.sha256((run / each).read_bytes()).hexdigest()
        for each in ("manifest.json", "measurements.parquet")
    }
    sealed = msgspec.structs.replace(
        seal,
        utc=utc,
        files={**seal.files, **own},
        summary=msgspec.structs.replace(seal.summary, utc=utc),
    )
    (run / "seal.json").write_bytes(msgspec.json.format(msgspec.json.encode(sealed)))


@contextmanager
def store_folder(runs: int, measurements: int, kept: Path | None) -> Iterator[Path]:
    root = kept or Path(tempfile.mkdtemp(prefix="assay-load-"))
    try:
        if not (root / "store").is_dir():
            began = time.perf_counter()
            cells = measurements // PER_CELL
            templates = [write_template(root / "templates", i, cells) for i in range(TEMPLATES)]
            say(f"store: {TEMPLATES} runs of {cells * PER_CELL} measurements filed",
                time.perf_counter() - began)  # fmt: skip
            for number in range(runs):
                copy_run(templates[number % TEMPLATES], root / "store", number)
            say(f"store: {runs} runs made of them", time.perf_counter() - began)
        yield root / "store"
    finally:
        if kept is None:
            shutil.rmtree(root)


def forget(root: Path, names: Sequence[str]) -> None:
    """Ask the kernel to drop these files' pages; names and inodes stay in memory."""
    for run in root.iterdir():
        for name in names:
            descriptor = os.open(run / name, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def measure_store(runs: int, measurements: int, kept: Path | None) -> None:
    import polars as pl

    from assay.records.store import RunFilter, Store

    with store_folder(runs, measurements, kept) as root:
        disk = subprocess.run(["du", "-sm", root], capture_output=True, text=True, check=True)
        say("store: on disk, hard links counted once", float(disk.stdout.split()[0]), "MB")
        store = Store(root)
        one = store.directories()[0].path
        table = pl.scan_parquet(one / "measurements.parquet").select("cell", "kernel")
        cell, kernel = table.collect().row(7)
        newest = 1.6e9 + 3600.0 * (runs - 20)
        questions: dict[str, tuple[Sequence[str], Callable[[], Any]]] = {
            "listed": (["seal.json"], store.listing),
            "the median of a kernel's measurements in each run": (
                ["seal.json", "measurements.parquet"],
                lambda: (
                    store.measurements(RunFilter(kernel=kernel))
                    .group_by("run")
                    .agg(pl.col("median").median())
                    .collect()
                ),
            ),
            "one cell through all runs, with what went on beside it": (
                ["seal.json", "measurements.parquet"],
                lambda: (
                    store.measurements()
                    .filter(pl.col("cell") == cell)
                    .select("run", "utc", "median", "covariate.steal_seconds")
                    .sort("utc")
                    .collect()
                ),
            ),
            "the worst CoV over runs of each cell of one system": (
                ["seal.json", "measurements.parquet"],
                lambda: (
                    store.measurements(RunFilter(system="system1"))
                    .group_by("cell")
                    .agg((pl.col("median").std() / pl.col("median").mean()).alias("cov"))
                    .top_k(10, by="cov")
                    .collect()
                ),
            ),
            "the samples of one cell in the newest 20 runs": (
                ["seal.json", "samples.parquet"],
                lambda: (
                    store.samples(RunFilter(since=newest), cells=[cell])
                    .group_by("run")
                    .agg(pl.col("value").quantile(0.99))
                    .collect()
                ),
            ),
            "the samples of one cell in all runs": (
                ["seal.json", "samples.parquet"],
                lambda: (
                    store.samples(cells=[cell])
                    .group_by("run")
                    .agg(pl.col("value").quantile(0.99))
                    .collect()
                ),
            ),
        }
        for what, (files, question) in questions.items():
            forget(root, files)
            cold, answer = best_of(1, question)
            spent = time.process_time()
            warm, _ = best_of(3, question)
            spent = (time.process_time() - spent) / 3
            say(f"store: {what} ({len(answer)} rows): pages dropped", cold)
            say(f"store: {what}: again", warm)
            say(f"store: {what}: CPU time of it", spent)
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "assay", "runs", "--runs", root, "--json"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        say("store: assay runs --json, from its start to its end", time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "assay", "runs", "--runs", root],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        say("store: assay runs, from its start to its end", time.perf_counter() - began)


def main() -> None:
    if sys.argv[1:2] == ["_child"]:
        child(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["plan", "run", "store"])
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--real", action="store_true", help="real kernels, not the fake executor")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--measurements", type=int, default=5000)
    parser.add_argument(
        "--keep", type=Path, help="a folder for the store, used again if it is there"
    )
    asked = parser.parse_args()
    if asked.what == "plan":
        measure_plan()
    elif asked.what == "run":
        measure_runs(asked.cells, asked.real)
    else:
        measure_store(asked.runs, asked.measurements, asked.keep)


if __name__ == "__main__":
    main()
