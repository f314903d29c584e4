"""Loads for tests, of a few stated columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.usage.scheduler.schedule import Workload


def planted_load(
    submit: Sequence[float],
    run: Sequence[float],
    processors: Sequence[int] | None = None,
    *,
    limit: Sequence[float] | None = None,
    user: Sequence[int] | None = None,
    after: Sequence[int] | None = None,
) -> Workload:
    """A load with these jobs; one processor, exact limits and user 0 where not stated."""
    count = len(submit)
    zeros = np.zeros(count, dtype=np.int64)
    users = zeros if user is None else np.array(user, dtype=np.int64)
    return Workload(
        submit=np.array(submit, dtype=np.float64),
        run=np.array(run, dtype=np.float64),
        limit=np.array(run if limit is None else limit, dtype=np.float64),
        nodes=zeros,
        processors=zeros + 1 if processors is None else np.array(processors, dtype=np.int64),
        memory=np.zeros(count),
        gpus=zeros,
        user=users,
        account=zeros,
        partition=zeros,
        qos=zeros,
        after=zeros - 1 if after is None else np.array(after, dtype=np.int64),
        think=np.zeros(count),
        users=[f"u{number}" for number in range(int(users.max(initial=0)) + 1)],
        accounts=[""],
        qualities=[""],
    )


def weeks_of_users(
    random: np.random.Generator,
    weeks: int,
    *,
    processors: int = 32,
    load: float = 0.7,
    spread: float = 0.3,
    users: int = 30,
) -> Workload:
    """Independent weeks of jobs of users, in whole seconds.

    ``load``: offered load. ``spread``: standard deviation of the logarithm of a week's work. Users
    prefer a size, at most half of the machine, and a run time. In the working hours of working days
    jobs come twice as often as at other times. They request 1 to 5 times their run time, in whole
    quarters of an hour.
    """
    week, hour = 7 * 86400.0, 3600.0
    most = int(np.log2(processors)) - 1
    often = 1.0 / np.arange(1, users + 1) ** 0.8
    size_of = random.choice(6, users, p=[0.25, 0.2, 0.2, 0.15, 0.12, 0.08])
    run_of = np.exp(random.normal(0.0, 0.8, users))
    # A job takes 20 processor hours on average.
    run_of *= 20.0 * hour / float(np.average(2.0**size_of * run_of, weights=often))
    busy = np.where((np.arange(168) % 24 >= 8) & (np.arange(168) % 24 < 20), 2.0, 1.0)
    busy[120:] = 1.0
    rows = []
    for number in range(weeks):
        work = load * processors * week * np.exp(random.normal(-(spread**2) / 2, spread))
        drawn = 40 + int(work / hour)
        user = random.choice(users, drawn, p=often / often.sum())
        power = np.clip(size_of[user] + random.integers(-1, 2, drawn), 0, most)
        size = 2**power
        run = np.clip(run_of[user] * random.lognormal(-0.6, 1.1, drawn), 30.0, 86400.0)
        run = np.floor(run)
        kept = np.searchsorted(np.cumsum(size * run), work) + 1
        at = random.choice(168, drawn, p=busy / busy.sum()) + random.random(drawn)
        submit = np.floor(number * week + at * hour)
        rows.append(np.stack([submit, run, size, user])[:, :kept])
    submit, run, size, user = np.concatenate(rows, axis=1)
    order = np.argsort(submit, kind="stable")
    submit, run, size, user = submit[order], run[order], size[order], user[order]
    asked = run * random.uniform(1.0, 5.0, run.size)
    return planted_load(
        submit - submit[0],
        run,
        size.astype(np.int64),
        limit=np.ceil(asked / 900.0) * 900.0,
        user=user.astype(np.int64),
    )
