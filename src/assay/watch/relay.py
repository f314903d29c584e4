"""The relay: passes a program's output on, copies it to assay watch, and outlives assay watch.

``python -I -S relay.py OUT ERR TERMINAL FRAMES CONTROL FOLDER`` is a separate program because the
watched program writes into its pipes: if they were assay watch's and it were killed, the next write
would end the program, too. With the relay the program continues, and its output goes to the same
place as before. Output is first passed on, then copied to assay watch. If assay watch is slow or
stopped, this delays the program by at most half a second, once.

OUT and ERR are descriptors to read (ERR -1: both come through OUT, because both go to one place),
TERMINAL is 1 if standard error is a terminal that also shows a status line. FRAMES is the pipe to
assay watch, CONTROL the one from it. FOLDER is removed at the end if assay watch has ended and
can't do it.

A frame is (kind, nanoseconds of the monotonic clock, length), then ``length`` bytes. Commands are
lines: S and the status, M and a message, E when the program has ended. The relay is started for
each program, so it imports little.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import sys
import time

FRAME = struct.Struct("<BQI")
OUT, ERR, LOST, FAILED, END = range(5)
STATUS, MESSAGE, ENDED = b"S", b"M", b"E"
PIECE = 1 << 16
# Seconds for which assay watch may leave its pipe full before frames are dropped.
_PATIENCE = 0.5
_CLEAR = b"\r\x1b[K"
# Ignored signals: only the program handles them, and its last output must be passed on.
_OTHERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)


class Relay:
    """Passes on a program's output."""

    def __init__(self, sources: dict[int, int], terminal: bool, frames: int, control: int) -> None:
        """``sources``: descriptor to read → descriptor to write, 1 or 2."""
        self.sources = sources
        self.terminal = terminal
        self.frames: int | None = frames
        self.control: int | None = control
        self._shared = {to: terminal and os.isatty(to) for to in (1, 2)}
        self._poll = select.poll()
        for descriptor in (*sources, control):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        os.set_blocking(frames, False)
        self._pending = bytearray()
        self._blocked = False
        self._lost = 0
        self._commands = b""
        self._status = b""
        self._shown = False
        self._line_start = True
        self._failed: set[int] = set()

    def run(self) -> None:
        """Run until all writers and assay watch have closed their pipes."""
        while self.sources or self.control is not None:
            for descriptor, _ in self._poll.poll():
                if descriptor == self.control:
                    self._listen()
                elif descriptor in self.sources:
                    self._pass(descriptor)
        self._erase()

    def _pass(self, source: int) -> bool:
        """Pass on available output; returns whether there was any."""
        try:
            data = os.read(source, PIECE)
        except BlockingIOError:
            return False
        except OSError:  # a terminal's other end is closed
            data = b""
        if not data:
            self._close(source)
            return False
        now = time.monotonic_ns()
        to = self.sources[source]
        self._put(source, to, data)
        self._send_frame(OUT if to == 1 else ERR, data, now)
        return True

    def _put(self, source: int, to: int, data: bytes) -> None:
        if self._shared[to]:
            self._erase()
        try:
            _write_all(to, data)
        except BrokenPipeError:
            # The program will get SIGPIPE, as if it had written there itself.
            self._close(source)
        except OSError as error:
            # On a full disk the program continues; the loss of output is reported once.
            if to not in self._failed:
                self._failed.add(to)
                name = "standard output" if to == 1 else "standard error"
                self._send_frame(FAILED, f"{name}: {error.strerror}".encode())
        if self._shared[to]:
            self._line_start = data.endswith(b"\n")
            self._draw()

    def _close(self, source: int) -> None:
        self.sources.pop(source)
        self._poll.unregister(source)
        os.close(source)

    def _send_frame(self, kind: int, data: bytes, now: int = 0) -> None:
        """Send a frame to assay watch if it reads them. Frames are sent whole or not at all."""
        if self.frames is None:
            return
        if self._blocked:
            self._flush(0.0)
            if self._pending:
                self._lost += len(data)
                return
            self._blocked = False
            lost = struct.pack("<Q", self._lost)
            self._pending += FRAME.pack(LOST, time.monotonic_ns(), len(lost)) + lost
            self._lost = 0
        self._pending += FRAME.pack(kind, now or time.monotonic_ns(), len(data)) + data
        self._flush(_PATIENCE)
        self._blocked = bool(self._pending)

    def _flush(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while self._pending and self.frames is not None:
            try:
                del self._pending[: os.write(self.frames, self._pending)]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                waiting = select.poll()
                waiting.register(self.frames, select.POLLOUT)
                waiting.poll(left * 1000)
            except OSError:  # assay watch has ended
                os.close(self.frames)
                self.frames = None

    def _listen(self) -> None:
        assert self.control is not None
        try:
            said = os.read(self.control, PIECE)
        except BlockingIOError:
            return
        if not said:
            self._poll.unregister(self.control)
            os.close(self.control)
            self.control = None
            self._erase()
            self._status = b""
            return
        *lines, self._commands = (self._commands + said).split(b"\n")
        for line in lines:
            word, text = line[:1], line[1:]
            if word == STATUS:
                self._erase()
                self._status = text
                self._draw()
            elif word == MESSAGE:
                self._erase()
                ahead = b"" if self._line_start or not self.terminal else b"\n"
                with contextlib.suppress(OSError):
                    _write_all(2, ahead + text + b"\n")
                self._line_start = True
                self._draw()
            elif word == ENDED:
                for source in list(self.sources):
                    while source in self.sources and self._pass(source):
                        pass
                self._send_frame(END, b"")

    def _erase(self) -> None:
        if self._shown:
            with contextlib.suppress(OSError):
                _write_all(2, _CLEAR)
            self._shown = False

    def _draw(self) -> None:
        """Draw the status, only below complete lines: an incomplete line is not changed."""
        if self.terminal and self._status and self._line_start and not self._shown:
            with contextlib.suppress(OSError):
                _write_all(2, self._status)
            self._shown = True

    @property
    def alone(self) -> bool:
        """Whether assay watch has ended."""
        return self.frames is None or self.control is None


def _write_all(to: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(to, view) :]
        except BlockingIOError:  # another process has set it to non-blocking
            waiting = select.poll()
            waiting.register(to, select.POLLOUT)
            waiting.poll()


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(".heartbeat"):
                os.unlink(entry.path)  # noqa: PTH108
        os.rmdir(folder)  # noqa: PTH106


def main(words: list[str]) -> None:
    """Relay until the program and all its background processes have closed their output."""
    for number in _OTHERS:
        signal.signal(number, signal.SIG_IGN)
    out, err, terminal, frames, control = (int(word) for word in words[:5])
    sources = {out: 1} if err < 0 else {out: 1, err: 2}
    relay = Relay(sources, bool(terminal), frames, control)
    relay.run()
    if words[5] and relay.alone:
        _remove(words[5])


if __name__ == "__main__":
    main(sys.argv[1:])
