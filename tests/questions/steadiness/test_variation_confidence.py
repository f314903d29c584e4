"""Confidence of the answer on steadiness: rare slow runs, levels that return, drifts and steps."""

from __future__ import annotations

import numpy as np
import pytest

from asking import reply_to
from assay.arrays import Floats
from assay.questions.common.question import Reply
from assay.questions.steadiness.findings import SteadinessFindings
from assay.stats.cells.summarise import summarise_cells
from variation_builder import npb, run_of

CODES = ("cg", "ep", "ft", "is", "lu", "mg")
HOURS = 3600.0


def reply(rows: Floats) -> Reply[SteadinessFindings]:
    """The answer on cells with these relative times, one launch in three hours."""
    cells = [(npb(code), 2.0 * row) for code, row in zip(CODES, rows, strict=False)]
    run = run_of(cells, every=3.0 * HOURS)
    return reply_to("steadiness", summarise_cells(run), run)


def normal(seed: int, cells: int, launches: int) -> Floats:
    return 1.0 + 0.005 * np.random.default_rng(seed).standard_normal((cells, launches))


def test_thirty_runs_of_one_cell_cannot_show_rare_slow_runs() -> None:
    answer = reply(normal(1, 1, 30)).answer
    assert answer.confidence == "low"
    assert "can't show how often slow runs occur" in answer.confidence_why
    assert "60 runs per cell give medium confidence" in answer.confidence_why


def test_the_other_cells_of_a_run_can_exclude_rare_slow_runs() -> None:
    for seed in (0, 1, 2):  # about one normal run in twelve has too many far values
        answer = reply(normal(seed, 6, 30)).answer
        assert answer.confidence in ("medium", "high")
        assert "slow runs occur" not in answer.confidence_why


@pytest.mark.parametrize(("launches", "confidence"), [(59, "low"), (60, "medium"), (119, "medium")])
def test_with_slow_runs_confidence_needs_more_launches(launches: int, confidence: str) -> None:
    rows = normal(4, 6, launches)
    rows[:, 10::20] += 0.05
    answer = reply(rows).answer
    assert answer.confidence == confidence
    assert "runs per cell give" in answer.confidence_why


def test_from_120_launches_slow_runs_no_longer_count_against_the_answer() -> None:
    rows = normal(4, 6, 120)
    rows[:, 10::20] += 0.05
    assert "runs per cell give" not in reply(rows).answer.confidence_why


@pytest.mark.long
def test_a_drift_is_not_called_a_change_of_level() -> None:
    """Of 60 launches; the level changes in the middle in the other run."""
    drifts = steps = 0
    for seed in range(4):
        drifting = normal(seed, 6, 60) * (1.0 + 0.02 * np.linspace(-0.5, 0.5, 60))
        stepping = normal(seed, 6, 60) * np.where(np.arange(60) < 30, 1.0, 1.02)
        drifts += sum(bool(c.shape.changes) for c in reply(drifting).findings.variation.varied)
        steps += sum(bool(c.shape.changes) for c in reply(stepping).findings.variation.varied)
    assert drifts == 0  # 2 of 24 without the comparison
    assert steps >= 22


def test_levels_that_return_make_a_change_of_level_doubtful() -> None:
    rows = normal(5, 6, 60)
    rows[0, 30:] *= 1.03
    once = reply(rows).answer
    assert "return" not in once.confidence_why
    for row in rows[1:4]:
        row[(np.arange(60) // 10) % 2 == 1] *= 1.03
    again = reply(rows)
    assert any(cell.shape.changes for cell in again.findings.variation.varied)
    assert again.answer.confidence == "low"
    assert "two levels that last for several runs and return" in again.answer.confidence_why
