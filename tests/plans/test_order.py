"""Rank orders and adapters as factors: read, checked, refused before a launch."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.launch.fake.seats import ranks_of
from assay.model.placement import Placement
from assay.model.plan import Plan, PlanContext
from assay.model.rank_order import order_problem, read_order, seats_by_rank
from assay.plans.suites import load_plan
from assay.plans.words import plan_from_words

PLANS = Path(__file__).parents[2] / "docs" / "plans"
FOUR = PlanContext(cores=2, nodes=2, adapters=("lo", "eth0", "eth1", "mlx5_0:1"))


def written(folder: Path, lines: str, context: PlanContext = FOUR, head: str = "") -> Plan:
    path = folder / "plan.toml"
    path.write_text(
        f'schema = 1\n{head}[[measure]]\nkernel = "network.barrier"\nnodes = 2\n{lines}'
    )
    return load_plan(path, context)


# ---- orders ----------------------------------------------------------------------------------


ORDERS = ("block", "cyclic", "reversed", "folded")


def test_orders_seat_ranks_as_named() -> None:
    """Two nodes of three; the native numbering has the same table (native/tests/unit)."""
    seats = {order: seats_by_rank(order, 2, 3) for order in ORDERS}
    assert seats["block"] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert seats["cyclic"] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert seats["reversed"] == seats["block"][::-1]
    assert seats["folded"] == [(0, 0), (1, 0), (1, 1), (0, 1), (0, 2), (1, 2)]
    assert seats_by_rank("0,3,1,4,2,5", 2, 3) == seats["cyclic"]
    assert seats_by_rank("5,0,1,2,3,4", 2, 3)[0] == (1, 2)


@given(st.integers(1, 5), st.integers(1, 5), st.randoms())
def test_every_order_seats_every_rank_once(nodes: int, ppn: int, random: object) -> None:
    shuffled = list(range(nodes * ppn))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    given_list = ",".join(map(str, shuffled))
    for order in (*ORDERS, given_list):
        assert order_problem(read_order(order, ""), nodes * ppn) is None
        seats = seats_by_rank(order, nodes, ppn)
        assert sorted(seats) == [(node, local) for node in range(nodes) for local in range(ppn)]
    block = seats_by_rank("block", nodes, ppn)
    assert seats_by_rank(given_list, nodes, ppn) == [block[seat] for seat in shuffled]


def test_a_plan_takes_words_and_lists(tmp_path: Path) -> None:
    plan = written(tmp_path, 'ppn = 2\norder = ["cyclic", "0, 2, 1,3"]\n')
    assert [cell.placement.order for cell in plan.cells] == ["cyclic", "0,2,1,3"]
    assert len({cell.id for cell in plan.cells}) == 2
    words = {"nodes": 2, "ppn": 2, "order": "3,2,1,0"}
    plan = plan_from_words("network.barrier", context=FOUR, placement=words)
    assert [cell.placement.order for cell in plan.cells] == ["3,2,1,0"]
    plan = plan_from_words(
        "network.barrier", context=FOUR, placement={**words, "order": "block,reversed"}
    )
    assert [cell.placement.order for cell in plan.cells] == ["block", "reversed"]


@pytest.mark.parametrize(
    ("order", "complaint", "fix"),
    [
        ('"blok"', "'order' can't be 'blok'", "Did you mean 'block'?"),
        ('"0,2,1"', "order = '0,2,1', but there are 4 ranks", "one seat per rank"),
        ('"0,1,2,3,4"', "order = '0,1,2,3,4', but there are 4 ranks", ""),
        (
            '"0,1,1,3"',
            "'0,1,1,3' doesn't name each seat from 0 to 3 exactly once",
            "each seat once",
        ),
        ('"1,2,3,4"', "'1,2,3,4' doesn't name each seat from 0 to 3 exactly once", ""),
        ('"0,-1,2,3"', "'order' can't be '0,-1,2,3'", ""),
        ("[[0, 1, 2, 3]]", "'order' must be", ""),
        ("1.5", "'order' can't be '1.5'", ""),
    ],
)
def test_wrong_orders(tmp_path: Path, order: str, complaint: str, fix: str) -> None:
    with pytest.raises(AssayError) as error:
        written(tmp_path, f"ppn = 2\norder = {order}\n")
    assert complaint in error.value.what
    assert fix in error.value.fix
    assert error.value.where == f"{tmp_path / 'plan.toml'}:6"


def test_a_portable_plan_leaves_out_lists_for_other_numbers_of_ranks(tmp_path: Path) -> None:
    lines = 'ppn = [1, 2]\norder = ["block", "0,2,1,3"]\n'
    plan = written(tmp_path, lines, head="portable = true\n")
    placements = [(cell.placement.ppn, cell.placement.order) for cell in plan.cells]
    assert placements == [(1, "block"), (2, "block"), (2, "0,2,1,3")]
    assert plan.notes == ("Left out network.barrier: order = '0,2,1,3', but there are 2 ranks.",)


def test_the_fake_machine_obeys_orders() -> None:
    placement = Placement(nodes=2, ppn=2, order="2,0,3,1")
    ranks = ranks_of(placement, ["fake0", "fake1"], None, 1, 1)
    seats = [(rank.host, rank.local_rank) for rank in ranks]
    assert seats == [("fake1", 0), ("fake0", 0), ("fake1", 1), ("fake0", 1)]


# ---- adapters --------------------------------------------------------------------------------


def test_one_adapter_against_two(tmp_path: Path) -> None:
    plan = written(tmp_path, 'adapter = ["default", "eth0", "eth0, eth1", "mlx5_0:1"]\n')
    assert [cell.placement.adapter for cell in plan.cells] == [
        None,
        "eth0",
        "eth0,eth1",
        "mlx5_0:1",
    ]
    plan = written(tmp_path, 'adapter = ["first", "all"]\n')
    assert [cell.placement.adapter for cell in plan.cells] == ["eth0", "eth0,eth1"]
    ports = dataclasses.replace(FOUR, adapters=("ib0", "mlx5_0:1", "mlx5_1:1"))
    plan = plan_from_words(
        "network.barrier", context=ports, placement={"nodes": 2, "adapter": "first,all"}
    )
    assert [cell.placement.adapter for cell in plan.cells] == ["mlx5_0:1", "mlx5_0:1,mlx5_1:1"]
    single = dataclasses.replace(FOUR, adapters=("lo", "eth0"))
    plan = plan_from_words(
        "network.barrier", context=single, placement={"nodes": 2, "adapter": "first,all"}
    )
    assert [cell.placement.adapter for cell in plan.cells] == [None]
    words = {"nodes": 2, "adapter": "eth1,eth0+eth1"}
    plan = plan_from_words("network.barrier", context=FOUR, placement=words)
    assert [cell.placement.adapter for cell in plan.cells] == ["eth1", "eth0,eth1"]


@pytest.mark.parametrize(
    ("adapter", "complaint", "fix"),
    [
        ('"eth2"', "there is no network adapter 'eth2' here", "Did you mean 'eth"),
        ('"eth0,ib0"', "there is no network adapter 'ib0' here", ""),
        ('"eth0,eth0"', "'adapter' can't be 'eth0,eth0'", "once"),
        ('"eth0,default"', "'adapter' can't be 'eth0,default'", "once"),
        ('""', "'adapter' can't be ''", "such as"),
        ('"eth0;rm"', "'adapter' can't be 'eth0;rm'", "such as"),
        ("3", "'adapter' can't be '3'", "such as"),
    ],
)
def test_wrong_adapters(tmp_path: Path, adapter: str, complaint: str, fix: str) -> None:
    with pytest.raises(AssayError) as error:
        written(tmp_path, f"adapter = {adapter}\n")
    assert complaint in error.value.what
    assert fix in error.value.fix
    assert error.value.where == f"{tmp_path / 'plan.toml'}:5"


def test_ranks_on_one_node_have_no_adapter(tmp_path: Path) -> None:
    words = {"ppn": 2, "adapter": "eth0"}
    with pytest.raises(AssayError, match="ranks on one node communicate through shared memory"):
        plan_from_words("network.barrier", context=FOUR, placement=words)


def test_the_example_compares_two_adapters() -> None:
    plan = load_plan(PLANS / "two-adapters.toml", FOUR)
    assert {cell.placement.adapter for cell in plan.cells} == {"eth0", "eth1", "eth0,eth1"}
    assert {cell.placement.ranks for cell in plan.cells} == {2}
    with pytest.raises(AssayError, match="there is no network adapter 'eth1'"):
        load_plan(PLANS / "two-adapters.toml", PlanContext(2, 2, adapters=("lo", "eth0")))
