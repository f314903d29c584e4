"""Functions that became slower or faster between two profiles.

The samples in a function are counts. The ratio of two counts has the exact interval of Przyborowski
& Wilenski (1940), and its test is corrected for the number of functions (Holm 1979). Samples at
equal steps of CPU time vary less than Poisson counts, so both are wide enough. How much launches of
one program differ is not in the counts: the margin allows for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Ints
from assay.models.program.sampled.counts import CodePlace, SampleCounts
from assay.stats.core.multiple import corrected
from assay.stats.core.proportions import rate_ratios, rates_differ
from assay.units import Interval

FunctionVerdict = Literal["slower", "faster", "same", "undecided"]
#: Family-wise error rate of all verdicts of a comparison.
LEVEL = 0.05


@dataclass(frozen=True)
class FunctionChange:
    """Time in one function before and after, over all ranks."""

    place: CodePlace
    #: CPU time of all ranks, s.
    before: float
    after: float
    #: After ÷ before, and its 95% interval; None if there are no samples before.
    ratio: float | None
    interval: Interval
    #: Probability of a difference at least this large if the times differ by at most the margin,
    #: corrected for the number of functions.
    p: float
    #: ``same``: the interval lies within the margin.
    verdict: FunctionVerdict

    @property
    def difference(self) -> float:
        """Time after, less the time before, s."""
        return self.after - self.before


@dataclass(frozen=True)
class ProfileChange:
    """All functions of two profiles, the greatest difference first."""

    #: Computing time of all ranks, s.
    before: float
    after: float
    functions: list[FunctionChange]


def changes(before: SampleCounts, after: SampleCounts, margin: float = 0.01) -> ProfileChange:
    """Compare two profiles function by function; functions are the same by name and module."""
    places = tuple(dict.fromkeys((*before.places, *after.places)))
    one, other = _totals(before, places), _totals(after, places)
    here = (one + other) > 0
    places = tuple(place for place, used in zip(places, here, strict=True) if used)
    one, other = one[here], other[here]
    each = (_seconds(before), _seconds(after))
    scale = each[1] / each[0]
    low, high = rate_ratios(other, one, scale)
    p = corrected(rates_differ(other, one, scale, margin))
    found = [
        FunctionChange(
            place=place,
            before=float(one[at]) * each[0],
            after=float(other[at]) * each[1],
            ratio=float(scale * other[at] / one[at]) if one[at] else None,
            interval=(float(low[at]), float(high[at])),
            p=float(p[at]),
            verdict=_verdict(float(low[at]), float(high[at]), float(p[at]), margin),
        )
        for at, place in enumerate(places)
    ]
    found.sort(key=lambda change: (-abs(change.difference), change.place))
    return ProfileChange(
        before=sum(change.before for change in found),
        after=sum(change.after for change in found),
        functions=found,
    )


def _verdict(low: float, high: float, p: float, margin: float) -> FunctionVerdict:
    if p < LEVEL:
        return "slower" if low > 1.0 else "faster"
    return "same" if low >= 1.0 / (1.0 + margin) and high <= 1.0 + margin else "undecided"


def _totals(counts: SampleCounts, places: Sequence[CodePlace]) -> Ints:
    totals = dict(zip(counts.places, counts.own.sum(axis=0).tolist(), strict=True))
    return np.array([totals.get(place, 0) for place in places], np.int64)


def _seconds(counts: SampleCounts) -> float:
    """CPU time that a computing sample stands for, mean of all samples, s."""
    computing = counts.computing
    whole = computing.sum()
    if not whole:
        return float(counts.seconds.mean()) if len(counts.seconds) else 1.0
    return float((computing * counts.seconds).sum() / whole)
