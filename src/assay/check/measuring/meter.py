"""The measuring program while it runs: orders, answers, and an end in every case."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.check.components import (
    BY_NAME,
    CORE,
    DEVICE_FMA,
    DEVICE_LINK,
    DEVICE_TRIAD,
    LATENCY,
    MESSAGE_BANDWIDTH,
    MESSAGE_LATENCY,
    PRODUCT,
    RANDOM,
    STORAGE,
    STREAM,
)
from assay.check.measuring.answers import (
    Hello,
    NotReady,
    failed,
    read_answer,
    read_hello,
    read_not_ready,
)
from assay.check.measuring.program import verified_program
from assay.check.model import Reading
from assay.errors import AssayError

#: Seconds in the measured loop of each component. Preparing and verifying takes about as long
#: again for those with large arrays. Repetitions take 0.1 s (native/check/slots.hpp).
SECONDS: dict[str, float] = {
    CORE: 0.3,
    PRODUCT: 0.3,
    STREAM: 0.3,
    LATENCY: 0.3,
    RANDOM: 0.4,
    STORAGE: 0.3,
    MESSAGE_LATENCY: 0.2,
    MESSAGE_BANDWIDTH: 0.4,
    DEVICE_TRIAD: 0.2,
    DEVICE_FMA: 0.2,
    DEVICE_LINK: 0.2,
}
#: Longest answer: a value and a number for each of some ten thousand CPUs.
_LONGEST = 1 << 20
#: Words of the program on its standard error that are kept.
_WORDS = 2000
#: Seconds that a program gets to end after its output ended, and after it was killed: a process
#: that waits for a dead file server can't be killed, and must not be waited for.
_TO_END, _TO_DIE = 0.5, 0.5
#: Seconds that the program's own deadline is later, so that this process can say what hung.
_LATER = 0.3


class Meter:
    """A running measuring program; a context manager that leaves no process behind.

    It must be started by a thread that lives as long as the measurements: the program ends with
    the thread that started it.
    """

    def __init__(
        self,
        program: Path,
        *,
        digest: str,
        deadline: float,
        scratch: Path | None = None,
        partner: str = "",
        own_name: str = "",
        port: int = 0,
        wait: float | None = None,
        devices: str = "",
        ready: float | None = None,
        patience: float | None = None,
    ) -> None:
        """``program``: run only if its SHA-256 is ``digest``. ``deadline``: seconds from now, after
        which it is killed. ``scratch``: the folder of the storage's file. ``partner``: the node
        that messages are exchanged with; ``own_name``: this node's name as that node knows it;
        ``port``: of the one that listens; ``wait``: seconds for the partner to come.
        ``devices``: the backend whose devices are measured instead of the processors; ``ready``:
        seconds until they must be ready; ``patience``: with a device that doesn't answer. Empty, 0
        or None: the program's own choice.
        """
        self._program = program
        self._digest = digest
        self._limit = time.monotonic() + deadline
        self._deadline = deadline
        self._options = {
            "--scratch": str(scratch) if scratch else "",
            "--partner": partner,
            "--self": own_name,
            "--port": str(port) if port else "",
            "--wait": str(wait) if wait is not None else "",
            "--devices": devices,
            "--ready": f"{ready:.3f}" if ready is not None else "",
            "--patience": f"{patience:.3f}" if patience is not None else "",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._text = b""
        self._said = b""
        #: Why no answer can come any more, as a sentence; empty while one can.
        self._ended = ""
        #: What the program said of itself.
        self.hello: Hello | None = None
        #: The component that was being measured when the deadline passed; empty if none was.
        self.hung = ""
        #: Why devices can't be measured, if that is what the program said; and whether it said
        #: nothing until the deadline.
        self.not_ready: NotReady | None = None
        self.was_late = False

    def __enter__(self) -> Self:
        """Verify and start the program.

        Raises AssayError if it isn't the expected one, if others can write to it, or if it doesn't
        start.
        """
        with verified_program(self._program, self._digest) as descriptor:
            options = [word for pair in self._options.items() if pair[1] for word in pair]
            left = max(self._limit - time.monotonic(), 0.0) + _LATER
            options += ["--deadline", f"{left:.3f}", "--parent", str(os.getpid())]
            try:
                self._process = subprocess.Popen(
                    ["assay-check", *options],
                    executable=f"/proc/self/fd/{descriptor}",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=_environment() | self._libraries(),
                    pass_fds=(descriptor,),
                    process_group=0,  # killed as a whole
                    cwd="/",
                )
            except OSError as error:
                raise AssayError(
                    f"The measuring program can't be run: {error.strerror}.",
                    where=str(self._program),
                    fix="Put it on a file system that allows programs.",
                ) from None
        try:
            self._greet()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the program and everything that it started."""
        self.close()

    def measure(
        self, components: Sequence[str], seconds: Mapping[str, float] | None = None
    ) -> dict[str, Reading]:
        """A reading of each component, measured one after another in this order.

        ``seconds``: of the measured loop, by component; ``SECONDS`` where it has none. Nothing is
        raised: a component that could not be measured has a reading that says why.
        """
        return {
            component: self._measure(component, {**SECONDS, **(seconds or {})}[component])
            for component in components
        }

    def close(self) -> None:
        """Kill the program's process group, and wait a moment for its end. May be repeated."""
        process, self._process = self._process, None
        self._ended = self._ended or "The measuring program was ended."
        if process is None:
            return
        _kill_group(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TO_DIE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _libraries(self) -> dict[str, str]:
        """Where the program finds libraries of devices that wheels bring."""
        if not self._options["--devices"]:
            return {}
        from assay.kernels.device_libraries import device_library_variables

        return device_library_variables()

    @property
    def process(self) -> int | None:
        """The running process; None before and after."""
        return self._process.pid if self._process is not None else None

    def _greet(self) -> None:
        line = self._line("")
        if isinstance(line, bytes):
            self.not_ready = read_not_ready(line)
        if self.not_ready is not None:
            raise AssayError(self.not_ready.late or self.not_ready.failed)
        hello = line if isinstance(line, str) else read_hello(line)
        if isinstance(hello, Hello):
            self.hello = hello
            return
        raise AssayError(
            hello,
            where=str(self._program),
            fix="Run 'assay check --learn' on a node of this kind.",
        )

    def _measure(self, component: str, seconds: float) -> Reading:
        if self._process is None or self._ended:
            return failed(component, self._ended)
        line = self._send(f"measure {component} {seconds:g}\n") or self._line(component)
        answer = line if isinstance(line, str) else read_answer(line, component)
        if isinstance(answer, Reading):
            return answer
        # Which answer would come next is unknown.
        self._ended = self._ended or answer
        self.close()
        return failed(component, answer)

    def _send(self, order: str) -> str:
        """Empty, or why the order can't be sent."""
        assert self._process is not None and self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), order.encode())
        except OSError:
            return self._end_of_program()
        return ""

    def _line(self, component: str) -> bytes | str:
        """The next line, or a sentence that says why there is none."""
        assert self._process is not None
        assert self._process.stdout is not None and self._process.stderr is not None
        out, words = self._process.stdout.fileno(), self._process.stderr.fileno()
        poll = select.poll()
        for descriptor in (out, words):
            poll.register(descriptor, select.POLLIN)
        while b"\n" not in self._text:
            if len(self._text) > _LONGEST:
                return "The measuring program's answer is too long."
            left = self._limit - time.monotonic()
            ready = dict(poll.poll(math.ceil(1000 * left))) if left > 0.0 else {}
            if self._limit <= time.monotonic():
                return self._too_late(component)
            if words in ready and not self._keep_words(words):
                poll.unregister(words)
            if out in ready:
                part = os.read(out, 1 << 16)
                if not part:
                    return self._end_of_program()
                self._text += part
        line, _, self._text = self._text.partition(b"\n")
        return line

    def _keep_words(self, descriptor: int) -> bool:
        """Take what the program wrote to its standard error; False at its end."""
        part = os.read(descriptor, 1 << 16)
        self._said = (self._said + part)[-_WORDS:]
        return bool(part)

    def _too_late(self, component: str) -> str:
        self.hung = component
        self.was_late = True
        during = f" in {BY_NAME[component].title}" if component else " before it began"
        return f"The measuring program hung{during}: {self._deadline:g} s passed."

    def _end_of_program(self) -> str:
        """How it ended, as a sentence."""
        assert self._process is not None and self._process.stderr is not None
        limit = min(time.monotonic() + _TO_END, self._limit)
        # It stays a zombie until close(): its process group can't be another's meanwhile.
        while (status := _status(self._process.pid)) is None and time.monotonic() < limit:
            time.sleep(0.002)
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            while self._keep_words(self._process.stderr.fileno()):
                pass
        said = self._said.decode("utf-8", "replace").strip().splitlines()
        last = f": {said[-1][:300]}" if said else ""
        how = status or "closed its output"
        return f"The measuring program {how}{last}{'' if last.endswith('.') else '.'}"


def _status(process: int) -> str | None:
    """How a process ended; None if it runs. It isn't reaped."""
    try:
        found = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return "ended"
    if found is None:
        return None
    if found.si_code == os.CLD_EXITED:
        return f"ended with status {found.si_status}"
    try:
        name = signal.Signals(found.si_status).name
    except ValueError:
        name = str(found.si_status)
    return f"was ended by the signal {name}"


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """What the program needs: nothing of a job's environment may change how it runs."""
    kept = ("PATH", "TMPDIR")
    return {"LC_ALL": "C"} | {name: os.environ[name] for name in kept if name in os.environ}
