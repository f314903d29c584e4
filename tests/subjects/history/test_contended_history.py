"""Other processes during the runs of a history limit its confidence and may explain a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.records.store import RunFilter
from assay.subjects.history.answer import answer
from assay.subjects.history.findings import find
from assay.subjects.history.model import History
from assay.subjects.history.query import HistoryQuery
from history_builder import barrier, nightly

NIGHTS, STEP = 40, 25


def _history(root: Path, busy: tuple[float, float] | None, slower: float) -> History:
    """``busy``: CPUs of other processes before and after the step; ``slower``: its factor."""
    nightly(
        root,
        NIGHTS,
        [(barrier(), lambda night: 2e-6 * (slower if night >= STEP else 1.0))],
        busy=None if busy is None else (lambda night: busy[night >= STEP]),
    )
    return find(root, HistoryQuery(RunFilter()))


def test_a_regression_with_busier_nodes_names_the_other_processes(tmp_path: Path) -> None:
    history = _history(tmp_path, (0.01, 1.5), 1.1)
    (cell,) = history.cells
    assert cell.state == "regression"
    assert cell.contention is not None and cell.contention_before is not None
    assert cell.contention.busy == pytest.approx(1.5, abs=0.01)
    assert cell.contention.spans == 3 * (NIGHTS - STEP)
    assert (cell.contention.cpus, cell.contention.machines) == (2, 1)
    assert cell.contention_before.busy == pytest.approx(0.01)
    said = answer(history)
    assert said.confidence == "low"
    assert said.caveats == [
        f"{cell.label}: other processes kept 1.5 of 2 CPUs busy since the change, and 0.01 before: "
        "they may have caused it."
    ]
    assert said.advice[0].startswith("Measure again when the node is quiet")


def test_a_quiet_node_leaves_the_confidence(tmp_path: Path) -> None:
    said = answer(_history(tmp_path, (0.01, 0.01), 1.1))
    assert (said.confidence, said.caveats) == ("high", [])


def test_as_busy_before_as_after_explains_nothing_but_limits_the_confidence(tmp_path: Path) -> None:
    said = answer(_history(tmp_path, (0.3, 0.3), 1.1))
    assert (said.confidence, said.caveats) == ("medium", [])


def test_what_streams_did_not_record_limits_nothing(tmp_path: Path) -> None:
    history = _history(tmp_path, None, 1.1)
    assert (history.cells[0].contention, history.cells[0].contention_before) == (None, None)
    assert answer(history).confidence == "high"


def test_of_a_steady_cell_all_runs_count(tmp_path: Path) -> None:
    history = _history(tmp_path, (0.0, 1.6), 1.0)
    (cell,) = history.cells
    assert cell.state == "steady" and cell.contention is not None
    assert cell.contention.busy == pytest.approx(1.6 * (NIGHTS - STEP) / NIGHTS)
    assert cell.contention_before is None
    said = answer(history)
    assert (said.confidence, said.caveats) == ("low", [])
