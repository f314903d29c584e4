"""Settings of a Linpack cell: by hand-worked cases, and by invariants of any search."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernels import find_kernel
from assay.kernels.linpack import linpack_bytes, linpack_flops, most_of, usual_rows
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.models.linpack.sizing import (
    TIME_SHARE,
    Found,
    is_open,
    read_search,
    resolve,
    searches_for,
    sizing_text,
)

KERNEL = find_kernel("linpack")
OPEN = {parameter.name: parameter.default for parameter in KERNEL.parameters}
FOUND = Found(128, 2, "ring", "spread", 0, n=3000, rate=1e11, memory_available=4e9)


def cell(ranks: int = 4, **parameters: Value) -> Cell:
    return Cell("linpack", {**OPEN, **parameters}, Placement(ppn=ranks), "embedded")


def memory(parameters: dict[str, Value], n: int, ranks: int) -> float:
    assert KERNEL.memory is not None
    return KERNEL.memory({**parameters, "n": n}, ranks, 1)


found_by_search = st.builds(
    Found,
    nb=st.integers(1, 512),
    p=st.sampled_from([1, 2, 4]),
    broadcast=st.just("ring"),
    swap=st.just("spread"),
    depth=st.sampled_from([0, 1]),
    n=st.just(2000),
    rate=st.floats(1e6, 1e16),
    memory_available=st.floats(1e5, 1e12),
)


def test_the_order_by_time_is_that_of_the_operation_count() -> None:
    # A twentieth of 900 s at 100 Gflop/s are 4.5e12 operations: 2/3 18898^3 + 3/2 18898^2 =
    # 4.49995e12, and 18899 would be 4.50066e12.
    resolved = resolve(cell(), dataclasses.replace(FOUND, memory_available=1e12), 900.0)
    assert resolved.largest is not None
    assert (resolved.largest.n, resolved.largest.limit) == (18898, "time")
    assert resolved.parameters["n"] == 18898
    assert resolved.seconds == pytest.approx(45.0, rel=1e-3)


def test_the_order_by_memory_fills_the_allowed_share() -> None:
    # One rank, panels of one column: n^2 doubles, n of the right-hand side, 2 n of panels, 4 n of
    # the solution, and padding of columns to an odd number of cache lines.
    found = dataclasses.replace(FOUND, nb=1, p=1, depth=0, memory_available=1e9)
    resolved = resolve(cell(1, fill=0.5), found, 1e9)
    assert resolved.largest is not None
    assert resolved.largest.limit == "memory"
    assert resolved.largest.n == pytest.approx(math.sqrt(0.5e9 / 8) - 3.5, abs=8)


def test_search_results_are_used_and_given_settings_stay() -> None:
    parameters = resolve(cell(n=5000), FOUND, 900.0).parameters
    assert parameters | {"nb": 128, "p": 2, "broadcast": "ring", "swap": "spread"} == parameters
    assert (parameters["n"], parameters["depth"]) == (5000, 0)
    given = {"nb": 64, "p": 1, "broadcast": "library", "swap": "exchange", "depth": 1, "n": 7}
    assert resolve(cell(**given), FOUND, 900.0).parameters == {**OPEN, **given}
    assert not is_open(cell(**given))
    assert is_open(cell(**{**given, "depth": -1}))
    assert not is_open(Cell("compute.dgemm", {"n": 0}, Placement(), "embedded"))


def test_without_a_search_the_kernel_chooses_all_it_can() -> None:
    resolved = resolve(cell(), None, 900.0)
    assert resolved.parameters == {**OPEN, "depth": 1}
    assert (resolved.largest, resolved.seconds) == (None, None)


@given(found_by_search, st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(1.0, 1e6))
def test_no_order_exceeds_memory_or_time_and_the_next_larger_would(
    found: Found, fill: float, fraction: float, budget: float
) -> None:
    resolved = resolve(cell(fill=fill, fraction=fraction), found, budget)
    largest = resolved.largest
    assert largest is not None

    def fits(n: int) -> bool:
        return (
            memory(resolved.parameters, n, 4) <= fill * found.memory_available
            and linpack_flops(n) <= TIME_SHARE * budget * found.rate
        )

    assert fits(largest.n) or largest.n == 1
    assert not fits(largest.n + 1)
    n = int(resolved.parameters["n"])
    assert n == max(int(fraction * largest.n), 1)
    assert resolve(cell(fill=fill, fraction=fraction), found, budget) == resolved


@given(found_by_search, st.floats(1.0, 1e6), st.floats(1.0, 10.0))
def test_more_time_and_more_memory_never_make_it_smaller(
    found: Found, budget: float, times: float
) -> None:
    def order(found: Found, budget: float) -> int:
        return int(resolve(cell(), found, budget).parameters["n"])

    richer = dataclasses.replace(found, memory_available=times * found.memory_available)
    assert order(found, times * budget) >= order(found, budget)
    assert order(richer, budget) >= order(found, budget)


@given(found_by_search, st.floats(1.0, 1e5))
def test_the_budget_that_the_sentence_names_lifts_the_limit(found: Found, budget: float) -> None:
    largest = resolve(cell(), found, budget).largest
    assert largest is not None
    text = sizing_text(largest)
    assert f"limited by {largest.limit}" in text
    if largest.limit == "time":
        number, unit = text.partition("--budget '")[2].partition("'")[0].split()
        lifted = resolve(cell(), found, float(number) * {"min": 60.0, "h": 3600.0}[unit]).largest
        assert lifted is not None and lifted.limit == "memory"


FACTS: dict[str, Value] = {
    "nb": 128,
    "p": 2,
    "broadcast": "ring",
    "swap": "spread",
    "depth": 0,
    "n": 3000,
    "rate": 1e11,
    "memory_available": 4e9,
    "candidates": 30,
}


def test_facts_are_read_completely_or_not_at_all() -> None:
    assert read_search(FACTS, 4) == FOUND
    for name in FACTS.keys() - {"candidates", "memory_available"}:
        assert read_search({k: v for k, v in FACTS.items() if k != name}, 4) is None
    assert read_search(FACTS, 3) is None  # a grid of two rows can't hold three ranks
    for name in ("nb", "p", "rate", "memory_available"):
        assert read_search({**FACTS, name: 0}, 4) is None
    assert read_search({**FACTS, "rate": math.nan}, 4) is None
    assert read_search({**FACTS, "rate": "fast"}, 4) is None


def test_without_known_memory_time_alone_decides() -> None:
    facts = {name: value for name, value in FACTS.items() if name != "memory_available"}
    found = read_search(facts, 4)
    assert found is not None
    largest = resolve(cell(), found, 900.0).largest
    assert largest is not None and (largest.n, largest.limit) == (18898, "time")
    assert sizing_text(largest).endswith("the amount of free memory is unknown")


def test_a_search_holds_at_its_own_placement_with_its_own_toolchain_alone() -> None:
    def search(ranks: int, toolchain: str = "embedded") -> Cell:
        return Cell("linpack.search", {"n": 0}, Placement(ppn=ranks), toolchain)

    searches = [search(2), search(4), search(4, "site"), cell(4)]
    assert searches_for(cell(4), searches) == [searches[1]]
    assert searches_for(cell(3), searches) == []


@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 7))
def test_the_maximum_for_one_is_computed(n: int, block: int, processes: int) -> None:
    held = [0] * processes
    for index in range(n):
        held[index // block % processes] += 1
    assert most_of(n, block, processes) == max(held)


def test_the_default_grid_is_as_square_as_possible_with_fewer_rows() -> None:
    assert [usual_rows(ranks) for ranks in (1, 2, 3, 4, 5, 6, 12, 16, 30, 31)] == [
        *(1, 1, 1, 2, 1, 2, 3, 4, 5, 1),
    ]


def test_memory_is_little_more_than_the_matrix() -> None:
    # A single grid column has the longest rows of U, four times over.
    for p, most in ((1, 1.1), (2, 1.1), (4, 1.15), (8, 1.2)):
        share = linpack_bytes(40_000, 192, p, 8) * 8 / (8.0 * 40_000**2)
        assert 1.0 < share < most


def test_a_grid_that_holds_other_ranks_is_refused() -> None:
    assert KERNEL.check is not None
    assert KERNEL.check({**OPEN, "p": 3}, Placement(ppn=6)) is None
    refused = KERNEL.check({**OPEN, "p": 4}, Placement(ppn=6))
    assert refused is not None and "4 doesn't divide 6" in refused
    assert KERNEL.check({**OPEN, "fraction": 0.0}, Placement()) is not None
