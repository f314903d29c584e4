"""What every launcher is: it runs one job and leaves a stream of records in a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.errors import AssayError
from assay.model.placement import Placement
from assay.records.model import LaunchRecord
from assay.records.schema import Job


@dataclass(frozen=True)
class LaunchOrder:
    """One launch: the job, where it runs, and the file that will hold its stream.

    ``timeout``: seconds after which it is ended. ``patience``: seconds without a record after
    which the process that follows the stream ends it, for executors that simulate both. ``seed``:
    the plan's, by which node sets are drawn.
    """

    launch: str
    toolchain: str
    placement: Placement
    job: Job
    stream: Path
    timeout: float = math.inf
    patience: float = math.inf
    seed: int = 0


class HostsLost(AssayError):
    """Hosts did not answer when a launch was to be started; they are not used again."""

    def __init__(
        self, hosts: tuple[str, ...], what: str, *, fix: str = "", detail: str = ""
    ) -> None:
        super().__init__(what, fix=fix, detail=detail)
        self.hosts = hosts


class Executor(Protocol):
    """Runs launches, one at a time."""

    def start(self, order: LaunchOrder) -> Launch:
        """Start the launch and return at once.

        Raises HostsLost if some of its hosts don't answer, AssayError if it can't be started at
        all.
        """
        ...

    def fits(self, placement: Placement) -> bool:
        """Whether there are hosts enough for it, of those that have not been lost."""
        ...

    def lost_hosts(self, order: LaunchOrder) -> tuple[str, ...]:
        """Ask the hosts of a launch; those that don't answer, which are not used again.

        Always none for launches on this machine alone.
        """
        ...


class Launch(Protocol):
    """A launch under way. The caller tails ``LaunchOrder.stream`` for progress."""

    def poll(self) -> LaunchRecord | None:
        """None while it runs; its record once it has ended. Ends it when its time is out."""
        ...

    def wait(self, seconds: float) -> LaunchRecord | None:
        """As ``poll``, but waits up to so many seconds for the end."""
        ...

    def stop(self) -> LaunchRecord:
        """End it: ask (SIGTERM to the ranks), wait a little, then kill the whole process tree."""
        ...
