"""Lets each host of a cluster or an allocation measure one member of a group."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from assay.campaign.jobs.batch import assay_words, environment
from assay.errors import AssayError
from assay.launch.remote import check_host
from assay.plain_files import read_plain, writing
from assay.records.directory import RunDirectory
from assay.records.jobs import JobBook
from assay.records.members.packs import PACKED_FROM
from assay.schedulers.model import TASK_VARIABLE

# Seconds within which processes must end after a request.
ENDING = 60.0


def assign(
    missing: Sequence[int], done: Iterable[str | None], hosts: Sequence[str]
) -> Mapping[int, str]:
    """The host for each missing member.

    Hosts in ``done`` are not used again. Raises AssayError if there are too few hosts.
    """
    # A host has its full name or only the first part of it.
    known = {name for host in done if host for name in (host, host.partition(".")[0])}
    free = [host for host in hosts if not {host, host.partition(".")[0]} & known]
    if len(free) < len(missing):
        raise AssayError(
            f"{len(missing)} nodes remain to be measured, but {len(hosts) - len(free)} of the "
            f"{len(hosts)} hosts here have already been measured.",
            fix="Request other nodes, or more nodes.",
        )
    return dict(zip(missing, free, strict=False))


class MemberSet:
    """One assay process per host. Each ends when its standard input is closed."""

    def __init__(
        self,
        run: RunDirectory,
        number: int,
        remote_shell: str,
        hosts: Sequence[str],
        *,
        walltime: float | None = None,
        preparation: Sequence[str] = (),
    ) -> None:
        """Start the processes.

        ``hosts``: the host of each task of job ``number``. ``walltime``: seconds from now.
        ``preparation``: lines of bash that run first. Raises AssayError if the remote shell can't
        be started.
        """
        self._book = JobBook(run.path)
        self._number = number
        self._hosts = list(hosts)
        self._outputs: list[Path] = []
        self._files: list[BinaryIO] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        words = [*assay_words(), "job", str(run.path.absolute()), "--number", str(number)]
        if walltime is not None:
            words += ["--walltime", f"{walltime:g}"]
        try:
            for task, host in enumerate(self._hosts):
                variables = {**environment(), TASK_VARIABLE: str(task)}
                settings = [f"{name}={value}" for name, value in variables.items()]
                command = shlex.join(["env", *settings, *words, "--leashed"])
                if preparation:
                    command = shlex.join(
                        ["bash", "-c", "\n".join([*preparation, f"exec {command}"])]
                    )
                self._start(remote_shell, host, f"cd {shlex.quote(str(Path.cwd()))} && {command}")
        except BaseException:
            self.end()
            raise

    def _start(self, remote_shell: str, host: str, command: str) -> None:
        output = self._book.output_path(self._number, len(self._processes))
        file = writing(output)
        self._outputs.append(output)
        self._files.append(file)
        try:
            self._processes.append(
                subprocess.Popen(
                    [remote_shell, check_host(host), command],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches only this process, which ends them
                )
            )
        except OSError as error:
            raise AssayError(
                f"The remote shell '{remote_shell}' can't be started: {error.strerror or error}.",
                fix="Correct remote_shell in [cluster] of assay.toml.",
            ) from None

    def at_work(self) -> int:
        """The number of processes that have not ended."""
        return sum(process.poll() is None for process in self._processes)

    def end(self) -> None:
        """Close the standard inputs, and kill the processes that don't end in time."""
        for process in self._processes:
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        until = time.monotonic() + ENDING
        try:
            for process in self._processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(until - time.monotonic(), 0.0))
        finally:
            for process in self._processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            for file in self._files:
                file.close()
        if len(self._hosts) >= PACKED_FROM:
            for process, output in zip(self._processes, self._outputs, strict=True):
                if process.returncode == 0:
                    output.unlink(missing_ok=True)

    def complaints(self) -> str:
        """The last output line of each process that failed."""
        said = []
        for host, process, output in zip(self._hosts, self._processes, self._outputs, strict=False):
            if process.returncode not in (0, None):
                text = read_plain(output).decode("utf-8", "replace")
                lines = text.strip().splitlines()
                said.append(f"{host}: {lines[-1] if lines else f'exit {process.returncode}'}")
        return "\n".join(said)
