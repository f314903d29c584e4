"""Ends everything that a check has started, and says what can't be ended.

It needs no control group: this process adopts orphaned descendants (PR_SET_CHILD_SUBREAPER,
prctl(2)), so each of them becomes its child once the processes between have been killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
# Seconds between two looks at what remains.
_PAUSE = 0.005


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends."""
    _prctl(_SET_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end now if it has ended."""
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def children() -> set[int]:
    """The processes whose parent is this process, zombies included."""
    own = os.getpid()
    try:
        # All threads adopt for the process, and this program has a single one.
        with open(f"/proc/{own}/task/{own}/children", "rb", buffering=0) as file:  # noqa: PTH123
            return {int(pid) for pid in file.read(1 << 16).split()}
    except OSError:
        return _children_by_scan(own)


def end_children(spared: Collection[int], patience: float) -> list[int]:
    """Kill and reap all children but ``spared``, and theirs, for at most ``patience`` seconds.

    Returns the processes that remain: they hang in the kernel, which kills them later.
    """
    until = time.monotonic() + patience
    while True:
        left = children() - set(spared)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        left = children() - set(spared)
        if not left or time.monotonic() >= until:
            return sorted(left)
        time.sleep(_PAUSE)


def _children_by_scan(own: int) -> set[int]:
    """For kernels without CONFIG_PROC_CHILDREN: by the parent in each process's stat."""
    found = set()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    # The command, in parentheses, may contain blanks and parentheses.
                    fields = file.read().rpartition(b")")[2].split()
                if int(fields[1]) == own:
                    found.add(int(name))
    return found


def _prctl(option: int, value: int) -> None:
    # Without these calls a check still works; it then relies on its process group.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
