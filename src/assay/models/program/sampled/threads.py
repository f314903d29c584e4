"""What each thread and process did with its CPU time: computing, calls of MPI, waiting for other
threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.models.program.sampled.counts import (
    CodePlace,
    function_of,
    seconds_each,
    stack_counts,
)
from assay.trace.samples.model import Activity, ProgramSamples, ThreadSamples


@dataclass(frozen=True)
class ThreadTime:
    """CPU time of one thread by activity, s."""

    rank: int
    thread: int
    name: str
    computing: float
    mpi: float
    #: Waiting for other threads on the CPU, in a run-time library of OpenMP.
    waiting: float
    #: Function with most of its computing samples; None if it computed nothing.
    busiest: CodePlace | None

    @property
    def total(self) -> float:
        """CPU time of all activities, s."""
        return self.computing + self.mpi + self.waiting


def thread_times(samples: ProgramSamples) -> list[ThreadTime]:
    """Each thread, in the order of ranks and threads."""
    order = sorted(samples.threads, key=lambda one: (one.rank, one.process, one.thread))
    return [_time(samples, one) for one in order]


def _time(samples: ProgramSamples, thread: ThreadSamples) -> ThreadTime:
    numbers = np.bincount(thread.activities, minlength=len(Activity)).tolist()
    each = seconds_each(samples, thread)
    return ThreadTime(
        rank=thread.rank,
        thread=thread.thread,
        name=thread.name,
        computing=numbers[Activity.COMPUTING] * each,
        mpi=numbers[Activity.MPI] * each,
        waiting=numbers[Activity.WAITING] * each,
        busiest=_busiest(samples, thread),
    )


def _busiest(samples: ProgramSamples, thread: ThreadSamples) -> CodePlace | None:
    of: dict[CodePlace, int] = {}
    for stack, number in zip(*stack_counts(thread, Activity.COMPUTING), strict=True):
        if places := samples.stacks[stack]:
            key = function_of(samples.places[places[-1]])
            of[key] = of.get(key, 0) + int(number)
    return max(of, key=lambda key: of[key]) if of else None


@dataclass(frozen=True)
class ProcessTime:
    """CPU time of one process by activity, s."""

    rank: int
    host: str
    process: int
    #: The process that forked it; 0: it was not forked.
    parent: int
    threads: int
    samples: int
    computing: float
    mpi: float
    waiting: float
    #: Functions with most of its computing time, s, in descending order.
    functions: tuple[tuple[CodePlace, float], ...]


def process_times(samples: ProgramSamples, most: int = 3) -> list[ProcessTime]:
    """Each process with samples, in the order of ranks. ``most``: number of functions of each."""
    found: dict[tuple[int, str, int, int], list[ThreadSamples]] = {}
    for thread in sorted(samples.threads, key=lambda one: (one.rank, one.thread)):
        key = (thread.rank, thread.host, thread.process, thread.parent)
        found.setdefault(key, []).append(thread)
    return [_process(samples, key, threads, most) for key, threads in found.items()]


def _process(
    samples: ProgramSamples,
    key: tuple[int, str, int, int],
    threads: list[ThreadSamples],
    most: int,
) -> ProcessTime:
    times = [_time(samples, thread) for thread in threads]
    of: dict[CodePlace, float] = {}
    for thread in threads:
        for stack, number in zip(*stack_counts(thread, Activity.COMPUTING), strict=True):
            if places := samples.stacks[stack]:
                place = function_of(samples.places[places[-1]])
                of[place] = of.get(place, 0.0) + int(number) * seconds_each(samples, thread)
    rank, host, process, parent = key
    return ProcessTime(
        rank=rank,
        host=host,
        process=process,
        parent=parent,
        threads=len(threads),
        samples=sum(len(thread.times) for thread in threads),
        computing=sum(one.computing for one in times),
        mpi=sum(one.mpi for one in times),
        waiting=sum(one.waiting for one in times),
        functions=tuple(sorted(of.items(), key=lambda one: (-one[1], one[0]))[:most]),
    )
