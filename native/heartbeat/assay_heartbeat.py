"""Marks the steps of a Python program for ``assay watch``.

Copy this file into the folder of the program, or put its folder on PYTHONPATH:

    from assay_heartbeat import heartbeat

    for step in range(steps):
        ...
        heartbeat()

In a program that assay watch did not start the call does nothing. It has no dependencies, and
writes the same file as native/heartbeat/heartbeat.c; docs/formats/heartbeats.md has the layout.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import struct
import threading
import time

__all__ = ["heartbeat"]

_VERSION, _SLOTS, _HEADER = 1, 8192, 4096
_COUNT_AT = 128
_COUNT = struct.Struct("=Q")
_SLOT = struct.Struct("=QII")
_RANK = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
_RANKS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")


class _Ring:
    """The file of this process, mapped; ``mark`` does nothing if there is none."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None
        self._steps = itertools.count()
        self._threads = itertools.count(1)
        self._mine = threading.local()
        folder = os.environ.get("ASSAY_HEARTBEAT")
        if folder:
            # A program must not fail because it can't be watched.
            with contextlib.suppress(OSError):
                self._memory = _create(folder)
        self.on = self._memory is not None

    def mark(self) -> None:
        """Mark the end of a step."""
        if self._memory is None:
            return
        try:
            thread = self._mine.number
        except AttributeError:
            thread = self._mine.number = next(self._threads)
        step = next(self._steps)
        _COUNT.pack_into(self._memory, _COUNT_AT, step + 1)
        at = _HEADER + step % _SLOTS * _SLOT.size
        _SLOT.pack_into(self._memory, at, time.monotonic_ns(), thread, (step + 1) % (1 << 32))


def _create(folder: str) -> mmap.mmap:
    host = os.uname().nodename
    size = _HEADER + _SLOTS * _SLOT.size
    for attempt in range(1000):
        name = f"{host.replace('/', '_')[:63]}-{os.getpid()}.{attempt}.heartbeat"
        try:
            file = os.open(f"{folder}/{name}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            break
        except FileExistsError:
            continue
    else:
        raise FileExistsError(folder)
    try:
        os.posix_fallocate(file, 0, size)  # a write to a mapped file on a full disk would kill
        memory = mmap.mmap(file, size)
    finally:
        os.close(file)
    facts = (_VERSION, _SLOTS, os.getpid(), _number(_RANK), _number(_RANKS), 0)
    clocks = (time.monotonic_ns(), time.time_ns())
    struct.pack_into("=IIIiiIQQ64s", memory, 8, *facts, *clocks, host.encode()[:63])
    memory[:8] = b"ASSAY-HB"  # last: readers that see it see the whole header
    return memory


def _number(names: tuple[str, ...]) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isascii() and text.isdigit() and int(text) < 1 << 31:
            return int(text)
    return -1


_ring: _Ring | None = None


def heartbeat() -> None:
    """Mark the end of a step. For any thread; never fails, never waits."""
    global _ring
    if _ring is None:
        _ring = _Ring()
    if _ring.on:
        _ring.mark()


def _forget() -> None:
    """Make a child of fork() create its own file."""
    global _ring
    _ring = None


os.register_at_fork(after_in_child=_forget)
