"""Reads the samples in the folder of a profile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.reading_trace import trace_times
from assay.trace.samples.doubts import doubts_on
from assay.trace.samples.families import ancestors
from assay.trace.samples.files import SAMPLE_FILES, ProcessSamples
from assay.trace.samples.model import Activity, ProgramSamples, ThreadSamples
from assay.trace.samples.names_file import (
    SampleNames,
    find_names,
    read_names,
    sampled_processes,
)
from assay.trace.worlds import World, chosen_world, worlds_in

_UNKNOWN_CPU = float("nan")
# How threads of OpenMP begin (GNU, LLVM and Intel).
_OPENMP_START = re.compile(r"gomp_thread_start|__kmp_launch_worker")
_OPENMP_MODULE = re.compile(r"lib(?:gomp|omp|iomp5|nvomp|craymp)\b.*")


def has_samples(folder: Path) -> bool:
    """Whether the folder of a profile has the samples of a process."""
    return any(folder.glob(SAMPLE_FILES))


def read_samples(folder: Path, number: int | None = None) -> ProgramSamples | None:
    """The samples of a program; None if the profile has none.

    ``number``: the number of the program, if the command ran several MPI programs; None: as in
    `read_profile`. Without MPI, the samples of all processes. Raises AssayError if a file is
    damaged, or if there is no such program.
    """
    processes = sampled_processes(folder)
    if not processes:
        return None
    names = read_names(folder)
    if names is None or any(
        len(names.processes.get(one.path.name, ())) != len(one.stacks) for one in processes
    ):  # a process may have continued after the names were kept
        names = find_names(processes)
    worlds = worlds_in(folder)
    world = chosen_world(worlds, number, folder) if worlds else None
    families = ancestors(processes)
    chosen = _of_world(processes, world, families)
    clocks = trace_times(world) if world is not None else None
    origin = min(_begin(one) for one in chosen)
    threads: list[ThreadSamples] = []
    events = tuple(dict.fromkeys(of.event for one in chosen for of in one.counters))
    numbers: Counter[int] = Counter()
    ranks: dict[str, int] = {}
    for place, process in enumerate(chosen):
        root = (families[process.path.name] or [process])[-1]
        rank = ranks.setdefault(root.path.name, _rank(root, place))
        if clocks is not None:
            times = clocks.seconds(rank, process.times)
        else:
            times = 1e-9 * (process.times + (_ahead(process) - origin)).astype(np.float64)
        threads += _threads(process, rank, names, times, first=numbers[rank], events=events)
        numbers[rank] = 1 + max((one.thread for one in threads if one.rank == rank), default=-1)
    ends = [one.end.cost for one in chosen if one.end is not None]
    return ProgramSamples(
        period=1e-9 * chosen[0].header.period,
        clock=next((one.clock for one in chosen if one.clock), "cpu-clock"),
        places=tuple(names.places),
        stacks=tuple(names.stacks),
        threads=tuple(threads),
        counters=events,
        doubts=tuple(doubts_on(chosen, names)),
        cost=1e-9 * sum(ends) if len(ends) == len(chosen) else float("nan"),
    )


def _of_world(
    processes: Sequence[ProcessSamples],
    world: World | None,
    families: dict[str, list[ProcessSamples]],
) -> list[ProcessSamples]:
    """The ranks of a world in their order, and then what they forked. Without a world, all
    processes by their begin."""
    if world is None:
        return list(processes)
    stems = [one.stem.name for one in world.processes]
    ranks = {one.rank.files: one for one in processes if one.rank is not None}
    found = [ranks[stem] for stem in stems if stem in ranks]
    names = {one.path.name for one in found}
    forked = [
        one for one in processes
        if families[one.path.name] and families[one.path.name][-1].path.name in names
    ]  # fmt: skip
    return [*found, *forked] or list(processes)


def _rank(process: ProcessSamples, place: int) -> int:
    return place if process.rank is None or process.rank.rank < 0 else process.rank.rank


def _ahead(process: ProcessSamples) -> int:
    """The system's clock minus the clock of the samples, ns."""
    return process.header.begin_wall - process.header.begin


def _begin(process: ProcessSamples) -> int:
    """When its profile or, without MPI, its samples began, ns since 1970."""
    begin = process.header.begin if process.rank is None else process.rank.begin
    return begin + _ahead(process)


def _threads(
    process: ProcessSamples,
    rank: int,
    names: SampleNames,
    times: Floats,
    *,
    first: int,
    events: tuple[str, ...],
) -> list[ThreadSamples]:
    """``first``: the number of the first thread within the rank."""
    to_global = np.array(names.processes[process.path.name], dtype=np.int64)
    of_stack = np.array(names.activities, dtype=np.int8)
    stacks = to_global[process.stack] if len(process.stack) else process.stack
    activities = np.where(process.inside, np.int8(Activity.MPI), of_stack[stacks])
    numbers = sorted({*np.unique(process.thread).tolist(), *process.threads})
    found = []
    for number in numbers:
        mine = process.thread == number
        record = process.threads.get(number)
        found.append(
            ThreadSamples(
                rank=rank,
                host=process.header.host,
                thread=first + number,
                name=_thread_name(record.name if record else "", number, stacks[mine], names),
                times=times[mine],
                stacks=stacks[mine].astype(np.int32),
                activities=activities[mine].astype(np.int8),
                lost=record.lost if record else 0,
                cpu_time=1e-9 * record.cpu if record and record.cpu >= 0 else _UNKNOWN_CPU,
                events=_events(process, mine, events),
                counted=_counted(process, mine),
                process=process.header.process,
                parent=process.header.parent if process.header.forked else 0,
            )
        )
    return found


def _events(
    process: ProcessSamples, mine: npt.NDArray[np.bool_], events: tuple[str, ...]
) -> Floats:
    """The events of a thread's samples. Where counters were shared, they are scaled up to the time
    for which they were asked for (perf-stat(1), multiplexing)."""
    if not events:
        return np.empty((0, 0))
    found = np.full((int(mine.sum()), len(events)), np.nan)
    rows = process.counted[mine].astype(np.float64)
    scale = np.divide(
        rows[:, 0], rows[:, 1], out=np.full(len(rows), np.nan), where=rows[:, 1] > 0.0
    )  # fmt: skip
    for column, one in enumerate(process.counters):
        found[:, events.index(one.event)] = scale * rows[:, 2 + column]
    return found


def _counted(process: ProcessSamples, mine: npt.NDArray[np.bool_]) -> float:
    rows = process.counted[mine] if process.counters else np.empty((0, 2))
    asked = float(rows[:, 0].sum())
    return float(rows[:, 1].sum()) / asked if asked > 0.0 else float("nan")


def _thread_name(recorded: str, number: int, stacks: Ints, names: SampleNames) -> str:
    """The system's name of a thread; threads of OpenMP have that of the program there."""
    outer = [names.places[names.stacks[stack][0]] for stack in stacks if names.stacks[stack]]
    opened = sum(
        1 for one in outer
        if _OPENMP_START.fullmatch(one.function) or _OPENMP_MODULE.fullmatch(one.module)
    )  # fmt: skip
    if number > 0 and outer and 2 * opened > len(outer):
        return f"OpenMP thread {number}"
    return recorded
