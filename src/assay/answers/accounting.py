"""Whole jobs by their scheduler's accounting: what Kramer & Ryan (2003) set the wall clock against.

A scheduler that suspends or moves jobs goes on counting the wall clock, and not the CPU time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.records.jobs import JobBook, JobStory
from assay.records.model import RunData
from assay.stats.intervals import smallest_size
from assay.stats.wall_clock import WallClock, compare_clocks

# How a job ended that did all that it was to do.
_WHOLE = ("complete", "session")


@dataclass(frozen=True)
class Accounted:
    """The jobs of a run that did the same: both clocks, and whose accounting it is.

    ``what``: what stands beside the wall clock, "CPU time" or "time without suspension".
    """

    clocks: WallClock
    source: str
    what: str


def accounting_of(run: RunData) -> Accounted | None:
    """The run's jobs that made as many measurements as most of them, by both clocks.

    None with fewer than six such jobs, and where no accounting told of them. The wall clock is the
    jobs' own, from their start to the end that they filed.
    """
    if run.path is None:
        return None
    book = JobBook(run.path)
    whole = []
    for story in book.jobs():
        end = book.end(story.number)
        if end is None or end.how not in _WHOLE or story.started is None:
            continue
        if story.accounted is not None and story.accounted.accounting is not None:
            whole.append((end.made, end.utc - story.started.utc, story))
    if not whole:
        return None
    counts = [made for made, _, _ in whole]
    usual = max(set(counts), key=counts.count)
    chosen = [(wall, story) for made, wall, story in whole if made == usual]
    wall = np.array([each for each, _ in chosen])
    # Where suspension is told of, elapsed time is without it (docs/formats.md).
    running = np.array([_told(story, "elapsed") for _, story in chosen])
    cpu = np.array([_told(story, "cpu") for _, story in chosen])
    suspended = np.array([_told(story, "suspended") for _, story in chosen])
    by_cpu = not np.nansum(suspended) > 0.0
    clocks = compare_clocks(wall, cpu if by_cpu else running, least=smallest_size())
    accounting = chosen[0][1].accounted
    if clocks is None or accounting is None or accounting.accounting is None:
        return None
    what = "CPU time" if by_cpu else "time without suspension"
    return Accounted(clocks, accounting.accounting.source, what)


def _told(story: JobStory, name: str) -> float:
    accounted = story.accounted
    value = getattr(accounted.accounting, name) if accounted is not None else None
    return float("nan") if value is None else float(value)
