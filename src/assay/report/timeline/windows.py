"""Which windows of time are kept in full detail, so that a file of limited size holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.trace.events import Trace

_SAMPLES = 400_000  # begins of calls that the windows are derived from
_MOST_WINDOWS = 8192
# A file holds at least this many windows, so that each part of a run has some in detail.
_KEPT_WINDOWS = 64

Span = tuple[float, float]


def window_edges(trace: Trace, room: int) -> Floats:
    """Times (s) that divide a trace into windows of about equally many calls.

    One window if all calls find room, which is a number of calls.
    """
    total = len(trace)
    count = int(np.clip(np.ceil(total / max(room, 1) * _KEPT_WINDOWS), 1, _MOST_WINDOWS))
    if total <= room:
        count = 1
    step = max(total // _SAMPLES, 1)
    begins = np.concatenate([rank.events.begin[::step] for rank in trace])
    inner = np.quantile(begins, np.linspace(0, 1, count + 1)[1:-1]) if len(begins) else []
    return np.unique(np.concatenate(([trace.begin], inner, [trace.end])))


def calls_per_window(trace: Trace, edges: Floats) -> npt.NDArray[np.int64]:
    """How many calls begin in each window."""
    counts = np.zeros(max(len(edges) - 1, 1), np.int64)
    for rank in trace:
        passed = np.searchsorted(rank.events.begin, edges[1:-1])
        counts += np.diff(np.concatenate(([0], passed, [len(rank.events)])))
    return counts


def order_of_windows(edges: Floats, times: Iterable[float]) -> list[int]:
    """All windows, the most useful first: the first, the last, those at ``times`` in their order,
    then evenly over the run, ever finer.
    """
    count = max(len(edges) - 1, 1)
    named = [0, count - 1]
    for time in times:
        at = int(np.searchsorted(edges, time, side="right")) - 1
        named.append(int(np.clip(at, 0, count - 1)))
    return list(dict.fromkeys([*named, *_evenly(count)]))


def _evenly(count: int) -> Iterable[int]:
    """0 … count-1 in van der Corput's order: each prefix lies evenly over the range."""
    bits = max(count - 1, 1).bit_length()
    for number in range(1 << bits):
        reverse = int(f"{number:0{bits}b}"[::-1], 2)
        if reverse < count:
            yield reverse


def spans_of(edges: Floats, windows: Iterable[int]) -> list[Span]:
    """The windows as spans of time; neighbours are joined."""
    spans: list[Span] = []
    for window in sorted(windows):
        begin, end = float(edges[window]), float(edges[min(window + 1, len(edges) - 1)])
        if spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return spans


def fitting(order: Sequence[int], calls: npt.NDArray[np.int64], room: int) -> list[int]:
    """The first windows of ``order`` that together have at most ``room`` calls."""
    chosen, used = [], 0
    for window in order:
        if used + calls[window] <= room:
            chosen.append(window)
            used += int(calls[window])
    return chosen
