"""Describes how following a run ends, and how its jobs ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from assay.errors import AssayError
from assay.records.jobs import JobEnd
from assay.schedulers.model import JobStatus
from assay.units import counted, listed

# Regular endings of a group's tasks, and words for the other endings.
WHOLE = {"complete"}
_ENDS = {
    "time": "their time was over",
    "warned": "they were warned that their time was ending",
    "asked": "they were asked to end",
    "incomplete": "cells could not be measured",
    "failed": "an error",
    "refused": "another process was measuring",
}


@dataclass(frozen=True)
class Ending:
    """The result of following a run."""

    #: ``complete``; ``ended`` (no job is left, but the run isn't complete); ``stopped`` (the user
    #: ended the job); ``left`` (the user left, and the job may continue); ``queued`` (the job stays
    #: queued for longer than the user wants to wait). ``sentence`` says what happened; ``problem``
    #: is the error that prevented the job from measuring.
    how: Literal["complete", "ended", "stopped", "left", "queued"]
    sentence: str = ""
    problem: AssayError | None = None


def compiled_words(end: JobEnd) -> str:
    """``"60% of the kernels were compiled"``, for a job that ended during a build."""
    assert end.compiled is not None
    return f"{100 * end.compiled:.0f}% of the kernels were compiled"


def job_words(job: str, status: JobStatus | None, end: JobEnd | None) -> str:
    """A sentence on a job that no other job continues although the run isn't complete.

    ``end``: the job's record of its end, None if there is none. ``status``: from the scheduler.
    """
    state = status.state if status is not None else "unknown"
    reason = f" ({status.reason})" if status is not None and status.reason else ""
    if end is None:
        how = state.replace("node-failed", "a node failed").replace("unknown", "ended")
        return f"Job {job}: {how}{reason}."
    how = {
        "asked": "it was asked to end",
        "warned": "its time was over",
        "time": "its time was over",
        "failed": "it failed",
        "refused": "another process is measuring the run",
        "incomplete": "some cells could not be measured",
        "session": "its session is over",
        "complete": "it reports that it is complete, but some of its files are not visible here "
        "yet",
    }[end.how]
    if state in ("cancelled", "preempted", "timeout", "node-failed"):
        how = {"node-failed": "a node failed", "timeout": "its walltime was reached"}.get(
            state, f"it was {state}"
        )
    if end.compiled is None:
        more = " It added no measurements." if end.how in _REGULAR and not end.progress else ""
        return f"Job {job}: {how}{reason}.{more}"
    if end.objects:
        kept = "The compiled files are kept, and the next job continues."
    else:
        kept = (
            "It compiled no file, since its time is too short. Request more time with "
            "--walltime, or compile in advance: assay kernels --build."
        )
    return f"Job {job}: {how}{reason}; {compiled_words(end)}. {kept}"


_REGULAR = ("time", "incomplete", "session", "warned")


def group_words(ends: Counter[str]) -> str:
    """A sentence on the tasks of a group that ended incomplete; empty if there are none."""
    words = [
        f"{_ENDS.get(how, how)} on {counted(count, 'node')}"
        for how, count in ends.items()
        if how not in WHOLE
    ]
    return f"Some jobs ended before the run was complete: {listed(words)}." if words else ""
