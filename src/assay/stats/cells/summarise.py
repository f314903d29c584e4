"""Summaries of a run's measurements, one per cell."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.hostnames import compress_hosts, natural
from assay.kernels import is_search, known_kernel
from assay.kernels.catalogue import Kernel, Metric
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.records.model import Measurement, RunData
from assay.records.schema import MeasurementRecord, SampleSeries
from assay.stats.cells.caveats import CaveatInputs, caveats
from assay.stats.cells.device_state import device_energy
from assay.stats.cells.evidence import with_evidence
from assay.stats.cells.launch_rule import launch_half_width
from assay.stats.cells.resolution import resolution_of
from assay.stats.cells.sampled_pairs import sampled_pairs
from assay.stats.core.intervals import at_least, checked, median_of, relative_half_width
from assay.stats.core.launches import launch_interval, span_of
from assay.stats.core.model import LEFT_OUT, UNTRIED, CellSummary, MetricSummary, Stop
from assay.stats.core.summary import coefficient_of_variation
from assay.units import counted, format_duration


@dataclass(frozen=True)
class _Costs:
    """One metric's samples after warm-up, an array per launch, in s or s per unit of work."""

    launches: list[Floats]
    inverted: bool
    #: Smallest difference that the samples of the coarsest launch can show; None if unknown.
    step: float | None

    @cached_property
    def medians(self) -> Floats:
        return np.array([median_of(launch) for launch in self.launches])


def summarise_cells(run: RunData, kernels: Container[str] | None = None) -> list[CellSummary]:
    """One summary per cell, in the plan's order; deterministic for a given run.

    ``kernels``: the names of the kernels whose cells are summarised; None is all.
    """
    cells = {cell.id: cell for cell in run.manifest.plan.cells}
    found: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        cells.setdefault(measurement.cell.id, measurement.cell)
        found.setdefault(measurement.cell.id, []).append(measurement)
    summarised = [
        _summarise(run, cell, sorted(found.get(name, []), key=lambda m: m.replicate))
        for name, cell in cells.items()
        if kernels is None or cell.kernel in kernels
    ]
    if run.manifest.imported:
        return [summary for summary, _ in summarised]
    return with_evidence(
        [summary for summary, _ in summarised],
        [launches for _, launches in summarised],
        run.manifest.plan.replication,
    )


def launch_value(measurement: Measurement) -> float | None:
    """The headline metric's median cost, whose interval across launches decides on more launches.

    It is in the unit of the series, even if the headline metric is a rate: the relative precision
    is the same. None if the measurement has no usable sample of it.
    """
    return record_value(measurement.record)


def record_value(record: MeasurementRecord) -> float | None:
    """``launch_value`` of a measurement's record."""
    kernel = known_kernel(record.kernel)
    metrics = metrics_of(kernel, [record])
    if record.status != "ok" or not metrics:
        return None
    headline = kernel.metric(kernel.headline) if kernel else None
    series = find_series(record, (headline or metrics[0]).series)
    try:
        return median_of(steady(record, series)) if series else None
    except AssayError:
        return None


