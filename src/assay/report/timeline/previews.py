"""Computes shares of states per rank and time bin: exact sums over all calls.

The idea comes from SLOG-2 (Chan, Gropp, Lusk: An efficient format for nearly constant-time access
to arbitrary time intervals in large trace files. Scientific Programming 16, 2008): a view that is
too wide for single calls shows the share of each state in each interval. SLOG-2 stores previews at
each level of a tree; here the finest level is stored, and the page sums it over any rectangle of
time and ranks by a summed-area table (Crow: Summed-area tables for texture mapping. SIGGRAPH 1984).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.report.timeline.states import STATES
from assay.trace.events import Events, Trace

WHOLE = 255  # a share of 1 as a byte
_MOST_BINS = 8192
_LEAST_BINS = 64


def bins_for(ranks: int, states: int, cells: int) -> int:
    """The number of time bins that gives about ``cells`` shares in total."""
    return int(np.clip(cells // max(ranks * states, 1), _LEAST_BINS, _MOST_BINS))


def used_states(trace: Trace, of_function: npt.NDArray[np.uint8]) -> list[int]:
    """The states that occur in the trace."""
    used = np.zeros(len(STATES), bool)
    for rank in trace:
        used[of_function[np.flatnonzero(np.bincount(rank.events.function))]] = True
    return [int(state) for state in np.flatnonzero(used)]


def state_shares(
    trace: Trace, of_function: npt.NDArray[np.uint8], states: list[int], bins: int
) -> npt.NDArray[np.uint8]:
    """Shares by state, rank and bin, in units of 1/255.

    Calls of several threads are added. If their sum exceeds the time of a bin, the shares refer to
    the sum.
    """
    edges = np.linspace(trace.begin, trace.end, bins + 1)
    width = max((trace.end - trace.begin) / bins, 1e-300)
    shares = np.zeros((len(states), len(trace.ranks), bins), np.uint8)
    for row, rank in enumerate(trace):
        of_call = of_function[rank.events.function]
        times = np.array([_inside(rank.events, of_call == state, edges) for state in states])
        part = np.clip(times / width, 0.0, None).reshape(len(states), bins)
        part /= np.maximum(part.sum(axis=0), 1.0)
        # Cumulative sums are rounded, so that the states of a bin never exceed the whole.
        sums = np.rint(np.cumsum(part, axis=0) * WHOLE)
        shares[:, row] = np.diff(sums, axis=0, prepend=0.0)
    return shares


def _inside(events: Events, chosen: npt.NDArray[np.bool_], edges: Floats) -> Floats:
    """Time (s) within the chosen calls, for each bin.

    The time in calls before t is the sum of t - begin over started calls, minus the sum of t - end
    over finished calls. This is also valid for overlapping calls.
    """
    begin = events.begin[chosen] - edges[0]
    end = np.sort(events.end[chosen] - edges[0])
    at = edges - edges[0]
    return np.diff(_since(np.sort(begin), at) - _since(end, at))


def _since(sorted_times: Floats, at: Floats) -> Floats:
    passed = np.searchsorted(sorted_times, at)
    sums = np.concatenate(([0.0], np.cumsum(sorted_times)))
    return passed * at - sums[passed]
