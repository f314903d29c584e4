"""Requested times: none below the run time, and as popular as the model says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.usage.workload.estimates import better, exact, modal, modal_estimates, padded
from planted_loads import planted_load

HOUR = 3600.0
RANKS = [(14.0491 * math.exp(-0.177531 * rank) + 0.462513) / 100 for rank in range(2, 21)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 2e5), st.floats(1, 3e5)), min_size=1, max_size=80),
    st.floats(1.0, 50.0),
    st.integers(0, 1000),
)
def test_no_request_is_below_the_run_time(
    jobs: list[tuple[float, float]], factor: float, seed: int
) -> None:
    run = [each[0] for each in jobs]
    load = planted_load(range(len(jobs)), run, limit=[max(each) for each in jobs])
    for changed in (exact(load), padded(load, factor), better(load, factor), modal(load, seed)):
        assert np.all(changed.limit >= changed.run)
        assert np.all(changed.limit >= 1.0)
        assert np.array_equal(changed.run, load.run)
    assert np.all(better(load, factor).limit <= np.maximum(load.limit, 1.0) * (1 + 1e-12))


def test_what_each_requests() -> None:
    load = planted_load([0, 1, 2], [100, 50, 70], limit=[300, 60, 40])
    assert exact(load).limit.tolist() == [100, 50, 70]
    assert padded(load, 2).limit.tolist() == [200, 100, 140]
    # The third reaches its limit, and keeps it.
    assert better(load, 2).limit.tolist() == [200, 55, 40]
    assert better(load, math.inf).limit.tolist() == [100, 50, 40]
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(AssayError):
            better(load, wrong)
        with pytest.raises(AssayError):
            padded(load, wrong)


@pytest.mark.parametrize("seed", range(5))
def test_twenty_values_hold_most_and_the_longest_is_the_most_popular(seed: int) -> None:
    found = modal_estimates(10_000, 18 * HOUR, seed)
    assert found.shares.sum() == pytest.approx(1.0)
    assert found.values.size == pytest.approx(90, abs=3)  # the paper's number for 10,000 jobs
    top = np.argsort(-found.shares)[:20]
    assert found.shares[top].sum() == pytest.approx(0.89)
    assert set(found.values[top]) == set(found.head)
    assert found.values[top[0]] == 18 * HOUR
    # The paper's exponential: 14.0491·exp(-0.177531·rank) + 0.462513 percent from rank 2 on.
    assert found.shares[top[1:]] == pytest.approx(RANKS)
    assert np.all(found.values <= 18 * HOUR) and np.all(np.diff(found.values) > 0)
    # Round values of all four logs of the paper are in the head.
    assert {300.0, 900.0, 1800.0, HOUR, 2 * HOUR, 12 * HOUR} <= set(found.head)


def test_requests_have_the_shares_and_are_random_above_the_run_time() -> None:
    random = np.random.default_rng(5)
    run = np.exp(random.uniform(0, np.log(4 * HOUR), 5000))
    load = planted_load(np.arange(5000.0), run)
    asked = modal(load, 7, longest=18 * HOUR).limit
    values, counts = np.unique(asked, return_counts=True)
    assert np.sort(counts)[-20:].sum() / 5000 == pytest.approx(0.89, abs=0.005)
    assert counts[values == 18 * HOUR] / 5000 == pytest.approx(0.89 - sum(RANKS), abs=0.005)
    short = asked[run < 60]
    assert 18 * HOUR in short and short.min() <= 900
    assert np.array_equal(asked, modal(load, 7, longest=18 * HOUR).limit)
    assert not np.array_equal(asked, modal(load, 8, longest=18 * HOUR).limit)


def test_more_long_jobs_than_long_requests() -> None:
    load = planted_load(range(100), [17.5 * HOUR] * 90 + [60.0] * 10)
    asked = modal(load, 1, longest=18 * HOUR)
    assert np.all(asked.limit[:90] == 18 * HOUR)


def test_a_limit_below_an_hour_has_no_model() -> None:
    with pytest.raises(AssayError, match="an hour"):
        modal_estimates(100, 600.0, 1)
