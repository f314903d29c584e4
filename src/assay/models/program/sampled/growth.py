"""Time of each function against the number of ranks, and what would limit at the next size.

The time of a function over all ranks follows ranks^a: a is 0 where more ranks divide the work (with
the same problem), and 1 where every rank repeats it. The exponent is a line through the logarithms,
weighted by the counts of samples; it is the simplest of the normal forms of Calotoiu, Hoefler, Poke
& Wolf (SC 2013), without their logarithms, which two to five sizes don't tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.models.program.sampled.counts import CodePlace, SampleCounts
from assay.models.program.sampled.functions import Z
from assay.trace.samples.model import Activity
from assay.units import Interval

#: The place that stands for all calls of MPI, and for waiting for other threads.
IN_MPI = CodePlace("calls of MPI", "")
IN_WAITING = CodePlace("waiting for threads", "")
# Functions with fewer samples than this at every size are left out.
_LEAST_SAMPLES = 20


@dataclass(frozen=True)
class FunctionGrowth:
    """One function at several numbers of ranks."""

    place: CodePlace
    #: CPU time per rank at each size, s; and its share of all CPU time.
    times: list[float]
    shares: list[float]
    #: The time of all ranks together follows ranks^exponent; its 95% interval from the counts.
    exponent: float
    interval: Interval
    #: At the next size: CPU time per rank, s, and its share.
    next_time: float
    next_share: float

    @property
    def growth(self) -> float:
        """Share at the next size, less the share at the largest size."""
        return self.next_share - self.shares[-1]


@dataclass(frozen=True)
class ProgramGrowth:
    """A program at several sizes."""

    #: Numbers of ranks, ascending, and the next size.
    sizes: list[int]
    next_size: int
    #: CPU time per rank at each size, s, and what the functions predict for the next size.
    times: list[float]
    next_time: float
    #: Functions, MPI and waiting, the largest share at the next size first.
    functions: list[FunctionGrowth]

    @property
    def limits(self) -> FunctionGrowth | None:
        """What gains most share at the next size; None if no share grows beyond its error."""
        whole = [time * size for time, size in zip(self.times, self.sizes, strict=True)]
        if min(whole) <= 0.0:
            return None
        usual = float(np.log(whole[-1] / whole[0]) / np.log(self.sizes[-1] / self.sizes[0]))
        growing = [one for one in self.functions if one.interval[0] > usual and one.growth > 0.0]
        return max(growing, key=lambda one: one.growth, default=None)


def growth(profiles: Sequence[SampleCounts]) -> ProgramGrowth | None:
    """The functions of profiles at different numbers of ranks; None for fewer than two sizes.

    Profiles of one size are added up. The next size continues the last step.
    """
    by_size: dict[int, list[SampleCounts]] = {}
    for counts in profiles:
        by_size.setdefault(len(counts.ranks), []).append(counts)
    sizes = sorted(size for size in by_size if size)
    if len(sizes) < 2:
        return None
    columns = [_column(by_size[size]) for size in sizes]
    next_size = max(round(sizes[-1] ** 2 / sizes[-2]), sizes[-1] + 1)
    places = list(dict.fromkeys(place for column in columns for place in column))
    wholes = [sum(seconds for _, seconds in column.values()) for column in columns]
    found = []
    for place in places:
        cells = [column.get(place, (0, 0.0)) for column in columns]
        if max(number for number, _ in cells) < _LEAST_SAMPLES:
            continue
        each = np.array([seconds for _, seconds in cells])
        exponent, error = _exponent(sizes, each, np.array([float(n) for n, _ in cells]))
        ahead = float(each[-1]) * (next_size / sizes[-1]) ** exponent
        found.append((place, each, exponent, error, ahead))
    total = sum(ahead for *_, ahead in found)
    functions = [
        FunctionGrowth(
            place=place,
            times=[float(t) / size for t, size in zip(each, sizes, strict=True)],
            shares=[float(t) / w if w else 0.0 for t, w in zip(each, wholes, strict=True)],
            exponent=exponent,
            interval=(exponent - Z * error, exponent + Z * error),
            next_time=ahead / next_size,
            next_share=ahead / total if total else 0.0,
        )
        for place, each, exponent, error, ahead in found
    ]
    functions.sort(key=lambda one: (-one.next_share, one.place))
    return ProgramGrowth(
        sizes=sizes,
        next_size=next_size,
        times=[whole / size for whole, size in zip(wholes, sizes, strict=True)],
        next_time=total / next_size,
        functions=functions,
    )


def _column(profiles: Sequence[SampleCounts]) -> dict[CodePlace, tuple[int, float]]:
    """Samples, and seconds of all ranks, of each function at one size: means of the profiles."""
    column: dict[CodePlace, tuple[int, float]] = {}

    def add(place: CodePlace, number: int, seconds: float) -> None:
        samples, time = column.get(place, (0, 0.0))
        column[place] = samples + number, time + seconds / len(profiles)

    for counts in profiles:
        numbers, seconds = counts.own.sum(axis=0), counts.own.T @ counts.seconds
        for at in np.flatnonzero(numbers):
            add(counts.places[at], int(numbers[at]), float(seconds[at]))
        for place, activity in ((IN_MPI, Activity.MPI), (IN_WAITING, Activity.WAITING)):
            if (row := counts.activities[:, activity]).any():
                add(place, int(row.sum()), float(row @ counts.seconds))
    return column


def _exponent(sizes: Sequence[int], seconds: Floats, samples: Floats) -> tuple[float, float]:
    """Slope of log seconds over log ranks, weighted by the counts, and its standard error.

    The variance of the logarithm of a count is 1 ÷ the count.
    """
    used = samples > 0.0
    if used.sum() < 2:
        return 0.0, float("inf")
    x, y, weight = np.log(np.array(sizes))[used], np.log(seconds[used]), samples[used]
    middle = np.average(x, weights=weight)
    spread = float((weight * (x - middle) ** 2).sum())
    slope = float((weight * (x - middle) * y).sum()) / spread
    return slope, 1.0 / spread**0.5
