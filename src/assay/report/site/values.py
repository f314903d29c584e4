"""The results of a machine's runs, kept between builds: tables are read once per run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.decoding import UNREADABLE
from assay.model.cell import Cell
from assay.plain_files import read_plain
from assay.records.store import RunFilter, Store
from assay.report.site.judging import JudgedHistory
from assay.report.site.model import Stamp
from assay.subjects.history.series import HistorySeries, OtherProcesses, read_series

# Number of runs whose tables are read at a time, which bounds the memory.
_AT_A_TIME = 1000
SeriesByCell = Mapping[tuple[str, str], HistorySeries]


class _StoredOthers(msgspec.Struct):
    """Arrays of ``OtherProcesses``."""

    seconds: bytes
    sampled: bytes
    spans: bytes
    cpus: bytes
    machines: bytes


class _StoredSeries(msgspec.Struct):
    """Arrays of ``HistorySeries``; ``runs``, ``hosts``: indices of names."""

    cell: Cell
    metric: str
    unit: str
    better: Literal["more", "less"]
    runs: bytes
    hosts: bytes
    utc: bytes
    values: bytes
    scatter: bytes
    counts: bytes
    others: _StoredOthers | None


class _StoredValues(msgspec.Struct):
    """The values of a machine: names of runs and hosts, and the series."""

    version: str
    system: str
    read: dict[str, Stamp]
    judgement: JudgedHistory | None
    runs: list[str]
    hosts: list[str]
    series: list[_StoredSeries]


@dataclass(frozen=True)
class MachineValues:
    """The results of a machine's runs, and the history that was judged from them."""

    #: The stamp of each run that was read, by its name as ``stored`` writes it.
    read: Mapping[str, Stamp] = field(default_factory=dict)
    #: By cell and metric.
    series: SeriesByCell = field(default_factory=dict)
    judgement: JudgedHistory | None = None


def stored_values(path: Path, version: str) -> MachineValues:
    """The values of the last build; none if they are of another version or can't be read."""
    try:
        found = msgspec.msgpack.decode(read_plain(path), type=_StoredValues)
        if found.version != version:
            return MachineValues()
        series = [_read(each, found) for each in found.series]
    except (OSError, IndexError, *UNREADABLE):
        return MachineValues()
    by_cell = {(each.cell.id, each.metric): each for each in series}
    return MachineValues(found.read, by_cell, found.judgement)


def encoded(values: MachineValues, system: str, version: str) -> bytes:
    """The content of the file that ``stored_values`` reads."""
    runs: dict[str, int] = {}
    hosts: dict[str, int] = {}
    parts = [_written(each, runs, hosts) for each in values.series.values()]
    stored = _StoredValues(
        version=version,
        system=system,
        read=dict(values.read),
        judgement=values.judgement,
        runs=list(runs),
        hosts=list(hosts),
        series=parts,
    )
    return msgspec.msgpack.encode(stored)


def with_runs(
    series: SeriesByCell, store: Path, system: str, names: Sequence[str]
) -> dict[tuple[str, str], HistorySeries]:
    """The series with the results of further runs of a store, named in order of time.

    Raises OSError or a PolarsError if a table can't be read.
    """
    found = dict(series)
    choice = RunFilter(system=system)
    for first in range(0, len(names), _AT_A_TIME):
        part = Store(store, only=names[first : first + _AT_A_TIME])
        for each in read_series(part, choice):
            key = (each.cell.id, each.metric)
            found[key] = found[key].joined(each) if key in found else each
    return found


def without_runs(
    series: SeriesByCell, gone: Collection[str]
) -> dict[tuple[str, str], HistorySeries]:
    """The series without the results of some runs."""
    if not gone:
        return dict(series)
    left = {}
    for key, each in series.items():
        kept = np.array([run not in gone for run in each.runs])
        if kept.any():
            left[key] = each if kept.all() else each.take(kept)
    return left


def _written(series: HistorySeries, runs: dict[str, int], hosts: dict[str, int]) -> _StoredSeries:
    others = series.others
    return _StoredSeries(
        cell=series.cell,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        runs=_indices(series.runs, runs),
        hosts=_indices(series.hosts, hosts),
        utc=series.utc.tobytes(),
        values=series.values.tobytes(),
        scatter=series.scatter.tobytes(),
        counts=series.counts.astype(np.int64).tobytes(),
        others=None
        if others is None
        else _StoredOthers(
            seconds=others.seconds.tobytes(),
            sampled=others.sampled.tobytes(),
            spans=others.spans.tobytes(),
            cpus=others.cpus.tobytes(),
            machines=others.machines.tobytes(),
        ),
    )


def _indices(names: Sequence[str], known: dict[str, int]) -> bytes:
    return np.array([known.setdefault(name, len(known)) for name in names], np.int32).tobytes()


def _read(stored: _StoredSeries, values: _StoredValues) -> HistorySeries:
    others = stored.others
    runs = np.frombuffer(stored.runs, np.int32).tolist()
    hosts = np.frombuffer(stored.hosts, np.int32).tolist()
    return HistorySeries(
        system=values.system,
        cell=stored.cell,
        metric=stored.metric,
        unit=stored.unit,
        better=stored.better,
        runs=tuple(map(values.runs.__getitem__, runs)),
        utc=_floats(stored.utc),
        values=_floats(stored.values),
        scatter=_floats(stored.scatter),
        counts=np.frombuffer(stored.counts, np.int64),
        hosts=tuple(map(values.hosts.__getitem__, hosts)),
        others=None
        if others is None
        else OtherProcesses(
            seconds=_floats(others.seconds),
            sampled=_floats(others.sampled),
            spans=np.frombuffer(others.spans, np.int64),
            cpus=_floats(others.cpus),
            machines=np.frombuffer(others.machines, np.int64),
        ),
    )


def _floats(content: bytes) -> Floats:
    return np.frombuffer(content, np.float64)
