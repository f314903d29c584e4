"""Running a short command on many hosts in parallel through a remote shell, with a timeout."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.config import HOST_NAME
from assay.config.profiles import SITE
from assay.errors import AssayError
from assay.launch.isolated import python_words

# Maximum number of concurrent remote shells: enough for hundreds of hosts within seconds, and few
# enough for a login daemon's or a scheduler's limits.
AT_ONCE = 32
# Seconds between polls of running shells.
_LOOK = 0.02
# Variables of this process that a program on another host needs to find the same programs and
# libraries. A shell started by ssh lacks them; shells of schedulers pass on the whole environment.
_CARRIED = (
    *("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CXX", "ASSAY_CACHE", "XDG_CACHE_HOME"),
    "ASSAY_SHARED_CACHE",
    *("OPENBLAS_ROOT", "OPENBLAS_DIR", "EBROOTOPENBLAS", "MKLROOT", "BLIS_ROOT", "EBROOTBLIS"),
)


@dataclass(frozen=True)
class HostReply:
    """The result of a command on a host."""

    host: str
    #: Exit status, None if it didn't end in time.
    status: int | None
    #: ``out``, ``err``: its output.
    out: str
    err: str
    #: ``asked``, ``answered``: Unix times before it was started and after it ended.
    asked: float
    answered: float
    #: Timeout, s.
    patience: float

    @property
    def ok(self) -> bool:
        """Whether it ran and succeeded."""
        return self.status == 0

    @property
    def complaint(self) -> str:
        """Why it failed: its output, else a sentence on its exit status or timeout."""
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
    """Run one shell command on each host; returns the replies by host, in the hosts' order.

    ``patience``: seconds that each may take. Once ``given_up`` is set, all running commands time
    out. Raises AssayError if the remote shell can't be started. No remote shell is left running
    here when this returns or raises.
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


def check_host(host: str) -> str:
    """The host. Raises AssayError for a text that a remote shell could take for an option."""
    if not HOST_NAME.fullmatch(host):
        shown = host if host.isprintable() else ascii(host)[1:-1]
        raise AssayError(
            f"'{shown[:80]}' is not a host's name or address.",
            fix="Correct the hosts in [cluster] of assay.toml, or see what the scheduler reports.",
        )
    return host


def remote_command(words: Sequence[str]) -> str:
    """A shell command that runs a program on another host in this process's working folder, with
    this process's search paths.
    """
    carried = {name: os.environ[name] for name in _CARRIED if name in os.environ}
    assigned = [f"{name}={value}" for name, value in carried.items()]
    return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(['env', *assigned, *words])}"


def python_command(module: str, *words: str) -> str:
    """A shell command for ``python -m MODULE WORDS…`` on another host, with this Python and assay.

    Files in the folder there can't replace Python's modules (``isolated.py``).
    """
    names = [name for name in ("PYTHONPATH", SITE) if name in os.environ]
    carried = [f"{name}={os.environ[name]}" for name in names]
    return remote_command(["env", *carried, *python_words(module, *words)])


class _Asked:
    """A running command on a host. Its output goes to files: pipes could fill, or be kept open by
    processes that a login shell leaves behind.
    """

    def __init__(self, remote_shell: str, host: str, command: str) -> None:
        self.host = check_host(host)
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
        """The reply once it has ended or its time is over; None before."""
        status = self._process.poll()
        if status is None and time.monotonic() - self._since < patience:
            return None
        answered = time.time()
        self.end()
        said = [_all_of(file) for file in (self._out, self._err)]
        return HostReply(
            host=self.host,
            status=status,
            out=said[0],
            err=said[1],
            asked=self._utc,
            answered=answered,
            patience=patience,
        )

    def end(self) -> None:
        """If it still runs, kill it on this machine: the remote shell and its children."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _all_of(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8", "replace")
