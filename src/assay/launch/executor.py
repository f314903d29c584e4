"""The interface of executors: they run one job and write its stream of records to a file."""

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
    """One launch: the job, where it runs, and the file that will hold its stream."""

    launch: str
    toolchain: str
    placement: Placement
    job: Job
    stream: Path
    #: Seconds after which the launch is ended and counts as failed.
    timeout: float = math.inf
    #: Seconds without a record after which the campaign ends it; only executors that simulate time
    #: need it.
    patience: float = math.inf
    #: Seconds after which the launch is asked to end because the budget is spent; its measurements
    #: count.
    allowance: float = math.inf
    #: The plan's seed, for random node sets.
    seed: int = 0


class HostsLost(AssayError):
    """Hosts that did not answer before a launch; they are not used again."""

    def __init__(
        self, hosts: tuple[str, ...], what: str, *, fix: str = "", detail: str = ""
    ) -> None:
        super().__init__(what, fix=fix, detail=detail)
        self.hosts = hosts


class Executor(Protocol):
    """Runs launches, one at a time."""

    def start(self, order: LaunchOrder) -> Launch:
        """Start the launch and return immediately.

        Raises HostsLost if some of its hosts don't answer, AssayError if it can't be started at
        all.
        """
        ...

    def fits(self, placement: Placement) -> bool:
        """Whether enough hosts are left for the launch."""
        ...

    def lost_hosts(self, order: LaunchOrder) -> tuple[str, ...]:
        """Check the hosts of a launch; returns those that don't answer. They are not used again.

        Always empty for launches that use only this machine.
        """
        ...


class Launch(Protocol):
    """A launch under way. The caller tails ``LaunchOrder.stream`` for progress."""

    def poll(self) -> LaunchRecord | None:
        """None while it runs; its record once it has ended. Ends it after its timeout."""
        ...

    def wait(self, seconds: float) -> LaunchRecord | None:
        """Like ``poll``, but wait up to ``seconds`` for the end."""
        ...

    def stop(self) -> LaunchRecord:
        """End it: SIGTERM to the ranks, a grace period, then SIGKILL to the whole process tree."""
        ...
