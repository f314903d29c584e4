"""What other runs of a machine show about the interval of a cell.

Launches of one run share a period. If launches stay in a mode for some time, all launches of a
short run may be in one mode, and no statistic of this run shows it. Other runs are other periods.
The sign test compares them with the interval: if the median of all runs lay beyond one of its ends,
at least half of the other runs would lie there, whatever the distribution and the dependence of
launches within a run (W. Dixon, A. Mood: The statistical sign test, Journal of the American
Statistical Association 41, 1946, 557-566).
"""

from __future__ import annotations

import math
from functools import lru_cache

from assay.arrays import Floats
from assay.stats.core.model import RunAgreement
from assay.units import Interval

# The p at which other runs show that the median of all runs isn't beyond an end of the interval,
# for medium and for high confidence. At most this share of wrong intervals passes. With two equal
# modes that last, half of the intervals of six launches are wrong, and 10 to 15% of all are right
# and pass: at least 88% and 95% of the intervals that pass are right.
MEDIUM, HIGH = 1.0 / 32.0, 1.0 / 128.0
# The number of runs that can show it, if none lies beyond the interval.
RUNS_FOR_MEDIUM, RUNS_FOR_HIGH = 5, 7
# A mode is assumed to last as many launches. A run with fewer may lie in the period of another.
LASTING = 5
# Where the launches are known to be independent, only modes are looked for: other runs count as
# beyond the interval if they are beyond it after its distances from the median are doubled.
_DOUBLED = 2.0


def agreement(median: float, interval: Interval, others: Floats) -> RunAgreement:
    """Where the values of other runs lie, a value per run, relative to a cell's interval."""
    low, high = interval
    wide = (median - _DOUBLED * (median - low), median + _DOUBLED * (high - median))
    return RunAgreement(
        runs=int(others.size),
        beyond=_beyond(others, interval),
        far=_beyond(others, wide),
    )


def _beyond(values: Floats, interval: Interval) -> int:
    below, above = (values < interval[0]).sum(), (values > interval[1]).sum()
    return int(max(below, above))


@lru_cache(maxsize=1024)
def p_beyond(beyond: int, runs: int) -> float:
    """The probability that at most ``beyond`` of ``runs`` runs lie beyond an end of the interval,
    if the median of all runs does.
    """
    return float(sum(math.comb(runs, number) for number in range(beyond + 1)) / 2**runs)


def contradicted(found: RunAgreement) -> bool:
    """Whether other runs show that the median of all runs lies beyond an end of the interval."""
    inside = found.runs - found.beyond
    return found.runs > 0 and p_beyond(inside, found.runs) <= MEDIUM
