"""Rounds of leaving out steps against leaving them out one by one, and their number."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.changes import significance
from assay.stats.changes.reordering import changed, remaining_dependence
from assay.stats.changes.scan import Alarm, alarms, robust_scale
from assay.stats.changes.segments import Rows, placed, residuals_of, tidied
from assay.stats.changes.significance import StepTests, beside, significant_steps

LEVEL = 0.05


def series(kind: str, n: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed)
    noise = drawn.standard_normal(n)
    if kind == "steps":
        return 0.05 * ((np.arange(n) // 40) % 2) + 0.01 * noise
    if kind == "walk":
        return np.cumsum(0.003 * noise)
    if kind == "close":
        return 0.05 * ((np.arange(n) // 20) % 2) + 0.003 * noise
    return 0.01 * noise


def of(x: np.ndarray) -> tuple[Rows, list[Alarm]]:
    weights = np.ones(x.size)
    noticed = [alarm for alarm in alarms(x, weights) if alarm.kind == "step"]
    tidy, outliers = tidied(x, [alarm.at for alarm in noticed])
    rows = Rows(x, tidy, weights, np.arange(x.size, dtype=float))
    return rows, placed(x, outliers, noticed)


def one_by_one(rows: Rows, steps: list[Alarm]) -> list[tuple[int, float]]:
    """Literally: the least significant step is left out, and all others are tested again."""
    kept = list(steps)
    while kept:
        bounds = [0, *(step.at for step in kept), rows.x.size]
        residuals = residuals_of(rows, kept)
        rho = remaining_dependence(residuals / robust_scale(residuals), len(kept))
        whole = changed(rows.x, rho, passing=True) if len(kept) > 1 else 0.0
        doubts = []
        for i in range(len(kept)):
            low, _, high = beside(bounds[i : i + 3])
            doubts.append(max(changed(rows.x[low:high], rho), whole))
        worst = int(np.argmax(doubts))
        if doubts[worst] <= LEVEL:
            return [(step.at, p) for step, p in zip(kept, doubts, strict=True)]
        del kept[worst]
    return []


@pytest.mark.parametrize("kind", ["noise", "steps", "walk", "close"])
def test_rounds_keep_the_same_steps_with_the_same_p(kind: str) -> None:
    for seed in range(3):
        rows, steps = of(series(kind, 160, seed))
        found = significant_steps(StepTests(rows), steps, LEVEL, 0.0)
        assert [(step.at, step.p) for step in found] == one_by_one(rows, steps)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["steps", "walk", "close"])
def test_the_number_of_tests_grows_as_n_log_n(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for n in (500, 1000, 2000, 4000):
        seen = [0]

        def counted(x: np.ndarray, *more: float, _seen: list[int] = seen, **how: bool) -> float:
            _seen[0] += 1
            return changed(x, *more, **how)

        monkeypatch.setattr(significance, "changed", counted)
        rows, steps = of(series(kind, n, 1))
        significant_steps(StepTests(rows), steps, LEVEL, 0.0)
        counts.append(seen[0] / (n * np.log2(n)))
    assert counts[-1] <= 4.0 * max(counts[0], 0.005)
