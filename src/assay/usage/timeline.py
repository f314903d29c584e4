"""Amounts over time: how much is in use at each moment, and its integral over intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats


@dataclass(frozen=True)
class StepFunction:
    """An amount that changes in steps. ``levels[i]`` holds from ``times[i]`` (Unix time in s,
    ascending) to the next time, and the last level without end. Before the first time the amount is
    ``before``.
    """

    times: Floats
    levels: Floats
    before: float = 0.0

    def at(self, when: Floats) -> Floats:
        """The amount at each of these times."""
        if not self.times.size:
            return np.full(np.shape(when), self.before)
        if when is self.times:
            return self.levels
        index = np.searchsorted(self.times, when, side="right") - 1
        return np.where(index >= 0, self.levels[np.maximum(index, 0)], self.before)

    def integral(self, edges: Floats) -> Floats:
        """The amount × s in each interval between two consecutive edges (ascending)."""
        if not self.times.size:
            return self.before * np.diff(edges)
        whole = np.concatenate(([0.0], np.cumsum(self.levels[:-1] * np.diff(self.times))))
        index = np.searchsorted(self.times, edges, side="right") - 1
        inside = np.maximum(index, 0)
        since = edges - self.times[inside]
        until = whole[inside] + since * np.where(index >= 0, self.levels[inside], self.before)
        return np.diff(until)


def constant(level: float) -> StepFunction:
    """The same amount at all times."""
    return StepFunction(np.empty(0), np.empty(0), level)


def occupied(begin: Floats, end: Floats, amount: Floats) -> StepFunction:
    """The sum of amounts, each present from its begin to its end (finite, begin <= end)."""
    times = np.concatenate((begin, end))
    changes = np.concatenate((amount, -amount))
    order = np.argsort(times, kind="stable")
    at, first = np.unique(times[order], return_index=True)
    levels = np.cumsum(np.add.reduceat(changes[order], first)) if at.size else np.empty(0)
    return StepFunction(at, levels)


def total(functions: Sequence[StepFunction]) -> StepFunction:
    """The sum of amounts at each moment."""
    times, levels, before = _at_all(functions)
    return StepFunction(times, np.sum(levels, axis=0), sum(before))


def _at_all(functions: Sequence[StepFunction]) -> tuple[Floats, list[Floats], list[float]]:
    changing = [each.times for each in functions if each.times.size]
    times = changing[0] if len(changing) == 1 else np.unique(np.concatenate([[], *changing]))
    return times, [each.at(times) for each in functions], [each.before for each in functions]


def least(first: StepFunction, second: StepFunction) -> StepFunction:
    """The smaller of two amounts at each moment."""
    times, levels, before = _at_all((first, second))
    return StepFunction(times, np.minimum(*levels), min(before))


def greatest(first: StepFunction, second: StepFunction) -> StepFunction:
    """The greater of two amounts at each moment."""
    times, levels, before = _at_all((first, second))
    return StepFunction(times, np.maximum(*levels), max(before))


def difference(first: StepFunction, second: StepFunction) -> StepFunction:
    """The first amount minus the second, but not below 0."""
    times, levels, before = _at_all((first, second))
    return StepFunction(
        times, np.maximum(levels[0] - levels[1], 0.0), max(before[0] - before[1], 0.0)
    )
