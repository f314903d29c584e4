"""Use over time of a log of any length, in windows that fit into memory.

A short log has one window. The events of a long log are distributed over windows of whole hours in
temporary files, sorted window by window, and kept there as steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.columns import ColumnTable, TableWriter, unnamed_file, unwritable
from assay.usage.period import HOUR
from assay.usage.timeline import StepFunction, occupied

# Number of events of a window, and the most windows; each window has an open file.
_EVENTS, _MOST_WINDOWS = 1 << 20, 500
_EVENT = np.dtype([("time", "d"), ("busy", "d"), ("chosen", "d")])


@dataclass(frozen=True)
class UseChunk:
    """A chunk of jobs: the amount ``busy`` from ``begin`` to ``end`` (finite), and its part
    ``chosen``."""

    begin: Floats
    end: Floats
    busy: Floats
    chosen: Floats
    #: Times of other events.
    times: Floats


@dataclass(frozen=True)
class Window:
    """Use from ``low`` to ``high`` (Unix s)."""

    low: float
    high: float
    #: Times at which something happened, ascending.
    events: Floats
    #: ``busy``, ``chosen``: amounts in use, valid between ``low`` and ``high``.
    busy: StepFunction
    chosen: StepFunction


class UseOverTime:
    """Windows in order of time, which together cover all time."""

    def __init__(self, windows: Sequence[Window], table: ColumnTable | None = None) -> None:
        self._windows = windows
        self._table = table
        self.most = max(float(w.busy.levels.max(initial=0.0)) for w in self.windows())

    def windows(self) -> Iterator[Window]:
        """Each window. Its arrays may be mapped from a file."""
        for each in self._windows:
            yield each
            if self._table is not None:
                self._table.release()

    def integral(self, of: Callable[[Window], StepFunction], edges: Floats) -> Floats:
        """Integral of an amount that depends on the use: amount × s between consecutive edges."""
        total: Floats = np.zeros(max(edges.size - 1, 0))
        for each in self.windows():
            if edges.size and each.low <= edges[-1] and each.high >= edges[0]:
                total += of(each).integral(np.clip(edges, each.low, each.high))
        return total


def use_over_time(chunks: Callable[[], Iterator[UseChunk]], length: int) -> UseOverTime:
    """The use by all jobs of ``length`` chunks."""
    if length == 1:
        return UseOverTime([_whole(next(chunks()))])
    hours: Ints = np.zeros(0, dtype=np.int64)
    for each in chunks():
        counts = np.bincount((_times(each) // HOUR).astype(np.int64), minlength=hours.size)
        counts[: hours.size] += hours
        hours = counts
    edges = _edges(hours)
    files = [unnamed_file() for _ in range(edges.size + 1)]
    try:
        for each in chunks():
            _distribute(each, edges, files)
    except OSError as error:
        raise unwritable(error) from None
    return _sorted(files, np.concatenate(([-np.inf], edges * HOUR, [np.inf])))


def _whole(chunk: UseChunk) -> Window:
    steps = []
    for amount in (chunk.busy, chunk.chosen):
        kept = amount > 0
        steps.append(occupied(chunk.begin[kept], chunk.end[kept], amount[kept]))
    return Window(-np.inf, np.inf, np.unique(_times(chunk)), *steps)


def _times(chunk: UseChunk) -> Floats:
    return np.concatenate((chunk.begin, chunk.end, chunk.times))


def _edges(hours: Ints) -> Ints:
    """Hours at which windows end, so that each window has about ``_EVENTS`` events."""
    before = np.cumsum(hours)
    size = max(_EVENTS, int(before[-1]) // _MOST_WINDOWS + 1) if before.size else _EVENTS
    return np.flatnonzero(np.diff(before // size) > 0) + 1


def _distribute(chunk: UseChunk, edges: Ints, files: Sequence[IO[bytes]]) -> None:
    none = np.zeros(chunk.times.size)
    events = np.empty(2 * chunk.begin.size + chunk.times.size, dtype=_EVENT)
    events["time"] = _times(chunk)
    for name, amount in (("busy", chunk.busy), ("chosen", chunk.chosen)):
        events[name] = np.concatenate((amount, -amount, none))
    place = np.searchsorted(edges * HOUR, events["time"], side="right").astype(np.uint16)
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(len(files) + 1))
    for file, low, high in zip(files, bounds[:-1], bounds[1:], strict=True):
        if high > low:
            file.write(events[order[low:high]].tobytes())


def _sorted(files: Sequence[IO[bytes]], edges: Floats) -> UseOverTime:
    writer = TableWriter({"time": "d", "busy": "d", "chosen": "d"})
    levels = {"busy": 0.0, "chosen": 0.0}
    places = []
    for file in files:
        file.seek(0)
        events = np.frombuffer(file.read(), dtype=_EVENT)
        file.close()
        order = np.argsort(events["time"], kind="stable")
        times = events["time"][order]
        last = np.flatnonzero(np.append(np.diff(times) > 0, True)) if times.size else order
        block = {"time": times[last]}
        before = dict(levels)
        for name in levels:
            # Amounts are whole numbers, so that sums are exact.
            block[name] = before[name] + np.cumsum(events[name][order])[last]
            if last.size:
                levels[name] = float(block[name][-1])
        places.append((len(writer), len(writer) + last.size, before))
        writer.append(block)
    table = writer.finish()
    windows = []
    for (low, high, before), begin, end in zip(places, edges[:-1], edges[1:], strict=True):
        times, busy, chosen = (
            np.asarray(table.columns[name][low:high], dtype=np.float64)
            for name in ("time", "busy", "chosen")
        )
        windows.append(
            Window(
                float(begin),
                float(end),
                times,
                StepFunction(times, busy, before["busy"]),
                StepFunction(times, chosen, before["chosen"]),
            )
        )
    return UseOverTime(windows, table)
