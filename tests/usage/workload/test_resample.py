"""Resampled weeks: as many weeks as before, sessions whole, hours of the week kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.resample import THINK, WEEK, resampled, sessions_of, weeks_of
from planted_loads import planted_load


def random_load(seed: int, jobs: int = 300, weeks: float = 5.3) -> tuple[Workload, Floats]:
    random = np.random.default_rng(seed)
    submit = np.sort(np.floor(random.uniform(0, weeks * WEEK, jobs)))
    submit[0], submit[-1] = 0.0, np.floor(weeks * WEEK)
    run = np.floor(random.exponential(20_000, jobs))
    wait = np.floor(random.exponential(2_000, jobs))
    load = planted_load(submit, run, user=random.integers(5, size=jobs))
    return load, submit + wait + run


def plain_sessions(load: Workload, end: Floats) -> Ints:
    """Job by job: a new session where a user was away for 20 min from the end of all jobs."""
    session = np.zeros(len(load), dtype=np.int64)
    latest: dict[int, tuple[float, int]] = {}
    number = -1
    for job in range(len(load)):
        user = int(load.user[job])
        until, mine = latest.get(user, (-np.inf, -1))
        if load.submit[job] - until >= THINK:
            number += 1
            until, mine = -np.inf, number
        session[job] = mine
        latest[user] = (max(until, float(end[job])), mine)
    return session


@pytest.mark.parametrize("seed", range(6))
def test_sessions_are_those_of_a_plain_count(seed: int) -> None:
    load, end = random_load(seed)
    pairs = set(zip(sessions_of(load, end), plain_sessions(load, end), strict=True))
    assert len(pairs) == len({first for first, _ in pairs}) == len({other for _, other in pairs})


def test_jobs_without_users_are_sessions_alone() -> None:
    load = planted_load([0, 1, 2], [5, 5, 5])
    load.users[0] = ""
    assert len(set(sessions_of(load, load.submit + load.run))) == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_weeks_are_counted_and_sessions_stay_whole(seed: int, draw: int) -> None:
    load, end = random_load(seed, jobs=80)
    weeks = weeks_of(load, end)
    assert weeks.whole == 5
    found = resampled(load, weeks, draw)
    assert found.drawn.size == 5
    # Every copy of a job is there as often as its week was drawn.
    copies = Counter(found.job.tolist())
    drawn = Counter(found.drawn.tolist())
    for job in range(len(load)):
        assert copies[job] == drawn[int(weeks.week[job])]
    assert np.all(np.diff(found.workload.submit) >= 0)
    shift = found.workload.submit - load.submit[found.job]
    assert np.all(shift % WEEK == 0)
    # A session's copies moved together: each shift of one of its jobs is one of all.
    for session in np.unique(weeks.session):
        members = np.flatnonzero(weeks.session == session)
        moves = [sorted(shift[found.job == job]) for job in members]
        assert all(each == moves[0] for each in moves)
        first = members[0]
        assert all(0 <= (load.submit[first] + move) // WEEK < 5 for move in moves[0]), (
            "it begins in one of the weeks"
        )
    assert np.array_equal(found.workload.run, load.run[found.job])


def test_jobs_after_others_stay_with_them() -> None:
    day = 86400.0
    submit = [0, 10, 8 * day, 8 * day + 10, 14.5 * day]
    load = planted_load(submit, [5] * 5, user=[0, 0, 1, 1, 2], after=[-1, 0, -1, 2, -1])
    weeks = weeks_of(load, load.submit + load.run)
    assert weeks.whole == 2 and weeks.rest == 1
    for draw in range(10):
        found = resampled(load, weeks, draw)
        assert len(found.workload) == 4
        for row, before in enumerate(found.workload.after):
            if found.job[row] in (1, 3):
                assert found.job[before] == found.job[row] - 1
                assert found.workload.submit[row] - found.workload.submit[before] == 10
            else:
                assert before == -1


def test_a_short_load_has_no_weeks() -> None:
    load = planted_load([0, 8 * 86400.0], [5, 5])
    with pytest.raises(AssayError, match="two whole weeks"):
        resampled(load, weeks_of(load, load.submit), 1)
