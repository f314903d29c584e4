"""The results of a function for many items, computed by forked processes on several CPUs.

A child inherits the items and returns only results. Where a fork is impossible, or a child ends
early, this process computes.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
# Maximum number of processes: a login node has other users.
MOST_PROCESSES = 8


def in_parallel(
    function: Callable[[Item], Result], items: Sequence[Item], *, least: int
) -> list[Result]:
    """``function`` of each item, in their order.

    ``least``: number of items for which another process is worth its start. The function has no
    effect besides its result, which can be pickled. An exception is raised as by a loop.
    """
    processes = min(available_cpus(), MOST_PROCESSES, len(items) // max(least, 1))
    if processes < 2:
        return [function(item) for item in items]
    # All judgements need it, and children inherit it: importing takes 0.2 s of CPU time.
    import_module("scipy.special")
    # Neighbours are often alike, so each process gets items from everywhere.
    parts = [items[first::processes] for first in range(processes)]
    children = [_started(function, part) for part in parts[1:]]
    try:
        results = [[function(item) for item in parts[0]]]
        for part, child in zip(parts[1:], children, strict=True):
            done = None if child is None else child.results()
            results.append([function(item) for item in part] if done is None else done)
    finally:
        for child in children:
            if child is not None:
                child.end()
    return [results[place % processes][place // processes] for place in range(len(items))]


def available_cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


class _Child(Generic[Result]):
    """A forked process that sends its results through a pipe."""

    def __init__(self, pid: int, receiving: int) -> None:
        self._pid = pid
        self._pipe = os.fdopen(receiving, "rb")
        self._ended = False

    def results(self) -> list[Result] | None:
        """Its results; None if it has failed."""
        content = self._pipe.read()
        _, status = os.waitpid(self._pid, 0)
        self._ended = True
        if status:
            return None
        found: list[Result] = pickle.loads(content)
        return found

    def end(self) -> None:
        """End it, unless it has ended."""
        self._pipe.close()
        if not self._ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def _started(function: Callable[[Item], Result], items: Sequence[Item]) -> _Child[Result] | None:
    """A child that computes these items; None if it can't be started."""
    receiving, sending = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(receiving)
        os.close(sending)
        return None
    if pid:
        os.close(sending)
        return _Child(pid, receiving)
    status = 1
    try:
        os.close(receiving)
        content = pickle.dumps([function(item) for item in items], pickle.HIGHEST_PROTOCOL)
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(content)
        status = 0
    finally:
        os._exit(status)
