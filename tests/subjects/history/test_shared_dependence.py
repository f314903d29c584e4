"""The cells of a machine share its nights: each allows for their mean autocorrelation."""

from __future__ import annotations

import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.store import SkippedRuns
from assay.subjects.history.findings import history_of
from assay.subjects.history.model import History
from assay.subjects.history.series import HistorySeries, Machines

NIGHTS = 60


def _judged(systems: dict[str, np.ndarray]) -> History:
    return history_of(
        [
            HistorySeries(
                system=system,
                cell=Cell("npb.ft", {"number": number}, Placement(), "planted"),
                metric="time",
                unit="s",
                better="less",
                runs=tuple(f"night {night}" for night in range(NIGHTS)),
                utc=86400.0 * np.arange(NIGHTS),
                values=1.0 + 0.01 * row,
                scatter=np.full(NIGHTS, np.nan),
                counts=np.ones(NIGHTS, dtype=np.int64),
                hosts=("n1",) * NIGHTS,
            )
            for system, rows in systems.items()
            for number, row in enumerate(rows)
        ],
        Machines([]),
        SkippedRuns(),
    )


def _dependent(rho: float, cells: int, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((cells, NIGHTS))
    for night in range(1, NIGHTS):
        values[:, night] = rho * values[:, night - 1] + np.sqrt(1 - rho**2) * values[:, night]
    return values


@pytest.fixture(scope="module")
def history() -> History:
    return _judged({"quiet": _dependent(0.0, 10, 1), "waves": _dependent(0.5, 10, 2)})


def test_each_cell_of_a_machine_allows_for_what_its_cells_have_on_average(history: History) -> None:
    waves = [cell.dependence for cell in history.cells if cell.system == "waves"]
    least = min(waves)
    assert 0.35 < least < 0.65
    # Several cells whose own estimate is lower have the mean; others keep their own.
    assert waves.count(least) >= 3
    assert max(waves) > least


def test_independent_cells_of_another_machine_are_not_concerned(history: History) -> None:
    quiet = [cell.dependence for cell in history.cells if cell.system == "quiet"]
    assert quiet.count(0.0) >= 6


def test_a_single_cell_counts_alone() -> None:
    rows = _dependent(0.5, 10, 2)
    together = _judged({"waves": rows})
    alone = [_judged({"waves": row[None, :]}).cells[0].dependence for row in rows]
    for joint, own in zip(together.cells, alone, strict=True):
        assert joint.dependence >= own - 1e-9
