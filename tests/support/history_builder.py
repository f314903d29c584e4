"""Stores of many runs with planted histories: values, versions, times."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.directory import RunDirectory
from assay.records.files import write_atomically
from assay.records.model import MANIFEST_SCHEMA, Manifest, Measurement, RunData
from assay.records.schema import ClockRecord, MeasurementRecord, RankRecord, SampleSeries
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from report_builder import SYSTEM

BEGIN = 1.75e9  # a Sunday in June 2025
DAY = 86400.0
TOOLCHAIN = {
    "mpi_flavour": "mpich",
    "mpi_version": "5.0.2",
    "cxx": "g++",
    "cxx_version": "12.2.0",
    "blas": {"name": "OpenBLAS", "version": "0.3.34"},
    "flags": "-O3",
}
Facts = dict[str, object]


def barrier(ppn: int = 2, toolchain: str = "fake") -> Cell:
    return Cell("network.barrier", {}, Placement(ppn=ppn), toolchain)


def triad(ppn: int = 1) -> Cell:
    return Cell("memory.stream", {"op": "triad"}, Placement(ppn=ppn), "fake")


def file_run(
    root: Path,
    results: Sequence[tuple[Cell, Sequence[float]]],
    *,
    utc: float,
    system: str = "seth",
    suite: str = "nightly",
    facts: Facts | None = None,
    toolchain: Facts | None = None,
    assay: str = "0.9",
    spacing: float = 60.0,
    host: str = "n1",
    sealed: bool = True,
    busy: float | None = None,
) -> RunDirectory:
    """A run stored as by a campaign; ``results``: the medians of each cell's launches, s.

    ``busy``: of two CPUs, by other processes; None: not recorded.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
    path = root / f"{stamp}-{system}-{suite}"
    (path / "raw").mkdir(parents=True)
    about = copy.deepcopy(SYSTEM.to_dict()) if facts is None else facts
    about["name"] = system
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        run=path.name,
        utc=utc,
        assay=assay,
        command=["assay", "run"],
        plan=Plan(suite, "Nightly", tuple(cell for cell, _ in results), Replication(), 1),
        system=about,
        toolchains={"fake": TOOLCHAIN if toolchain is None else toolchain},
    )
    write_atomically(path / "manifest.json", msgspec.json.encode(manifest))
    measurements = [
        Measurement(
            cell=cell,
            replicate=replicate,
            launch=f"{replicate:04d}-a",
            utc=utc + spacing * replicate,
            record=MeasurementRecord(
                measurement=f"{cell.id}-{replicate}",
                kernel=cell.kernel,
                status="ok",
                start=0.0,
                wall=1.0,
                parameters={**cell.parameters, **_resolved(cell)},
                verified=True,
                batch=1,
                warmup=0,
                stop="precision",
                series=[SampleSeries("time", "s", None, None, [0.0], [float(value)])],
                covariates={"steal_seconds": 0.0} | _others(busy),
            ),
            clock=ClockRecord("x", 2e-8, 1e-9),
            ranks=(RankRecord(0, host, 1, 0, [0], 0, True, False),),
        )
        for cell, values in results
        for replicate, value in enumerate(values)
    ]
    run = RunDirectory(path)
    if sealed:
        data = RunData(path, manifest, tuple(measurements), (), complete=True)
        write_tables(data)
        run.seal(summarise_run(data, launches=1, tables=TABLES_SCHEMA))
    return run


def _others(busy: float | None) -> dict[str, float | None]:
    if busy is None:
        return {}
    return {"other_cpu_seconds": 2.0 * busy, "sampling_seconds": 2.0, "online_cpus": 2.0}


def _resolved(cell: Cell) -> dict[str, int]:
    return {"elements": 1_000_000} if cell.kernel == "memory.stream" else {}


def nightly(
    root: Path,
    runs: int,
    levels: Sequence[tuple[Cell, Callable[[int], float]]],
    *,
    cov: float = 0.01,
    seed: int = 1,
    launches: int = 3,
    system: str = "seth",
    facts: Callable[[int], Facts] | None = None,
    toolchain: Callable[[int], Facts] | None = None,
    busy: Callable[[int], float] | None = None,
) -> Path:
    """One run per night at 02:00; ``levels``: for each cell the median launch by night number."""
    drawn = np.random.default_rng(seed)
    for night in range(runs):
        results = []
        for cell, level in levels:
            of_run = level(night) * np.exp(cov * drawn.standard_normal())
            results.append((cell, of_run * np.exp(0.002 * drawn.standard_normal(launches))))
        file_run(
            root,
            results,
            utc=BEGIN + DAY * night,
            system=system,
            facts=facts(night) if facts else None,
            toolchain=toolchain(night) if toolchain else None,
            busy=busy(night) if busy else None,
        )
    return root


def system_with(**changes: object) -> Facts:
    """The planted machine's facts; ``os_kernel="6.2"`` sets ``os.kernel``."""
    facts = copy.deepcopy(SYSTEM.to_dict())
    for name, value in changes.items():
        section, _, fact = name.partition("_")
        part = facts[section]
        assert isinstance(part, dict)
        part[fact] = value
    return facts
