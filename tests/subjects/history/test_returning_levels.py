"""Levels that last for several runs and return lower the confidence in changes on record."""

from __future__ import annotations

import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.store import SkippedRuns
from assay.stats.core.launches import levels_return
from assay.subjects.history.answer import answer
from assay.subjects.history.findings import history_of
from assay.subjects.history.model import History
from assay.subjects.history.series import HistorySeries, Machines

DAY = 86400.0


def judged(rows: np.ndarray) -> History:
    """The history of cells with these nightly times."""
    count = rows.shape[1]
    series = [
        HistorySeries(
            system="planted",
            cell=Cell("npb.ft", {"number": number}, Placement(), "planted"),
            metric="time",
            unit="s",
            better="less",
            runs=tuple(f"night {night}" for night in range(count)),
            utc=DAY * np.arange(count),
            values=row,
            scatter=np.full(count, np.nan),
            counts=np.ones(count, dtype=np.int64),
            hosts=("n1",) * count,
        )
        for number, row in enumerate(rows)
    ]
    return history_of(series, Machines([]), SkippedRuns())


def nights(seed: int, cells: int, count: int) -> np.ndarray:
    return 1.0 + 0.005 * np.random.default_rng(seed).standard_normal((cells, count))


def test_levels_return_if_one_comes_back_and_lasts() -> None:
    quiet = nights(1, 1, 30)[0]
    once = quiet * np.where(np.arange(30) < 15, 1.0, 1.05)
    back = quiet * np.where((np.arange(30) // 10) == 1, 1.05, 1.0)
    mixed = quiet * np.where(np.random.default_rng(2).random(30) < 0.5, 1.05, 1.0)
    assert [levels_return(each) for each in (quiet, once, back, mixed)] == [
        False,
        False,
        True,
        False,
    ]


def test_a_change_beside_cells_whose_levels_return_has_low_confidence() -> None:
    rows = nights(3, 6, 40)
    rows[0, 20:] *= 1.04
    found = judged(rows)
    assert found.cells[0].state == "regression"
    assert answer(found).confidence == "high"
    for row in rows[1:4]:
        row[(np.arange(40) // 8) % 2 == 1] *= 1.04
    said = answer(judged(rows))
    assert said.confidence == "low"
    assert "have two levels that last for several runs and return" in said.confidence_why
    assert "of such verdicts are right" not in said.confidence_why


def test_one_such_cell_is_enough_only_in_a_history_of_few_runs() -> None:
    for count, confidence in ((40, "high"), (20, "low")):
        rows = nights(4, 6, count)
        rows[0, count // 2 :] *= 1.05
        rows[1, (np.arange(count) // 5) % 2 == 1] *= 1.05
        assert answer(judged(rows)).confidence == confidence, count


def test_returning_levels_without_a_change_on_record_leave_the_confidence() -> None:
    rows = nights(6, 6, 40)
    for row in rows[:2]:
        row[(np.arange(40) // 2) % 2 == 1] *= 1.04
    found = judged(rows)
    assert not any(event.kind != "spread" for cell in found.cells for event in cell.events)
    assert answer(found).confidence == "high"
