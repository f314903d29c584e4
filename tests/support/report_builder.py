"""Runs and summaries with planted values, for tests of answers and reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.model import (
    MANIFEST_SCHEMA,
    LaunchRecord,
    Manifest,
    Measurement,
    RunData,
)
from assay.records.schema import ClockRecord, MeasurementRecord, RankRecord, SampleSeries
from assay.stats.cells.expected_coverage import expected_coverage
from assay.stats.core.model import CellSummary, ClaimEvidence, MetricSummary
from assay.system.model import (
    Adapter,
    Cache,
    Frequency,
    Memory,
    OperatingSystem,
    Processor,
    System,
    Virtualisation,
)

CLOCK = 2.6e9  # Hz, planted as the clock rate of every measurement

# Eight 64-bit lanes, two pipes, fused multiply-add: 32 flops per cycle, 83.2 Gflop/s per core at
# CLOCK.
SYSTEM = System(
    processor=Processor(
        vendor="GenuineIntel",
        name="Planted Xeon",
        family=6,
        model=106,
        microarchitecture="Ice Lake",
        architecture="x86_64",
        sockets=1,
        cores=2,
        threads=2,
        vector_bits=512,
        fma=True,
        frequency=Frequency(base=2.6e9, governors=["performance"], turbo=False),
        caches=[
            Cache(level=1, kind="data", size=48 << 10, count=2),
            Cache(level=1, kind="instruction", size=32 << 10, count=2),
            Cache(level=2, kind="unified", size=1280 << 10, count=2),
            Cache(level=3, kind="unified", size=48 << 20, count=1),
        ],
    ),
    memory=Memory(total=24 << 30, transparent="madvise"),
    virtualisation=Virtualisation(virtual=True, hypervisor="KVM", steal=0.001),
    os=OperatingSystem(name="Debian GNU/Linux 12", kernel="6.1.0", hostname="box"),
    adapters=[Adapter(name="eth0", kind="ethernet", speed=1.25e9, state="up")],
)

STREAM = {  # B/s on 1 and on 2 cores
    "copy": (19.0e9, 34.5e9),
    "scale": (18.4e9, 33.6e9),
    "sum": (19.3e9, 34.8e9),
    "triad": (19.5e9, 35.1e9),
}
DGEMM = {  # flop/s on one core; N = 500 is the first within 5% of the best
    10: 2.1e9, 20: 6.4e9, 50: 19.1e9, 100: 38.4e9, 200: 58.9e9, 500: 75.0e9, 1000: 77.2e9,
    2000: 77.9e9,
}  # fmt: skip
DGEMM_ALL = 154.0e9
NPB = {("npb.ep", "W"): (61.0e6, 120.5e6), ("npb.cg", "A"): (1310e6, 2196e6)}
LATENCY = 0.42e-6


def make_metric(
    median: float,
    unit: str,
    *,
    spread: float = 0.006,
    better: str = "more",
    n: int = 8,
    stop: str = "precision",
) -> MetricSummary:
    """A summary around the median; with fewer than six launches it has no interval, as in assay."""
    return MetricSummary(
        unit=unit,
        better=better,
        median=median,
        ci95=(median * (1 - spread), median * (1 + spread)) if n >= 6 else None,
        min=median * (1 - 3 * spread),
        max=median * (1 + 2 * spread),
        p05=median * (1 - 2 * spread),
        p95=median * (1 + 1.5 * spread),
        cov=spread if n > 1 else None,
        cov_samples=spread / 2,
        n=n,
        samples=n * 40,
        stop=stop,
    )


def make_cell(kernel: str, *, ppn: int = 1, toolchain: str = "embedded", **parameters) -> Cell:
    threads = parameters.pop("threads", 1)
    return Cell(kernel, parameters, Placement(ppn=ppn, threads=threads), toolchain)


def make_summary(
    cell: Cell,
    value: float,
    *,
    caveats: Sequence[str] = (),
    spread: float = 0.006,
    n: int = 8,
    stop: str = "precision",
    **resolved,
) -> CellSummary:
    """A cell with the headline metric ``value`` and the metric that it comes from or yields."""
    kernel = find_kernel(cell.kernel)
    parameters = {**cell.parameters, **resolved}
    metrics: dict[str, MetricSummary] = {}
    cost, *rates = kernel.metrics
    if kernel.headline == cost.name:
        metrics[cost.name] = make_metric(
            value, cost.unit, better="less", spread=spread, n=n, stop=stop
        )
        for rate in rates:
            work = kernel.work(parameters, cell.placement.ranks, cell.placement.threads)
            metrics[rate.name] = make_metric(
                work[rate.quantity] / value, rate.unit, spread=spread, n=n, stop=stop
            )
    else:
        metrics[rates[0].name] = make_metric(value, rates[0].unit, spread=spread, n=n, stop=stop)
    return CellSummary(
        kernel=cell.kernel,
        id=cell.id,
        cell=cell,
        status="ok",
        verified=True,
        parameters=parameters,
        metrics=metrics,
        caveats=list(caveats),
        evidence=beside_others(n) if n >= 6 else None,
    )


def beside_others(launches: int, autocorrelation: float = 0.1) -> ClaimEvidence:
    """The evidence for a cell that was measured with forty others."""
    coverage = expected_coverage(launches, autocorrelation)
    return ClaimEvidence(launches, 40.0, autocorrelation, None, coverage)


def with_launches(cells: Sequence[CellSummary], launches: int) -> list[CellSummary]:
    """The same cells after this number of launches."""
    return [
        msgspec.structs.replace(
            cell,
            metrics={
                name: msgspec.structs.replace(metric, n=launches)
                for name, metric in cell.metrics.items()
            },
            evidence=beside_others(launches),
        )
        for cell in cells
    ]


def make_failure(cell: Cell, error: str = "out of memory", *, wrong: bool = False) -> CellSummary:
    return CellSummary(
        kernel=cell.kernel,
        id=cell.id,
        cell=cell,
        status="ok" if wrong else "failed",
        verified=False if wrong else None,
        parameters=dict(cell.parameters),
        metrics={},
        caveats=[],
        error=None if wrong else error,
    )


def quick_cells() -> list[CellSummary]:
    """Results of the quick suite on the planted machine."""
    summaries = [
        make_summary(
            make_cell("memory.stream", ppn=ppn, op=op),
            STREAM[op][ppn - 1],
            elements=40_000_000 // ppn,
            stores="nontemporal",
        )
        for op in STREAM
        for ppn in (1, 2)
    ]
    summaries += [make_summary(make_cell("compute.dgemm", n=n), rate) for n, rate in DGEMM.items()]
    summaries.append(make_summary(make_cell("compute.dgemm", n=2000, threads=2), DGEMM_ALL))
    for size in (0, *(1 << power for power in range(23))):
        latency = LATENCY + size / 11.0e9 + (0.3e-6 if size >= 1024 else 0.0)
        summaries.append(make_summary(make_cell("network.pingpong", ppn=2, bytes=size), latency))
    summaries.append(make_summary(make_cell("network.barrier", ppn=2), 0.61e-6, spread=0.02))
    for (kernel, size), rates in NPB.items():
        for ppn, rate in enumerate(rates, 1):
            summaries.append(make_summary(make_cell(kernel, ppn=ppn, **{"class": size}), rate))
    return summaries


def make_measurement(cell: Cell, values: Sequence[float], replicate: int = 1) -> Measurement:
    """A measurement with ``values`` as its samples of time, at the planted clock."""
    starts = [float(i) for i in range(len(values))]
    return Measurement(
        cell=cell,
        replicate=replicate,
        launch=f"launch-{replicate}",
        utc=1.79e9,
        record=MeasurementRecord(
            measurement=f"{cell.id}-{replicate}",
            kernel=cell.kernel,
            status="ok",
            start=0.1,
            wall=sum(values),
            parameters=dict(cell.parameters),
            verified=True,
            batch=1,
            warmup=0,
            stop="precision",
            series=[SampleSeries("time", "s", None, None, starts, list(values))] if values else [],
            covariates={"clock_rate": CLOCK},
        ),
        clock=ClockRecord("CLOCK_MONOTONIC", 2.1e-8, 1e-9),
        ranks=(RankRecord(0, "box", 4711, 0, [0], 0, True, False),),
    )


def make_disturbed(
    cell: Cell, busy: float, cpus: float | None = 2.0, spans: float = 1.0
) -> Measurement:
    """One second of sampling, during which other processes used ``busy`` seconds of CPU time."""
    plain = make_measurement(cell, [])
    covariates = plain.record.covariates | {
        "sampling_seconds": spans,
        "other_cpu_seconds": busy * spans,
        "online_cpus": cpus,
    }
    record = msgspec.structs.replace(plain.record, covariates=covariates)
    return dataclasses.replace(plain, record=record)


def make_run(
    cells: Sequence[CellSummary],
    *,
    path: Path | None = None,
    complete: bool = True,
    name: str = "20260315T083012Z-box-quick",
    measurements: Sequence[Measurement] | None = None,
    launches: Sequence[LaunchRecord] | None = None,
    system: dict[str, object] | None = None,
    toolchains: dict[str, dict[str, object]] | None = None,
    command: Sequence[str] = ("assay", "run", "quick"),
    title: str = "Quick look",
) -> RunData:
    if measurements is None:
        measurements = [make_measurement(cell.cell, []) for cell in cells]
    if launches is None:
        launches = [
            LaunchRecord(
                launch=f"{number:04d}",
                toolchain="embedded",
                command=["mpirun", "-n", "2", "assay-kernels", f"job-{number}.json"],
                utc=1773563412.0 + 3 * number,
                wall=2.5,
                exit=0,
                outcome="complete",
            )
            for number in range(1, 9)
        ]
    return RunData(
        path=path,
        manifest=Manifest(
            schema=MANIFEST_SCHEMA,
            run=name,
            utc=1773563412.0,
            assay="0.1.0",
            command=list(command),
            plan=Plan("quick", title, tuple(c.cell for c in cells), Replication(), 20260315),
            system=SYSTEM.to_dict() if system is None else system,
            toolchains={
                "embedded": {
                    "mpi_flavour": "mpich",
                    "mpi_version": "5.0.2",
                    "cxx": "g++",
                    "cxx_version": "12.2.0",
                    "blas": {"name": "OpenBLAS", "version": "0.3.34"},
                    "flags": "-O3 -march=native",
                }
            }
            if toolchains is None
            else toolchains,
        ),
        measurements=tuple(measurements),
        launches=tuple(launches),
        complete=complete,
    )
