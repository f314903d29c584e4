"""A placement chosen for steadiness: planted means and tails."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest

from assay.model.cell import Cell
from assay.questions.common.question import Measured
from assay.questions.common.selection import points
from assay.questions.placement.steadiest.answer import part
from assay.questions.placement.steadiest.findings import SteadiestFindings, find, judge
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells
from placement_runs import cell, run_of

# The same work on the same node: one binding is steady, one is as fast with a long tail.
STEADY, TAIL = cell("npb.cg", ppn=2), cell("npb.cg", ppn=2, binding="spread")
SLOW = cell("npb.cg", ppn=1)


def run_with(times: dict[str, list[float]], cells: list[Cell]) -> RunData:
    """A run of the cells with these times of launches, by cell id."""
    run = run_of(cells, lambda one: 1.0)
    measurements = []
    for one in cells:
        first = next(m for m in run.measurements if m.cell.id == one.id)
        for replicate, time in enumerate(times[one.id]):
            series = [msgspec.structs.replace(first.record.series[0], values=[time])]
            record = msgspec.structs.replace(
                first.record, series=series, measurement=f"{one.id}-{replicate}"
            )
            measurements.append(dataclasses.replace(first, record=record, replicate=replicate))
    return dataclasses.replace(run, measurements=tuple(measurements))


def found_in(times: dict[str, list[float]], cells: list[Cell]) -> SteadiestFindings | None:
    run = run_with(times, cells)
    return find(Measured(run, summarise_cells(run)))


def tailed(random: np.random.Generator, number: int, sigma: float, mean: float) -> list[float]:
    """Log-normal times of this mean."""
    drawn = np.exp(sigma * random.standard_normal(number) - sigma**2 / 2)
    return list(mean * drawn)


def test_of_equally_fast_placements_the_one_without_a_tail_is_chosen() -> None:
    random = np.random.default_rng(1)
    times = {
        STEADY.id: tailed(random, 40, 0.01, 1.005),
        TAIL.id: tailed(random, 40, 0.10, 1.0),
        SLOW.id: tailed(random, 40, 0.001, 1.8),
    }
    found = found_in(times, [TAIL, STEADY, SLOW])
    assert found is not None
    (one,) = found.works
    assert one.chosen.cell == STEADY and one.sure and one.chosen.least > 0.95
    assert one.chosen.p95 == pytest.approx(float(np.quantile(times[STEADY.id], 0.95)))
    assert [each.level for each in one.placements] == [True, True, False]
    assert one.placements[2].least == 0.0  # steady, but slow
    of_answer = part(found)
    (advice,) = of_answer.advice
    assert advice.startswith("For steadiness: CG class S: 2 ranks on 1 node: 95% of")
    assert "2 equally fast placements" in advice
    assert of_answer.remark.startswith("CG class S: the steadiest fast placement is 2 ranks")


def test_equally_steady_placements_stay_open() -> None:
    random = np.random.default_rng(2)
    times = {one.id: tailed(random, 14, 0.05, 1.0) for one in (STEADY, TAIL)}
    found = found_in(times, [STEADY, TAIL])
    assert found is not None
    (one,) = found.works
    assert sum(each.least for each in one.placements) == pytest.approx(1.0)
    if not one.sure:
        assert part(found).advice == [] and "launches are too few" in part(found).limits[0]


def test_few_launches_and_other_nodes_are_not_compared() -> None:
    random = np.random.default_rng(3)
    few = {STEADY.id: tailed(random, 11, 0.01, 1.0), TAIL.id: tailed(random, 40, 0.1, 1.0)}
    assert found_in(few, [STEADY, TAIL]) is None
    elsewhere = cell("npb.cg", nodes=2, ppn=2)
    apart = {one.id: tailed(random, 20, 0.01, 1.0) for one in (STEADY, elsewhere)}
    assert found_in(apart, [STEADY, elsewhere]) is None
    slower = {STEADY.id: tailed(random, 20, 0.01, 1.0), SLOW.id: tailed(random, 20, 0.01, 1.5)}
    assert found_in(slower, [STEADY, SLOW]) is None


def test_cells_with_a_monitor_count_only_where_there_are_no_others() -> None:
    watched = Cell("npb.cg", {"class": "S", "monitor": 100}, STEADY.placement, STEADY.toolchain)
    run = run_of([STEADY, watched], lambda one: 1.0)
    cells = summarise_cells(run)
    assert [p.summary.cell for p in points(cells, "npb.cg", "time")] == [STEADY]
    assert len(points(cells, "npb.cg", "time", monitored=True)) == 2
    only = [cell for cell in cells if cell.cell == watched]
    assert [p.summary.cell for p in points(only, "npb.cg", "time")] == [watched]


def test_how_often_the_recommended_one_is_the_steadiest() -> None:
    """Where two placements are alike in the mean, and one has a CoV of 4%, the other of 8%."""
    random = np.random.default_rng(4)
    sure = right = 0
    for _ in range(60):
        steady, other = (np.array(tailed(random, 24, s, 1.0)) for s in (0.04, 0.08))
        one, two = judge([steady, other])
        assert one.least + two.least == pytest.approx(1.0)
        if max(one.least, two.least) >= 0.8:
            sure += 1
            right += one.least >= 0.8
    assert sure >= 45 and right >= 0.95 * sure
