"""Which cells a block has if a search chooses: a function of the records, at any point."""

from __future__ import annotations

import math

import msgspec

from assay.campaign.engine.state import CampaignState
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Search
from assay.records.model import Measurement
from records_builder import make_launch, make_plan, make_record

CELLS = [
    Cell("npb.cg", {"class": "S"}, Placement(ppn=ppn, threads=threads), "fake")
    for ppn in (1, 2, 4, 8)
    for threads in (1, 2, 4, 8)
    if ppn * threads <= 8
]
PLAIN = [CELLS[0]]
WRONG = CELLS[3]
CRASHES = CELLS[6]


def time(cell: Cell, block: int) -> float:
    away = (math.log2(cell.placement.ppn) - 1) ** 2 + (math.log2(cell.placement.threads) - 1) ** 2
    return 1.1**away * (1.0 + 0.002 * ((block * 7 + cell.placement.ppn) % 5))


def make_state() -> CampaignState:
    plan = make_plan(CELLS, budget=1e6, max_launches=12)
    optional = tuple(cell.id for cell in CELLS if cell not in PLAIN)
    search = Search(tuple(cell.id for cell in CELLS), optional)
    return CampaignState(
        msgspec.structs.replace(plan, search=search),
        value_of=lambda m: m.record.series[0].values[0] if m.record.series else None,
        enough=lambda values: True,
    )


def feed(state: CampaignState, cell: Cell, block: int) -> None:
    """The outcome of a cell in a block: a time, a wrong result, or a launch that is killed."""
    if cell == CRASHES:
        name = f"{cell.id}-{block}"
        state.blame(make_launch("a", outcome="crash", blamed=name), [cell], progressed=False)
        return
    record = make_record(cell, block, [time(cell, block)])
    if cell == WRONG:
        record = msgspec.structs.replace(record, verified=False)
    state.add(Measurement(cell, block, "a", 0.0, record, None, ()))


def whole_campaign() -> list[tuple[int, list[Cell]]]:
    state, blocks = make_state(), []
    while (block := state.next_block()) is not None:
        number, cells = block
        assert len(blocks) < 100
        blocks.append((number, cells))
        for cell in cells:
            feed(state, cell, number)
    return blocks


def test_blocks_follow_each_other_and_failed_cells_are_skipped() -> None:
    blocks = whole_campaign()
    assert [number for number, _ in blocks] == list(range(len(blocks)))
    measured = [cell for _, cells in blocks for cell in cells]
    assert measured.count(CELLS[0]) >= 6
    assert measured.count(WRONG) <= 1 and measured.count(CRASHES) <= 1
    assert len(measured) < 6 * len(CELLS)
    # By time, two ranks of two threads are best.
    best = next(c for c in CELLS if (c.placement.ppn, c.placement.threads) == (2, 2))
    assert measured.count(best) >= 6


def test_after_any_number_of_records_the_same_cells_are_requested() -> None:
    blocks = whole_campaign()
    for place, (number, cells) in enumerate(blocks):
        for done in range(0, len(cells), 2):
            state = make_state()
            for before, earlier in blocks[:place]:
                for cell in earlier:
                    feed(state, cell, before)
            for cell in cells[:done]:
                feed(state, cell, number)
            assert state.next_block() == (number, cells[done:])


def test_each_cell_of_a_block_is_granted_a_part_of_the_budget() -> None:
    state = make_state()
    block = state.next_block()
    assert block is not None
    granted = state.measurement_budgets(0, block[1])
    assert granted.keys() == {cell.id for cell in block[1]}
    assert sum(granted.values()) < 1e6
