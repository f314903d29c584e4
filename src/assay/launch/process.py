"""The processes of one launch on this machine: start under a warden, ask to end, kill all."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.launch import warden
from assay.launch.output import curb
from assay.plain_files import writing
from assay.processes import open_pidfd

# The warden ends a launch in milliseconds, and gives up after 10 s. After this time it is killed.
_WARDEN_PATIENCE = 15.0
# Seconds between checks of the output's size.
_LOOK = 1.0


class LaunchProcess:
    """A launcher (mpirun) and everything below it.

    It has its own session, so only assay gets a Ctrl-C of the terminal. If assay ends in any way,
    the warden ends the launch: see ``warden.py``.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        rank_program: Path,
        where: str = warden.HERE,
        out: Path,
        err: Path,
    ) -> None:
        """Start it.

        Output goes to the two files. ``where``: place of the ranks (``warden.py``). Raises
        AssayError if it can't be started.
        """
        words = [where, str(rank_program), *command]
        watched = [sys.executable, "-I", "-S", warden.__file__, *words]
        try:
            with writing(out) as out_file, writing(err) as err_file:
                self._warden = subprocess.Popen(
                    watched,
                    stdin=subprocess.PIPE,
                    stdout=out_file,
                    stderr=err_file,
                    start_new_session=True,
                )
        except OSError as error:
            raise AssayError(
                f"The launch can't be started: {error.strerror or error}.",
                where=str(out.parent),
                fix="Check the memory and the number of processes that are left to this user.",
            ) from None
        self._ended = open_pidfd(self._warden.pid)
        self._output = (out, err)
        self._looked = time.monotonic()

    @property
    def pid(self) -> int:
        """The warden's process id."""
        return self._warden.pid

    def poll(self) -> int | None:
        """None while it runs; then the launcher's exit status, negative for a signal."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> int | None:
        """Like ``poll``, but wait up to ``seconds`` for the end."""
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            for path in self._output:
                curb(path)
        status = self._warden.poll()
        if status is None and seconds > 0:
            if self._ended is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._warden.wait(seconds)
            else:
                # Sleeps until the end instead of polling, which would disturb the measurement.
                waiting = select.poll()
                waiting.register(self._ended, select.POLLIN)
                waiting.poll(seconds * 1000)
            status = self._warden.poll()
        if status is not None:
            self._let_go()
        return status

    def ask(self) -> None:
        """SIGTERM to the ranks, which then complete their stream and end."""
        assert self._warden.stdin is not None
        if not self._warden.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._warden.stdin.fileno(), warden.ASK)

    def kill(self) -> int:
        """Kill the whole process tree; returns the launcher's exit status once all have ended."""
        self._close_stdin()
        status = self.wait(_WARDEN_PATIENCE)
        if status is None:
            self._warden.kill()
            status = self._warden.wait()
            self._let_go()
        return status

    def _close_stdin(self) -> None:
        assert self._warden.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._warden.stdin.close()

    def _let_go(self) -> None:
        self._close_stdin()
        if self._ended is not None:
            os.close(self._ended)
            self._ended = None
