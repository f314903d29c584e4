"""``--per-node``: all nodes measure themselves concurrently; the report compares them."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from assay.campaign.commands.finish import FailOn, exit_status, show
from assay.campaign.jobs.batch import assay_words, environment
from assay.campaign.jobs.follow import Ending
from assay.campaign.jobs.run_watch import GroupWatch
from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.records.group import GroupData, read_group, unfinished_members
from assay.records.jobs import JobBook, JobEvent
from assay.records.request import RunRequest
from assay.schedulers.model import TASK_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console

    from assay.stats.core.model import CellSummary

# Seconds between checks of the members, and seconds within which they must end on request.
LOOK = 0.5
ENDING = 60.0


def measure_members(
    run: RunDirectory, request: RunRequest, cluster: ClusterConfig, console: Console
) -> Ending:
    """Let the cluster's hosts measure the members that the group still lacks.

    Raises AssayError if that can't be started.
    """
    assert request.members is not None
    book = JobBook(run.path)
    with book.submitting():
        missing = unfinished_members(run.path, request.members)
        measured = (m.host for m in read_group(run.path).members if m.state == "complete")
        hosts = assign(missing, measured, cluster.hosts)
        number = max((story.number for story in book.jobs()), default=0) + 1
        book.append(JobEvent("submitted", number, time.time(), nodes=1, members=sorted(hosts)))
    with GroupWatch(run.path, request.members, console) as watch:
        member_set = _MemberSet(run, number, cluster.remote_shell, hosts)
        ending: Ending | None = None
        try:
            while member_set.at_work():
                watch.look(f"{member_set.at_work()} nodes at work")
                time.sleep(LOOK)
        except KeyboardInterrupt:
            ending = Ending("stopped")
            console.print("Ending; Ctrl-C again leaves immediately.", style="dim")
        finally:
            member_set.end()
    book.ended(number, ending.how if ending else "ended")
    if ending is not None:
        return ending
    left = unfinished_members(run.path, request.members)
    return Ending("ended" if left else "complete", member_set.complaints())


def assign(
    missing: Sequence[int], done: Iterable[str | None], hosts: Sequence[str]
) -> Mapping[int, str]:
    """The host for each missing member; hosts in ``done`` are not used again.

    Raises AssayError if there are too few hosts.
    """
    # A host is known by its full name or by the first part of it.
    known = {name for host in done if host for name in (host, host.partition(".")[0])}
    free = [host for host in hosts if not {host, host.partition(".")[0]} & known]
    if len(free) < len(missing):
        raise AssayError(
            f"{len(missing)} nodes are still to be measured, but {len(hosts) - len(free)} of the "
            f"{len(hosts)} hosts here have been measured already.",
            fix="Request other nodes, or more of them.",
        )
    return dict(zip(missing, free, strict=False))


class _MemberSet:
    """One assay process per host. Each ends when its standard input is closed."""

    def __init__(
        self, run: RunDirectory, number: int, remote_shell: str, hosts: Mapping[int, str]
    ) -> None:
        self._folder = JobBook(run.path).folder
        self._number = number
        self._hosts = list(hosts.values())
        self._outputs: list[Path] = []
        self._files: list[BinaryIO] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        words = [*assay_words(), "job", str(run.path.absolute()), "--number", str(number)]
        try:
            for task, host in enumerate(self._hosts):
                variables = {**environment(), TASK_VARIABLE: str(task)}
                settings = [f"{name}={value}" for name, value in variables.items()]
                command = shlex.join(["env", *settings, *words, "--leashed"])
                self._start(remote_shell, host, f"cd {shlex.quote(str(Path.cwd()))} && {command}")
        except BaseException:
            self.end()
            raise

    def _start(self, remote_shell: str, host: str, command: str) -> None:
        output = self._folder / f"{self._number:04d}-{len(self._processes)}.out"
        file = output.open("wb")
        self._outputs.append(output)
        self._files.append(file)
        try:
            self._processes.append(
                subprocess.Popen(
                    [remote_shell, host, command],
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
        """Number of processes that have not ended."""
        return sum(process.poll() is None for process in self._processes)

    def end(self) -> None:
        """Close the standard inputs; kill the processes that don't end in time."""
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

    def complaints(self) -> str:
        """The last output line of each process that failed."""
        said = []
        for host, process, output in zip(self._hosts, self._processes, self._outputs, strict=False):
            if process.returncode not in (0, None):
                lines = output.read_text("utf-8", "replace").strip().splitlines()
                said.append(f"{host}: {lines[-1] if lines else f'exit {process.returncode}'}")
        return "\n".join(said)


def present_group(path: Path, report: bool, as_json: bool, fail_on: FailOn) -> int:
    """Write a group's report, print its summary or the JSON report; returns the exit status."""
    from assay.questions.nodes.findings import find
    from assay.report.group import build_group

    group = read_group(path)
    found = find(group)
    show(build_group(group, found), path, report=report, as_json=as_json)
    if fail_on == "nodes" and (found.suspects or found.slow_groups):
        return 1
    return _status(group, [node.cells for node in found.measurements], fail_on)


def _status(group: GroupData, nodes: Sequence[Sequence[CellSummary]], fail_on: FailOn) -> int:
    if fail_on == "never":
        return 0
    if any(member.state != "complete" for member in group.members):
        return 1
    return max((exit_status(cells, fail_on) for cells in nodes), default=0)
