"""Running a short command on many hosts at once, through a remote shell, each within its time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import assay
from assay.errors import AssayError

# How many remote shells run at once: enough for hundreds of hosts within seconds, and few enough
# for a login daemon's or a scheduler's limits.
AT_ONCE = 32
# Between looks at those that run, seconds.
_LOOK = 0.02
# Variables of this process that a program on another host needs to find what is found here. A shell
# by ssh begins without them, those of a scheduler hand on everything anyway.
_CARRIED = (
    *("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CXX", "ASSAY_CACHE", "XDG_CACHE_HOME"),
    *("OPENBLAS_ROOT", "OPENBLAS_DIR", "EBROOTOPENBLAS", "MKLROOT", "BLIS_ROOT", "EBROOTBLIS"),
)


@dataclass(frozen=True)
class HostReply:
    """What a command did on a host.

    ``status``: its exit status, None if it gave no answer in time. ``out``, ``err``: what it
    printed. ``asked`` and ``answered``: Unix times before it was started and after it ended.
    ``patience``: seconds that it had.
    """

    host: str
    status: int | None
    out: str
    err: str
    asked: float
    answered: float
    patience: float

    @property
    def ok(self) -> bool:
        """Whether it ran and succeeded."""
        return self.status == 0

    @property
    def complaint(self) -> str:
        """Why it didn't, in its own last words or in ours."""
        if self.status is None:
            return f"It gave no answer within {self.patience:g} s."
        return self.err.strip() or self.out.strip() or f"exit status {self.status}"


def run_on_hosts(
    remote_shell: str,
    hosts: Sequence[str],
    command: str,
    *,
    patience: float,
    given_up: threading.Event | None = None,
) -> dict[str, HostReply]:
    """Run one command, a line for a shell, on each host; its reply by host, in the hosts' order.

    ``patience``: seconds that each may take; once ``given_up`` is set, all of them have been too
    slow. Raises AssayError if the remote shell can't be started. Nothing of it runs on here when
    this returns or raises.
    """
    replies: dict[str, HostReply] = {}
    waiting = list(hosts)
    running: list[_Asked] = []
    try:
        while waiting or running:
            if given_up is not None and given_up.is_set():
                patience = 0.0
            while waiting and len(running) < AT_ONCE:
                running.append(_Asked(remote_shell, waiting.pop(0), command))
            for asked in list(running):
                reply = asked.reply(patience)
                if reply is not None:
                    replies[asked.host] = reply
                    running.remove(asked)
            if running:
                time.sleep(_LOOK)
    finally:
        for asked in running:
            asked.end()
    return {host: replies[host] for host in hosts}


def silent_hosts(remote_shell: str, hosts: Sequence[str], *, patience: float) -> tuple[str, ...]:
    """Those of the hosts that don't run the simplest command within ``patience`` seconds."""
    replies = run_on_hosts(remote_shell, hosts, "true", patience=patience)
    return tuple(host for host, reply in replies.items() if not reply.ok)


def remote_command(words: Sequence[str]) -> str:
    """A line that runs a program on another host from this process's folder, with what of this
    process's environment programs are found by.
    """
    carried = {name: os.environ[name] for name in _CARRIED if name in os.environ}
    assigned = [f"{name}={value}" for name, value in carried.items()]
    return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(['env', *assigned, *words])}"


def python_command(*words: str) -> str:
    """A line that runs ``python -m WORDS…`` on another host, with this Python and this assay."""
    package = str(Path(assay.__file__).resolve().parents[1])
    known = os.environ.get("PYTHONPATH")
    path = f"PYTHONPATH={package}:{known}" if known else f"PYTHONPATH={package}"
    return remote_command(["env", path, sys.executable, "-m", *words])


class _Asked:
    """One host that has been asked. What it says goes to files: pipes could fill, or be kept open
    by what a login shell leaves behind.
    """

    def __init__(self, remote_shell: str, host: str, command: str) -> None:
        self.host = host
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._since = time.monotonic()
        self._utc = time.time()
        try:
            self._process = subprocess.Popen(
                [remote_shell, host, command],
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
            )
        except OSError as error:
            raise AssayError(
                f"The remote shell '{remote_shell}' can't be started: {error.strerror or error}.",
                fix="Correct remote_shell in [cluster] of assay.toml.",
            ) from None

    def reply(self, patience: float) -> HostReply | None:
        """None while it may still answer."""
        status = self._process.poll()
        if status is None and time.monotonic() - self._since < patience:
            return None
        answered = time.time()
        self.end()
        said = [_all_of(file) for file in (self._out, self._err)]
        return HostReply(self.host, status, said[0], said[1], self._utc, answered, patience)

    def end(self) -> None:
        """If it still runs, kill it here: the shell and what it started."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _all_of(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8", "replace")
