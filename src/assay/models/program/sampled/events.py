"""Events that were counted beside the samples, by function: cycles, cache misses, page faults.

What a thread's counters advance between two samples belongs to the function of the second one. This
is right if the function ran since the first one. Functions that alternate faster than a period
share their events in proportion to their time. The part of a function's events from periods that
began in another function bounds this error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.models.program.sampled.counts import CodePlace, function_of, seconds_each
from assay.trace.samples.model import Activity, ProgramSamples, ThreadSamples


@dataclass(frozen=True)
class FunctionEvents:
    """Events in one function, apart from those in its callees."""

    place: CodePlace
    #: Samples with counters, and the CPU time that they stand for, s.
    samples: int
    seconds: float
    #: The number of each event.
    events: tuple[float, ...]
    #: Share of these periods, by time, that began in another function.
    shared: float


@dataclass(frozen=True)
class CountedEvents:
    """Events by function, and the share of the time in which they were counted."""

    names: tuple[str, ...]
    functions: tuple[FunctionEvents, ...]
    #: Of all computing samples with counters.
    totals: tuple[float, ...]
    seconds: float
    counted: float


def count_events(samples: ProgramSamples) -> CountedEvents | None:
    """The events of computing samples, the functions with the most time first; None without."""
    if not samples.counters:
        return None
    number: dict[CodePlace, int] = {}
    place_of = [number.setdefault(function_of(one), len(number)) for one in samples.places]
    leaf = np.array([place_of[stack[-1]] if stack else -1 for stack in samples.stacks], np.int64)
    size, width = max(len(number), 1), len(samples.counters)
    sums, taken = np.zeros((size, width)), np.zeros(size)
    seconds, shared = np.zeros(size), np.zeros(size)
    counted = asked = 0.0
    for thread in samples.threads:
        row, mixed, events = _of_thread(thread, leaf)
        each = seconds_each(samples, thread)
        np.add.at(sums, row, events)
        np.add.at(taken, row, 1.0)
        np.add.at(seconds, row, each)
        np.add.at(shared, row, each * mixed)
        if not np.isnan(thread.counted):
            asked += len(thread.times) * each
            counted += len(thread.times) * each * thread.counted
    order = np.argsort(-seconds, kind="stable")
    places = list(number)
    return CountedEvents(
        names=samples.counters,
        functions=tuple(
            FunctionEvents(
                place=places[at],
                samples=int(taken[at]),
                seconds=float(seconds[at]),
                events=tuple(sums[at].tolist()),
                shared=float(shared[at] / seconds[at]),
            )
            for at in order.tolist()
            if taken[at]
        ),
        totals=tuple(sums.sum(axis=0).tolist()),
        seconds=float(seconds.sum()),
        counted=counted / asked if asked else float("nan"),
    )


def _of_thread(thread: ThreadSamples, leaf: Ints) -> tuple[Ints, Ints, Floats]:
    """Function of each computing sample with counters, whether its period began in another one, and
    its events."""
    function = leaf[thread.stacks] if len(thread.stacks) else np.empty(0, np.int64)
    before = np.concatenate([function[:1], function[:-1]])
    chosen = (thread.activities == Activity.COMPUTING) & (function >= 0)
    chosen &= ~np.isnan(thread.events).any(axis=1) if len(thread.events) else False
    mixed = (before != function).astype(np.int64)
    return function[chosen], mixed[chosen], thread.events[chosen]
