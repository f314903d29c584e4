"""``--per-node``: every node measures itself, all at once; then they are held side by side."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from assay.campaign.commands.finish import FailOn, exit_status
from assay.campaign.jobs.batch import assay_words, environment
from assay.campaign.jobs.follow import Ending
from assay.campaign.jobs.run_watch import GroupWatch
from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.records.directory import REPORT, RunDirectory
from assay.records.group import GroupData, read_group, unfinished_members
from assay.records.jobs import JobBook, JobEvent
from assay.records.request import RunRequest
from assay.schedulers.model import TASK_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console

    from assay.stats.core.model import CellSummary

# Seconds between looks at the members, and those that they are given to end when asked.
LOOK = 0.5
ENDING = 60.0


def measure_members(
    run: RunDirectory, request: RunRequest, cluster: ClusterConfig, console: Console
) -> Ending:
    """Let each host of a cluster measure itself, as far as the group lacks it.

    Raises AssayError where that can't be begun.
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
        crew = _Crew(run, number, cluster.remote_shell, hosts)
        ending: Ending | None = None
        try:
            while crew.at_work():
                watch.look(f"{crew.at_work()} nodes at work")
                time.sleep(LOOK)
        except KeyboardInterrupt:
            ending = Ending("stopped")
            console.print("Ending; Ctrl-C again leaves at once.", style="dim")
        finally:
            crew.end()
    book.ended(number, ending.how if ending else "ended")
    if ending is not None:
        return ending
    left = unfinished_members(run.path, request.members)
    return Ending("ended" if left else "complete", crew.complaints())


def assign(
    missing: Sequence[int], done: Iterable[str | None], hosts: Sequence[str]
) -> Mapping[int, str]:
    """Which host measures each missing member: one that none of the ``done`` is.

    Raises AssayError if there are too few.
    """
    # A host is called by its whole name, or by the first part of it.
    known = {name for host in done if host for name in (host, host.partition(".")[0])}
    free = [host for host in hosts if not {host, host.partition(".")[0]} & known]
    if len(free) < len(missing):
        raise AssayError(
            f"{len(missing)} nodes are still to be measured, and of the {len(hosts)} hosts here "
            f"{len(hosts) - len(free)} have been.",
            fix="Ask for other nodes, or for more of them.",
        )
    return dict(zip(missing, free, strict=False))


class _Crew:
    """One assay a host, held by its standard input: when that is let go of, it ends."""

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
                told = [f"{name}={value}" for name, value in variables.items()]
                command = shlex.join(["env", *told, *words, "--leashed"])
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
                    start_new_session=True,  # a Ctrl-C is ours to pass on
                )
            )
        except OSError as error:
            raise AssayError(
                f"The remote shell '{remote_shell}' can't be started: {error.strerror or error}.",
                fix="Correct remote_shell in [cluster] of assay.toml.",
            ) from None

    def at_work(self) -> int:
        """How many have not ended."""
        return sum(process.poll() is None for process in self._processes)

    def end(self) -> None:
        """Let go of all; what has not ended in time is killed."""
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
        """The last line of what each failed one said."""
        said = []
        for host, process, output in zip(self._hosts, self._processes, self._outputs, strict=False):
            if process.returncode not in (0, None):
                lines = output.read_text("utf-8", "replace").strip().splitlines()
                said.append(f"{host}: {lines[-1] if lines else f'exit {process.returncode}'}")
        return "\n".join(said)


def present_group(path: Path, report: bool, as_json: bool, fail_on: FailOn) -> int:
    """Write a group's report and print its summary, or the JSON answer; the exit status."""
    from assay.console import console, print_json
    from assay.questions.nodes.findings import find
    from assay.report import print_summary, write_report
    from assay.report.group import build_group

    group = read_group(path)
    found = find(group)
    model = build_group(group, found)
    if report:
        write_report(model, path / REPORT, ["html"])
    if as_json:
        print_json(model)
    else:
        out = console()
        print_summary(model, out)
        if report:
            out.print(f"\nreport: {path / REPORT}", soft_wrap=True, markup=False)
    if fail_on == "nodes" and found.suspects:
        return 1
    return _status(group, [node.cells for node in found.measurements], fail_on)


def _status(group: GroupData, nodes: Sequence[Sequence[CellSummary]], fail_on: FailOn) -> int:
    if fail_on == "never":
        return 0
    if any(member.state != "complete" for member in group.members):
        return 1
    return max((exit_status(cells, fail_on) for cells in nodes), default=0)
