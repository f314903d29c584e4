"""A job's view of its node: the allocation, files that appear late, requests to end."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.campaign.requests.job_estimate import ENDING, ENDING_SHARE
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.launch.allocation import Allocation

# Seconds to wait until a file from another node is visible on this node: NFS clients may cache for
# a minute that a file doesn't exist (acdirmax in NFS(5)).
LATE = 90.0

_T = TypeVar("_T")


def deadline_here() -> float | None:
    """The Unix time at which a campaign in this process must have ended; None outside an
    allocation.
    """
    allocation = allocation_here()
    if allocation is None or allocation.ends is None:
        return None
    left = allocation.ends - time.time()
    return allocation.ends - min(ENDING, ENDING_SHARE * max(left, 0.0))


def allocation_here() -> Allocation | None:
    """The allocation of this job; None without one, or if it can't be determined."""
    from assay.launch.allocation import find_allocation

    try:
        return find_allocation()
    except AssayError:  # the survey of the machine reports it later
        return None


def wait_for(look: Callable[[], _T | None], path: Path) -> _T:
    """The result of ``look`` as soon as it is visible on this node.

    Raises AssayError after ``LATE``.
    """
    until = time.monotonic() + LATE
    while not (found := look()):
        if time.monotonic() > until:
            raise AssayError(
                f"The run's files did not appear within {LATE:g} s.",
                where=str(path),
                fix="Store runs in a file system that all nodes share under the same path.",
            )
        time.sleep(0.2)
    return found


def end_with_parent() -> None:
    """End this process with SIGTERM when its standard input is closed.

    Otherwise it would outlive its remote shell. A remote shell that passes no input (pbs_tmrsh)
    leaves /dev/null, which is not watched. Also removes the scheduler's variables from the
    environment, since this process measures only this node, not the allocation.
    """
    from assay.schedulers import job_variables

    prefixes = job_variables()
    for name in list(os.environ):
        if name.startswith(prefixes):
            del os.environ[name]

    held = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(held) or stat.S_ISSOCK(held)):
        return

    def watch() -> None:
        while os.read(0, 64):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore further requests to end while results are stored."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    previous = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
