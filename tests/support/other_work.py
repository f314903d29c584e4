"""How many CPUs the rest of the machine takes from a test, whatever the test itself starts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICK = float(os.sysconf("SC_CLK_TCK"))


@dataclass
class OtherWork:
    """``cpus``: CPUs in use on average, known at the end: of processes that existed before and
    don't descend from this one, with the children that they waited for, and of the hypervisor.
    """

    cpus: float = 0.0


@contextmanager
def other_work(*known: int) -> Iterator[OtherWork]:
    """Measures within the context. ``known``: ids of further processes that don't count."""
    found = OtherWork()
    before = _others({os.getpid(), *known})
    stolen, began = _stolen(), time.monotonic()
    try:
        yield found
    finally:
        elapsed = max(time.monotonic() - began, 1e-3)
        now = _times()
        # The time of a process that has ended is part of the process that waited for it.
        used = sum(now[pid][1] for pid in before if pid in now) - sum(before.values())
        found.cpus = max(used + _stolen() - stolen, 0.0) / elapsed


def _others(own: set[int]) -> dict[int, float]:
    """CPU time in s of the processes that don't descend from ``own``, by id."""
    every = _times()
    parents = {pid: parent for pid, (parent, _) in every.items()}

    def is_own(pid: int) -> bool:
        while pid in parents:
            if pid in own:
                return True
            pid = parents[pid]
        return False

    return {pid: seconds for pid, (_, seconds) in every.items() if not is_own(pid)}


def _times() -> dict[int, tuple[int, float]]:
    """Parent and CPU time (s, with children that have ended) of each process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name, which may contain anything: state, parent; fields 14 to 17 are times.
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks = sum(int(field) for field in fields[11:15])
        found[int(path.parent.name)] = (int(fields[1]), ticks / _TICK)
    return found


def _stolen() -> float:
    """Time that the hypervisor gave to others, s."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(first[8]) / _TICK if len(first) > 8 else 0.0
