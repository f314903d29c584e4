"""What a check reports to the process that watches it, through a pipe."""

from __future__ import annotations

import json
import os
import struct
import time
from dataclasses import dataclass, field

from assay.errors import AssayError

_LENGTH = struct.Struct("<I")
_CHUNK = 1 << 16
#: A check ends by itself this long before its deadline, in s, so that it can still say why.
SPARE = 0.4


@dataclass
class Said:
    """What a check has reported so far."""

    #: The stage that it has begun last, as a noun: ``mounts``, ``memory bandwidth``.
    stage: str = "start"
    #: Its standard output; None as long as it has none.
    output: str | None = None
    status: int = 3
    #: The arguments of ``print_error`` for wrong input; None if there was none.
    error: dict[str, str] | None = None
    #: Sentences for standard error.
    warnings: list[str] = field(default_factory=list)
    #: Its deadline, in seconds from the start of the command.
    deadline: float = 0.0
    #: Whether it has done all that it had to do.
    complete: bool = False


class CheckPipe:
    """The check's end of the pipe."""

    def __init__(self, descriptor: int, begun: float, deadline: float) -> None:
        self._descriptor = descriptor
        self._begun = begun
        self._deadline = deadline

    def remaining(self) -> float:
        """Seconds within which the check should end by itself."""
        return self._begun + self._deadline - SPARE - time.monotonic()

    def elapsed(self) -> float:
        """Seconds since the command was started."""
        return time.monotonic() - self._begun

    def stage(self, name: str) -> None:
        """What begins now, as a noun."""
        self._send("stage", name)

    def limit(self, deadline: float) -> None:
        """Set the deadline, in seconds from the start of the command."""
        self._deadline = deadline
        self._send("deadline", deadline)

    def output(self, text: str, status: int) -> None:
        """What to print on standard output, and the exit status."""
        self._send("status", status)
        self._send("output", text)

    def refuse(self, error: AssayError) -> None:
        """The input is wrong, so that nothing is checked."""
        self._send("status", error.status)
        self._send("error", {"what": error.what, "where": error.where, "fix": error.fix})

    def warn(self, sentence: str) -> None:
        """A sentence for standard error."""
        self._send("warning", sentence)

    def complete(self) -> None:
        """All is done."""
        self._send("complete", True)

    def _send(self, kind: str, value: object) -> None:
        content = json.dumps([kind, value]).encode()
        whole = _LENGTH.pack(len(content)) + content
        while whole:
            whole = whole[os.write(self._descriptor, whole) :]


class Inbox:
    """The watching process's end of the pipe, which never blocks."""

    def __init__(self, descriptor: int, deadline: float) -> None:
        self.descriptor = descriptor
        self.said = Said(deadline=deadline)
        self._buffer = bytearray()
        os.set_blocking(descriptor, False)

    def read(self) -> bool:
        """Take in what has arrived. Returns whether more may come."""
        while True:
            try:
                chunk = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._buffer += chunk
            self._take()

    def _take(self) -> None:
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            kind, value = json.loads(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            if kind == "warning":
                self.said.warnings.append(value)
            else:
                setattr(self.said, kind, value)
