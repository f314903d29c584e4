"""Changes of a load: nothing is lost, and each does what it says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.usage.workload.change import (
    at_most,
    faster,
    split_by_time,
    varied,
    with_limits,
)
from planted_loads import planted_load


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 5000)), min_size=1, max_size=30),
    st.integers(1, 1500),
)
def test_parts_of_a_divided_job_add_up(jobs: list[tuple[int, int]], longest: int) -> None:
    load = planted_load(
        range(len(jobs)), [run for run, _ in jobs], limit=[max(each) for each in jobs]
    )
    split = split_by_time(load, longest)
    rows = split.workload
    assert np.all(rows.run <= longest) and np.all(rows.limit <= longest)
    assert np.array_equal(np.bincount(split.job, rows.run), load.run)
    for row, before in enumerate(rows.after):
        if before >= 0:
            assert before == row - 1 and split.job[row] == split.job[before]
            assert rows.run[before] == longest
    assert np.count_nonzero(rows.after < 0) == len(load)


def test_followers_wait_for_the_last_part() -> None:
    load = planted_load([0, 5], [250, 10], after=[-1, 0])
    rows = split_by_time(load, 100).workload
    assert rows.run.tolist() == [100, 100, 50, 10]
    assert rows.after.tolist() == [-1, 0, 1, 2]


def test_smaller_jobs_keep_their_processor_time() -> None:
    load = planted_load([0, 1, 2], [100, 100, 100], [4, 64, 100], limit=[200, 200, 300])
    small = at_most(load, 32)
    assert small.processors.tolist() == [4, 32, 32]
    assert small.run.tolist() == [100, 200, 312.5]
    assert small.limit.tolist() == [200, 400, 937.5]
    assert np.array_equal(small.processors * small.run, load.processors * load.run)


def test_limits_never_kill_jobs_that_finished() -> None:
    load = planted_load([0, 1, 2], [100, 190, 250], limit=[200, 200, 200])
    assert with_limits(load, 0.75).limit.tolist() == [150, 190, 150]
    assert with_limits(load, 2.0).limit.tolist() == [400, 400, 400]


def test_run_times() -> None:
    load = planted_load([0, 1], [100, 100], [1, 2])
    assert faster(load, 0.1).run.tolist() == [100, 90]
    assert varied(load, np.array([1.5, 0.5])).run.tolist() == [150, 50]
