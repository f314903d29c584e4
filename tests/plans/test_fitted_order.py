"""Rank orders fitted to the ranks' messages: by brute force, and in plans."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.arrays import Floats
from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.model.plan import PlanContext
from assay.model.rank_order import ORDERS, seats_by_rank
from assay.plans.fitted_order import MOST_RANKS, cost_of, dense, distances, fit_order, read_matrix
from assay.plans.words import plan_from_words


def drawn(ranks: int, seed: int, density: float = 0.5) -> Floats:
    random = np.random.default_rng(seed)
    matrix = random.exponential(1e6, (ranks, ranks)) * (random.random((ranks, ranks)) < density)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def between(matrix: Floats, order: str, nodes: int, ppn: int) -> float:
    """Bytes from node to node, pair by pair."""
    node_of = [node for node, _ in seats_by_rank(order, nodes, ppn)]
    ranks = range(nodes * ppn)
    return sum(float(matrix[a, b]) for a in ranks for b in ranks if node_of[a] != node_of[b])


@pytest.mark.parametrize(
    ("nodes", "ppn", "seed"),
    [
        *((n, 6 // n, seed) for n in (2, 3) for seed in range(5)),
        (2, 2, 0),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((4, 2, 1), (2, 4, 2))),
    ],
)
def test_it_is_the_best_of_all_orders(nodes: int, ppn: int, seed: int) -> None:
    matrix = drawn(nodes * ppn, seed)
    fit = fit_order(matrix, nodes, ppn)
    apart = distances(nodes, ppn)
    least = min(cost_of(matrix, np.array(p), apart) for p in permutations(range(nodes * ppn)))
    assert fit.between == pytest.approx(least)
    assert between(matrix, fit.order, nodes, ppn) == pytest.approx(least)


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_it_is_never_worse_than_an_order_with_a_name(nodes: int, ppn: int, seed: int) -> None:
    matrix = drawn(nodes * ppn, seed, 0.2)
    fit = fit_order(matrix, nodes, ppn)
    bytes_between = {order: between(matrix, order, nodes, ppn) for order in ORDERS}
    assert fit.plain == pytest.approx(bytes_between)
    assert fit.between <= min(bytes_between.values()) * (1 + 1e-12)
    assert between(matrix, fit.order, nodes, ppn) == pytest.approx(fit.between)
    assert sorted(fit.seats) == list(range(nodes * ppn))
    assert fit == fit_order(matrix, nodes, ppn)


def test_separated_pairs_are_found() -> None:
    """Sixteen nodes of eight ranks; shuffled groups of eight ranks communicate."""
    nodes, ppn = 16, 8
    groups = np.random.default_rng(3).permutation(nodes * ppn) // ppn
    matrix = (groups[:, None] == groups[None, :]) * 1e6
    np.fill_diagonal(matrix, 0.0)
    fit = fit_order(matrix, nodes, ppn)
    assert min(fit.plain.values()) > 0.8 * matrix.sum()
    assert fit.between < 0.15 * matrix.sum()


def test_uniform_communication_keeps_the_order() -> None:
    matrix = np.ones((8, 8)) - np.eye(8)
    assert fit_order(matrix, 4, 2).order == "block"
    assert fit_order(np.zeros((6, 6)), 3, 2).order == "block"
    assert fit_order(drawn(4, 1), 1, 4).between == 0.0


def test_nodes_may_be_at_different_distances() -> None:
    """A pair of ranks per node; two pairs communicate, and two of three nodes are close."""
    matrix = dense({(0, 4): 5.0, (4, 0): 5.0, (2, 3): 1.0}, 6)
    far = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    fit = fit_order(matrix, 3, 2, far)
    assert fit.between == 0.0
    with pytest.raises(ValueError, match="4 by 4"):
        fit_order(matrix, 2, 2)


def test_too_many_ranks_keep_to_the_orders_with_names() -> None:
    ranks = MOST_RANKS + 2
    matrix = np.zeros((ranks, ranks))
    half = ranks // 2
    for rank in range(half):  # partners half of the ranks apart
        matrix[rank, rank + half] = 1.0
    assert fit_order(matrix, half, 2).order == "cyclic"


# ---- plans -----------------------------------------------------------------------------------


def test_for_very_many_ranks_no_order_is_searched() -> None:
    context = PlanContext(cores=128, nodes=32)
    placement = {"nodes": 32, "ppn": 128, "order": "fitted"}
    (cell,) = plan_from_words("npb.ft", ["class=D"], context=context, placement=placement).cells
    assert cell.placement.order == "block"


def test_a_plans_fitted_order_is_the_one_found() -> None:
    context = PlanContext(cores=3, nodes=4)
    placement = {"nodes": 4, "ppn": 3, "order": "block,cyclic,fitted"}
    plan = plan_from_words("npb.bt", ["class=A"], context=context, placement=placement)
    orders = [cell.placement.order for cell in plan.cells]
    assert orders[:2] == ["block", "cyclic"]
    bt = find_kernel("npb.bt")
    assert bt.peers is not None
    matrix = dense(bt.peers({"class": "A"}, 12, 1), 12)
    fitted = between(matrix, orders[-1], 4, 3)
    assert fitted == fit_order(matrix, 4, 3).between
    assert fitted <= min(between(matrix, order, 4, 3) for order in ORDERS)


@pytest.mark.parametrize(
    ("kernel", "words", "nodes", "ppn"),
    [("npb.ep", ["class=S"], 2, 2), ("npb.lu", ["class=S"], 1, 2), ("npb.lu", ["class=S"], 2, 1)],
)
def test_if_no_order_is_better_block_order_is_used(
    kernel: str, words: list[str], nodes: int, ppn: int
) -> None:
    context = PlanContext(cores=2, nodes=2)
    placement = {"nodes": nodes, "ppn": ppn, "order": "block,fitted"}
    (cell,) = plan_from_words(kernel, words, context=context, placement=placement).cells
    assert cell.placement.order == "block"


# ---- matrices of other programs --------------------------------------------------------------


def test_matrices_are_squares_or_triples(tmp_path: Path) -> None:
    square, triples = tmp_path / "square.csv", tmp_path / "triples.txt"
    square.write_text("# from in rows\n0, 2.5e3, 0\n1;0;0\n\n0 7 0  # the last\n")
    triples.write_text("0 1 2500\n1 0 0.5\n1 0 0.5\n2\t1\t7\n0 2 0\n")
    expected = [[0, 2500, 0], [1, 0, 0], [0, 7, 0]]
    assert read_matrix(square).tolist() == expected
    assert read_matrix(triples).tolist() == expected


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "there are no numbers"),
        ("0 1\n1 x\n", 2, "'1 x' is not a row of numbers"),
        ("0 1\n1 0 3\n", 2, "3 numbers in a line, and 2 lines"),
        ("0 1\n1 -2\n", 2, "at least 0"),
        ("0 nan\n1 0\n", 1, "at least 0"),
        ("0 1 5\n0 1.5 5\n", 2, "whole numbers"),
        ("0 1\n", 1, "2 numbers in a line, and 1 lines"),
    ],
)
def test_an_invalid_matrix_is_reported(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "matrix.txt"
    path.write_text(text)
    with pytest.raises(AssayError) as raised:
        read_matrix(path)
    assert what in raised.value.what
    assert raised.value.where == f"{path}, line {line}"


@given(st.binary(max_size=200))
def test_any_input_gives_a_matrix_or_an_error(tmp_path_factory: object, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.txt"  # type: ignore[attr-defined]
    path.write_bytes(data)
    try:
        matrix = read_matrix(path)
    except AssayError:
        return
    assert matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    assert np.isfinite(matrix).all() and (matrix >= 0).all()
