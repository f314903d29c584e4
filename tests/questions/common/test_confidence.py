"""Confidence is withheld from intervals that are narrower than their launches' scatter."""

from __future__ import annotations

import numpy as np

from assay.questions.common.confidence import is_too_narrow, judge
from assay.stats.core.launches import launch_interval
from assay.stats.core.model import LEFT_OUT, CellSummary, MetricSummary
from records_builder import make_cell


def summary(values: np.ndarray) -> MetricSummary:
    return MetricSummary(
        unit="s", better="less", median=float(np.median(values)), ci95=launch_interval(values),
        min=0.0, max=2.0, p05=0.0, p95=2.0, cov=float(values.std(ddof=1) / values.mean()),
        cov_samples=None, n=values.size, samples=values.size, stop="precision",
    )  # fmt: skip


def test_an_interval_within_one_of_two_modes_is_too_narrow() -> None:
    drawn = np.random.default_rng(1)
    values = 1.0 + 0.003 * drawn.standard_normal(20)
    values[[2, 6, 11, 17]] += 0.1
    assert is_too_narrow(summary(values))


def test_most_intervals_of_normal_launches_are_not() -> None:
    drawn = np.random.default_rng(2)
    rows = 1.0 + 0.01 * drawn.standard_normal((200, 14))
    assert sum(is_too_narrow(summary(row)) for row in rows) < 0.35 * 200
    assert not is_too_narrow(summary(rows[0][:5]))  # no interval at all


def test_cells_that_were_left_out_are_not_called_failed() -> None:
    def broken(status, error: str) -> CellSummary:
        cell = make_cell()
        return CellSummary(
            kernel=cell.kernel, id=cell.id, cell=cell, status=status, verified=None,
            parameters={}, metrics={}, caveats=[], error=error,
        )  # fmt: skip

    late = broken("interrupted", f"{LEFT_OUT}: one sample would take about 50 s.")
    failed = broken("failed", "out of memory")
    words = "left out, since a sample would take too long"
    assert f"1 cell was {words}" in judge([], [late], True)[1]
    assert "failed" not in judge([], [late], True)[1]
    both = judge([], [late, failed, late], True)[1]
    assert "1 cell failed, so the answer is incomplete" in both and f"2 cells were {words}" in both
