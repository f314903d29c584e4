"""Minimum amounts of data for each method that fits, tests or compares network measurements.

With less data a method isn't applied, because its result would depend on single launches. All
counts are minima for a statement, not recommendations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.stats.core.intervals import smallest_size

# Fewest launches for which the median has a 95% interval. Without an interval nothing is certain.
LAUNCHES = smallest_size()
# A positive quantity whose 95% interval spans more than this factor is not determined.
DETERMINED = 10.0


@dataclass(frozen=True)
class MissingData:
    """The data that a method lacks."""

    #: Name of the method.
    method: str
    #: Number of launches of the points that it would use.
    launches: int
    #: Number of launches that each point needs.
    least_launches: int
    #: Number of points that were measured.
    points: int
    #: Number of points that it needs.
    least_points: int
    #: Kind of the points.
    noun: str
    #: Ratio of the largest to the smallest positive point.
    span: float
    #: Least such ratio for this method.
    least_span: float

    @property
    def lacks_launches(self) -> bool:
        """Whether launches are missing."""
        return self.launches < self.least_launches

    @property
    def lacks_points(self) -> bool:
        """Whether points are missing, or cover too small a range."""
        return self.points < self.least_points or self.span < self.least_span


@dataclass(frozen=True)
class MinimumData:
    """The least data that a method needs."""

    #: Name of the method.
    method: str
    #: Number of launches of every point that it uses.
    launches: int
    #: Number of points.
    points: int
    #: Kind of the points, in the singular.
    noun: str
    #: The least ratio of the largest to the smallest positive point.
    span: float = 1.0

    def missing(self, launches: Mapping[int, int]) -> MissingData | None:
        """The data that are missing, given the number of launches by point (size, rank count); None
        if there are enough.

        Points with too few launches don't count, so that a single one doesn't prevent the method.
        """
        enough = [point for point, count in launches.items() if count >= self.launches]
        if len(enough) >= self.points and _span(enough) >= self.span:
            return None
        # Launches of the best measured points, for the number of points that the method needs.
        # These numbers of launches are the ones to raise.
        counts = sorted(launches.values(), reverse=True)[: self.points]
        wide = _span(list(launches)) >= self.span and len(launches) >= self.points
        fewest = min(launches.values(), default=0) if wide else min(counts, default=0)
        return MissingData(
            method=self.method,
            launches=fewest,
            least_launches=self.launches,
            points=len(launches),
            least_points=self.points,
            noun=self.noun,
            span=_span(list(launches)),
            least_span=self.span,
        )


def _span(points: list[int]) -> float:
    """Ratio of the largest to the smallest positive point; 1 without positive points."""
    positive = [point for point in points if point > 0]
    return max(positive) / min(positive) if positive else 1.0


# A line has two parameters. Five sizes leave three degrees of freedom for its residuals, so that
# Student's t is 3.2 (with one degree it is 12.7). If sizes differ by less than a factor of 64,
# either the latency or the time per byte hardly influences the times.
LOGGP = MinimumData("LogGP", LAUNCHES, 5, "message size", 64.0)
HALF_SIZE = MinimumData("n½", LAUNCHES, 5, "message size", 64.0)
# Two lines of at least three sizes each, and two more sizes for the F test of one line against two.
PROTOCOL_CHANGES = MinimumData("protocol changes", LAUNCHES, 8, "message size", 64.0)
# If a change of protocol can't be found, its fall of bandwidth would be reported as a dip.
DIPS = MinimumData("dips of bandwidth", LAUNCHES, PROTOCOL_CHANGES.points, "message size", 64.0)
# Two laws of two parameters each. Four powers of two span a factor of 8.
GROWTH = MinimumData("growth with ranks", LAUNCHES, 4, "rank count", 8.0)
ORDERS = MinimumData("rank orders", LAUNCHES, 2, "order")
TIMINGS = MinimumData("timing after a barrier", LAUNCHES, 2, "timing")
SHARES = MinimumData("shares of a single pair's bandwidth", LAUNCHES, 2, "cell")
SENDERS = MinimumData("slowdown of concurrent senders", LAUNCHES, 2, "number of senders")
ONE_SIDED = MinimumData("one-sided communication against messages", LAUNCHES, 2, "cell")
NEIGHBOURS = MinimumData("methods of exchange between neighbours", LAUNCHES, 2, "cell")
VARIANTS = MinimumData("variants of collectives", LAUNCHES, 2, "cell")
LOADED = MinimumData("impact of load", LAUNCHES, 1, "pair of victim and aggressor")
# With fewer nodes even perfect groups occur by chance more often than ``topology.FALSE_ALARMS``.
GROUPS = MinimumData("groups", LAUNCHES, 6, "node")
SLOW_MEMBERS = MinimumData("slow nodes and slow pairs", LAUNCHES, GROUPS.points, "node")
# Fewer launches suffice for groups that each launch shows by itself: the pairs of a launch are
# tested by permutation (``topology.analyse``), and two launches agree by chance with a probability
# of ``topology.FALSE_ALARMS`` squared.
AGREEING_LAUNCHES = 2
# With fewer hops there are too few spacings for a test (``outliers.upper_outliers``).
HOPS = MinimumData("slow hops", LAUNCHES, 6, "hop")
