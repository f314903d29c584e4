"""Computes exact totals over a whole trace, which the page shows next to its detailed windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.report.timeline.states import STATES
from assay.trace.events import Trace
from assay.trace.model import SourcePlace

_MOST_PLACES = 400  # maximum functions by call site that the page can search


def place_name(site: SourcePlace) -> str:
    """``function, file:line`` of a call site, or its file and return address."""
    file = site.file.rpartition("/")[2]
    if site.function and file:
        return f"{site.function}, {file}:{site.line}"
    if site.function or file:
        return site.function or f"{file}:{site.line}"
    return f"{site.image.rpartition('/')[2]}+{site.offset:#x}"


def state_times(trace: Trace, of_function: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Time (s) by rank and state."""
    times = np.zeros((len(trace.ranks), len(STATES)))
    for row, rank in enumerate(trace):
        lengths = rank.events.end - rank.events.begin
        times[row] = np.bincount(of_function[rank.events.function], lengths, len(STATES))
    return times


def place_totals(trace: Trace) -> list[dict[str, object]]:
    """Calls, time (s), first and longest call of each function and call site, the longest time
    first.
    """
    sites = max(len(trace.sites), 1)
    keys = len(trace.functions) * sites
    calls, times = np.zeros(keys, np.int64), np.zeros(keys)
    longest = np.full(keys, -1.0)
    where: dict[str, npt.NDArray[np.float64]] = {
        "longest": np.zeros((keys, 3)),
        "first": np.full((keys, 3), np.inf),
    }
    for rank in trace:
        events = rank.events
        if not len(events):
            continue
        key = events.function.astype(np.int64) * sites + events.site
        lengths = events.end - events.begin
        calls += np.bincount(key, events.count, keys).astype(np.int64)
        times += np.bincount(key, lengths, keys)
        order = np.lexsort((-lengths, key))
        tops = order[np.unique(key[order], return_index=True)[1]]
        firsts = np.unique(key, return_index=True)[1]
        for one in tops[lengths[tops] > longest[key[tops]]]:
            longest[key[one]] = lengths[one]
            where["longest"][key[one]] = rank.rank, events.begin[one], events.end[one]
        for one in firsts[events.begin[firsts] < where["first"][key[firsts], 1]]:
            where["first"][key[one]] = rank.rank, events.begin[one], events.end[one]
    chosen = np.argsort(-times, kind="stable")[:_MOST_PLACES]
    return [
        {
            "function": int(key // sites),
            "site": int(key % sites),
            "calls": int(calls[key]),
            "time": float(times[key]),
            **{name: _spot(where[name][key], trace.begin) for name in where},
        }
        for key in chosen
        if calls[key]
    ]


def _spot(values: Sequence[float] | npt.NDArray[np.float64], origin: float) -> list[float]:
    """Rank, begin and end of a call, in ns since the origin."""
    return [int(values[0]), round((values[1] - origin) * 1e9), round((values[2] - origin) * 1e9)]
