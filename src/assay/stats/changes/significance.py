"""Which of the steps that ``scan`` detects are significant, by permutation tests.

Steps are removed in order of their significance, the least significant first, since a spurious step
splits a stretch by which its neighbours are tested. Steps whose neighbours stay affect each other's
tests only through the autocorrelation. Steps that are far from significant are therefore removed
together, so that the number of rounds grows with the logarithm of the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from assay.stats.changes.reordering import changed, remaining_dependence
from assay.stats.changes.scan import Alarm, robust_scale
from assay.stats.changes.segments import Rows, residuals_of

# A p this many times the level doesn't fall below it by the small changes of the autocorrelation
# that leaving out other steps makes.
_FAR = 2.0
# Share of the insignificant steps that a round leaves out even if they are close to significant.
_PER_ROUND = 0.25
# A p below this share of the level is not recomputed for an autocorrelation that differs by less
# than _NEARLY.
_SURE, _NEARLY = 0.5, 0.02


def significant_steps(
    tested: StepTests, steps: Sequence[Alarm], level: float, least_dependence: float
) -> list[Alarm]:
    """The steps that remain significant by the permutation test, each with its p."""
    kept = list(steps)
    while kept:
        residuals = residuals_of(tested.rows, kept)
        scores = residuals / robust_scale(residuals)
        rho = remaining_dependence(scores, len(kept), least=least_dependence)
        doubts = tested.each(kept, rho, _SURE * level)
        if max(doubts) <= level:
            doubts = tested.each(kept, rho)
        if max(doubts) > level:
            dropped = _dropped(doubts, level)
            kept = [step for i, step in enumerate(kept) if i not in dropped]
            continue
        # Stretches were chosen by their values, so the whole series is tested for any change too.
        whole = tested.whole(rho) if len(kept) > 1 else 0.0
        if whole <= level:
            return [replace(s, p=max(p, whole)) for s, p in zip(kept, doubts, strict=True)]
        kept = kept[len(kept) // 2 :]
    return kept


def beside(bounds: Sequence[int]) -> tuple[int, int, int]:
    """The range of runs in which a change's place is searched, and the place.

    A stretch much longer than the other is shortened: thousands of unlikely places would together
    outweigh a likely one.
    """
    low, at, high = bounds
    return max(low, at - 8 * (high - at) - 32), at, min(high, at + 8 * (at - low) + 32)


def _dropped(doubts: Sequence[float], level: float) -> set[int]:
    """The step of the greatest p, and others with a p above their neighbours' that is far from
    significant, or among the greatest quarter of those above ``level``. No two are neighbours.
    """
    order = sorted((i for i, p in enumerate(doubts) if p > level), key=lambda i: (-doubts[i], i))
    dropped = {order[0]}
    for i in order[1:]:
        if doubts[i] <= _FAR * level and len(dropped) >= len(order) * _PER_ROUND:
            break
        near = [doubts[j] for j in (i - 1, i + 1) if 0 <= j < len(doubts)]
        if not dropped & {i - 1, i + 1} and all(doubts[i] >= each for each in near):
            dropped.add(i)
    return dropped


class StepTests:
    """Permutation tests of a series; each is made once, even for several levels."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._known: dict[tuple[int, int], tuple[float, float]] = {}
        self._whole: dict[float, float] = {}

    def each(self, steps: Sequence[Alarm], rho: float, sure: float = 0.0) -> list[float]:
        """p of each step in the stretches beside it.

        A p of ``sure`` or less may be known for nearly this autocorrelation and is then used: few
        of the stretches change when a step is left out, but the autocorrelation does.
        """
        bounds = [0, *(step.at for step in steps), self.rows.x.size]
        found = []
        for i in range(len(steps)):
            low, _, high = beside(bounds[i : i + 3])
            of, p = self._known.get((low, high), (math.inf, 1.0))
            near = _NEARLY if p <= sure else 0.0
            if not abs(of - rho) <= near:
                p = changed(self.rows.x[low:high], rho)
                self._known[low, high] = rho, p
            found.append(p)
        return found

    def whole(self, rho: float) -> float:
        """p of any change of the whole series, including a temporary change."""
        if rho not in self._whole:
            self._whole[rho] = changed(self.rows.x, rho, passing=True)
        return self._whole[rho]
