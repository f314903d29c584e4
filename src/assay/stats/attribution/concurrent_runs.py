"""Concurrent runs: kernels that other runs measured on the same host at the same time.

A single run makes one launch after the other on a node. Several runs may share a node: jobs on
shared nodes, runs of a group on the same host, two users of one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats
from assay.records.model import Measurement, RunData
from assay.records.summary import last_moment
from assay.stats.repeats.repeats import Repeats

# Run, launch and time of a measurement, which identify a result of ``Repeats``.
Key = tuple[str, str, float]


@dataclass(frozen=True)
class _Busy:
    """One run's measurements on one host: ``begins`` ascending (s), ``ends`` cumulative maxima."""

    begins: Floats
    ends: Floats
    kernels: tuple[str, ...]

    def during(self, begin: float, end: float) -> set[str]:
        """The kernels that were measured at any time between these two times."""
        first = int(np.searchsorted(self.ends, begin, side="right"))
        last = int(np.searchsorted(self.begins, end, side="left"))
        return set(self.kernels[first:last])


def measured_beside(runs: Sequence[RunData]) -> dict[Key, str]:
    """For each measurement the kernels that other runs measured on one of its hosts at the same
    time, such as "memory.stream, npb.ep". Measurements without any are not among the keys.
    """
    if len(runs) < 2:
        return {}
    spans = [_span(run) for run in runs]
    found: dict[Key, str] = {}
    known: dict[int, Mapping[str, _Busy]] = {}
    for place, run in enumerate(runs):
        others = [
            other
            for other, span in enumerate(spans)
            if other != place and span[0] < spans[place][1] and spans[place][0] < span[1]
        ]
        if not others:
            continue
        for other in others:
            if other not in known:
                known[other] = _busy(runs[other])
        for measurement in run.measurements:
            names: set[str] = set()
            begin, end = _when(measurement)
            for host in {rank.host for rank in measurement.ranks}:
                for other in others:
                    if host in known[other]:
                        names |= known[other][host].during(begin, end)
            if names:
                key = (run.manifest.run, measurement.launch, measurement.utc)
                found[key] = ", ".join(sorted(names))
    return found


def with_beside(repeats: Sequence[Repeats], found: Mapping[Key, str]) -> list[Repeats]:
    """The repeats with the results of ``measured_beside`` as ``beside``."""
    if not found:
        return list(repeats)
    return [replace(each, beside=tuple(_of(each, found))) for each in repeats]


def _of(repeats: Repeats, found: Mapping[Key, str]) -> Iterator[str]:
    times = repeats.utc.tolist()
    for run, launch, utc in zip(repeats.run, repeats.launch, times, strict=True):
        yield found.get((run, launch, utc), "")


def _when(measurement: Measurement) -> tuple[float, float]:
    return measurement.utc, measurement.utc + measurement.record.wall


def _span(run: RunData) -> tuple[float, float]:
    return min((m.utc for m in run.measurements), default=0.0), last_moment(run) or 0.0


def _busy(run: RunData) -> dict[str, _Busy]:
    """The run's measurements on each of its hosts."""
    of_host: dict[str, list[Measurement]] = {}
    for measurement in sorted(run.measurements, key=lambda m: m.utc):
        for host in {rank.host for rank in measurement.ranks}:
            of_host.setdefault(host, []).append(measurement)
    return {
        host: _Busy(
            np.array([m.utc for m in those]),
            np.maximum.accumulate(np.array([m.utc + m.record.wall for m in those])),
            tuple(m.cell.kernel for m in those),
        )
        for host, those in of_host.items()
    }
