"""Results over many runs: one value per run and cell, and the machine at each run's start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.errors import AssayError
from assay.hostnames import expand_hosts
from assay.kernels.naming import cell_title
from assay.model.cell import Cell
from assay.records.directory import Facts, RunDirectory
from assay.stats.cells.contention import Contention
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.stored_repeats import repeats_in
from assay.subjects.history.snapshots import Snapshot, snapshot

if TYPE_CHECKING:
    from assay.records.store import RunFilter, Store

_DAY = 86400.0
# Standard error of the median × √n / median absolute deviation, for normal values.
_MEDIAN_ERROR = 1.2533 * 1.4826


@dataclass(frozen=True)
class OtherProcesses:
    """CPU time of processes other than the ranks, one entry per run, all machines together."""

    #: CPU time of the other processes (s) during the ``sampled`` time (s) of the run's ``spans``
    #: measurements.
    seconds: Floats
    sampled: Floats
    spans: npt.NDArray[np.int64]
    #: Number of hardware threads; nan if unknown.
    cpus: Floats
    #: Number of hosts.
    machines: npt.NDArray[np.int64]

    def within(self, first: int, stop: int) -> Contention | None:
        """The contention during the runs from ``first`` to before ``stop``; None if unknown."""
        part = slice(first, stop)
        sampled = float(self.sampled[part].sum())
        if sampled <= 0.0:
            return None
        cpus = self.cpus[part]
        return Contention(
            busy=float(self.seconds[part].sum()) / sampled,
            seconds=float(self.seconds[part].sum()),
            cpus=None if np.isnan(cpus).all() else round(float(np.nanmax(cpus))),
            machines=int(self.machines[part].max()),
            spans=int(self.spans[part].sum()),
        )


@dataclass(frozen=True)
class HistorySeries:
    """One cell on one machine, one value per run; all arrays are in order of time.

    A run that measured a cell over more than a day has one value per day.
    """

    system: str
    cell: Cell
    metric: str
    unit: str
    better: Literal["more", "less"]
    runs: tuple[str, ...]
    utc: Floats
    #: Median of each run's measurements, in ``unit``.
    values: Floats
    #: Standard errors of the medians; nan for fewer than three measurements.
    scatter: Floats
    #: Number of each run's measurements.
    counts: npt.NDArray[np.int64]
    hosts: tuple[str, ...]
    #: CPU time of other processes; None if it was not recorded.
    others: OtherProcesses | None = None

    @property
    def label(self) -> str:
        """The cell's title, with its toolchain."""
        return label_of(self.cell)


def label_of(cell: Cell) -> str:
    """A cell's title, with its toolchain."""
    return f"{cell_title(cell)} · {cell.toolchain}"


def read_series(store: Store, choice: RunFilter) -> list[HistorySeries]:
    """Each cell of each machine over the selected runs, in the order of the first measurements.

    Machines are distinguished by their names. Results of a cell are compared across versions of its
    toolchain, because a new version can cause a change.
    """
    from dataclasses import replace

    systems = [choice.system]
    if choice.system is None:
        systems = list(dict.fromkeys(summary.system for _, summary in store.complete(choice)))
    return [
        each
        for system in systems
        if system is not None
        for repeats in repeats_in(store, replace(choice, system=system))
        if (each := by_run(repeats, system)) is not None
    ]


def by_run(repeats: Repeats, system: str) -> HistorySeries | None:
    """The series of a cell's measurements; None if none is above zero."""
    usable = repeats.values > 0.0
    if not usable.any():
        return None
    if not usable.all():
        repeats = repeats.take(usable)
    names: dict[str, int] = {}
    run = np.array([names.setdefault(name, len(names)) for name in repeats.run])
    began = np.full(len(names), np.inf)
    np.minimum.at(began, run, repeats.utc)
    day = ((repeats.utc - began[run]) // _DAY).astype(np.int64)
    unit, which = np.unique(run * (int(day.max()) + 1) + day, return_inverse=True)
    counts = np.bincount(which)
    values = _medians(repeats.values, which, counts)
    off = np.abs(repeats.values - values[which])
    scatter = _MEDIAN_ERROR * _medians(off, which, counts) / np.sqrt(counts)
    utc = np.full(unit.size, np.inf)
    np.minimum.at(utc, which, repeats.utc)
    first = np.full(unit.size, len(repeats))
    np.minimum.at(first, which, np.arange(len(repeats)))
    order = np.argsort(utc, kind="stable")
    return HistorySeries(
        system=system,
        cell=repeats.cell,
        metric=repeats.metric,
        unit=repeats.unit,
        better=repeats.better,
        runs=tuple(repeats.run[i] for i in first[order]),
        utc=utc[order],
        values=values[order],
        scatter=np.where(counts >= 3, scatter, np.nan)[order],
        counts=counts[order],
        hosts=tuple(repeats.hosts[i] for i in first[order]),
        others=_others(repeats, which, first, order),
    )


def _others(
    repeats: Repeats,
    which: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
) -> OtherProcesses | None:
    """``which``: the run of each measurement; ``first``: the first measurement of each run."""
    seconds = repeats.covariates.get("other_cpu_seconds")
    sampled = repeats.covariates.get("sampling_seconds")
    if seconds is None or sampled is None:
        return None
    known = np.isfinite(seconds) & np.isfinite(sampled)
    cpus = np.full(order.size, -np.inf)
    online = repeats.covariates.get("online_cpus")
    if online is not None:
        np.maximum.at(cpus, which, np.where(np.isnan(online), -np.inf, online))

    def summed(values: Floats) -> Floats:
        return np.asarray(
            np.bincount(which, np.where(known, values, 0.0), minlength=order.size)[order],
            dtype=np.float64,
        )

    hosts = {text: _number_of_hosts(text) for text in set(repeats.hosts)}
    return OtherProcesses(
        seconds=summed(seconds),
        sampled=summed(sampled),
        spans=summed(np.ones(known.size)).astype(np.int64),
        cpus=np.where(np.isfinite(cpus), cpus, np.nan)[order],
        machines=np.array([hosts[repeats.hosts[i]] for i in first[order]], dtype=np.int64),
    )


def _number_of_hosts(text: str) -> int:
    """1 where the names are unknown or can't be counted."""
    try:
        return max(len(expand_hosts(text)), 1) if text else 1
    except AssayError:
        return 1


def _medians(values: Floats, which: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> Floats:
    """The median of each group's values."""
    ordered = values[np.lexsort((values, which))]
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    low, high = begin + (counts - 1) // 2, begin + counts // 2
    return np.asarray((ordered[low] + ordered[high]) / 2.0)


class Machines:
    """Snapshots of the machines at the start of runs; each manifest is read once."""

    def __init__(self, directories: Iterable[RunDirectory]) -> None:
        self._directories = {run.name: run for run in directories}
        self._facts: dict[str, Facts | None] = {}

    def snapshots(self, series: HistorySeries, places: Sequence[int]) -> list[Snapshot]:
        """The snapshots of a series' runs at these indices; unreadable ones are left out."""
        found = []
        for place in places:
            facts = self._read(series.runs[place])
            if facts is not None:
                toolchain = facts.toolchains.get(series.cell.toolchain)
                hosts = series.hosts[place]
                found.append(snapshot(facts.system, toolchain, assay=facts.assay, hosts=hosts))
        return found

    def _read(self, run: str) -> Facts | None:
        if run not in self._facts:
            try:
                self._facts[run] = self._directories[run].facts()
            except (AssayError, KeyError):
                self._facts[run] = None
        return self._facts[run]
