"""Runs a check in a process of its own, and ends it at its deadline whatever hangs.

The watching process is the one that the user started. After the fork it imports nothing and opens
no file but those of /proc, so a shared file system that hangs can't stop it. The check reports to
it through a pipe. What is to be printed is known before the record is written, so a file server
that hangs then costs the record and not the verdict.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from assay.check.node.process_tree import adopt_orphans, children, die_with_parent, end_children
from assay.check.node.reports import CheckPipe, Inbox, Said
from assay.processes import open_pidfd

# Seconds within which killed processes have to be gone.
_ENDING = 0.5
# Seconds between two looks on kernels without pidfd_open(2).
_POLL = 0.1
_STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class WatchedEnd:
    """How a watched check ended."""

    said: Said
    #: Whether its deadline passed.
    late: bool = False
    #: Its exit status as a shell's, or minus the signal that ended it; None if it was killed here.
    status: int | None = None
    #: Whether this process was asked to stop.
    interrupted: bool = False
    #: Processes that couldn't be killed, since they hang in the kernel.
    hung: tuple[int, ...] = ()


def start_of_process() -> float:
    """When this process was started, in seconds of the monotonic clock.

    Python's own start, which a slow file system may delay, then counts against the deadline.
    """
    now = time.monotonic()
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        since = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        # Namespaces of time_namespaces(7) shift the clocks; the start is then unknown.
        if 0 <= since < 60:
            return now - since
    return now


def run_watched(work: Callable[[CheckPipe], None], *, begun: float, deadline: float) -> WatchedEnd:
    """Run ``work`` in a forked process until it ends, or ``deadline`` seconds after ``begun``.

    When this returns, everything that it started is gone, except for the processes in ``hung``.
    """
    adopt_orphans()
    spared = children()
    reading, writing = os.pipe2(os.O_CLOEXEC)
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    with _stops() as (waking, asked):
        child = os.fork()
        if child == 0:
            os.close(reading)
            _check(work, CheckPipe(writing, begun, deadline), parent)
        os.close(writing)
        inbox = Inbox(reading, deadline)
        try:
            ended = _follow(inbox, child, waking, asked, begun)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            status = _reaped(child) if ended else None
            hung = end_children(spared, _ENDING)
            inbox.read()
        finally:
            os.close(reading)
    return WatchedEnd(
        said=inbox.said,
        late=not ended and not asked,
        status=status,
        interrupted=bool(asked),
        hung=tuple(hung),
    )


def _check(work: Callable[[CheckPipe], None], reporter: CheckPipe, parent: int) -> NoReturn:
    """The check's process."""
    status = 1
    try:
        die_with_parent(parent)
        _leave_streams()
        signal.set_wakeup_fd(-1)
        for number in _STOPPED_BY:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()  # a group of its own, which keys at the terminal don't reach
        work(reporter)
        reporter.complete()
        status = 0
    finally:
        os._exit(status)


def _leave_streams() -> None:
    """Let go of the standard streams: their readers would wait for a process that hangs."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


def _follow(inbox: Inbox, child: int, waking: int, asked: list[int], begun: float) -> bool:
    """Take in reports until the check's process ends. False if it is late or is to be stopped."""
    ends = open_pidfd(child)
    watched = [inbox.descriptor, waking] + ([ends] if ends is not None else [])
    try:
        while not asked:
            left = begun + inbox.said.deadline - time.monotonic()
            if left <= 0:
                return False
            ready, _, _ = select.select(watched, [], [], left if ends is not None else _POLL)
            if inbox.descriptor in ready and not inbox.read():
                watched.remove(inbox.descriptor)
            # Its status is read later: until then no other process can get its number.
            if ends in ready or (ends is None and os.waitid(os.P_PID, child, _LOOK) is not None):
                inbox.read()
                return True
    finally:
        if ends is not None:
            os.close(ends)
    return False


_LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT


def _reaped(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def _stops() -> Iterator[tuple[int, list[int]]]:
    """A descriptor that becomes readable when this process is asked to stop, and by which signals.

    They don't end this process, which has to end the check first.
    """
    asked: list[int] = []
    waking, woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in _STOPPED_BY}
    descriptor = signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    try:
        yield waking, asked
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(waking)
        os.close(woken)
