"""Levels of a factor compared: the time at one over the time at another, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.arrays import Floats
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.intervals import Estimate
from assay.units import Interval

# Level of each combination of factors, and the logarithms of its launches' times.
Cells = Sequence[tuple[Mapping[str, str], Floats]]


@dataclass(frozen=True)
class LevelRatio:
    """Time at one level of a factor over the time at another, while other factors are equal."""

    #: ``above``, ``below``: the levels.
    above: str
    below: str
    #: The ratio, a geometric mean over the combinations of the other factors.
    value: float
    #: 95% interval of ``value``.
    ci95: Interval
    #: Number of launches from which the scatter follows, plus two.
    launches: int
    #: Number of comparable pairs of levels that this pair was chosen among, itself included.
    among: int = 1

    def compared(self, comparisons: int) -> Comparison:
        """Its direction, among this many comparisons."""
        return compared(self.value, self.ci95, launches=self.launches, comparisons=comparisons)


def level_ratio(cells: Cells, factor: str, above: str, below: str) -> LevelRatio | None:
    """The ratio of two levels; None if no combination of the other factors has both.

    The scatter of launches is pooled over all cells, as in an analysis of variance.
    """
    from scipy.special import stdtrit

    freedom = sum(values.size - 1 for _, values in cells)
    if freedom < 1:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for _, values in cells)
    groups: dict[tuple[tuple[str, str], ...], dict[str, Floats]] = {}
    for levels, values in cells:
        rest = tuple(sorted((name, level) for name, level in levels.items() if name != factor))
        groups.setdefault(rest, {})[levels[factor]] = values
    both = [own for own in groups.values() if above in own and below in own]
    if not both:
        return None
    mean = float(np.mean([own[above].mean() - own[below].mean() for own in both]))
    share = sum(1.0 / own[above].size + 1.0 / own[below].size for own in both) / len(both) ** 2
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(squares / freedom * share)
    ends = math.exp(mean - half), math.exp(mean + half)
    return LevelRatio(above, below, math.exp(mean), ends, freedom + 2)


def extreme_levels(cells: Cells, factor: str) -> LevelRatio | None:
    """The pair of levels with the greatest ratio, with an interval that allows for its choice."""
    names = list(dict.fromkeys(levels[factor] for levels, _ in cells))
    found = []
    for one, other in combinations(names, 2):
        pair = level_ratio(cells, factor, one, other)
        if pair is not None and pair.value < 1.0:
            pair = level_ratio(cells, factor, other, one)
        if pair is not None:
            found.append(pair)
    if not found:
        return None
    values = [pair.value for pair in found]
    first = values.index(max(values))
    ends, among = chosen_interval([Estimate(pair.value, pair.ci95) for pair in found], first)
    return replace(found[first], ci95=ends or found[first].ci95, among=among)


def mean_ratio(ratios: Sequence[LevelRatio]) -> LevelRatio:
    """The geometric mean of the ratios of one pair of levels in several programs."""
    logs = [math.log(each.value) for each in ratios]
    halves = [math.log(each.ci95[1] / each.value) for each in ratios]
    mean, half = sum(logs) / len(logs), math.hypot(*halves) / len(logs)
    ends = math.exp(mean - half), math.exp(mean + half)
    launches = min(each.launches for each in ratios)
    return LevelRatio(ratios[0].above, ratios[0].below, math.exp(mean), ends, launches)
