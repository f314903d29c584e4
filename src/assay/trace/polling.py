"""Loops of tests and probes that end with success, as the waiting that they represent."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from assay.trace.calls import PROBES, TESTS, WAITS, chosen
from assay.trace.events import UNKNOWN_BYTES, Events

# Calls whose success shows in the requests that they completed, and calls whose success shows in
# ``received``.
_STATES = frozenset(("Request_get_status", "Parrived"))
_ASKING = _STATES | {"Iprobe", "Improbe", "Win_test"}
# Longest time between a failed test and the next one in which the program does nothing else, s. The
# library uses the same value to combine failed tests into one event
# (native/trace/events/tracer.cpp).
_LOOP = 11e-6
# This many questions in quick succession are a loop even if the scheduler stops it in between, for
# at most this time (some of its turns, s) or this share of the loop: the library itself yields to
# others.
_MANY, _TURN, _SHARE = 16, 0.1, 0.1
# Longest time from the answer that a request is complete to the call that completes it, s.
_COMPLETES = 1e-4


def joined_polls(events: Events, functions: tuple[str, ...], without_cpu: float = 0.0) -> Events:
    """The events, with each loop of failed tests and probes joined with the successful one that
    ends it.

    A program that asks repeatedly, for anything and from any place, until one question is answered,
    waits for the answer. As one call, the loop is analysed like MPI_Waitall or MPI_Probe. ``count``
    has the number of questions. Tests with work between them stay separate. ``without_cpu``: time
    in which the rank could have run but had no CPU, s. A loop of many questions may have gaps of
    this length.
    """
    if not len(events):
        return events
    failed, found = _results(events, functions)
    # A call that only asks for a request's state is followed by the call that completes it.
    states = chosen(functions, _STATES)[events.function] & found
    completes = np.append(
        states[:-1] & chosen(functions, TESTS | WAITS)[events.function[1:]], False
    )
    follows = _follows(events, failed | states, found, completes, without_cpu)
    last = np.flatnonzero(~follows)
    # The loops that end with success, from the first question to the last.
    first = np.concatenate([[0], last[:-1] + 1])
    real = (last > first) & found[last]
    first, last = first[real], last[real]
    if not len(last):
        return events
    begin, count = events.begin.copy(), events.count.copy()
    begin[last] = begin[first]
    sums = np.concatenate([[0], np.cumsum(events.count, dtype=np.int64)])
    count[last] = sums[last + 1] - sums[first]
    edges = np.zeros(len(events) + 1, dtype=np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, last, -1)
    kept = np.cumsum(edges[:-1]) == 0
    changed = replace(events, begin=begin, count=count)
    columns = {
        one.name: getattr(changed, one.name)[kept]
        for one in fields(Events)
        if not one.name.startswith("completed")
    }
    start = events.completed_start
    return Events(
        **columns,
        completed_start=np.append(start[:-1][kept], start[-1]),
        completed_request=events.completed_request,
    )


def _follows(
    events: Events,
    open_: npt.NDArray[np.bool_],
    found: npt.NDArray[np.bool_],
    completes: npt.NDArray[np.bool_],
    without_cpu: float,
) -> npt.NDArray[np.bool_]:
    """Whether the next event belongs to each event's loop. ``completes``: whether the next event
    completes the request that the event asked for.
    """
    gap = events.begin[1:] - events.end[:-1]
    asks = open_[:-1] & (open_ | found)[1:] & (events.thread[1:] == events.thread[:-1])
    close = asks & (gap < _LOOP)
    loop = np.concatenate([[0], np.cumsum(~close)])
    many = np.bincount(loop, weights=events.count)[loop] >= _MANY
    first = np.flatnonzero(np.diff(loop, prepend=-1))
    last = np.append(first[1:], len(loop)) - 1
    length = (events.end[last] - events.begin[first])[loop] * many
    most = np.maximum(min(without_cpu, _TURN), _SHARE * np.maximum(length[1:], length[:-1]))
    place = events.function.astype(np.int64) << 32 | events.site
    same = place[1:] == place[:-1]
    same[1:] |= place[2:] == place[:-2]  # two questions in turn
    far = asks & same & (many[1:] | many[:-1]) & (gap <= most)
    far |= asks & completes[:-1] & (gap <= _COMPLETES)
    return np.append(close | far, False)


def _results(
    events: Events, functions: tuple[str, ...]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which events are failed questions, and which are successful ones."""
    done = np.diff(events.completed_start) > 0
    asking = chosen(functions, _ASKING)[events.function]
    nothing = events.received == UNKNOWN_BYTES
    failed = (chosen(functions, TESTS)[events.function] & ~done) | (asking & nothing)
    ends = chosen(functions, TESTS | WAITS)[events.function] & done
    ends |= chosen(functions, PROBES)[events.function] & ~nothing
    return failed, ends | (asking & ~nothing)
