"""Loops of tests that end with success, as the waiting that they are."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from assay.trace.events import Events

_TESTS = frozenset({"Test", "Testall", "Testany", "Testsome"})
# s between a failed test and the next one, up to which the program does nothing else meanwhile: as
# the library decides which failed tests are one event (native/trace/events/tracer.cpp).
_LOOP = 11e-6


def joined_tests(events: Events, functions: tuple[str, ...]) -> Events:
    """The events with each loop of failed tests and the successful one that ends it as one call.

    A program that tests the same requests at the same place again and again, until they are
    complete, waits for them; as one call it is analysed as MPI_Waitall would be. ``count`` has the
    number of tests. Tests with work between them stay apart.
    """
    tests = np.array([name in _TESTS for name in functions], dtype=bool)[events.function]
    done = np.diff(events.completed_start) > 0
    loop = np.zeros(len(events), dtype=bool)
    loop[:-1] = (
        tests[:-1]
        & ~done[:-1]
        & done[1:]
        & (events.function[1:] == events.function[:-1])
        & (events.site[1:] == events.site[:-1])
        & (events.thread[1:] == events.thread[:-1])
        & (events.begin[1:] - events.end[:-1] < _LOOP)
    )
    if not loop.any():
        return events
    failed = np.flatnonzero(loop)
    begin, count = events.begin.copy(), events.count.copy()
    begin[failed + 1] = begin[failed]
    count[failed + 1] += count[failed]
    kept = ~loop
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
