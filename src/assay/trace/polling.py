"""Loops of tests and probes that end with success, as the waiting that they are."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from assay.trace.calls import PROBES, TESTS, WAITS, chosen
from assay.trace.events import UNKNOWN_BYTES, Events

# What tells of its success by the requests that it completed, and what by ``received``.
_STATES = frozenset(("Request_get_status", "Parrived"))
_ASKING = _STATES | {"Iprobe", "Improbe", "Win_test"}
# s between a failed test and the next one, up to which the program does nothing else meanwhile: as
# the library decides which failed tests are one event (native/trace/events/tracer.cpp).
_LOOP = 11e-6
# Questions that follow each other closely, from which on it is a loop even if the scheduler stops
# it meanwhile, at most for some of its turns (s).
_MANY, _TURN = 16, 0.1


def joined_polls(events: Events, functions: tuple[str, ...], without_cpu: float = 0.0) -> Events:
    """The events with each loop of failed tests and probes, and the successful one that ends it, as
    one call.

    A program that asks again and again, whatever it asks for and from whatever place, until one of
    its questions is answered, waits for that; as one call it is analysed as MPI_Waitall or
    MPI_Probe would be. ``count`` has the number of questions. Tests with work between them stay
    apart. ``without_cpu``: s in which the rank could have run and had no CPU: a loop of many
    questions may have gaps of that length.
    """
    failed, found = _results(events, functions)
    # What only asks for a request's state is followed by what completes it.
    open_ = failed | (chosen(functions, _STATES)[events.function] & found)
    follows = np.append(_follows(events, open_, found, without_cpu), False)
    last = np.flatnonzero(~follows)
    # The loops that end with success, from their first question to the last one.
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
    without_cpu: float,
) -> npt.NDArray[np.bool_]:
    """Whether the event behind each one belongs to its loop."""
    gap = events.begin[1:] - events.end[:-1]
    asks = open_[:-1] & (open_ | found)[1:] & (events.thread[1:] == events.thread[:-1])
    close = asks & (gap < _LOOP)
    loop = np.concatenate([[0], np.cumsum(~close)])
    many = np.bincount(loop, weights=events.count)[loop] >= _MANY
    place = events.function.astype(np.int64) << 32 | events.site
    same = place[1:] == place[:-1]
    same[1:] |= place[2:] == place[:-2]  # two questions in turn
    far = asks & same & (many[1:] | many[:-1]) & (gap <= min(without_cpu, _TURN))
    return np.asarray(close | far)


def _results(
    events: Events, functions: tuple[str, ...]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which events are questions that failed, and which got what was asked for."""
    done = np.diff(events.completed_start) > 0
    asking = chosen(functions, _ASKING)[events.function]
    nothing = events.received == UNKNOWN_BYTES
    failed = (chosen(functions, TESTS)[events.function] & ~done) | (asking & nothing)
    ends = chosen(functions, TESTS | WAITS)[events.function] & done
    ends |= chosen(functions, PROBES)[events.function] & ~nothing
    return failed, ends | (asking & ~nothing)
