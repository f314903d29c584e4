"""network.neighbour: its grid and formulas against brute force, real exchanges, planted damage."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import pytest

from assay.kernels import find_kernel
from assay.kernels.exchanges.neighbour import METHODS, edges, grid_extents
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

KERNEL = find_kernel("network.neighbour")
NAME = KERNEL.name
DEFAULTS = {p.name: p.default for p in KERNEL.parameters}
OPS = ("alltoall", "allgather")


@pytest.mark.parametrize(
    ("ranks", "dimensions", "extents"),
    [
        *((2, 2, (2, 1)), (6, 2, (3, 2)), (12, 2, (4, 3)), (12, 3, (3, 2, 2)), (8, 3, (2, 2, 2))),
        *((7, 2, (7, 1)), (36, 2, (6, 6)), (48, 3, (4, 4, 3)), (5, 1, (5,))),
    ],
)
def test_grids_are_as_compact_as_possible(
    ranks: int, dimensions: int, extents: tuple[int, ...]
) -> None:
    assert grid_extents(ranks, dimensions) == extents


def brute_edges(ranks: int, dimensions: int) -> Counter[tuple[int, int]]:
    """Neighbours by their coordinates; the last dimension is the fastest."""
    extents = grid_extents(ranks, dimensions)
    places = list(product(*(range(extent) for extent in extents)))
    number = {place: rank for rank, place in enumerate(places)}
    found: Counter[tuple[int, int]] = Counter()
    for place in places:
        for axis, step in product(range(dimensions), (-1, 1)):
            moved = list(place)
            moved[axis] += step
            if extents[axis] > 2:
                moved[axis] %= extents[axis]
            if tuple(moved) in number:
                found[number[place], number[tuple(moved)]] += 1
    return found


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 7, 9, 12, 27])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_work_and_peers_are_the_neighbours(ranks: int, dimensions: int) -> None:
    assert prod(grid_extents(ranks, dimensions)) == ranks
    neighbours = brute_edges(ranks, dimensions)
    assert Counter(edges(ranks, dimensions)) == neighbours
    assert all(source != target for source, target in neighbours)
    assert max(neighbours.values()) == 1  # no pair is adjacent twice
    parameters = {**DEFAULTS, "bytes": 100, "dimensions": dimensions}
    assert KERNEL.work(parameters, ranks, 1) == {"bytes": 100.0 * neighbours.total()}
    assert KERNEL.peers is not None
    assert KERNEL.peers(parameters, ranks, 1) == dict.fromkeys(neighbours, 100.0)


def test_memory_and_the_busiest_adapter() -> None:
    assert KERNEL.memory is not None and KERNEL.link_bytes is not None
    assert KERNEL.memory({**DEFAULTS, "bytes": 10, "dimensions": 3}, 8, 1) == 120
    assert KERNEL.memory({**DEFAULTS, "op": "allgather", "bytes": 10}, 8, 1) == 50
    # Three nodes with the three rows of a periodic grid of 3 by 3: six blocks leave each.
    assert KERNEL.link_bytes({**DEFAULTS, "bytes": 10}, 3, 3) == 60
    # Two nodes with the halves of a row of four: both ends of each half leave it.
    assert KERNEL.link_bytes({**DEFAULTS, "bytes": 10, "dimensions": 1}, 2, 2) == 20


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, pytest.param(6, marks=pytest.mark.long)])
def test_every_method(ranks: int) -> None:
    cases = [
        {"op": op, "method": method, "bytes": size, "dimensions": dimensions}
        for op, method, size, dimensions in product(OPS, METHODS, (0, 8, 5000), (1, 2, 3))
    ]
    for case, record in zip(
        cases, measure(plain(), *((NAME, case) for case in cases), ranks=ranks), strict=True
    ):
        assert_good(record)
        assert record.parameters == case
        assert record.batch == 1
        assert all(median is not None for median in record.rank_medians)


@pytest.mark.slow
def test_defaults_are_the_catalogues() -> None:
    (record,) = measure(plain(), (NAME, {}), ranks=2)
    assert record.parameters == DEFAULTS
    wrong = {"between 1 and 3, not 4": {"dimensions": 4}, "valid are: collective": {"method": "x"}}
    for words, failed in zip(
        wrong, measure(plain(), *((NAME, p) for p in wrong.values()), ranks=2), strict=True
    ):
        assert failed.status == "failed"
        assert words in failed.error


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A byte of each result, or after it; then exchanges that are left out."""
    cases = [
        {"op": op, "method": method, "bytes": 100, "dimensions": 2, "fault": fault}
        for op, method, fault in product(OPS, METHODS, ("none", "byte", "guard", "idle"))
    ]
    found = measure_faults(*((NAME, case) for case in cases), ranks=3)
    for case, record in zip(cases, found, strict=True):
        # Each of three ranks has two neighbours; the check has two more rounds.
        lost = 2 * 3 * 2 * 100
        expected = {"none": 0, "byte": 3, "guard": 3, "idle": lost}[case["fault"]]
        assert record.verification.value == expected


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    cases = [
        {"op": op, "method": method, "bytes": size, "dimensions": 2}
        for op, method, size in product(OPS, METHODS, (0, 1000))
    ]
    for record in measure(sanitized(), *((NAME, case) for case in cases), ranks=2):
        assert_good(record)
