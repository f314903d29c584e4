"""Reads the samples in the folder of a profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.arrays import Floats, Ints
from assay.trace.reading_trace import trace_times
from assay.trace.samples.files import SAMPLE_FILES, ProcessSamples
from assay.trace.samples.model import Activity, ProgramSamples, ThreadSamples
from assay.trace.samples.names_file import (
    SampleNames,
    find_names,
    read_names,
    sampled_processes,
)
from assay.trace.worlds import World, chosen_world, worlds_in
from assay.units import counted, counted_verb, listed

_UNKNOWN_CPU = float("nan")
# How threads of OpenMP begin (GNU, LLVM and Intel).
_OPENMP_START = re.compile(r"gomp_thread_start|__kmp_launch_worker")
_OPENMP_MODULE = re.compile(r"lib(?:gomp|omp|iomp5|nvomp|craymp)\b.*")
_MOST_NAMED = 4
# Of a stack (`kMostFrames` in native/trace/sampling/walk.hpp).
MOST_FRAMES = 192


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
    if names is None or any(one.path.name not in names.processes for one in processes):
        names = find_names(processes)
    worlds = worlds_in(folder)
    world = chosen_world(worlds, number, folder) if worlds else None
    chosen = _of_world(processes, world)
    clocks = trace_times(world) if world is not None else None
    origin = min(_begin(one) for one in chosen)
    threads: list[ThreadSamples] = []
    for place, process in enumerate(chosen):
        if clocks is not None:
            times = clocks.seconds(_rank(process, place), process.times)
        else:
            times = 1e-9 * (process.times + (_ahead(process) - origin)).astype(np.float64)
        threads += _threads(process, place, names, times)
    ends = [one.end.cost for one in chosen if one.end is not None]
    return ProgramSamples(
        period=1e-9 * chosen[0].header.period,
        clock=next((one.clock for one in chosen if one.clock), "cpu-clock"),
        places=tuple(names.places),
        stacks=tuple(names.stacks),
        threads=tuple(threads),
        doubts=tuple(_doubts(chosen, names)),
        cost=1e-9 * sum(ends) if len(ends) == len(chosen) else float("nan"),
    )


def _of_world(processes: Sequence[ProcessSamples], world: World | None) -> list[ProcessSamples]:
    """The ranks of a world in their order. Without one, all processes by their begin."""
    if world is None:
        return list(processes)
    stems = [one.stem.name for one in world.processes]
    ranks = {one.rank.files: one for one in processes if one.rank is not None}
    return [ranks[stem] for stem in stems if stem in ranks] or list(processes)


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
    process: ProcessSamples, place: int, names: SampleNames, times: Floats
) -> list[ThreadSamples]:
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
                rank=_rank(process, place),
                host=process.header.host,
                thread=number,
                name=_thread_name(record.name if record else "", number, stacks[mine], names),
                times=times[mine],
                stacks=stacks[mine].astype(np.int32),
                activities=activities[mine].astype(np.int8),
                lost=record.lost if record else 0,
                cpu_time=1e-9 * record.cpu if record and record.cpu >= 0 else _UNKNOWN_CPU,
                process=process.header.process,
            )
        )
    return found


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


def _doubts(processes: Sequence[ProcessSamples], names: SampleNames) -> list[str]:
    """Sentences on what the samples don't show."""
    found = []
    for process in processes:
        who = f"Process {process.header.process} on {process.header.host}"
        for doubt in process.doubts:
            why = f" ({doubt.problem})" if doubt.problem else ""
            found.append(f"{who} was sampled only in part: {doubt.text}{why}.")
        if process.unsampled is not None:
            one = process.unsampled
            count = counted(one.threads, "thread")
            found.append(f"{who} could not be sampled in {count}: {one.problem}.")
        if process.end is None:
            found.append(
                f"{who} was ended before it could write its last samples; up to 1 s of its CPU "
                "time is missing."
            )
    cut = sum(int(np.isin(one.stack, [k for k, of in enumerate(one.stacks) if of.cut]).sum())
              for one in processes)  # fmt: skip
    if cut:
        found.append(
            f"{counted_verb(cut, 'sample', 'have')} only the innermost {MOST_FRAMES} calls of the "
            "stack."
        )
    # [vdso], the kernel's page of code in each process, isn't a file.
    modules = [Path(path).name for path in names.nameless if not path.startswith("[")]
    if modules:
        more = f" and {len(modules) - _MOST_NAMED} others" if len(modules) > _MOST_NAMED else ""
        some = ", ".join(modules[:_MOST_NAMED]) if more else listed(modules)
        have = "has" if len(modules) == 1 else "have"
        found.append(f"{some}{more} {have} no names of functions (stripped?): addresses are shown.")
    return found
