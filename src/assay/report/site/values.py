"""The results of a machine's runs, kept between builds: tables are read once per run."""

from __future__ import annotations

import hashlib
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
from assay.report.site.judging import SiteJudgement
from assay.report.site.model import Stamp
from assay.subjects.history.series import HistorySeries, OtherProcesses, read_series

# Number of runs whose tables are read at a time, which bounds the memory.
_AT_A_TIME = 1000
# Length of the digest at the beginning of a file.
_DIGEST = 16
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
    judgement: SiteJudgement | None
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
    judgement: SiteJudgement | None = None


def stored_values(path: Path, version: str) -> MachineValues:
    """The values of the last build; none if they are of another version, or damaged."""
    try:
        content = memoryview(read_plain(path))
        if content[:_DIGEST] != _digest(content[_DIGEST:]):
            return MachineValues()
        found = msgspec.msgpack.decode(content[_DIGEST:], type=_StoredValues)
        if found.version != version:
            return MachineValues()
        runs, hosts = _Indices(found.runs), _Indices(found.hosts)
        series = [_read(each, found.system, runs, hosts) for each in found.series]
    except (OSError, IndexError, *UNREADABLE):
        return MachineValues()
    by_cell = {(each.cell.id, each.metric): each for each in series}
    return MachineValues(found.read, by_cell, found.judgement)


def encoded(values: MachineValues, system: str, version: str) -> bytes:
    """The content of the file that ``stored_values`` reads."""
    runs, hosts = _Names(), _Names()
    parts = [_written(each, runs, hosts) for each in values.series.values()]
    stored = _StoredValues(
        version=version,
        system=system,
        read=dict(values.read),
        judgement=values.judgement,
        runs=list(runs.places),
        hosts=list(hosts.places),
        series=parts,
    )
    content = msgspec.msgpack.encode(stored)
    return _digest(content) + content


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


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


def _written(series: HistorySeries, runs: _Names, hosts: _Names) -> _StoredSeries:
    others = series.others
    return _StoredSeries(
        cell=series.cell,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        runs=runs.indices(series.runs),
        hosts=hosts.indices(series.hosts),
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


class _Names:
    """Names by the order in which they occur. Most cells have the same runs and the same hosts."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._known: dict[tuple[str, ...], bytes] = {}

    def indices(self, names: tuple[str, ...]) -> bytes:
        """The indices of these names."""
        if names not in self._known:
            places = [self.places.setdefault(name, len(self.places)) for name in names]
            self._known[names] = np.array(places, np.int32).tobytes()
        return self._known[names]


class _Indices:
    """The inverse of ``_Names``: cells with the same names share them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._known: dict[bytes, tuple[str, ...]] = {}

    def names(self, indices: bytes) -> tuple[str, ...]:
        """The names with these indices."""
        if indices not in self._known:
            places = np.frombuffer(indices, np.int32).tolist()
            self._known[indices] = tuple(map(self._names.__getitem__, places))
        return self._known[indices]


def _read(stored: _StoredSeries, system: str, runs: _Indices, hosts: _Indices) -> HistorySeries:
    others = stored.others
    return HistorySeries(
        system=system,
        cell=stored.cell,
        metric=stored.metric,
        unit=stored.unit,
        better=stored.better,
        runs=runs.names(stored.runs),
        utc=_floats(stored.utc),
        values=_floats(stored.values),
        scatter=_floats(stored.scatter),
        counts=np.frombuffer(stored.counts, np.int64),
        hosts=hosts.names(stored.hosts),
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
