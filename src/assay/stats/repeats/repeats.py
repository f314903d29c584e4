"""Repeated measurements: each cell's results in order of time, independent of their storage.

The unit is a measurement: the median of the kernel's headline metric in one launch. Samples of one
launch are more alike than launches, and therefore count as one result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.hostnames import compress_hosts, natural
from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, Metric
from assay.model.cell import Cell
from assay.model.sessions import session_of
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.stats.cells.summarise import LeftOut, find_series, metrics_of, steady, work_of


@dataclass(frozen=True)
class Repeats:
    """One cell's results in order of time; arrays have one entry per measurement unless stated."""

    cell: Cell
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: Median of ``metric`` in each measurement, in ``unit``.
    values: Floats
    #: Unix time, s. ``launch`` is unique within its ``run``.
    utc: Floats
    run: tuple[str, ...]
    launch: tuple[str, ...]
    #: Hosts where it ran, in bracket notation ("n1", "n[1-4]"); empty if unknown.
    hosts: tuple[str, ...]
    #: Values of each covariate, by name; nan if unknown (docs/formats/stream.md, "Covariates").
    covariates: Mapping[str, Floats] = field(default_factory=dict)
    #: All steady samples in ``unit``, one measurement after another; ``sizes`` is their number per
    #: measurement. Both are empty if samples were not read.
    samples: Floats = field(default_factory=lambda: np.empty(0))
    sizes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Session of its run, from 0; -1 if the run was not measured in sessions.
    session: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: CPUs of its ranks ("cpu[0-3]", or "n1:cpu[0-3],n2:cpu0" if its hosts differ); for unpinned
    #: ranks, the CPUs at the start.
    cores: tuple[str, ...] = ()
    #: Names of the kernels that other launches measured on its hosts at the same time; empty if
    #: there were none. ``session``, ``cores`` and ``beside`` have no entries if nothing is known.
    beside: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def cost(self) -> Floats:
        """The values as times (s per unit of work), so that slower is always greater."""
        return _as_cost(self.values, self.better)

    @property
    def sample_costs(self) -> Floats:
        """The samples as times, as ``cost``."""
        return _as_cost(self.samples, self.better)

    def session_numbers(self) -> Ints:
        """``session``, or -1 for each measurement if it has no entries."""
        return self.session if self.session.size else np.full(len(self), -1, dtype=np.int64)

    def take(self, which: npt.ArrayLike) -> Repeats:
        """The chosen measurements: by a mask, or by indices in the requested order."""
        chosen = np.arange(len(self))[np.asarray(which)]
        samples, sizes = self.samples, self.sizes
        if sizes.size:
            ends = np.cumsum(sizes)
            parts = [samples[ends[i] - sizes[i] : ends[i]] for i in chosen]
            samples, sizes = np.concatenate([np.empty(0), *parts]), sizes[chosen]
        places = chosen.tolist()

        def of(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(names.__getitem__, places)) if names else ()

        return replace(
            self,
            values=self.values[chosen],
            utc=self.utc[chosen],
            run=of(self.run),
            launch=of(self.launch),
            hosts=of(self.hosts),
            covariates={name: each[chosen] for name, each in self.covariates.items()},
            samples=samples,
            sizes=sizes,
            session=self.session[chosen] if self.session.size else self.session,
            cores=of(self.cores),
            beside=of(self.beside),
        )


def _as_cost(values: Floats, better: Literal["more", "less"]) -> Floats:
    """Values of a metric as times (s per unit of work): a rate is inverted, a time unchanged."""
    return values if better == "less" else 1.0 / values


def repeats_of(run: RunData, metric: str | None = None) -> list[Repeats]:
    """One ``Repeats`` for each cell of a run with a result, in the plan's order, with samples.

    Measurements that failed, were refuted or interrupted, and those without a usable value of
    ``metric`` (by default the kernel's headline metric), are left out.
    """
    found: dict[str, list[Measurement]] = {cell.id: [] for cell in run.manifest.plan.cells}
    for measurement in run.measurements:
        found.setdefault(measurement.cell.id, []).append(measurement)
    results = (_of_measurements(run, each, metric) for each in found.values() if each)
    return [repeats for repeats in results if repeats is not None]


def joined(parts: Iterable[Repeats]) -> list[Repeats]:
    """Results of several runs, or of the runs of a group, as one ``Repeats`` for each cell.

    Covariates that a part lacks are nan there. Samples are kept only if all parts have them.
    """
    by_cell: dict[tuple[str, str], list[Repeats]] = {}
    for part in parts:
        by_cell.setdefault((part.cell.id, part.metric), []).append(part)
    return [_join(each) for each in by_cell.values()]


