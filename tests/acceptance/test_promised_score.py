"""A promised score is decided by limits of the commitments' medians."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acceptance_pages import SIZES, commitment, judged
from assay.acceptance.boundaries import looks_of
from assay.acceptance.contract import ScorePromise
from assay.acceptance.decision import median_limits
from assay.acceptance.score import decide_score
from assay.subjects.acceptance.subject import SUBJECT

MONEY = '[penalties]\ncurrency = "EUR"\n'


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.99, 1.05, "accepted"),
        (0.97, 0.995, "rejected"),
        (0.97, 1.01, "undecided"),
        (0.985, 0.998, "accepted"),  # nearer to the promise than to the margin
        (None, 0.9, "rejected"),
        (1.1, None, "accepted"),
        (None, None, "undecided"),
    ],
)
def test_the_limits_decide(low: float | None, high: float | None, outcome: str) -> None:
    assert decide_score(ScorePromise(1.0, 0.02, None), low, high) == outcome


def test_limits_of_a_median_hold_over_all_looks() -> None:
    """By simulation: how often the true median is ever outside, at any look."""
    rng, wrong = np.random.default_rng(3), [0, 0]
    for _ in range(2000):
        values = rng.exponential(1.0, 30) - np.log(2.0)
        ends = [median_limits(values[:n], float(n), 30, 0.05, 0.1) for n in looks_of(30)]
        wrong[0] += any(low is not None and low > 0.0 for low, _ in ends)
        wrong[1] += any(high is not None and high < 0.0 for _, high in ends)
    assert 0 < wrong[0] <= 0.05 * 2000 + 20
    assert 0 < wrong[1] <= 0.10 * 2000 + 27
    # Between looks and before the first one there is no limit.
    assert median_limits(np.ones(7), 7.0, 30, 0.05, 0.05) == (None, None)


@pytest.mark.parametrize(
    ("at_least", "outcome", "penalty"),
    [(1.0, "accepted", 0.0), (1.2, "rejected", 15_833.0), (1.0101, "undecided", 0.0)],
)
def test_the_score_of_a_run_is_judged(
    tmp_path: Path, at_least: float, outcome: str, penalty: float
) -> None:
    """Three latencies of 0.99 ms where 1 ms is the reference: a score of 1.0101."""
    text = f'{MONEY}[score]\nat_least = {at_least}\npenalty = 1000\nmargin = "0.01%"\n'
    text += "".join(commitment(size) for size in SIZES[:3])
    found, _ = judged(tmp_path, text, {})
    score = found.promised_score
    assert score is not None
    assert score.outcome == outcome
    assert found.outcome == outcome
    assert found.score == pytest.approx(1.0 / 0.99, rel=0.002)
    assert found.penalty.value == pytest.approx(penalty, rel=0.01)
    if outcome == "undecided":
        assert found.penalty.interval is not None and found.penalty.interval[1] > 0.0
    assert f"(at least {at_least:.4g} promised)" in SUBJECT.answer(found).verdict


def test_few_launches_do_not_bound_a_score(tmp_path: Path) -> None:
    text = "[score]\nat_least = 1.0\n" + commitment(SIZES[0])
    found, _ = judged(tmp_path, text, {}, launches=5)
    score = found.promised_score
    assert score is not None
    assert (score.outcome, score.decided_low, score.decided_high) == ("undecided", None, None)
    assert "don't bound its median" in score.remedy
