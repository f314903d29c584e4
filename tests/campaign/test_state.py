"""Decisions of a campaign: the next block, shares of the budget, blame for failures."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.campaign.budget.time_left import TimeLeft
from assay.campaign.cells.budget_shares import LEAST_BUDGET, SPARE, fair_share
from assay.campaign.engine.state import CampaignState
from assay.model.cell import Cell
from assay.records.model import Measurement
from assay.records.reading import measurement_id
from records_builder import make_cell, make_launch, make_plan, make_record

CELLS = [make_cell("network.pingpong", bytes=size) for size in range(5)]


def make_state(cells=CELLS, **rule: float) -> CampaignState:
    rule = {"budget": 60.0, "min_launches": 6, **rule}
    return CampaignState(
        make_plan(cells, **rule),
        value_of=lambda m: m.record.series[0].values[0] if m.record.series else None,
        enough=lambda values: len(values) >= 8,
    )


def done(cell: Cell, replicate: int, wall: float = 1.0, **changes: object) -> Measurement:
    record = msgspec.structs.replace(make_record(cell, replicate, [1.0]), wall=wall, **changes)
    return Measurement(cell, replicate, "0000-a", 0.0, record, None, ())


def test_blocks_come_in_order_and_end_at_the_limit() -> None:
    state = make_state()
    seen = []
    while (block := state.next_block()) is not None:
        replicate, cells = block
        seen.append(replicate)
        assert cells == CELLS
        for cell in cells:
            state.add(done(cell, replicate))
    assert seen == list(range(8))


def test_a_gap_is_filled_first_and_does_not_allow_stopping() -> None:
    state = make_state(CELLS[:1])
    for replicate in (0, 1, 2, 4, 5, 6, 7):
        state.add(done(CELLS[0], replicate))
    assert state.next_block() == (3, CELLS[:1])
    state.add(done(CELLS[0], 3))
    assert state.next_block() is None


@given(st.permutations(range(8)))
def test_the_order_of_arrival_does_not_matter(order: list[int]) -> None:
    state = make_state(CELLS[:1])
    for replicate in order:
        state.add(done(CELLS[0], replicate))
    assert state.next_block() is None


def test_the_budget_ends_it_whether_or_not_each_cell_was_measured() -> None:
    state = make_state()
    state.spent = 100.0
    assert state.next_block() is None
    assert state.keeper.beyond() == CELLS


def test_a_whole_run_ends_after_each_cell_was_measured() -> None:
    state = make_state(whole=True)
    state.spent = 100.0
    assert state.next_block() == (0, CELLS)
    for cell in CELLS:
        state.add(done(cell, 0))
    assert state.next_block() is None


@pytest.mark.parametrize(
    "changes", [{"status": "failed", "error": "no memory"}, {"verified": False}]
)
def test_a_failed_cell_is_not_tried_again(changes: dict[str, object]) -> None:
    state = make_state()
    state.add(done(CELLS[0], 0, **changes))
    assert state.next_block() == (0, CELLS[1:])


def test_only_the_cell_running_at_the_kill_is_blamed() -> None:
    state = make_state()
    launch = make_launch("0000-a", outcome="crash", blamed=measurement_id(CELLS[2], 0))
    state.blame(launch, CELLS, progressed=False)
    assert [name for name, cell in state.cells.items() if cell.failure] == [CELLS[2].id]


def test_a_launch_without_results_blames_its_cells_and_one_with_results_does_not() -> None:
    launch = make_launch("0000-a", outcome="crash", error="mpirun is missing")
    state = make_state()
    state.blame(launch, CELLS[1:3], progressed=True)
    assert not any(cell.failure for cell in state.cells.values())
    state.blame(launch, CELLS[1:3], progressed=False)
    failed = {name for name, cell in state.cells.items() if cell.failure == "mpirun is missing"}
    assert failed == {CELLS[1].id, CELLS[2].id}
    foreign = make_launch("0001-b", outcome="crash", blamed="of-another-plan-0")
    state.blame(foreign, CELLS[3:], progressed=False)
    assert all(state.cells[cell.id].failure for cell in CELLS[3:])


def test_first_shares_are_equal_and_use_the_budget_once() -> None:
    budgets = make_state().measurement_budgets(0, CELLS)
    assert set(budgets.values()) == {60.0 / 6 / 5}


def test_a_launch_of_a_few_cells_gets_only_their_share() -> None:
    state = make_state()
    assert state.measurement_budgets(0, CELLS[:2]) == {c.id: 60.0 / 6 / 5 for c in CELLS[:2]}


def test_unused_time_of_a_saturated_cell_goes_to_the_others() -> None:
    state = make_state()
    for cell in CELLS[:4]:
        state.add(done(cell, 0, wall=0.1, stop="precision"))
    state.add(done(CELLS[4], 0, wall=5.0, stop="budget"))
    state.spent = 5.4
    block = (60.0 - 5.4) / 5
    # Four need 0.1 s each; the fifth may have the rest of the block.
    assert state.measurement_budgets(1, CELLS)[CELLS[4].id] == pytest.approx(block - 0.4)


def test_a_cell_cut_short_is_not_treated_as_saturated() -> None:
    state = make_state()
    for cell in CELLS:
        state.add(done(cell, 0, wall=0.1, stop="budget"))
    state.spent = 0.5
    assert state.measurement_budgets(1, CELLS)[CELLS[0].id] == pytest.approx(59.5 / 5 / 5)


def test_a_cell_with_a_short_budget_is_not_limited_to_its_earlier_time() -> None:
    state = make_state()
    for cell in CELLS:  # a sample of 4000 that the plan allows
        state.add(done(cell, 0, wall=0.1, stop="samples"))
    state.spent = 0.5
    assert state.measurement_budgets(1, CELLS)[CELLS[0].id] == pytest.approx(59.5 / 5 / 5)
    state = make_state(max_samples=1, min_samples=1)
    for cell in CELLS:  # all remaining ones
        state.add(done(cell, 0, wall=0.1, stop="samples"))
    assert state.measurement_budgets(1, CELLS)[CELLS[0].id] == pytest.approx(SPARE * 0.1)


def test_set_up_is_granted_in_addition_and_charged_to_all() -> None:
    state = make_state()
    for cell, wall in zip(CELLS, (4.1, 0.1, 0.1, 0.1, 0.1), strict=True):
        found = {"sampling_seconds": 0.1}
        state.add(done(cell, 0, wall=wall, stop="budget", covariates=found))
    state.spent = 4.5
    budgets = state.measurement_budgets(1, CELLS)
    share = (55.5 / 5 - 4.0) / 5
    assert budgets[CELLS[0].id] == pytest.approx(4.0 + share)
    assert budgets[CELLS[1].id] == pytest.approx(share)


@given(
    st.lists(st.floats(min_value=1e-6, max_value=100.0), min_size=5, max_size=5),
    st.lists(st.sampled_from(["precision", "budget"]), min_size=5, max_size=5),
    st.floats(min_value=0.0, max_value=200.0),
)
def test_shares_never_exceed_the_budget(walls: list[float], stops: list[str], spent: float) -> None:
    state = make_state()
    for cell, wall, stop in zip(CELLS, walls, stops, strict=True):
        state.add(done(cell, 0, wall=wall, stop=stop))
    state.spent = spent
    share = next(iter(state.measurement_budgets(1, CELLS).values()))
    block = max(60.0 - spent, 0.0) / 5
    # A saturated cell takes its earlier time; the others take all they get.
    precise_enough = [stop == "precision" for stop in stops]
    used = sum(
        min(wall, share) if enough else share
        for wall, enough in zip(walls, precise_enough, strict=True)
    )
    assert share >= LEAST_BUDGET
    if share > LEAST_BUDGET and not all(precise_enough):
        assert used <= block * (1 + 1e-9)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 10.0), st.floats(0.0, 10.0), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    st.floats(0.01, 50.0),
)
def test_the_share_is_that_at_which_cells_use_the_available_time(
    drawn: list[tuple[float, float, bool]], left: float
) -> None:
    # Each cell takes at least one sample, and a saturated one no more than before.
    cells = [
        (least, least + more if precise_enough else math.inf)
        for least, more, precise_enough in drawn
    ]
    share = fair_share(left, cells)

    def taken(share: float) -> float:
        return sum(min(max(share, least), most) for least, most in cells)

    if taken(0.0) > left:
        assert share == LEAST_BUDGET  # one sample of each exceeds the budget
    elif taken(math.inf) <= left:
        assert share == SPARE * max(most for _, most in cells)
    else:
        assert taken(share) == pytest.approx(max(left, taken(LEAST_BUDGET)))


def test_a_fixed_cell_budget_is_kept() -> None:
    assert set(make_state(cell_budget=0.5).measurement_budgets(0, CELLS).values()) == {0.5}


def test_the_time_left_reaches_zero() -> None:
    state = make_state(CELLS[:2])
    assert state.keeper.time_left() == TimeLeft(60.0, "at most")
    state.add(done(CELLS[0], 0, wall=2.0))
    assert state.keeper.time_left() == TimeLeft(60.0, "at most")  # one cell is not known yet
    state.add(done(CELLS[1], 0, wall=2.0))
    # Both reached their precision; the launches agree at the second check, after 9 of them.
    assert state.keeper.time_left() == TimeLeft(2.0 * 2 * 8)
    for cell in CELLS[:2]:
        for replicate in range(9):
            state.add(done(cell, replicate))
    assert state.keeper.time_left() == TimeLeft(0.0)


def blocks_of(state: CampaignState, wall: float) -> list[tuple[int, list[Cell]]]:
    """All blocks, if each measurement takes ``wall`` seconds."""
    seen = []
    while (block := state.next_block()) is not None:
        seen.append(block)
        for cell in block[1]:
            state.add(done(cell, block[0], wall=wall))
            state.spent += wall
    return seen


def first_state(first: list[Cell], budget: float) -> CampaignState:
    plan = msgspec.structs.replace(
        make_plan(CELLS, budget=budget, min_launches=6, max_launches=8),
        first=tuple(cell.id for cell in first),
    )
    return CampaignState(plan, value_of=lambda m: 1.0, enough=lambda values: len(values) >= 8)


def test_first_cells_get_their_launches_where_the_budget_is_too_small_for_all() -> None:
    first, others = CELLS[3:], CELLS[:3]
    # 5 cells, then 5 blocks of the 2 first ones, of 2 s each: 30 of 42 s, and 2 more of the others.
    found = blocks_of(first_state(first, budget=41.0), wall=2.0)
    assert found == [(0, CELLS), *((k, first) for k in range(1, 6)), (1, others), (2, others)]


@pytest.mark.parametrize("budget", [41.0, 70.0])
def test_where_there_is_time_for_all_no_cell_goes_first(budget: float) -> None:
    wall = budget / 41.0
    found = blocks_of(first_state(CELLS[3:], budget=41.0 * wall), wall=wall)
    assert found[:6] == [(replicate, CELLS) for replicate in range(6)]


def test_a_first_cell_that_was_left_out_holds_nobody_up() -> None:
    state = first_state(CELLS[3:], budget=41.0)
    for cell in CELLS[:3]:
        state.add(done(cell, 0, wall=2.0))
    for cell in CELLS[3:]:
        state.add(done(cell, 0, status="left out", error="a sample would take too long"))
    state.spent = 10.0
    assert state.next_block() == (1, CELLS[:3])
