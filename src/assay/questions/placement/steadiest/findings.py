"""A placement chosen for steadiness: Kramer & Ryan (2003), sections 12 and 14, choose settings by
mean and variation together.

The placements of a work on the same nodes are compared if the mean time of their launches is level
with the fastest. Of these, the placement with the least 95th percentile is chosen. Means and
percentiles are compared by resampling the launches of each placement (bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Floats
from assay.model.cell import Cell
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point
from assay.questions.placement.works import costs_of, works_of
from assay.stats.compare.directions import LEVEL
from assay.stats.compare.spreads import spreads_differ
from assay.stats.core.summary import coefficient_of_variation, cov_interval
from assay.units import Interval

# Minimum number of launches of a placement: with fewer, the slowest launch decides the 95th
# percentile.
LEAST_LAUNCHES = 12
# Placements whose mean is within this share of the fastest one's mean are level with it.
MARGIN = 0.01
# Minimum probability of a recommended choice.
SURE = 0.8
_SLOWER = 0.95
_RESAMPLES, _SEED = 2000, 2003


@dataclass(frozen=True)
class SteadyPlacement:
    """Mean and spread of the launches at one placement."""

    #: The measured cell.
    cell: Cell
    #: Number of launches.
    launches: int
    #: Mean time of the launches, s.
    mean: float
    #: 95th percentile of the launches, s.
    p95: float
    #: 95% interval of ``p95`` by the bootstrap, s.
    p95_ci95: Interval
    #: Coefficient of variation of the launches.
    cov: float
    #: 95% interval of ``cov``.
    cov_ci95: Interval | None
    #: Whether the mean is within 1% of the fastest one's mean, or not known to differ by more.
    level: bool
    #: Probability that the placement has the least 95th percentile among the level ones; 0 if it
    #: isn't level.
    least: float


@dataclass(frozen=True)
class SteadiestOfWork:
    """The steadiest placement of one work."""

    #: One cell of the work.
    work: Cell
    #: Level placements first, each group by ascending 95th percentile.
    placements: tuple[SteadyPlacement, ...]
    #: Placement with the least mean.
    fastest: SteadyPlacement
    #: Whether the CoV of the chosen placement is below the CoV of every other level one, by a
    #: permutation test at an error of 1 in 1,000 for all pairs.
    apart: bool
    #: Measured point of the chosen placement.
    point: Point = field(metadata=INTERNAL)

    @property
    def chosen(self) -> SteadyPlacement:
        """The level placement with the least 95th percentile."""
        return self.placements[0]

    @property
    def sure(self) -> bool:
        """Whether the choice is recommended."""
        return self.chosen.least >= SURE and self.apart


@dataclass(frozen=True)
class SteadiestFindings:
    """The steadiest placement of each work."""

    #: Works with at least two equally fast placements of 12 launches or more.
    works: list[SteadiestOfWork]


def find(measured: Measured) -> SteadiestFindings | None:
    """The steadiest placement of each work; None if no work has several equally fast placements."""
    groups: dict[tuple[int, int], list[Point]] = {}
    for number, work in enumerate(works_of(measured.cells, lambda cell: True)):
        for point in work:
            nodes = point.summary.cell.placement.nodes
            groups.setdefault((number, nodes), []).append(point)
    costs = costs_of(measured.run)
    works = [of for group in groups.values() if (of := _of_work(group, costs)) is not None]
    return SteadiestFindings(works) if works else None


def _of_work(
    group: Sequence[Point], costs: Mapping[str, Mapping[int, float]]
) -> SteadiestOfWork | None:
    known = [
        (point, np.array(list(costs[point.summary.id].values())))
        for point in group
        if len(costs.get(point.summary.id, ())) >= LEAST_LAUNCHES
    ]
    if len(known) < 2:
        return None
    judged = judge([values for _, values in known])
    if sum(of.level for of in judged) < 2:
        return None
    placements = [
        SteadyPlacement(
            cell=point.summary.cell,
            launches=len(values),
            mean=float(values.mean()),
            p95=float(np.quantile(values, _SLOWER)),
            p95_ci95=of.p95_ci95,
            cov=coefficient_of_variation(values) or 0.0,
            cov_ci95=cov_interval(values),
            level=of.level,
            least=of.least,
        )
        for (point, values), of in zip(known, judged, strict=True)
    ]
    order = sorted(
        range(len(placements)), key=lambda at: (not placements[at].level, placements[at].p95)
    )
    fastest = min(placements, key=lambda one: one.mean)
    return SteadiestOfWork(
        work=known[0][0].summary.cell,
        placements=tuple(placements[at] for at in order),
        fastest=fastest,
        apart=_apart([(placements[at].cov, known[at][1]) for at in order if placements[at].level]),
        point=known[order[0]][0],
    )


def _apart(levels: Sequence[tuple[float, Floats]]) -> bool:
    """Whether the first placement's CoV is below each other one's, among all pairs.

    ``levels``: the CoV and the launches of each level placement, in their order. These have equal
    means, so that their CoVs decide on the 95th percentile. Of few launches a CoV is known better
    than a percentile.
    """
    (cov, values), *others = levels
    level = LEVEL / math.comb(len(levels), 2)
    return all(
        cov < other and spreads_differ(values, launches, level) for other, launches in others
    )


@dataclass(frozen=True)
class Judged:
    """What resampling says about one placement."""

    #: 95% interval of the 95th percentile, s.
    p95_ci95: Interval
    #: Whether the placement is level with the fastest.
    level: bool
    #: Probability that the placement has the least 95th percentile; 0 if it isn't level.
    least: float


def judge(launches: Sequence[Floats]) -> list[Judged]:
    """Which placements are level with the fastest, and which has the least 95th percentile.

    ``launches``: times of each placement. A placement is level unless the 95% interval of the ratio
    of its mean to the fastest one's is above 1.01.
    """
    random = np.random.default_rng(_SEED)
    means, tails = [], []
    for values in launches:
        drawn = values[random.integers(len(values), size=(_RESAMPLES, len(values)))]
        means.append(drawn.mean(axis=1))
        tails.append(np.quantile(drawn, _SLOWER, axis=1))
    fastest = int(np.argmin([values.mean() for values in launches]))
    level = [
        at == fastest or float(np.quantile(mean / means[fastest], 0.025)) <= 1.0 + MARGIN
        for at, mean in enumerate(means)
    ]
    compared = np.array(
        [tail if ok else np.full(_RESAMPLES, np.inf) for tail, ok in zip(tails, level, strict=True)]
    )
    least = compared == compared.min(axis=0)
    shares = (least / least.sum(axis=0)).mean(axis=1)
    return [
        Judged(
            (float(np.quantile(tail, 0.025)), float(np.quantile(tail, 0.975))),
            ok,
            float(share) if ok else 0.0,
        )
        for tail, ok, share in zip(tails, level, shares, strict=True)
    ]
