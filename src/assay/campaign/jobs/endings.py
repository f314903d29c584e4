"""How following a run ends, and how its jobs ended, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from assay.errors import AssayError
from assay.records.jobs import JobEnd
from assay.schedulers.model import JobStatus
from assay.units import counted, listed

# Of tasks of a group: how they end regularly, and the other endings in words.
WHOLE = {"complete"}
_ENDS = {
    "time": "their time was over",
    "warned": "they were warned that their time is over",
    "asked": "they were asked to end",
    "incomplete": "cells could not be measured",
    "failed": "an error",
    "refused": "another process measured",
}


@dataclass(frozen=True)
class Ending:
    """How following a run ended."""

    #: ``complete``; ``ended`` (no job is left, and the run isn't complete); ``stopped`` (the user
    #: ended the job); ``left`` (the user left, and the job may go on); ``queued`` (the job stays in
    #: its queue for longer than the user wants to wait). ``sentence`` says what happened;
    #: ``problem`` is the error that kept the job from measuring.
    how: Literal["complete", "ended", "stopped", "left", "queued"]
    sentence: str = ""
    problem: AssayError | None = None


def compiled_words(end: JobEnd) -> str:
    """``"the kernels were compiled to 60%"``: of a job that ended meanwhile."""
    assert end.compiled is not None
    return f"the kernels were compiled to {100 * end.compiled:.0f}%"


def job_words(job: str, status: JobStatus | None, end: JobEnd | None) -> str:
    """A sentence on a job after which no other goes on, and the run isn't complete.

    ``end``: its own record, None if it left none. ``status``: by the scheduler.
    """
    state = status.state if status is not None else "unknown"
    reason = f" ({status.reason})" if status is not None and status.reason else ""
    if end is None:
        how = state.replace("node-failed", "a node failed").replace("unknown", "ended")
        return f"Job {job}: {how}{reason}."
    how = {
        "asked": "it was told to end",
        "warned": "its time was over",
        "time": "its time was over",
        "failed": "it failed",
        "refused": "another process works on the run",
        "incomplete": "some cells could not be measured",
        "session": "its session is over",
        "complete": "it reports that it is complete, but not all of its files are visible here yet",
    }[end.how]
    if state in ("cancelled", "preempted", "timeout", "node-failed"):
        how = {"node-failed": "a node failed", "timeout": "its walltime was reached"}.get(
            state, f"it was {state}"
        )
    if end.compiled is None:
        more = " It measured nothing more." if end.how in _REGULAR and not end.progress else ""
        return f"Job {job}: {how}{reason}.{more}"
    if end.objects:
        kept = "What is compiled is kept, and the next job continues."
    else:
        kept = (
            "It compiled nothing more: its time is too short for a single file, so request more "
            "by --walltime, or compile before: assay kernels --build."
        )
    return f"Job {job}: {how}{reason}; {compiled_words(end)}. {kept}"


_REGULAR = ("time", "incomplete", "session", "warned")


def group_words(ends: Counter[str]) -> str:
    """A sentence on the tasks of a group that ended before they were complete; empty if none."""
    words = [
        f"{_ENDS.get(how, how)} on {counted(count, 'node')}"
        for how, count in ends.items()
        if how not in WHOLE
    ]
    return f"Jobs ended before the run did: {listed(words)}." if words else ""
