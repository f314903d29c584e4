"""Processes in /proc: parents and children, CPU time used, the busiest ones."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping

import msgspec

from assay.system.files import Tree, to_integer

_LISTED = 5
TICK = 1 / os.sysconf("SC_CLK_TCK")


class Process(msgspec.Struct, frozen=True):
    """A process that used CPU time during an observation."""

    pid: int
    name: str
    #: CPUs that it used: CPU seconds per second.
    cpus: float


class ProcessState(msgspec.Struct, frozen=True):
    """A line of /proc/PID/stat: state of a process, and resources used since its start."""

    name: str
    #: Letter of the state (R running, S sleeping, D waiting for a disk, T stopped, Z zombie).
    state: str
    parent: int
    minor_faults: int
    major_faults: int
    #: CPU time of its threads, s; ``reaped_seconds``: CPU time of its children that have ended.
    cpu_seconds: float
    reaped_seconds: float
    #: CPU on which it ran last, -1 if unknown.
    cpu: int


def parse_state(stat: str | None) -> ProcessState | None:
    """Parse a line of /proc/PID/stat (proc(5)); None if invalid. Names may have any character."""
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
        name=name,
        state=words[0],
        parent=parent,
        minor_faults=minor,
        major_faults=major,
        cpu_seconds=(user + system) * TICK,
        reaped_seconds=(child_user + child_system) * TICK,
        cpu=-1 if cpu is None else cpu,
    )


def all_processes(tree: Tree) -> dict[int, ProcessState]:
    """Every visible process, by its id."""
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
    """The processes of ``roots`` that exist, and all their descendants."""
    below: dict[int, list[int]] = {}
    for pid, state in processes.items():
        below.setdefault(state.parent, []).append(pid)
    found: set[int] = set()
    pending = [pid for pid in roots if pid in processes]
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += below.get(pid, [])
    return found


def busiest(
    before: Mapping[int, tuple[str, int]],
    after: Mapping[int, tuple[str, int]],
    elapsed: float,
    without: Container[int],
) -> list[Process]:
    """The processes that used the most CPU time between two readings ``elapsed`` seconds apart."""
    return used_between(before, after, elapsed, without)[:_LISTED]


def used_between(
    before: Mapping[int, tuple[str, int]],
    after: Mapping[int, tuple[str, int]],
    elapsed: float,
    without: Container[int],
) -> list[Process]:
    """All processes that used CPU time between two readings, the busiest first."""
    used = [
        Process(pid, name, (ticks - before.get(pid, (name, 0))[1]) * TICK / elapsed)
        for pid, (name, ticks) in after.items()
        # All CPU time of a process that started in between counts.
        if pid not in without and ticks > before.get(pid, (name, 0))[1]
    ]
    return sorted(used, key=lambda process: -process.cpus)


def last_cpus(tree: Tree, pid: int, threads: int) -> set[int]:
    """The CPUs that the first ``threads`` threads of a process ran on last."""
    tasks = tree.names(f"/proc/{pid}/task")[:threads]
    states = (parse_state(tree.text(f"/proc/{pid}/task/{task}/stat")) for task in tasks)
    return {state.cpu for state in states if state is not None and state.cpu >= 0}
