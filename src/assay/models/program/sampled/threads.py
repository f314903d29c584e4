"""What each thread did with its CPU time: computing, calls of MPI, waiting for other threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.models.program.sampled.counts import CodePlace, function_of, stack_counts
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
    each = samples.period * (1.0 + thread.lost / max(len(thread.times), 1))
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
