"""Reads the rings in which programs mark their steps (docs/formats/heartbeats.md, "Heartbeats").

Writers never wait for readers and may be killed at any moment, so the contents of a file are not
trusted: inconsistent parts are skipped, and are never an error.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SUFFIX = ".heartbeat"
VERSION = 1
HEADER = 4096
MAGIC = b"ASSAY-HB"
_COUNT_AT = 128
_FACTS = struct.Struct("=8sIIIiiIQQ64s")
_COUNT = struct.Struct("=Q")
_SLOT = struct.Struct("=QII")
_MOST_SLOTS = 1 << 20
# Maximum number of slots being written: slots this close to being overwritten are not read.
_MARGIN = 64
# Number of steps behind the others after which a stream doesn't take part in their steps.
_APART = 64


def library() -> Path:
    """The folder of the C, Fortran and Python files that mark steps."""
    from assay.kernels.sources import native_sources

    return native_sources() / "heartbeat"


@dataclass(frozen=True)
class Mark:
    """The end of a step: ns of the writer's monotonic clock, and the thread's number from 1."""

    time: int
    thread: int


class Ring:
    """One process's file. ``lost``: number of steps overwritten before they were read."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError if the file is not a complete ring."""
        with contextlib.ExitStack() as stack:
            try:
                file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
                stack.callback(os.close, file)
                size = os.fstat(file).st_size
                head = os.pread(file, HEADER, 0)
                if len(head) < HEADER:
                    raise ValueError("too short")
                magic, version, slots, pid, rank, ranks, _, clock, utc, host = _FACTS.unpack_from(
                    head
                )
                if magic != MAGIC or version != VERSION:
                    raise ValueError("no ring of this version")
                if not 0 < slots <= _MOST_SLOTS or size != HEADER + slots * _SLOT.size:
                    raise ValueError("invalid size")
                self._memory = mmap.mmap(file, size, prot=mmap.PROT_READ)
            except OSError as error:
                raise ValueError(str(error)) from None
        self.path = path
        self.slots: int = slots
        self.pid: int = pid
        self.rank: int | None = rank if rank >= 0 else None
        self.ranks: int | None = ranks if ranks > 0 else None
        self.host: str = host.split(b"\0")[0].decode("utf-8", "replace")
        self.monotonic: int = clock
        self.utc: int = utc
        self.lost = 0
        self._next = 0

    def read(self) -> list[Mark]:
        """The steps since the last call, in order."""
        count = self._count()
        if count <= self._next:
            return []
        # Slots within the margin can be lost only after writers have wrapped around once.
        self._skip(count)
        first, last = self._next, count
        data = self._slots(first, last)
        after = self._count()
        safe = after - self.slots + _MARGIN
        found = []
        for index in range(first, last):
            time, thread, number = _SLOT.unpack_from(data, (index - first) * _SLOT.size)
            if index < safe:
                self.lost += 1
            elif number != (index + 1) & 0xFFFFFFFF:
                if after - index > _MARGIN:
                    self.lost += (
                        1  # the process that was about to write it was killed or is suspended
                    )
                else:
                    break  # it is being written now
            else:
                found.append(Mark(time, thread))
            self._next = index + 1
        return found

    def close(self) -> None:
        """Close the file."""
        self._memory.close()

    def _count(self) -> int:
        return int(_COUNT.unpack_from(self._memory, _COUNT_AT)[0])

    def _skip(self, count: int) -> None:
        oldest = count - self.slots + _MARGIN
        if oldest > self._next:
            self.lost += oldest - self._next
            self._next = oldest

    def _slots(self, first: int, last: int) -> bytes:
        """A copy of these slots, even if they wrap around the end."""
        begin, end = first % self.slots, last % self.slots
        size = _SLOT.size
        if begin < end:
            return self._memory[HEADER + begin * size : HEADER + end * size]
        return (
            self._memory[HEADER + begin * size : HEADER + self.slots * size]
            + self._memory[HEADER : HEADER + end * size]
        )


class Rings:
    """All rings in a folder, including those created later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rings: dict[str, Ring] = {}

    def look(self) -> list[Ring]:
        """Find new rings and return them."""
        new = []
        try:
            names = [entry.name for entry in os.scandir(self.folder)]
        except OSError:
            return []
        for name in sorted(names):
            if name.endswith(SUFFIX) and name not in self.rings:
                # A file under construction is not a ring yet; it is tried again next time.
                with contextlib.suppress(ValueError):
                    self.rings[name] = Ring(self.folder / name)
                    new.append(self.rings[name])
        return new

    def __iter__(self) -> Iterator[Ring]:
        return iter(self.rings.values())

    def remove(self) -> None:
        """Remove the files, and the folder if nothing else is in it."""
        for ring in self.rings.values():
            ring.close()
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"*{SUFFIX}"):
                path.unlink(missing_ok=True)
            self.folder.rmdir()


@dataclass
class _Stream:
    """The steps (ns) of one thread that not all others have completed yet."""

    ring: Ring
    marks: deque[int] = field(default_factory=deque)


class Together:
    """The steps of one host's processes and threads as one series.

    A step is over when the last process or thread that takes part has marked it. A process or
    thread that falls behind the others by more steps than can be under way marks other steps and is
    left out; ``apart`` counts these.
    """

    def __init__(self) -> None:
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._apart: set[tuple[str, int]] = set()
        self._gone: set[str] = set()
        self._last: int | None = None

    @property
    def streams(self) -> int:
        """Number of processes and threads that take part."""
        return len(self._streams)

    @property
    def apart(self) -> int:
        """Number of processes and threads that were left out."""
        return len(self._apart)

    def add(self, ring: Ring, marks: list[Mark]) -> None:
        """Add new marks of a ring."""
        for mark in marks:
            key = (ring.path.name, mark.thread)
            if key in self._apart:
                continue
            if self._last is not None and mark.time <= self._last:
                continue  # of a step that was already over
            if key not in self._streams:
                self._streams[key] = _Stream(ring)
            self._streams[key].marks.append(mark.time)

    def end(self, ring: Ring) -> None:
        """Note that a ring's process has ended: steps no longer wait for it."""
        self._gone.add(ring.path.name)

    def begin_anew(self) -> None:
        """Start over after steps were lost: the current step of each is unknown."""
        for stream in self._streams.values():
            stream.marks.clear()
        self._last = None

    def take(self) -> list[tuple[int, float, Ring, float]]:
        """The steps that are over now: their end (ns), seconds, the ring of the last mark, and the
        seconds between the first mark and the last.
        """
        found = []
        while self._streams:
            self._leave_out()
            ready = self._streams.values()
            if not self._streams or not all(stream.marks for stream in ready):
                break
            ends = [(stream.marks.popleft(), stream.ring) for stream in ready]
            time, ring = max(ends, key=lambda end: end[0])
            first = min(end[0] for end in ends)
            if self._last is not None and time > self._last:
                found.append((time, (time - self._last) * 1e-9, ring, (time - first) * 1e-9))
            self._last = time
        return found

    def _leave_out(self) -> None:
        """Leave out processes and threads that have ended or are far behind the others."""
        ahead = max(len(stream.marks) for stream in self._streams.values())
        for key in [key for key, stream in self._streams.items() if not stream.marks]:
            if key[0] in self._gone:
                del self._streams[key]
            elif ahead > _APART:
                del self._streams[key]
                self._apart.add(key)
