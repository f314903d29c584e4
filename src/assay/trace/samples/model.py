"""Samples of a program's call stacks, taken at equal steps of each thread's CPU time."""

from __future__ import annotations

from enum import IntEnum

import msgspec
import numpy as np
import numpy.typing as npt


class Activity(IntEnum):
    """What a thread was doing when it was sampled."""

    COMPUTING = 0
    #: Inside a call of MPI.
    MPI = 1
    #: Inside a run-time library of OpenMP, where it waits for other threads.
    WAITING = 2


class Place(msgspec.Struct, frozen=True):
    """A function, and the line of it, on a call stack."""

    #: Readable name; "" if unknown: then ``module`` and ``address`` name the place.
    function: str
    #: Base name of the executable or library; "python" for functions of a Python program.
    module: str
    #: Path of the source file; "" if unknown.
    file: str = ""
    #: 0: unknown.
    line: int = 0
    #: Offset in ``module``.
    address: int = 0
    #: Whether the compiler merged it into the place that precedes it in the stack.
    inlined: bool = False


_NO_EVENTS: npt.NDArray[np.float64] = np.empty((0, 0))


class ThreadSamples(msgspec.Struct, frozen=True):
    """The samples of one thread. Each stands for ``ProgramSamples.period`` of its CPU time."""

    #: Rank in the world; for a program without MPI, the number of the process.
    rank: int
    host: str
    #: Number within its rank, by age; 0 is the one that called MPI_Init or main.
    thread: int
    name: str
    #: When each was taken, s on the clock of the program's trace (of the profile's ``begin``).
    times: npt.NDArray[np.float64]
    #: Index of each sample's stack in ``ProgramSamples.stacks``.
    stacks: npt.NDArray[np.int32]
    #: An ``Activity`` for each sample.
    activities: npt.NDArray[np.int8]
    #: Samples that could not be stored.
    lost: int = 0
    #: CPU time of the thread while it was sampled, s; nan: unknown.
    cpu_time: float = float("nan")
    #: Events since the thread's sample before, a row for each sample and a column for each of
    #: ``ProgramSamples.counters``; nan: not counted. Empty without counters.
    events: npt.NDArray[np.float64] = _NO_EVENTS
    #: Share of the time in which events were counted; nan: unknown, or none asked for.
    counted: float = float("nan")
    #: Process id, for forks of one rank.
    process: int = 0
    #: The process that forked its process; 0: the process was not forked.
    parent: int = 0


class ProgramSamples(msgspec.Struct, frozen=True):
    """All samples of one launch of a program."""

    #: CPU time between two samples of a thread, s.
    period: float
    #: What the samples follow: "cpu-clock" or the event of a hardware counter, as perf names it.
    clock: str
    #: Places of all stacks, each once.
    places: tuple[Place, ...]
    #: Each stack as indices of ``places``, outermost first.
    stacks: tuple[tuple[int, ...], ...]
    threads: tuple[ThreadSamples, ...]
    #: Sentences on what the samples don't show: stripped modules, a signal in use, lost samples.
    doubts: tuple[str, ...] = ()
    #: Events that were counted beside the samples.
    counters: tuple[str, ...] = ()
    #: CPU time spent on sampling, s, over all threads; nan: not measured.
    cost: float = float("nan")