def steady(record: MeasurementRecord, series: SampleSeries) -> Floats:
    """The samples after the recorded warm-up; at most half of the samples are dropped.

    A series without one value per sample has no warm-up. Raises AssayError for an empty series, NaN
    or infinity.
    """
    try:
        values = checked(series.values)
    except AssayError as error:
        where = f"measurement {record.measurement}, {series.metric}"
        raise AssayError(error.what, where=where) from None
    if values.size != len(record.series[0].values):
        return values
    return values[min(record.warmup or 0, values.size // 2) :]


def metrics_of(kernel: Kernel | None, records: Sequence[MeasurementRecord]) -> list[Metric]:
    """The catalogue's metrics of a kernel; for an outside program one metric per series."""
    if kernel is not None:
        return list(kernel.metrics)
    units = {series.metric: series.unit for record in records for series in record.series}
    return [
        Metric(name, unit, "less" if _is_cost(name, unit) else "more", "", series=name)
        for name, unit in units.items()
    ]


def _is_cost(metric: str, unit: str) -> bool:
    """Whether less of an outside program's metric is better: times, and factors of slowdown."""
    return unit == "s" or metric.partition(".")[0] == "impact"


def find_series(record: MeasurementRecord, name: str) -> SampleSeries | None:
    """The series of all ranks together, or else the only one of that name."""
    named = [series for series in record.series if series.metric == name]
    whole = [series for series in named if series.rank is None]
    if whole:
        return whole[0]
    return named[0] if len(named) == 1 else None


def _summarise(
    run: RunData, cell: Cell, measurements: Sequence[Measurement]
) -> tuple[CellSummary, CaveatInputs | None]:
    """The summary of a cell, and the launches of its headline metric if it has a result."""
    refuted = [m.record for m in measurements if m.record.verified is False]
    good = [m for m in measurements if m.record.status == "ok" and m.record.series]
    failures = _failures(run, cell, measurements)
    lost = len(_lost(run, cell, measurements))
    parameters = dict(good[0].record.parameters if good else cell.parameters)
    if refuted:
        failed = CellSummary(
            kernel=cell.kernel,
            id=cell.id,
            cell=cell,
            status="failed",
            verified=False,
            parameters=parameters,
            metrics={},
            caveats=[
                f"The result was wrong in {len(refuted)} of "
                f"{counted(len(measurements), 'launch')}: no speed is given."
            ],
            error=_refutation(refuted[0]),
            lost_launches=lost,
        )
        return failed, None
    checks = {m.record.verified for m in good}
    metrics: dict[str, MetricSummary] = {}
    remarks: list[str] = []
    evidence: CaveatInputs | None = None
    if good:
        try:
            metrics, evidence = _metric_summaries(run, cell, good, bool(failures), remarks)
        except AssayError as error:
            failures.insert(0, str(error))
    if not metrics:
        search = run.manifest.plan.search
        unmeasured = (
            UNTRIED if search is not None and cell.id in search.optional else _unmeasured(run)
        )
        late = [m.record.error for m in measurements if m.record.status == "left out"]
        if late:
            unmeasured = f"{LEFT_OUT}: {late[0]}."
        failed = CellSummary(
            kernel=cell.kernel,
            id=cell.id,
            cell=cell,
            status="failed" if failures or remarks else "interrupted",
            verified=True if True in checks else None,
            parameters=parameters,
            metrics={},
            caveats=remarks,
            error=failures[0] if failures else remarks[0] if remarks else unmeasured,
            lost_launches=lost,
        )
        return failed, None
    if failures:
        remarks.append(f"{counted(len(failures), 'launch')} failed: {failures[0]}")
    hosts = _host_sets(good)
    if len(hosts) > 1:
        remarks.append(
            f"Its launches ran on {len(hosts)} different sets of hosts: {'; '.join(hosts[:4])}"
            f"{'; …' if len(hosts) > 4 else ''}."
        )
    if evidence is not None and not run.manifest.imported:
        remarks += caveats(evidence)
    summary = CellSummary(
        kernel=cell.kernel,
        id=cell.id,
        cell=cell,
        status="ok",
        verified=True if True in checks else None,
        parameters=parameters,
        metrics=metrics,
        caveats=remarks,
        precise_launches=sum(m.record.stop == "precision" for m in good),
        hosts=hosts,
        lost_launches=lost,
        span=span_of([m.utc for m in good], [m.record.wall for m in good]),
        device_energy=device_energy([(m.record, launch_value(m)) for m in good]),
        sampled=sampled_pairs([m.record for m in good]),
    )
    return summary, evidence


def _unmeasured(run: RunData) -> str:
    """Why a cell has no measurement."""
    if not run.complete:
        return "It was not measured: the run ended before its turn."
    budget = format_duration(run.manifest.plan.replication.budget)
    return (
        f"{LEFT_OUT}: the budget of {budget} was too short for a launch; a longer --budget or "
        f"--whole includes the cell."
    )


def _host_sets(measurements: Sequence[Measurement]) -> list[str]:
    """The different sets of hosts of these measurements, each sorted and in bracket notation."""
    sets = dict.fromkeys(frozenset(rank.host for rank in m.ranks) for m in measurements if m.ranks)
    return [compress_hosts(sorted(each, key=natural)) for each in sets]


def _refutation(record: MeasurementRecord) -> str:
    check = record.verification
    if check is None:
        return "The result was wrong."
    found = "not a number" if check.value is None else f"{check.value:.6g}"
    allowed = "" if check.tolerance is None else f", at most {check.tolerance:.3g} is allowed"
    return f"The result was wrong: {check.what} is {found}{allowed}."


def _failures(run: RunData, cell: Cell, measurements: Sequence[Measurement]) -> list[str]:
    """Why launches of this cell failed: messages of records, then messages of ended launches."""
    messages = [m.record.error or "failed" for m in measurements if m.record.status == "failed"]
    for launch in run.launches:
        if launch.outcome not in ("crash", "timeout"):
            continue
        blamed = launch.blamed.rpartition("-")[0] if launch.blamed else None
        # A launch that ended before any measurement began counts for each cell without results.
        affected = launch.blamed is None and not measurements and launch.toolchain == cell.toolchain
        if launch.left and launch.blamed is None:
            affected = any(name.rpartition("-")[0] == cell.id for name in launch.left)
        if blamed == cell.id or affected:
            messages.append(launch.error or launch.outcome)
    return messages


def _lost(run: RunData, cell: Cell, measurements: Sequence[Measurement]) -> set[str]:
    """The measurements of this cell that failed, or ended with their launch, and that no later
    launch completed.
    """
    gone = {m.record.measurement for m in measurements if m.record.status == "failed"}
    for launch in run.launches:
        if launch.outcome in ("crash", "timeout"):
            gone |= {*launch.left, *filter(None, [launch.blamed])}
    succeeded = {m.record.measurement for m in measurements if m.record.status == "ok"}
    return {name for name in gone - succeeded if name.rpartition("-")[0] == cell.id}


def _metric_summaries(
    run: RunData, cell: Cell, good: Sequence[Measurement], failed: bool, remarks: list[str]
) -> tuple[dict[str, MetricSummary], CaveatInputs | None]:
    kernel = known_kernel(cell.kernel)
    records = [m.record for m in good]
    summaries: dict[str, MetricSummary] = {}
    evidence: CaveatInputs | None = None
    for metric in metrics_of(kernel, records):
        try:
            costs = _costs(metric, kernel, cell, good)
        except LeftOut as reason:
            if reason.args[0]:
                remarks.append(f"No {metric.name} is given: {reason.args[0]}.")
            continue
        rule = run.manifest.plan.replication
        width = launch_half_width(costs.medians.tolist(), rule.confidence, costs.step or 0.0)
        reached = width is not None and width <= rule.precision
        reached = reached and not run.manifest.imported
        stop = "precision" if reached else _why_stopped(run, cell, len(costs.launches), failed)
        summary = summaries[metric.name] = _summary(metric, costs, stop)
        if evidence is None or (kernel is not None and metric.name == kernel.headline):
            evidence = CaveatInputs(
                cell=cell,
                measurements=good,
                launches=costs.launches,
                medians=costs.medians,
                # As the number is reported: of a rate, not of the time that it comes from.
                half_width=relative_half_width(summary.ci95, summary.median),
                precision=rule.precision,
                confidence=rule.confidence,
                stop=stop,
                system=run.manifest.system,
                step=costs.step,
            )
    return summaries, evidence


def _why_stopped(run: RunData, cell: Cell, launches: int, failed: bool) -> Stop:
    if run.manifest.imported:
        return "imported"
    if failed:
        return "failed"
    rule = run.manifest.plan.replication
    if is_search(cell) or launches >= rule.max_launches * rule.planned:
        return "launches"
    return "budget" if run.complete else "interrupted"


class LeftOut(Exception):
    """A metric that these records can't yield, with the reason (empty: no remark is needed)."""


def _costs(
    metric: Metric, kernel: Kernel | None, cell: Cell, measurements: Sequence[Measurement]
) -> _Costs:
    launches = []
    steps = []
    for measurement in measurements:
        record = measurement.record
        series = find_series(record, metric.series)
        if series is None:
            continue
        values = steady(record, series)
        step = resolution_of(measurement, series)
        if metric.quantity is not None and kernel is not None:
            work = work_of(kernel, metric.quantity, cell, record.parameters)
            values = values / work
            step = None if step is None else step / work
            if float(values.min()) <= 0.0:
                raise LeftOut("the clock shows no elapsed time")
        launches.append(values)
        steps.append(step)
    if not launches:
        if metric.optional:
            raise LeftOut("")
        raise LeftOut(f"the records hold no series '{metric.series}' of all ranks")
    known = [step for step in steps if step is not None]
    return _Costs(launches, metric.quantity is not None, max(known, default=None))


def work_of(kernel: Kernel, quantity: str, cell: Cell, resolved: Mapping[str, Value]) -> float:
    """The work of one operation with the resolved parameters; raises LeftOut if there is none."""
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    parameters |= resolved
    try:
        work = kernel.work(parameters, cell.placement.ranks, cell.placement.threads)[quantity]
    except (KeyError, ValueError, TypeError) as error:
        raise LeftOut(f"the work of {parameters} is unknown ({error})") from None
    if work <= 0.0:
        raise LeftOut("")  # a message of no bytes has no bandwidth
    return work


def _summary(metric: Metric, costs: _Costs, stop: Stop) -> MetricSummary:
    """The summary of a metric. Order statistics of rates are the inverted order statistics of
    costs: the median of work / time is work / median(time), and intervals and percentiles have
    their ends swapped.
    """
    medians, samples = costs.medians, np.concatenate(costs.launches)
    interval = launch_interval(medians)
    if interval is not None and costs.step is not None:
        interval = at_least(interval, median_of(medians), costs.step)
    low, p05, p95, high = (float(q) for q in np.quantile(samples, (0.0, 0.05, 0.95, 1.0)))
    median = median_of(medians)
    between, within = medians, costs.launches
    if costs.inverted:
        low, p05, p95, high = 1.0 / high, 1.0 / p95, 1.0 / p05, 1.0 / low
        median = 1.0 / median
        interval = (1.0 / interval[1], 1.0 / interval[0]) if interval else None
        between, within = 1.0 / medians, [1.0 / launch for launch in costs.launches]
    spreads = [c for c in map(coefficient_of_variation, within) if c is not None]
    return MetricSummary(
        unit=metric.unit,
        better=metric.better,
        median=median,
        ci95=interval,
        min=low,
        max=high,
        p05=p05,
        p95=p95,
        cov=coefficient_of_variation(between),
        cov_samples=float(np.median(spreads)) if spreads else None,
        n=len(costs.launches),
        samples=int(samples.size),
        stop=stop,
    )
