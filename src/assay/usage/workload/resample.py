"""Weeks of a load, resampled with replacement; the sessions of users stay whole.

The load is divided into weeks from its first submission on. Each week of a resampled load is one of
the original weeks, drawn at random, so that hours of the day and days of the week are kept. A
session of a user belongs to the week in which it begins, and moves as a whole: the jobs of a user
whose think times (from the end of the jobs before to the submission) are below 20 minutes (J.
Zilber, O. Amit, D. Talby: What is worth learning from parallel workloads? A user and session based
analysis, ICS 2005; D. G. Feitelson: Resampling with feedback, JSSPP 2021, LNCS 12985).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.change import chosen_repeated

WEEK = 7 * 86400.0
# Longest think time within a session, s.
THINK = 1200.0


@dataclass(frozen=True)
class Weeks:
    """Weeks."""

    #: Week of each job (of its session), shape (n,).
    week: Ints
    #: Session of each job, numbered.
    session: Ints
    #: Number of whole weeks. Jobs of sessions that begin after the last whole week have the week
    #: ``whole`` and are not resampled. ``rest``: their number.
    whole: int
    rest: int


@dataclass(frozen=True)
class ResampledLoad:
    """A resampled load. ``workload``: its jobs; ``job``: for each row, the job that it copies."""

    workload: Workload
    job: Ints
    #: For each week, the original week that it copies.
    drawn: Ints


def sessions_of(workload: Workload, end: Floats) -> Ints:
    """The number of each job's session. ``end``: s, shape (n,), when the jobs really ended.

    Each job with an unknown user ("") is its own session.
    """
    count = len(workload)
    order = np.lexsort((np.arange(count), workload.submit, workload.user))
    user, submit, ended = workload.user[order], workload.submit[order], end[order]
    known = np.array([bool(name) for name in workload.users] or [False])[user]
    begins = np.ones(count, dtype=bool)
    begins[1:] = user[1:] != user[:-1]
    # The latest end of the same user's earlier jobs. Each user gets a separate stretch of time of
    # equal length.
    lowest = min(float(ended.min(initial=0.0)), 0.0)
    stretch = float(ended.max(initial=0.0)) - lowest + 1.0
    number = np.cumsum(begins) - 1
    latest = np.maximum.accumulate(ended - lowest + number * stretch) - number * stretch + lowest
    begins[1:] |= submit[1:] - latest[:-1] >= THINK
    begins |= ~known
    session = np.empty(count, dtype=np.int64)
    session[order] = np.cumsum(begins) - 1
    return session


def weeks_of(workload: Workload, end: Floats) -> Weeks:
    """The weeks of a load. ``end``: as for ``sessions_of``."""
    session = sessions_of(workload, end)
    origin = float(workload.submit.min(initial=0.0))
    begin = np.full(int(session.max(initial=-1)) + 1, np.inf)
    np.minimum.at(begin, session, workload.submit)
    whole = int((float(workload.submit.max(initial=origin)) - origin) // WEEK)
    week = np.minimum(((begin - origin) // WEEK).astype(np.int64), whole)[session]
    return Weeks(week, session, whole, int((week == whole).sum()))


def resampled(workload: Workload, weeks: Weeks, seed: int | list[int]) -> ResampledLoad:
    """A load with the same number of whole weeks, drawn with replacement.

    Raises AssayError for fewer than two whole weeks.
    """
    if weeks.whole < 2:
        raise AssayError(
            "The load is shorter than two whole weeks, so its weeks can't be resampled.",
            fix="Use --resamples 0 or a longer log.",
        )
    drawn = np.random.default_rng(seed).integers(weeks.whole, size=weeks.whole)
    by_week = [np.flatnonzero(weeks.week == number) for number in range(weeks.whole)]
    job = np.concatenate([by_week[number] for number in drawn])
    shift = np.concatenate(
        [np.full(by_week[each].size, (place - each) * WEEK) for place, each in enumerate(drawn)]
    )
    rows = chosen_repeated(workload, job)
    # A job that follows another belongs to the same session, and is copied in the same week.
    offset = np.cumsum([0, *(by_week[number].size for number in drawn)])
    within = np.full(len(workload) + 1, -1, dtype=np.int64)
    for jobs in by_week:
        within[jobs] = np.arange(jobs.size)
    place = np.repeat(np.arange(drawn.size), [by_week[number].size for number in drawn])
    before = within[rows.after]
    after = np.where((rows.after >= 0) & (before >= 0), before + offset[place], -1)
    submit = rows.submit + shift
    order = np.lexsort((np.arange(job.size), submit))
    new_place = np.empty(order.size + 1, dtype=np.int64)
    new_place[order], new_place[-1] = np.arange(order.size), -1
    rows = chosen_repeated(replace(rows, submit=submit, after=after), order)
    rows = replace(rows, after=new_place[rows.after])
    return ResampledLoad(rows, job[order], drawn)
