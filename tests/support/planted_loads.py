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
