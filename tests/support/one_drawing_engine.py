"""A pytest plugin: one process draws all figures of a worker, in place of one per report.

Starting the engine takes 0.45 s of CPU, drawing one more figure with it 0.03 s. Commands that
``prepared_assay`` forks share the engine of its server. Commands that tests start as new processes
start their own engine, as for users.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import psutil

from assay.charts import drawing_process


class KeptEngine:
    """The engine takes the place of ``drawing_process``'s own, and starts again where it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = drawing_process._engine
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[str] | None = None
        self._used = 0.0

    def start(self) -> subprocess.Popen[str]:
        """The process, a new one if there is none or it has ended."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = process = self._stack.enter_context(self._own())
            assert process.stderr is not None
            # Nobody reads its messages: a full pipe would stop it.
            threading.Thread(target=process.stderr.read, daemon=True).start()
        return self._process

    def end(self) -> None:
        """End the process, if there is one."""
        self._process = None
        with contextlib.suppress(OSError, ValueError):  # the reader of its messages closes them
            self._stack.close()

    def cpu_seconds(self) -> float:
        """CPU time of the engine since it was asked last."""
        before, self._used = self._used, 0.0
        with contextlib.suppress(psutil.Error):
            if self._process is not None:
                used = psutil.Process(self._process.pid).cpu_times()
                self._used = float(used.user + used.system)
        return max(0.0, self._used - before)

    @contextlib.contextmanager
    def lent(self) -> Iterator[subprocess.Popen[str]]:
        """The engine for one report. A failed request may leave an answer unread: it ends then."""
        with self._lock:
            process = self.start()
            answered = False
            try:
                yield process
                answered = True
            finally:
                if not answered:
                    self.end()

    @contextlib.contextmanager
    def inherited(self) -> Iterator[subprocess.Popen[str]]:
        """The same in a process that was forked; the engine is the child of another process."""
        process = self._process
        assert process is not None
        answered = False
        try:
            yield process
            answered = True
        finally:
            if not answered:
                os.kill(process.pid, signal.SIGKILL)


KEPT = KeptEngine()


def pytest_configure() -> None:
    drawing_process._engine = KEPT.lent


def pytest_unconfigure() -> None:
    KEPT.end()
    drawing_process._engine = KEPT._own
