"""Sentences on what the samples of a program don't show."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.trace.samples.children import running_in
from assay.trace.samples.families import was_replaced
from assay.trace.samples.files import ProcessSamples
from assay.trace.samples.model import Activity
from assay.trace.samples.names_file import SampleNames
from assay.units import counted, counted_verb, format_duration, listed

_MOST_NAMED = 4
_NO_HARDWARE = "this machine has no such hardware counter (many virtual machines have none)"
_FORBIDDEN = "the system forbids them (/proc/sys/kernel/perf_event_paranoid, or a container)"
_REASONS = {
    errno.ENOENT: _NO_HARDWARE,
    errno.EOPNOTSUPP: _NO_HARDWARE,
    errno.ENODEV: _NO_HARDWARE,
    errno.ENOSYS: "the kernel has no perf_event_open",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
}
# Of a stack (`kMostFrames` in native/trace/sampling/walk.hpp).
MOST_FRAMES = 192


def doubts_on(processes: Sequence[ProcessSamples], names: SampleNames) -> list[str]:
    """The sentences."""
    found = []
    for process in processes:
        who = _who([process])
        for doubt in process.doubts:
            why = f" ({doubt.problem})" if doubt.problem else ""
            found.append(f"{who} was sampled only in part: {doubt.text}{why}.")
        if process.unsampled is not None:
            one = process.unsampled
            count = counted(one.threads, "thread")
            found.append(f"{who} could not be sampled in {count}: {one.problem}.")
    open_ended = [one for one in processes if one.end is None and not was_replaced(one, processes)]
    running = [one for one in open_ended if _is_running(one)]
    ended = [one for one in open_ended if one not in running]
    if ended:
        # An eighth of the time since the first sample (`kParts` in native/trace/sampling).
        found.append(
            f"{_who(ended)} {_were(ended)} ended before {_it(ended)} could write the last samples, "
            "or had no room for them: up to 1 s of CPU time is missing, of short processes an "
            "eighth of their time, or all that came after the disk was full."
        )
    if running:
        found.append(
            f"{_who(running)} still ran when the samples were read; what {_it(running)} did "
            "afterwards is missing."
        )
    found += [
        _forked(process) for process in processes if process.forks and process.forks.unsampled
    ]
    alone = sum(one.forks.alone for one in processes if one.forks)
    if alone:
        found.append(
            f"{counted_verb(alone, 'forked process', 'were')} not sampled: several threads ran at "
            "the fork, and the C library is older than glibc 2.35."
        )
    found += _uncounted(processes)
    found += _unnamed(processes)
    cut = sum(int(np.isin(one.stack, [k for k, of in enumerate(one.stacks) if of.cut]).sum())
              for one in processes)  # fmt: skip
    if cut:
        found.append(
            f"{counted_verb(cut, 'sample', 'have')} only the innermost {MOST_FRAMES} calls of the "
            "stack."
        )
    # Also the launcher may have been sampled. Libraries that only MPI uses don't matter here.
    # [vdso], the kernel's page of code in each process, isn't a file.
    shown = {
        names.places[place].module
        for one in processes
        for stack in names.processes[one.path.name]
        if names.activities[stack] != Activity.MPI
        for place in names.stacks[stack]
    }
    modules = [
        Path(path).name for path in names.nameless
        if not path.startswith("[") and Path(path).name in shown
    ]  # fmt: skip
    if modules:
        more = f" and {len(modules) - _MOST_NAMED} others" if len(modules) > _MOST_NAMED else ""
        some = ", ".join(modules[:_MOST_NAMED]) if more else listed(modules)
        have = "has" if len(modules) == 1 else "have"
        found.append(f"{some}{more} {have} no names of functions (stripped?): addresses are shown.")
    return found


def _uncounted(processes: Sequence[ProcessSamples]) -> list[str]:
    """One sentence on events that no process could count, by their reason."""
    reasons: dict[tuple[int, str], list[str]] = {}
    for one in (record for process in processes for record in process.uncounted):
        names = reasons.setdefault((one.error, one.problem), [])
        if one.event not in names:
            names.append(one.event)
    without = sum(
        bool(thread.samples and not thread.counted)
        for process in processes
        for thread in (process.threads.values() if process.counters else ())
    )
    more = (
        f"{counted_verb(without, 'thread', 'have')} no counters: the system or the limit of open "
        "files (`ulimit -n`) allows no more."
    )
    return [
        f"No counters of {listed(names)}: {_REASONS.get(error, problem)}. The samples are complete "
        "without them."
        for (error, problem), names in reasons.items()
    ] + [more] * bool(without)


def _unnamed(processes: Sequence[ProcessSamples]) -> list[str]:
    """A sentence on each version of Python whose functions have no names."""
    unnamed = {
        (one.interpreter.version, one.interpreter.problem)
        for one in processes
        if one.interpreter is not None and one.interpreter.named == "no"
    }
    return [
        f"Functions of Python {version} have no names: {problem}. Functions of the interpreter "
        "are shown instead. Python 3.12 and later names functions itself."
        for version, problem in sorted(unnamed)
    ]


def _forked(process: ProcessSamples) -> str:
    forks = process.forks
    assert forks is not None
    return (
        f"{forks.unsampled:,} of {counted(forks.forked, 'process')} that process "
        f"{process.header.process} on {process.header.host} forked ended without a sample; they "
        f"used {format_duration(1e-9 * forks.cpu)} of CPU time."
    )


def _who(processes: Sequence[ProcessSamples]) -> str:
    first = processes[0].header
    more = f" and {counted(len(processes) - 1, 'other')}" if len(processes) > 1 else ""
    return f"Process {first.process} on {first.host}{more}"


def _were(processes: Sequence[ProcessSamples]) -> str:
    return "was" if len(processes) == 1 else "were"


def _it(processes: Sequence[ProcessSamples]) -> str:
    return "it" if len(processes) == 1 else "they"


def _is_running(process: ProcessSamples) -> bool:
    """Whether the process, of this host, still writes to its file."""
    mine = process.header
    return mine.host == socket.gethostname() and mine.process in running_in(process.path.parent)
