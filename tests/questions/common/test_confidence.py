"""Confidence is the rate at which such claims are right, whatever the width of the interval."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from assay.questions.common.confidence import RATES, confidence_in, judge, period_text
from assay.questions.common.selection import Point
from assay.stats.cells.expected_coverage import UNKNOWN, expected_coverage
from assay.stats.core.launches import launch_interval
from assay.stats.core.model import (
    LEFT_OUT,
    CellSummary,
    ClaimEvidence,
    MetricSummary,
    RunAgreement,
)
from records_builder import make_cell


def metric(values: Sequence[float], **changes: object) -> MetricSummary:
    array = np.asarray(values, dtype=float)
    known = MetricSummary(
        unit="s", better="less", median=float(np.median(array)), ci95=launch_interval(array),
        min=0.0, max=2.0, p05=0.0, p95=2.0, cov=float(array.std(ddof=1) / array.mean()),
        cov_samples=None, n=array.size, samples=array.size, stop="precision",
    )  # fmt: skip
    return msgspec.structs.replace(known, **changes)


def point(launches: int, evidence: ClaimEvidence | None = None, **changes: object) -> Point:
    values = 1.0 + 0.01 * np.random.default_rng(launches).standard_normal(launches)
    cell = make_cell()
    found = metric(values, **changes)
    summary = CellSummary(
        kernel=cell.kernel, id=cell.id, cell=cell, status="ok", verified=True, parameters={},
        metrics={"time": found}, caveats=[], span=60.0, evidence=evidence,
    )  # fmt: skip
    return Point(summary, found)


# Five other runs: one lies beyond the interval, but not far.
NEAR = RunAgreement(runs=5, beyond=1, far=0)


def others(
    launches: int,
    limit: float,
    early: float | None = None,
    loss: float = 0.0,
    runs: RunAgreement | None = NEAR,
) -> Point:
    """A cell beside forty others that permit this autocorrelation, and beside other runs."""
    coverage = expected_coverage(launches, limit) - loss
    return point(launches, ClaimEvidence(launches, 40.0, limit, early, coverage, runs))


@pytest.mark.parametrize(
    ("launches", "confidence"),
    [(6, "low"), (12, "low"), (19, "low"), (20, "medium"), (29, "medium"), (30, "high")],
)
def test_one_cell_needs_twenty_launches_for_medium_and_thirty_for_high_confidence(
    launches: int, confidence: str
) -> None:
    assert confidence_in(point(launches)).confidence == confidence


def test_a_single_cell_says_why_it_is_capped_and_what_lifts_it() -> None:
    confidence, why = judge([point(6)], [], complete=True)
    first = why.partition("; ")[0]
    assert confidence == "low"
    assert "can't show whether launches depend on each other" in first
    assert "`--launches 20`, or 5 other runs of this machine within the interval, give" in first
    assert f"{expected_coverage(6, UNKNOWN):.0%} instead of 95% of such intervals" in first


@pytest.mark.parametrize(
    ("launches", "limit", "confidence"),
    [(6, 0.1, "medium"), (6, 0.3, "low"), (12, 0.15, "medium"), (12, 0.5, "low"),
     (20, 0.1, "medium"), (20, 0.8, "low"), (30, 0.1, "high"), (30, 0.9, "low")],
)  # fmt: skip
def test_other_cells_show_whether_few_launches_are_enough(
    launches: int, limit: float, confidence: str
) -> None:
    assert confidence_in(others(launches, limit)).confidence == confidence
    # The thresholds are the stated rates, less what the upper limit adds.
    least = expected_coverage(launches, limit)
    assert (least >= RATES["medium"]) == (confidence != "low")


@pytest.mark.parametrize(
    ("launches", "runs", "confidence", "cause"),
    [
        # A first run: all its launches may be in one mode, whatever the other cells show.
        (12, None, "low", "one period"),
        (12, RunAgreement(4, 0, 0), "low", "one period"),
        (12, RunAgreement(5, 1, 1), "low", "one period"),
        (12, RunAgreement(5, 1, 0), "medium", "few"),
        (12, RunAgreement(8, 1, 1), "low", "one period"),
        (12, RunAgreement(9, 1, 1), "medium", "few"),
        (12, RunAgreement(7, 0, 0), "high", ""),
        (12, RunAgreement(7, 1, 0), "medium", "few"),
        (12, RunAgreement(40, 11, 0), "high", ""),
        (12, RunAgreement(40, 13, 0), "medium", "few"),
        (30, RunAgreement(5, 2, 1), "high", ""),
        # Most runs lie on one side of the interval.
        (12, RunAgreement(5, 5, 5), "low", "apart"),
        (30, RunAgreement(5, 5, 0), "low", "apart"),
        (30, RunAgreement(5, 4, 0), "high", ""),
    ],
)
def test_other_runs_are_periods_of_their_own(
    launches: int, runs: RunAgreement | None, confidence: str, cause: str
) -> None:
    found = confidence_in(others(launches, 0.1, runs=runs))
    assert (found.confidence, found.cause) == (confidence, cause)


def test_runs_within_the_interval_need_no_independent_launches() -> None:
    for early in (None, 0.01):
        alone = others(6, 0.9, early, 0.5, RunAgreement(5, 0, 0))
        assert confidence_in(alone).confidence == "medium"
        assert confidence_in(others(6, 0.9, early, 0.5, NEAR)).confidence == "low"
    assert period_text([others(6, 0.9, runs=RunAgreement(5, 0, 0))]) == ""


def test_the_reason_names_what_the_other_runs_show_and_what_is_missing() -> None:
    why = judge([others(12, 0.1, runs=None)], [], complete=True)[1]
    assert "12 launches, which may all be in one of several lasting modes" in why
    assert "`--launches 20`, or 5 other runs of this machine within the interval, give" in why
    why = judge([others(12, 0.1, runs=RunAgreement(5, 5, 5)), others(12, 0.1)], [], True)[1]
    assert why.startswith("5 of 5 other runs of this machine lie on one side of the interval of ")
    assert "(1 of 2 headline numbers is of this kind)" in why
    high = [others(12, 0.1, runs=RunAgreement(8, 0, 0)), point(30)]
    assert judge(high, [], complete=True) == (
        "high",
        "Every headline number is verified and has at least 30 launches, enough to allow for "
        "dependence and lasting modes, or agrees with 8 or more other runs of this machine.",
    )


def test_a_cell_that_stopped_unlike_the_others_has_low_confidence() -> None:
    alone = others(6, 0.1, early=0.05, loss=0.4)
    assert confidence_in(alone).confidence == "low"
    assert "narrow by chance" in judge([alone], [], complete=True)[1]
    typical = others(6, 0.1, early=0.9, loss=0.02)
    assert confidence_in(typical).confidence == "medium"


def test_half_widths_above_50_percent_have_low_confidence() -> None:
    wide = others(30, 0.1)
    wide = Point(wide.summary, msgspec.structs.replace(wide.metric, ci95=(0.4, 1.7)))
    assert confidence_in(wide).confidence == "low"
    assert "wider than ±50% (widest: ±65%" in judge([wide], [], complete=True)[1]
    honest = Point(wide.summary, msgspec.structs.replace(wide.metric, ci95=(0.7, 1.4)))
    assert confidence_in(honest).confidence == "high"


def test_a_missed_precision_is_stated_and_keeps_the_confidence() -> None:
    missed = point(30, stop="launches")
    confidence, why = judge([missed], [], complete=True)
    assert confidence == "high"
    assert "1 of 1 headline number stopped before the requested precision" in why


def test_the_lowest_number_decides() -> None:
    assert judge([point(30), others(12, 0.1)], [], complete=True)[0] == "medium"
    assert judge([point(30), others(12, 0.1), point(8)], [], complete=True)[0] == "low"


def test_the_period_states_the_dependence_of_the_same_evidence() -> None:
    assert "autocorrelation of launches up to 0.12" in period_text([others(6, 0.12)])
    assert "if the launches were independent" in period_text([point(6)])
    assert period_text([point(20)]) == ""
    assert period_text([point(6, ci95=None, n=1)]) == ""


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
