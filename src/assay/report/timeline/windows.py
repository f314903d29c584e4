"""Chooses the time windows that a file of limited size keeps in full detail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.trace.events import Trace

_SAMPLES = 400_000  # maximum call begins from which the windows are computed
_MOST_WINDOWS = 8192
# Minimum windows in a file, so that each part of a run has some in detail.
_KEPT_WINDOWS = 64

Span = tuple[float, float]


def window_edges(trace: Trace, room: int) -> Floats:
    """Times (s) that divide a trace into windows with about the same number of calls.

    One window if the number of calls does not exceed ``room``.
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
    """The number of calls that begin in each window."""
    counts = np.zeros(max(len(edges) - 1, 1), np.int64)
    for rank in trace:
        passed = np.searchsorted(rank.events.begin, edges[1:-1])
        counts += np.diff(np.concatenate(([0], passed, [len(rank.events)])))
    return counts


def order_of_windows(edges: Floats, times: Iterable[float]) -> list[int]:
    """All windows, the most useful first: the first, the last, the windows at ``times`` in their
    order, then evenly over the run, in ever finer steps.
    """
    count = max(len(edges) - 1, 1)
    named = [0, count - 1]
    for time in times:
        at = int(np.searchsorted(edges, time, side="right")) - 1
        named.append(int(np.clip(at, 0, count - 1)))
    return list(dict.fromkeys([*named, *_evenly(count)]))


def _evenly(count: int) -> Iterable[int]:
    """0 … count-1 in van der Corput's order: each prefix covers the range evenly."""
    bits = max(count - 1, 1).bit_length()
    for number in range(1 << bits):
        reverse = int(f"{number:0{bits}b}"[::-1], 2)
        if reverse < count:
            yield reverse


def spans_of(edges: Floats, windows: Iterable[int]) -> list[Span]:
    """The windows as time spans. Adjacent windows are joined."""
    spans: list[Span] = []
    for window in sorted(windows):
        begin, end = float(edges[window]), float(edges[min(window + 1, len(edges) - 1)])
        if spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return spans


def fitting(order: Sequence[int], calls: npt.NDArray[np.int64], room: int) -> list[int]:
    """The first windows of ``order`` with at most ``room`` calls in total."""
    chosen, used = [], 0
    for window in order:
        if used + calls[window] <= room:
            chosen.append(window)
            used += int(calls[window])
    return chosen
