"""The decision on a promise about the whole machine, from the launches of one cell.

Two tests share the launches. The supplier's test rejects the promise if too many launches are worse
than the promised value. The buyer's test accepts it if enough launches are better than the value
that is worse by the margin. Each looks at the same numbers of launches and holds its own risk over
all looks (``boundaries``). The first look at which a test decides is the last. If both decide at
the same look, the test with the greater surplus of launches counts.

The ends of the interval are the values at which the tests would just not decide: a repeated
confidence interval (C. Jennison, B. Turnbull: Interim analyses: the repeated confidence interval
approach, Journal of the Royal Statistical Society B 51, 1989, 305-361).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from assay.acceptance.boundaries import looks_of, required_counts, widened
from assay.acceptance.contract import PromisedRange
from assay.arrays import Floats
from assay.stats.cells.dependence import NEEDED
from assay.stats.cells.expected_coverage import UNKNOWN
from assay.stats.core.launches import ENOUGH, autoregressive_size, effective_launches

Outcome = Literal["accepted", "rejected", "undecided"]


_D = TypeVar("_D")


@dataclass(frozen=True)
class Dependence:
    """What the other cells of the runs show about the dependence of successive launches."""

    #: Number of independent other cells.
    cells: float = 0.0
    #: The greatest autocorrelation that they permit.
    autocorrelation: float = UNKNOWN
    #: The autocorrelation to allow for by all cells of the runs together, also if they are few.
    together: float = 0.0

    @property
    def known(self) -> bool:
        """Whether the other cells suffice."""
        return self.cells >= NEEDED


# What the other cells show by the time that a cell has this many launches.
DependenceAt = Callable[[int], Dependence]


@dataclass(frozen=True)
class PromiseDecision:
    """The decision on one promise."""

    outcome: Outcome
    #: Number of launches at the deciding look; without a decision, at the last look. 0 before the
    #: first look.
    used: int
    #: Effective number of independent launches among them.
    worth: float
    #: The interval that belongs to the decision, in the metric's unit; an end is None if the
    #: launches don't bound it.
    low: float | None
    high: float | None
    #: Number of launches at the look that would probably decide; None if no look within the
    #: contract's launches would.
    needed: int | None
    #: Whether dependence of the launches could not be excluded and was assumed to be strong.
    assumed: bool


def decide(
    values: Floats,
    limits: PromisedRange,
    margin: float,
    dependence: DependenceAt,
    supplier: float,
    buyer: float,
    launches: int,
) -> PromiseDecision:
    """Decide on the median of launches in order of time.

    ``values``: positive, in the unit of ``limits``. ``margin``: share of the promised value.
    ``dependence``: what the other cells show at a look, which doesn't depend on later launches.
    ``supplier``, ``buyer``: the risks of this promise. ``launches``: maximum number of launches;
    further ones don't count.
    """
    sizes = looks_of(launches)
    reached = [size for size in sizes if size <= values.size]
    sides = []
    both = limits.low is not None and limits.high is not None
    # A range has two limits at which a conforming machine can be rejected, and both must be held.
    rejecting = required_counts(sizes, supplier / 2.0 if both else supplier)
    accepting = required_counts(sizes, buyer)
    if limits.low is not None:
        low = limits.low
        sides.append(_Side(low, low * (1.0 - margin), 1.0))
    if limits.high is not None:
        high = limits.high
        sides.append(_Side(-high, -high * (1.0 + margin), -1.0))
    if not reached:
        return PromiseDecision(
            outcome="undecided",
            used=0,
            worth=0.0,
            low=None,
            high=None,
            needed=sizes[0],
            assumed=not dependence(int(values.size)).known,
        )
    known = {size: dependence(size) for size in reached}
    worths = {size: worth_of(values[:size], known[size]) for size in reached}
    needed_counts = list(zip(rejecting, accepting, strict=True))
    at = [_side_at(each, values, reached, needed_counts, worths) for each in sides]
    outcome: Outcome = "undecided"
    if any(each.outcome == "rejected" for each in at):
        outcome = "rejected"
        used = min(each.used for each in at if each.outcome == "rejected")
    elif all(each.outcome == "accepted" for each in at):
        outcome = "accepted"
        used = max(each.used for each in at)
    else:
        used = reached[-1]
    place = reached.index(used)
    worth = worths[used]
    needs = [widened(each[place], used, worth) for each in (rejecting, accepting)]
    needed = None
    if outcome == "undecided":
        needed = _needed(sides, values[:used], sizes, needed_counts, worth / used)
    return PromiseDecision(
        outcome=outcome,
        used=used,
        worth=worth,
        low=_low_end(sides, values[:used], needs),
        high=_high_end(sides, values[:used], needs),
        needed=needed,
        assumed=not known[used].known and used < ENOUGH,
    )


def corrected_outcomes(
    weights: Sequence[float],
    decide_at: Callable[[int, float], _D],
    is_rejected: Callable[[_D], bool],
    supplier: float,
) -> list[_D]:
    """The decisions on promises, of which conforming ones are rejected with a probability of at
    most ``supplier`` in total.

    ``weights``: shares of the risk, one for each promise. Holm's weighted procedure (S. Holm, A
    simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6,
    1979, 65-70) with group-sequential tests (W. Maurer, F. Bretz: Multiple testing in group
    sequential trials using graphical approaches, Statistics in Biopharmaceutical Research 5, 2013,
    311-320). Accepting needs no correction: the contract is accepted only if each promise is.
    ``decide_at`` decides on a promise, by its place, at a supplier's risk.
    """
    count = len(weights)
    rejected: dict[int, _D] = {}
    while True:
        left = [place for place in range(count) if place not in rejected]
        total = math.fsum(weights[place] for place in left)
        open_ = {place: decide_at(place, supplier * weights[place] / total) for place in left}
        more = {place: each for place, each in open_.items() if is_rejected(each)}
        if not more:
            return [
                rejected[place] if place in rejected else open_[place] for place in range(count)
            ]
        rejected |= more


def median_limits(
    values: Floats, worth: float, launches: int, below: float, above: float
) -> tuple[float | None, float | None]:
    """One-sided limits of the median at a look, each with its risk over all looks.

    ``values``: the launches of the look; ``worth``: their effective number; ``launches``: maximum
    number of launches. The median is under the lower limit with a probability of at most ``below``,
    and over the upper limit with at most ``above``. None where the launches don't bound it.
    """
    sizes = looks_of(launches)
    if values.size not in sizes:
        return None, None
    place = sizes.index(int(values.size))
    ordered = np.sort(values)
    low, high = (
        widened(required_counts(sizes, risk)[place], int(values.size), worth)
        for risk in (below, above)
    )
    return (
        None if low is None else float(ordered[values.size - low]),
        None if high is None else float(ordered[high - 1]),
    )


@dataclass(frozen=True)
class _Side:
    """One limit. Values times ``sign`` are better if they are greater; so are both limits."""

    promised: float
    worse: float
    sign: float

    def below(self, values: Floats) -> int:
        """The number of values worse than promised."""
        return int(np.count_nonzero(self.sign * values < self.promised))

    def above(self, values: Floats) -> int:
        """The number of values better than the limit that is worse by the margin."""
        return int(np.count_nonzero(self.sign * values > self.worse))


@dataclass(frozen=True)
class _SideOutcome:
    outcome: Outcome
    used: int


def worth_of(values: Floats, dependence: Dependence) -> float:
    """The effective number of launches, by themselves and by the other cells of the runs."""
    n = int(values.size)
    own = effective_launches(values)
    # A cell that stays on one side for long looks independent. Other cells show it, also if few.
    rho = dependence.together
    if dependence.known:
        rho = max(rho, dependence.autocorrelation)
    elif n < ENOUGH:
        rho = UNKNOWN
    return min(own, autoregressive_size(n, rho))


def _side_at(
    side: _Side,
    series: Floats,
    reached: Sequence[int],
    required: Sequence[tuple[int | None, int | None]],
    worths: dict[int, float],
) -> _SideOutcome:
    """The first look that decides. ``required``: counts that reject and accept, at each look."""
    for size, (reject, accept) in zip(reached, required, strict=False):
        first = series[:size]
        bad = _surplus(side.below(first), widened(reject, size, worths[size]))
        good = _surplus(side.above(first), widened(accept, size, worths[size]))
        if bad >= 0 and bad > good:
            return _SideOutcome("rejected", size)
        if good >= 0:
            return _SideOutcome("accepted", size)
    return _SideOutcome("undecided", reached[-1])


def _surplus(count: int, required: int | None) -> int:
    return -1 if required is None else count - required


def _low_end(sides: Sequence[_Side], first: Floats, needs: Sequence[int | None]) -> float | None:
    """The lower end: by the test that accepts a lower limit, or rejects an upper limit."""
    rejects, accepts = needs
    need = accepts if sides[0].sign > 0 else rejects
    return None if need is None else float(np.sort(first)[first.size - need])


def _high_end(sides: Sequence[_Side], first: Floats, needs: Sequence[int | None]) -> float | None:
    rejects, accepts = needs
    need = accepts if sides[-1].sign < 0 else rejects
    return None if need is None else float(np.sort(first)[need - 1])


def _needed(
    sides: Sequence[_Side],
    first: Floats,
    sizes: Sequence[int],
    required: Sequence[tuple[int | None, int | None]],
    share: float,
) -> int | None:
    """The next look at which the present shares of launches would decide.

    ``share``: effective launches per launch.
    """
    n = first.size
    for size, counts in zip(sizes, required, strict=True):
        if size <= n:
            continue
        needs = [widened(each, size, max(share * size, 1.0)) for each in counts]
        below = [math.floor(side.below(first) / n * size) for side in sides]
        above = [math.floor(side.above(first) / n * size) for side in sides]
        if needs[0] is not None and any(count >= needs[0] for count in below):
            return size
        if needs[1] is not None and all(count >= needs[1] for count in above):
            return size
    return None
