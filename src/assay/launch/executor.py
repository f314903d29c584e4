"""What every launcher is: it runs one job and leaves a stream of records in a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.plans.model import Placement
from assay.records.model import LaunchRecord
from assay.records.schema import Job


@dataclass(frozen=True)
class LaunchOrder:
    """One launch: the job, where it runs, and the file that will hold its stream.

    ``timeout``: seconds after which it is ended. ``patience``: seconds without a word after which
    whoever follows the stream ends it, for those who simulate both.
    """

    launch: str
    toolchain: str
    placement: Placement
    job: Job
    stream: Path
    timeout: float = math.inf
    patience: float = math.inf


class Executor(Protocol):
    """Runs launches, one at a time."""

    def start(self, order: LaunchOrder) -> Launch:
        """Start the launch and return at once. Raises AssayError if it can't be started at all."""
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
