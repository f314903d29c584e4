"""Variation of wall-clock and CPU time: whether ranks ran longer or were kept from running.

Kramer & Ryan (2003), section 11 and table 3: the T3E's wall-clock times varied by 6 to 16%, its
accounted CPU times by less than 1%, because jobs were moved between processors while the wall clock
went on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.stats.attribution.association import effective_pairs
from assay.stats.attribution.attribution import LEAST
from assay.stats.attribution.explanations import normal_scores
from assay.stats.core.rounding import RELATIVE
from assay.stats.core.summary import coefficient_of_variation, cov_interval
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval

# Level of the test that both clocks vary alike.
ALPHA = 0.01
# A variation is much smaller than another if it is at most this share of it.
MUCH_LESS = 0.5
# A rank with a CPU for less than this share of the time mostly sleeps: its CPU time doesn't show
# how long its work takes.
BUSY = 0.5

Verdict = Literal["kept from running", "ran longer", "alike", "asleep"]


@dataclass(frozen=True)
class WallClock:
    """One cell's variation by two clocks, as coefficients of variation with their 95% intervals."""

    #: Number of measurements.
    n: int
    #: Coefficient of variation of wall time.
    wall: float
    #: 95% interval of ``wall``.
    wall_ci95: Interval | None
    #: Coefficient of variation of CPU time (user and kernel) per unit of work, of the rank with the
    #: least CPU time.
    cpu: float
    #: 95% interval of ``cpu``.
    cpu_ci95: Interval | None
    #: Median share of the time that this rank had a CPU; None for whole jobs.
    busy: float | None
    #: p of equal variation of both clocks, by the Pitman-Morgan test on normal scores.
    p: float
    #: ``kept from running``: the CPU time varies much less than the wall time. ``ran longer``: the
    #: CPU time varies much more. ``alike``: neither. ``asleep``: ranks mostly wait without
    #: computing, so that the two can't be compared.
    verdict: Verdict


def cpu_cost(repeats: Repeats) -> Floats | None:
    """CPU time per unit of work and rank, s, one value per measurement, nan where it is unknown.

    The cost times the share of the sampling time that the rank with the least CPU time had a CPU.
    The least, because MPI libraries wait by polling: ranks that wait for a delayed one use as much
    CPU time as the wall clock shows. None where no measurement has it.
    """
    least = repeats.covariates.get("least_cpu_seconds")
    spans = repeats.covariates.get("sampling_seconds")
    if least is None:
        user, system = (repeats.covariates.get(name) for name in ("user_seconds", "system_seconds"))
        if user is None or system is None:
            return None
        # Records without it hold the sum over the ranks: use their mean.
        least = (user + system) / repeats.cell.placement.ranks
    if spans is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(spans > 0.0, least / spans, np.nan)
    # Threads of a rank run concurrently; the share is 1 if all are busy.
    share = share / repeats.cell.placement.threads
    return np.asarray(repeats.cost * share, dtype=np.float64)


def wall_clock(repeats: Repeats) -> WallClock | None:
    """Both clocks of a cell; None for fewer than 20 measurements with a known CPU time."""
    cpu = cpu_cost(repeats)
    return None if cpu is None else compare_clocks(repeats.cost, cpu, of_ranks=True)


def compare_clocks(
    wall: Floats, cpu: Floats, *, of_ranks: bool = False, least: int = LEAST
) -> WallClock | None:
    """Whether two clocks of the same work vary alike, s each, in order of time; nan is unknown.

    Paired variances are equal if difference and sum of the pairs are uncorrelated (Pitman 1939;
    Morgan 1939); here tested on normal scores of differences and sums of logarithms. ``of_ranks``:
    the CPU time belongs to one rank, so that its share of the wall clock is how busy the rank was.
    None for fewer than ``least`` known pairs, and where the wall clock doesn't vary.
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
