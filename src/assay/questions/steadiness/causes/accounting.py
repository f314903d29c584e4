"""Whole jobs by wall clock and by their scheduler's accounting, as in Kramer & Ryan (2003).

While a job is suspended or migrated, its wall time increases and its CPU time does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.records.jobs import JobBook, JobHistory
from assay.records.model import RunData
from assay.stats.attribution.wall_clock import WallClock, compare_clocks
from assay.stats.core.intervals import smallest_size

# End states of jobs that finished their work.
_FINISHED = ("complete", "session")


@dataclass(frozen=True)
class AccountedJobs:
    """The jobs of a run that did the same work."""

    #: Variation of the jobs by wall clock and by accounting.
    clocks: WallClock
    #: Name of the scheduler's accounting.
    source: str
    #: Quantity that is compared with the wall clock: "CPU time" or "time without suspension".
    what: str


def accounting_of(run: RunData) -> AccountedJobs | None:
    """The run's jobs with the most frequent number of measurements, by both clocks.

    None with fewer than six such jobs or without accounting. Wall time is from the start to the end
    that the jobs recorded.
    """
    if run.path is None:
        return None
    book = JobBook(run.path)
    finished = []
    for story in book.jobs():
        end = book.end(story.number)
        if end is None or end.how not in _FINISHED or story.started is None:
            continue
        if story.accounted is not None and story.accounted.accounting is not None:
            finished.append((end.made, end.utc - story.started.utc, story))
    if not finished:
        return None
    counts = [count for count, _, _ in finished]
    usual = max(set(counts), key=counts.count)
    chosen = [(wall, story) for count, wall, story in finished if count == usual]
    wall = np.array([each for each, _ in chosen])
    # If suspension is recorded, elapsed time excludes it (docs/formats/runs.md).
    running = np.array([_accounted(story, "elapsed") for _, story in chosen])
    cpu = np.array([_accounted(story, "cpu") for _, story in chosen])
    suspended = np.array([_accounted(story, "suspended") for _, story in chosen])
    by_cpu = not np.nansum(suspended) > 0.0
    clocks = compare_clocks(wall, cpu if by_cpu else running, least=smallest_size())
    accounting = chosen[0][1].accounted
    if clocks is None or accounting is None or accounting.accounting is None:
        return None
    what = "CPU time" if by_cpu else "time without suspension"
    return AccountedJobs(clocks, accounting.accounting.source, what)


def _accounted(story: JobHistory, name: str) -> float:
    """One number of the accounting, s; NaN if it is missing."""
    accounted = story.accounted
    value = getattr(accounted.accounting, name) if accounted is not None else None
    return float("nan") if value is None else float(value)
