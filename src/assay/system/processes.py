"""Processes as /proc shows them: parents and children, what each has used, which is busiest."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping

import msgspec

from assay.system.files import Tree, to_integer

_LISTED = 5
TICK = 1 / os.sysconf("SC_CLK_TCK")


class Process(msgspec.Struct, frozen=True):
    """A process that used CPU during a look: ``cpus`` is CPU seconds per second."""

    pid: int
    name: str
    cpus: float


class ProcessState(msgspec.Struct, frozen=True):
    """A line of /proc/PID/stat: what a process is and has used since it began.

    ``state``: its letter (R runs, S sleeps, D waits for a disk, T is stopped, Z is dead).
    ``cpu_seconds``: its threads' CPU time, ``reaped_seconds`` that of its children that have ended.
    ``cpu``: the one that it ran on last.
    """

    name: str
    state: str
    parent: int
    minor_faults: int
    major_faults: int
    cpu_seconds: float
    reaped_seconds: float
    cpu: int


def parse_state(stat: str | None) -> ProcessState | None:
    """A line of /proc/PID/stat (proc(5)); the name may hold anything. None if it is none."""
    if not stat or "(" not in stat or ")" not in stat:
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    words = stat[stat.rindex(")") + 1 :].split()
    if len(words) < 13:
        return None
    # The third field of proc(5), the state, is the first here.
    wanted = (4, 10, 12, 14, 15, 16, 17)
    numbers = [to_integer(words[field - 3]) if len(words) > field - 3 else 0 for field in wanted]
    if any(number is None for number in numbers[:5]):
        return None
    parent, minor, major, user, system, child_user, child_system = (n or 0 for n in numbers)
    cpu = to_integer(words[36]) if len(words) > 36 else None
    return ProcessState(
        name,
        words[0],
        parent,
        minor,
        major,
        (user + system) * TICK,
        (child_user + child_system) * TICK,
        -1 if cpu is None else cpu,
    )


def all_processes(tree: Tree) -> dict[int, ProcessState]:
    """Every process that shows itself."""
    found = {}
    for entry in tree.names("/proc"):
        pid = to_integer(entry)
        if pid is not None and (state := parse_state(tree.text(f"/proc/{entry}/stat"))):
            found[pid] = state
    return found


def process_times(tree: Tree) -> dict[int, tuple[str, int]]:
    """Process id to name and CPU ticks used so far."""
    return {
        pid: (state.name, round(state.cpu_seconds / TICK))
        for pid, state in all_processes(tree).items()
    }


def descendants(processes: Mapping[int, ProcessState], roots: Iterable[int]) -> set[int]:
    """These processes, as far as they are there, and all below them."""
    below: dict[int, list[int]] = {}
    for pid, state in processes.items():
        below.setdefault(state.parent, []).append(pid)
    found: set[int] = set()
    open_ones = [pid for pid in roots if pid in processes]
    while open_ones:
        pid = open_ones.pop()
        if pid not in found:
            found.add(pid)
            open_ones += below.get(pid, [])
    return found


def busiest(
    before: Mapping[int, tuple[str, int]],
    after: Mapping[int, tuple[str, int]],
    elapsed: float,
    without: Container[int],
) -> list[Process]:
    """Those that used most CPU between two looks so many seconds apart."""
    used = [
        Process(pid, name, (ticks - before.get(pid, (name, 0))[1]) * TICK / elapsed)
        for pid, (name, ticks) in after.items()
        # A process that began meanwhile counts with all it has used.
        if pid not in without and ticks > before.get(pid, (name, 0))[1]
    ]
    return sorted(used, key=lambda process: -process.cpus)[:_LISTED]
