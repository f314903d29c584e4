"""Recorded regions: gaps of all ranks are left out, and times keep their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.trace.regions import recorded_regions


def test_a_gap_of_all_ranks_is_left_out() -> None:
    # Rank 0 records 1 to 2 and 5 to 7, rank 1 1.5 to 3 and 6 to 8: no rank does from 3 to 5.
    found = recorded_regions(
        [
            (np.array([0.0, 1.0, 2.0, 5.0, 7.0]), np.array([False, True, False, True, False])),
            (np.array([0.0, 1.5, 3.0, 6.0, 8.0]), np.array([False, True, False, True, False])),
        ]
    )
    assert found is not None
    assert found.edges.tolist() == [1.0, 3.0, 5.0, 8.0]
    assert found.cut == 2.0
    times = found.without_gaps(np.array([0.5, 1.0, 2.0, 4.0, 5.0, 6.5, 9.0]))
    assert times.tolist() == [0.0, 0.0, 1.0, 2.0, 2.0, 3.5, 5.0]


def test_regions_that_touch_are_one_and_none_is_none() -> None:
    found = recorded_regions([(np.array([0.0, 1.0]), np.array([True, False])),
                              (np.array([1.0, 2.0]), np.array([True, False]))])  # fmt: skip
    assert found is not None and found.edges.tolist() == [0.0, 2.0]
    assert recorded_regions([(np.array([0.0, 3.0]), np.array([False, False]))]) is None


_RANK = st.lists(st.integers(0, 40), min_size=2, max_size=8, unique=True).map(sorted)


@given(st.lists(_RANK, min_size=1, max_size=4))
def test_times_are_what_brute_force_counts(ranks: list[list[int]]) -> None:
    """Unit steps in which any rank records."""
    given_ranks = [
        (np.array(at, dtype=float), np.array([i % 2 == 0 for i in range(len(at) - 1)] + [False]))
        for at in ranks
    ]
    found = recorded_regions(given_ranks)
    assert found is not None
    busy = [
        any(at[i] <= step < at[i + 1] and i % 2 == 0 for at in ranks for i in range(len(at) - 1))
        for step in range(41)
    ]
    for time in range(42):
        assert found.without_gaps(np.array([float(time)]))[0] == pytest.approx(sum(busy[:time]))
