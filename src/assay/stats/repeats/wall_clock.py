"""Wall clock against CPU time: whether ranks computed for longer, or were kept from computing.

Kramer & Ryan (2003), section 11 and table 3: the T3E's wall-clock times varied by 6 to 16%, its
accounting's by less than 1%, for jobs were moved between processors while their clock went on.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from assay.stats.attribution.association import effective_pairs
from assay.stats.attribution.attribution import LEAST
from assay.stats.attribution.explanations import normal_scores
from assay.stats.core.intervals import Floats, Interval
from assay.stats.core.rounding import RELATIVE
from assay.stats.core.summary import coefficient_of_variation
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.spread import cov_interval

# Chance that a pair of series that vary alike is said to part.
ALPHA = 0.01
# From which share of the wall clock's on the CPU time's variation is "much less".
MUCH_LESS = 0.5
# A rank that computes less of the time than this mostly waits asleep: its CPU time tells nothing of
# how long its work takes.
BUSY = 0.5

Verdict = Literal["kept from running", "ran longer", "alike", "asleep"]


class WallClock(msgspec.Struct, frozen=True):
    """One cell's variation by two clocks, as coefficients of variation with their 95% intervals.

    ``cpu`` is of the CPU time, user and kernel, of the rank that had least of it, for as much work.
    ``busy``: the share of the time that this rank had a CPU, the median; None of whole jobs.
    ``p``: of the two varying alike, by Pitman and Morgan's test on ranks. ``verdict``: ``kept from
    running``, the CPU time varies much less; ``ran longer``, it varies more; ``alike``;
    ``asleep``, where ranks mostly wait without computing, so that there is nothing to compare.

    ``n``: measurements. ``wall`` with ``wall_ci95``: by the wall clock; ``cpu_ci95``: the
    interval of ``cpu``.
    """

    n: int
    wall: float
    wall_ci95: Interval | None
    cpu: float
    cpu_ci95: Interval | None
    busy: float | None
    p: float
    verdict: Verdict


def cpu_cost(repeats: Repeats) -> Floats | None:
    """CPU time for a unit of work, s a rank, one a measurement; nan where the machine didn't tell.

    The cost times the share of the sampling that the rank with the least CPU time had a CPU. Its
    CPU time, for MPI libraries wait by polling: the ranks that wait for a hindered one use as much
    CPU time as the wall clock shows. None where it was never told.
    """
    least = repeats.covariates.get("least_cpu_seconds")
    spans = repeats.covariates.get("sampling_seconds")
    if least is None:
        user, system = (repeats.covariates.get(name) for name in ("user_seconds", "system_seconds"))
        if user is None or system is None:
            return None
        # Records without it tell the sum over the ranks: their mean then.
        least = (user + system) / repeats.cell.placement.ranks
    if spans is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(spans > 0.0, least / spans, np.nan)
    # Threads of a rank run at once; all busy is 1.
    share = share / repeats.cell.placement.threads
    return np.asarray(repeats.cost * share, dtype=np.float64)


def wall_clock(repeats: Repeats) -> WallClock | None:
    """Both clocks of a cell; None of fewer than 20 measurements whose CPU time is known."""
    cpu = cpu_cost(repeats)
    return None if cpu is None else compare_clocks(repeats.cost, cpu, of_ranks=True)


def compare_clocks(
    wall: Floats, cpu: Floats, *, of_ranks: bool = False, least: int = LEAST
) -> WallClock | None:
    """Whether two clocks of the same work vary alike, s each, in order of time; nan is unknown.

    The test of two variances of pairs is that their difference and their sum are correlated (Pitman
    1939; Morgan 1939), here of logarithms, by normal scores. ``of_ranks``: the CPU time is a
    rank's, so that its share of the wall clock tells how busy it was. None of fewer than ``least``
    known pairs, and where the wall clock doesn't vary.
    """
    from scipy.special import stdtr

    known = np.isfinite(cpu) & (cpu > 0.0) & (wall > 0.0)
    wall, cpu = wall[known], cpu[known]
    n = int(wall.size)
    if n < least or np.ptp(wall) == 0.0:
        return None
    of_wall, of_cpu = coefficient_of_variation(wall), coefficient_of_variation(cpu)
    if of_wall is None or of_cpu is None:
        return None
    busy = float(np.median(cpu / wall)) if of_ranks else None
    p, more = 1.0, False
    difference, total = np.log(wall / cpu), np.log(wall * cpu)
    if np.ptp(difference) > 0.0 and np.ptp(total) > 0.0:
        x, y = normal_scores(difference), normal_scores(total)
        r = float(x @ y) / float(np.sqrt((x @ x) * (y @ y)))
        freedom = max(effective_pairs(x, y) - 2.0, 1.0)
        t = r * np.sqrt(freedom / max(1.0 - r * r, RELATIVE))
        p, more = 2.0 * float(stdtr(freedom, -abs(t))), r > 0.0
    return WallClock(
        n=n,
        wall=of_wall,
        wall_ci95=cov_interval(wall),
        cpu=of_cpu,
        cpu_ci95=cov_interval(cpu),
        busy=busy,
        p=p,
        verdict=_verdict(of_wall, of_cpu, busy, p, more),
    )


def _verdict(wall: float, cpu: float, busy: float | None, p: float, more: bool) -> Verdict:
    if busy is not None and busy < BUSY:
        return "asleep"
    if p > ALPHA:
        return "alike"
    if more and cpu <= MUCH_LESS * wall:
        return "kept from running"
    if not more and wall <= MUCH_LESS * cpu:
        return "ran longer"
    return "alike"
