"""The watched program: it is started with its output connected to a relay."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.errors import AssayError
from assay.processes import open_pidfd
from assay.watch import relay
from assay.watch.signals import forward, hold, release

# Size of the relay's pipe, if allowed (the default is 64 KiB): it holds the program's output of a
# tick.
_ROOM = 1 << 20
_F_SETPIPE_SZ = 1031
_PIPE_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores these


@dataclass(frozen=True)
class Frame:
    """A message of the relay: ``kind`` as in relay.py, ``time`` in ns of the monotonic clock."""

    kind: int
    time: int
    data: bytes


class Program:
    """A running program and its relay.

    Signals that would end assay are blocked from here on: ``take_signals`` passes them on.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        terminal: bool,
        use_pty: bool,
        environment: Mapping[str, str],
        folder: str = "",
    ) -> None:
        """``terminal``: the relay may show a status on standard error. ``use_pty``: the program's
        output goes to a pseudo-terminal even if assay's goes to none. ``folder``: of heartbeats;
        the relay removes it if assay is killed. Raises AssayError if it can't be started.
        """
        _open_standard_streams()
        self.continued = False
        before = hold()
        outputs, sources = _outputs(use_pty)
        frames, frames_end = os.pipe()
        listened, control = os.pipe()
        with contextlib.suppress(OSError):
            import fcntl

            fcntl.fcntl(frames_end, _F_SETPIPE_SZ, _ROOM)
        passed = [*sources, frames_end, listened]
        words = [
            sources[0],
            sources[1] if len(sources) > 1 else -1,
            int(terminal),
            frames_end,
            listened,
        ]
        self._frames, self._control = frames, control
        try:
            self._relay = subprocess.Popen(
                [sys.executable, "-I", "-S", relay.__file__, *map(str, words), folder],
                stdin=subprocess.DEVNULL,
                pass_fds=passed,
            )
            self.pid = _spawn(command, outputs, environment, before)
        except OSError as error:
            os.close(frames)
            os.close(control)  # this ends the relay
            release()
            raise AssayError(
                f"'{command[0]}' can't be started: {error.strerror or error}.",
                fix="Give a program and its arguments after --: `assay watch -- ./model -n 4`.",
            ) from None
        finally:
            for descriptor in {*outputs, *passed}:
                os.close(descriptor)
        os.set_blocking(frames, False)
        self._buffer = bytearray()
        self._status: int | None = None
        self.usage: tuple[float, float] | None = None
        self._ended = open_pidfd(self.pid)

    @property
    def relay_pid(self) -> int:
        """The relay's process id."""
        return self._relay.pid

    def wait(self, seconds: float) -> int | None:
        """Wait up to ``seconds`` for its end; its wait status, or None while it runs."""
        if self._status is not None:
            return self._status
        if self._ended is not None and seconds > 0:
            waiting = select.poll()
            waiting.register(self._ended, select.POLLIN)
            waiting.poll(seconds * 1000)
        elif seconds > 0:
            select.select([], [], [], seconds)
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid:
            self._status = status
            self.usage = (usage.ru_utime, usage.ru_stime)
        return self._status

    def frames(self, most: int = 4 << 20) -> Iterator[Frame]:
        """New messages of the relay, up to about ``most`` bytes."""
        taken = 0
        while taken < most:
            try:
                data = os.read(self._frames, 1 << 18)
            except BlockingIOError:
                break
            if not data:
                break
            taken += len(data)
            self._buffer += data
        at, head = 0, relay.FRAME.size
        while len(self._buffer) - at >= head:
            kind, time, length = relay.FRAME.unpack_from(self._buffer, at)
            if len(self._buffer) - at - head < length:
                break
            yield Frame(kind, time, bytes(self._buffer[at + head : at + head + length]))
            at += head + length
        del self._buffer[:at]

    def last_frames(self) -> Iterator[Frame]:
        """After the program's end: the remaining messages, up to the relay's end message."""
        self._say(relay.ENDED, "")
        waiting = select.poll()
        waiting.register(self._frames, select.POLLIN | select.POLLHUP)
        while True:
            for frame in self.frames():
                if frame.kind == relay.END:
                    return
                yield frame
            # Wait as long as the reader of the output needs: no output may be lost.
            self.take_signals()
            if self._relay.poll() is not None:
                yield from self.frames()
                return
            waiting.poll(100)

    def show(self, status: str) -> None:
        """Set the status line on the terminal; the relay draws it below the program's output."""
        self._say(relay.STATUS, status)

    def say(self, text: str) -> None:
        """Print a line on standard error, between lines of the program."""
        self._say(relay.MESSAGE, text)

    def _say(self, word: bytes, text: str) -> None:
        line = " ".join(text.splitlines()) if word != relay.MESSAGE else text
        with contextlib.suppress(OSError):
            for each in line.split("\n"):
                os.write(self._control, word + each.encode("utf-8", "replace") + b"\n")

    def take_signals(self) -> None:
        """Pass received signals on to the program."""
        self.continued |= forward(self.pid if self._status is None else None)

    def close(self) -> None:
        """Close the pipes to the relay; it ends when no process can write to it any more."""
        for descriptor in (self._control, self._frames):
            os.close(descriptor)
        if self._ended is not None:
            os.close(self._ended)
        # Background processes of the program may go on writing for days; don't wait for them.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._relay.wait(0.2)
        self._relay.returncode = self._relay.returncode or 0
        release()


def exit_status(status: int) -> int:
    """The shell's exit status for a wait status: 128 plus the signal's number for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _open_standard_streams() -> None:
    """Open closed standard streams on /dev/null, so that no pipe gets their descriptor."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)


def _outputs(use_pty: bool) -> tuple[list[int], list[int]]:
    """Descriptors for the program's standard output and error, and those to read them from.

    If both go to one place, one pipe keeps their order. If assay's goes to a terminal, the program
    gets a pseudo-terminal, so that it behaves as on that terminal.
    """
    out, err = os.fstat(1), os.fstat(2)
    together = (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
    source, end = _terminal() if use_pty or os.isatty(1) else os.pipe()
    if together:
        return [end, end], [source]
    its_source, its_end = _terminal() if os.isatty(2) else os.pipe()
    return [end, its_end], [source, its_source]


def _terminal() -> tuple[int, int]:
    """A pseudo-terminal that doesn't modify output: (descriptor to read, to write)."""
    import fcntl
    import termios

    source, end = pty.openpty()
    state = termios.tcgetattr(end)
    state[1] &= ~termios.OPOST
    state[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(end, termios.TCSANOW, state)
    size = struct.pack("HHHH", 24, 80, 0, 0)
    for descriptor in (1, 2, 0):
        if os.isatty(descriptor):
            with contextlib.suppress(OSError):
                size = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, size)
                break
    fcntl.ioctl(end, termios.TIOCSWINSZ, size)
    return source, end


def _spawn(
    command: Sequence[str],
    outputs: Sequence[int],
    environment: Mapping[str, str],
    mask: set[int],
) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, outputs[0], 1), (os.POSIX_SPAWN_DUP2, outputs[1], 2)]
    return os.posix_spawnp(
        command[0],
        list(command),
        {**os.environ, **environment},
        file_actions=actions,
        setsigmask=mask,
        setsigdef=_PIPE_SIGNALS,
    )
