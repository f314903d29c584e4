"""Waiting for processes, and settings for ranks that wait for each other."""

from __future__ import annotations

import os

# MPICH's ranks poll while they wait. If there are more ranks than cores, polling takes CPU time
# from ranks with work. With these settings, ranks yield their CPU (sched_yield) when a few polls
# find nothing. Open MPI does this automatically when it knows that the cores are oversubscribed.
POLITE_WAITING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "true",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
}


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None on an old kernel."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
