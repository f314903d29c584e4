"""The Pareto front against the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.design.front import pareto_front

POINT = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))


def beaten(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether ``other`` is at least as good in all and better in one."""
    return other[0] <= one[0] and other[1] <= one[1] and other[2] >= one[2] and other != one


@given(st.lists(POINT, max_size=60))
def test_the_front_is_what_no_other_beats(points):
    columns = np.array(points, dtype=float).reshape(-1, 3)
    front = pareto_front(columns[:, 0], columns[:, 1], columns[:, 2])
    found = [points[i] for i in front]
    expected = {p for p in points if not any(beaten(p, q) for q in points)}
    assert set(found) == expected
    assert len(found) == len(expected)  # of equal ones the first
    assert found == sorted(found, key=lambda p: p[0])
