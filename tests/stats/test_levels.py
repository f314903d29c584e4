"""Levels as numbers, against the slow way of saying the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats.compare.levels import combined, numbered, places_of, relative

words = st.lists(st.sampled_from(["n1", "n2", "", "n10"]), max_size=30)
codes = st.integers(1, 40).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0, 1, 2, 70_000]), min_size=size, max_size=size),
        min_size=1,
        max_size=3,
    )
)


@given(words)
def test_levels_are_numbered_by_first_use(names: list[str]) -> None:
    found, levels = numbered(names)
    assert [levels[code] for code in found] == names
    assert list(levels) == sorted(set(names), key=names.index)


@given(codes)
def test_combinations_are_numbered_in_the_order_of_their_levels(rows: list[list[int]]) -> None:
    columns = [np.array(row, dtype=np.int64) for row in rows]
    found = combined(columns, len(rows[0]))
    of_all = list(zip(*rows, strict=True))
    number = {levels: place for place, levels in enumerate(sorted(set(of_all)))}
    assert found.tolist() == [number[levels] for levels in of_all]


def test_without_a_factor_all_are_one() -> None:
    assert combined([], 3).tolist() == [0, 0, 0]


seven = st.lists(st.integers(0, 6), max_size=50)


@given(seven)
def test_places_are_those_of_each_level(numbers: list[int]) -> None:
    check_places(numbers, 7)


@settings(max_examples=10)
@given(seven)
def test_places_of_more_levels_than_sixteen_bits_number(numbers: list[int]) -> None:
    check_places(numbers, 70_000)


def check_places(numbers: list[int], count: int) -> None:
    found = places_of(np.array(numbers, dtype=np.int64), count)
    assert len(found) == count
    for level in range(7):
        assert found[level].tolist() == [i for i, code in enumerate(numbers) if code == level]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3)), min_size=1, max_size=50))
def test_values_are_relative_to_their_levels_median(pairs: list[tuple[int, float]]) -> None:
    numbers = np.array([code for code, _ in pairs], dtype=np.int64)
    values = np.array([value for _, value in pairs])
    found = relative(values, numbers)
    for place, (code, value) in enumerate(pairs):
        assert found[place] == value - np.median(values[numbers == code])