def _of_measurements(
    run: RunData, measurements: Sequence[Measurement], named: str | None = None
) -> Repeats | None:
    """One cell's measurements of one run; None where none has a usable result."""
    cell = measurements[0].cell
    kernel = known_kernel(cell.kernel)
    metric: Metric | None = None
    kept: list[tuple[Measurement, Floats]] = []
    for measurement in sorted(measurements, key=lambda m: m.utc):
        record = measurement.record
        if record.status != "ok" or record.verified is False or not record.series:
            continue
        known = metrics_of(kernel, [record])
        if named is None:
            metric = metric or headline(kernel, known)
        else:
            metric = metric or next((each for each in known if each.name == named), None)
        if metric is None:
            continue
        values = _samples(measurement, kernel, metric)
        if values is not None:
            kept.append((measurement, values))
    if metric is None or not kept:
        return None
    names = dict.fromkeys(name for m, _ in kept for name in m.record.covariates)
    # All measurements of a launch share its ranks.
    ranks = {id(m.ranks): m.ranks for m, _ in kept}
    hosts = {key: host_set(rank.host for rank in each) for key, each in ranks.items()}
    cores = {key: _cores(each) for key, each in ranks.items()}
    rule = run.manifest.plan.replication
    session = [session_of(m.replicate, rule) for m, _ in kept] if rule.repeated else []
    return Repeats(
        cell=cell,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        values=np.array([_median(values, metric) for _, values in kept]),
        utc=np.array([m.utc for m, _ in kept]),
        run=(run.manifest.run,) * len(kept),
        launch=tuple(m.launch for m, _ in kept),
        hosts=tuple(hosts[id(m.ranks)] for m, _ in kept),
        covariates={
            name: np.array([number(m.record.covariates.get(name)) for m, _ in kept])
            for name in names
        },
        samples=np.concatenate([values for _, values in kept]),
        sizes=np.array([values.size for _, values in kept], dtype=np.int64),
        session=np.array(session, dtype=np.int64),
        cores=tuple(cores[id(m.ranks)] for m, _ in kept) if any(cores.values()) else (),
    )


def headline(kernel: Kernel | None, metrics: Sequence[Metric]) -> Metric:
    """The kernel's headline metric, else (also for an unknown kernel) the first metric."""
    found = kernel.metric(kernel.headline) if kernel is not None else None
    return found or metrics[0]


def _samples(measurement: Measurement, kernel: Kernel | None, metric: Metric) -> Floats | None:
    """The steady samples of a metric in its unit; None where they can't be determined."""
    record = measurement.record
    series = find_series(record, metric.series)
    if series is None:
        return None
    try:
        values = steady(record, series)
        if metric.quantity is not None and kernel is not None:
            if values.min() <= 0.0:
                return None
            return work_of(kernel, metric.quantity, measurement.cell, record.parameters) / values
    except (AssayError, LeftOut):
        return None
    return values


def _median(values: Floats, metric: Metric) -> float:
    """The median as in ``launch_value`` and the tables: of a rate, work over median time."""
    if metric.quantity is None:
        return float(np.median(values))
    return float(1.0 / np.median(1.0 / values))


def number(value: float | None) -> float:
    """The value; nan if there is none."""
    return float("nan") if value is None else value


def host_set(names: Iterable[str]) -> str:
    """The hosts in bracket notation, each once, in natural order: ``n[1-3]``."""
    return compress_hosts(sorted(set(names), key=natural))


def _cores(ranks: Sequence[RankRecord]) -> str:
    """The CPUs of all ranks' threads, by host where hosts differ."""
    of_host: dict[str, set[str]] = {}
    for rank in ranks:
        of_host.setdefault(rank.host, set()).update(f"cpu{cpu}" for cpu in rank.cpus)
    sets = list(of_host.values())
    if all(each == sets[0] for each in sets[1:]):
        return compress_hosts(sorted(sets[0], key=natural)) if sets else ""
    return compress_hosts(
        f"{host}:{cpu}"
        for host in sorted(of_host, key=natural)
        for cpu in sorted(of_host[host], key=natural)
    )


def _join(parts: Sequence[Repeats]) -> Repeats:
    first = parts[0]
    if len(parts) == 1:
        return first
    utc = np.concatenate([part.utc for part in parts])
    names = dict.fromkeys(name for part in parts for name in part.covariates)
    whole = all(part.sizes.size for part in parts)

    def joined(of: Callable[[Repeats], tuple[str, ...]]) -> tuple[str, ...]:
        """One entry per result, empty for the parts that have none; () if no part has any."""
        if not any(map(of, parts)):
            return ()
        return tuple(name for part in parts for name in of(part) or ("",) * len(part))

    together = replace(
        first,
        values=np.concatenate([part.values for part in parts]),
        utc=utc,
        run=tuple(name for part in parts for name in part.run),
        launch=tuple(name for part in parts for name in part.launch),
        hosts=tuple(name for part in parts for name in part.hosts),
        covariates={
            name: np.concatenate(
                [part.covariates.get(name, np.full(len(part), np.nan)) for part in parts]
            )
            for name in names
        },
        samples=np.concatenate([part.samples for part in parts]) if whole else np.empty(0),
        sizes=np.concatenate([p.sizes for p in parts]) if whole else np.empty(0, dtype=np.int64),
        session=np.concatenate([part.session_numbers() for part in parts]),
        cores=joined(lambda part: part.cores),
        beside=joined(lambda part: part.beside),
    )
    return together.take(np.argsort(utc, kind="stable"))
