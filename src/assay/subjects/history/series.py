"""Results over many runs: one value per run and cell, and the machine at each run's start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
from assay.stats.repeats.run_values import RunValues, above_zero, run_values
from assay.stats.repeats.stored_repeats import repeats_in
from assay.subjects.history.snapshots import Snapshot, snapshot

if TYPE_CHECKING:
    from assay.records.store import RunFilter, Store


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

    def take(self, which: npt.ArrayLike) -> HistorySeries:
        """The series with the chosen values, by a mask or by indices in the requested order."""
        chosen = np.arange(len(self.runs))[np.asarray(which)]
        places = chosen.tolist()
        others = self.others
        return replace(
            self,
            runs=tuple(map(self.runs.__getitem__, places)),
            utc=self.utc[chosen],
            values=self.values[chosen],
            scatter=self.scatter[chosen],
            counts=self.counts[chosen],
            hosts=tuple(map(self.hosts.__getitem__, places)),
            others=None
            if others is None
            else OtherProcesses(
                seconds=others.seconds[chosen],
                sampled=others.sampled[chosen],
                spans=others.spans[chosen],
                cpus=others.cpus[chosen],
                machines=others.machines[chosen],
            ),
        )

    def first(self, count: int) -> HistorySeries:
        """The series with its first ``count`` values."""
        if count >= len(self.runs):
            return self
        others = self.others
        return replace(
            self,
            runs=self.runs[:count],
            utc=self.utc[:count],
            values=self.values[:count],
            scatter=self.scatter[:count],
            counts=self.counts[:count],
            hosts=self.hosts[:count],
            others=None
            if others is None
            else OtherProcesses(
                seconds=others.seconds[:count],
                sampled=others.sampled[:count],
                spans=others.spans[:count],
                cpus=others.cpus[:count],
                machines=others.machines[:count],
            ),
        )

    def joined(self, more: HistorySeries) -> HistorySeries:
        """The same cell with the values of further runs, in order of time."""
        whole = replace(
            self,
            runs=self.runs + more.runs,
            utc=np.concatenate([self.utc, more.utc]),
            values=np.concatenate([self.values, more.values]),
            scatter=np.concatenate([self.scatter, more.scatter]),
            counts=np.concatenate([self.counts, more.counts]),
            hosts=self.hosts + more.hosts,
            others=_joined_others(self, more),
        )
        if np.all(whole.utc[1:] >= whole.utc[:-1]):
            return whole
        return whole.take(np.argsort(whole.utc, kind="stable"))


def _joined_others(before: HistorySeries, after: HistorySeries) -> OtherProcesses | None:
    """The other processes of both; nothing was recorded where a series has none."""
    if before.others is None and after.others is None:
        return None
    parts = [each.others or _unrecorded(each) for each in (before, after)]
    return OtherProcesses(
        seconds=np.concatenate([each.seconds for each in parts]),
        sampled=np.concatenate([each.sampled for each in parts]),
        spans=np.concatenate([each.spans for each in parts]),
        cpus=np.concatenate([each.cpus for each in parts]),
        machines=np.concatenate([each.machines for each in parts]),
    )


def _unrecorded(series: HistorySeries) -> OtherProcesses:
    """As for measurements without this covariate: nothing was sampled."""
    nothing = np.zeros(series.utc.size)
    return OtherProcesses(
        seconds=nothing,
        sampled=nothing,
        spans=series.counts,
        cpus=np.full(series.utc.size, np.nan),
        machines=np.array([_number_of_hosts(text) for text in series.hosts], dtype=np.int64),
    )


def label_of(cell: Cell) -> str:
    """A cell's title, with its toolchain."""
    return f"{cell_title(cell)} · {cell.toolchain}"


def read_series(store: Store, choice: RunFilter) -> list[HistorySeries]:
    """Each cell of each machine over the selected runs, in the order of the first measurements.

    Machines are distinguished by their names. Results of a cell are compared across versions of its
    toolchain, because a new version can cause a change.
    """
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
    repeats = above_zero(repeats)
    found = run_values(repeats)
    if found is None:
        return None
    return HistorySeries(
        system=system,
        cell=repeats.cell,
        metric=repeats.metric,
        unit=repeats.unit,
        better=repeats.better,
        runs=found.runs,
        utc=found.utc,
        values=found.values,
        scatter=found.scatter,
        counts=found.counts,
        hosts=tuple(repeats.hosts[i] for i in found.first),
        others=_others(repeats, found),
    )


def _others(repeats: Repeats, found: RunValues) -> OtherProcesses | None:
    seconds = repeats.covariates.get("other_cpu_seconds")
    sampled = repeats.covariates.get("sampling_seconds")
    if seconds is None or sampled is None:
        return None
    known = np.isfinite(seconds) & np.isfinite(sampled)
    cpus = np.full(found.utc.size, -np.inf)
    online = repeats.covariates.get("online_cpus")
    if online is not None:
        np.maximum.at(cpus, found.which, np.where(np.isnan(online), -np.inf, online))

    def summed(values: Floats) -> Floats:
        return np.asarray(
            np.bincount(found.which, np.where(known, values, 0.0), minlength=found.utc.size),
            dtype=np.float64,
        )

    hosts = {text: _number_of_hosts(text) for text in set(repeats.hosts)}
    return OtherProcesses(
        seconds=summed(seconds),
        sampled=summed(sampled),
        spans=summed(np.ones(known.size)).astype(np.int64),
        cpus=np.where(np.isfinite(cpus), cpus, np.nan),
        machines=np.array([hosts[repeats.hosts[i]] for i in found.first], dtype=np.int64),
    )


def _number_of_hosts(text: str) -> int:
    """1 where the names are unknown or can't be counted."""
    try:
        return max(len(expand_hosts(text)), 1) if text else 1
    except AssayError:
        return 1


class Machines:
    """Snapshots of the machines at the start of runs; each manifest is read once."""

    def __init__(self, directories: Iterable[RunDirectory] | Path) -> None:
        """``directories``: of the runs, or the folder that contains them."""
        self._folder = directories if isinstance(directories, Path) else None
        self._directories = (
            {} if isinstance(directories, Path) else {run.name: run for run in directories}
        )
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
                self._facts[run] = self._directory(run).facts()
            except (AssayError, KeyError):
                self._facts[run] = None
        return self._facts[run]

    def _directory(self, run: str) -> RunDirectory:
        return RunDirectory(self._folder / run) if self._folder else self._directories[run]
