"""Runs on devices with planted facts, rates and covariates, for tests of answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.records.model import Measurement, RunData
from assay.records.schema import SampleSeries
from assay.stats.core.model import CellSummary, MetricSummary
from report_builder import beside_others, make_measurement, make_metric, make_run

A100 = {
    "device_name": "NVIDIA A100-SXM4-40GB",
    "device_kind": "gpu",
    "device_units": 108,
    "device_memory": 40 << 30,
    "device_clock": 1410e6,
    "device_driver": "550.54",
}
PROCESSOR = {
    "device_name": "cpu-haswell-AMD EPYC",
    "device_kind": "cpu",
    "device_units": 2,
    "device_memory": 8 << 30,
}
LAUNCHES = 8


@dataclasses.dataclass(frozen=True)
class Planted:
    """A cell with its metrics: name to unit and median."""

    cell: Cell
    metrics: Mapping[str, tuple[str, float]]
    resolved: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    covariates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    series: Sequence[SampleSeries] = ()


def planted(
    kernel: str,
    metrics: Mapping[str, tuple[str, float]],
    *,
    ppn: int = 1,
    binding: str = "compact",
    resolved: Mapping[str, Value] | None = None,
    covariates: Mapping[str, float] | None = None,
    facts: Mapping[str, Value] | None = None,
    series: Sequence[SampleSeries] = (),
    **parameters: Value,
) -> Planted:
    placement = Placement(ppn=ppn, binding=binding)
    cell = Cell(kernel, {"backend": "auto", "device": -1, **parameters}, placement, "embedded")
    more = {"backend": "cuda", **(resolved or {})}
    return Planted(cell, metrics, more, covariates or {}, facts or {}, series)


def stream(rate: float, op: str = "triad", elements: int = 0, **more) -> Planted:
    metrics = {"bandwidth": ("B/s", rate), "bandwidth.device": ("B/s", 1.05 * rate)}
    used = {"elements": elements or 1 << 25}
    more = {"type": "double", **more}
    return planted("gpu.stream", metrics, op=op, elements=elements, resolved=used, **more)


def transfer(
    rate: float, direction: str = "to device", memory: str = "pinned", size: int = 1 << 26, **more
) -> Planted:
    metrics = {"bandwidth": ("B/s", rate)}
    given = {"direction": direction, "memory": memory, "bytes": size}
    return planted("gpu.transfer", metrics, **given, **more)


def product(rate: float, kind: str, library: str = "cuBLAS 12.4", **more) -> Planted:
    facts = {"library": library}
    metrics = {"rate": ("flop/s", rate)}
    return planted("gpu.gemm", metrics, facts=facts, type=kind, n=8192, **more)


def peers(
    rates: Mapping[tuple[int, int], float],
    *,
    size: int = 1 << 26,
    direction: str = "one",
    path: str = "auto",
    by_host: Sequence[tuple[int, int]] = (),
) -> Planted:
    """gpu.peer with a bandwidth for each pair of sender and receiver."""
    moved = size * (2 if direction == "both" else 1)
    series = [
        series
        for (one, other), rate in rates.items()
        for series in (
            SampleSeries("pair", "s", one, other, [], [moved / rate]),
            SampleSeries("pair_latency", "s", one, other, [], [2e-6]),
        )
    ]
    hosted = [*rates] if path == "host" else by_host
    direct = [pair for pair in rates if pair not in hosted]
    facts = {
        "direct_pairs": " ".join(f"{one}-{other}" for one, other in direct),
        "host_pairs": " ".join(f"{one}-{other}" for one, other in hosted),
    }
    metrics = {"bandwidth": ("B/s", min(rates.values())), "latency": ("s", 2e-6)}
    given = {"bytes": size, "direction": direction, "path": path}
    return planted("gpu.peer", metrics, facts=facts, series=series, **given)


def collective(rate: float, op: str = "allreduce", size: int = 1 << 26, ppn: int = 4) -> Planted:
    metrics = {"bandwidth": ("B/s", rate), "time": ("s", 1e-5)}
    facts = {"library": "NCCL 2.21.5"}
    return planted("gpu.collective", metrics, facts=facts, ppn=ppn, op=op, bytes=size, type="float")


def device_run(
    cells: Sequence[Planted],
    device: Mapping[str, Value] = A100,
    system: Mapping[str, object] | None = None,
    spread: float = 0.006,
) -> tuple[list[CellSummary], RunData]:
    """The summaries and the run; ``system``: replaces facts of the system."""
    summaries = [_summary(each, spread) for each in cells]
    measured = [
        _measurement(each, device, replicate) for each in cells for replicate in range(LAUNCHES)
    ]
    run = make_run(summaries, measurements=measured)
    if system is not None:
        manifest = msgspec.structs.replace(run.manifest, system={**run.manifest.system, **system})
        run = dataclasses.replace(run, manifest=manifest)
    return summaries, run


def _summary(one: Planted, spread: float) -> CellSummary:
    metrics: dict[str, MetricSummary] = {}
    for name, (unit, median) in one.metrics.items():
        better = "less" if unit == "s" else "more"
        metrics[name] = make_metric(median, unit, better=better, n=LAUNCHES, spread=spread)
    return CellSummary(
        kernel=one.cell.kernel,
        id=one.cell.id,
        cell=one.cell,
        status="ok",
        verified=True,
        parameters={**one.cell.parameters, **one.resolved},
        metrics=metrics,
        caveats=[],
        evidence=beside_others(LAUNCHES),
    )


def _measurement(one: Planted, device: Mapping[str, Value], replicate: int) -> Measurement:
    plain = make_measurement(one.cell, [1e-3], replicate)
    record = msgspec.structs.replace(
        plain.record,
        parameters={**one.cell.parameters, **one.resolved},
        facts={**device, **one.facts},
        covariates={**plain.record.covariates, **one.covariates},
        series=[*plain.record.series, *one.series],
    )
    return dataclasses.replace(plain, record=record)
