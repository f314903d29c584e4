"""The walltime to request so that a share of runs finishes, and the cost of the 2 sigma rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.stats.core.intervals import checked
from assay.stats.core.launches import effective_sample_ratio
from assay.stats.core.proportions import clopper_pearson
from assay.stats.core.rounding import RELATIVE
from assay.units import Interval

Basis = Literal["order statistic", "tail model", "slowest seen"]

# The tail model is fitted to the values above each of these quantiles, with at least _MIN_ABOVE of
# them: where few runs are very late, only the far tail shows how late.
_TAILS_FROM = (0.75, 0.9, 0.97)
_MIN_ABOVE = 3
# Rule of Kramer & Ryan (2003), section 3: users either request more than they need or lose work.
SIGMAS = 2.0


@dataclass(frozen=True)
class WalltimeChoice:
    """The cost of requesting ``seconds``, estimated from the observed runs."""

    #: The requested walltime, s.
    seconds: float
    #: Number of observed runs that take longer.
    killed: int
    #: The share of runs that would exceed it.
    killed_share: float
    #: 95% interval of ``killed_share`` (Clopper & Pearson).
    killed_ci95: Interval
    #: Walltime that killed runs waste, hours per 100 runs.
    lost_hours: float
    #: Walltime that finished runs requested but didn't use, and which the scheduler must reserve,
    #: hours per 100 runs.
    idle_hours: float


@dataclass(frozen=True)
class Walltime:
    """The walltime to request, s, so that a share of runs finishes, with confidence and method."""

    #: Walltime to request, s.
    seconds: float
    #: Share of runs that finish within it.
    share: float
    #: Confidence that this share of runs finishes.
    confidence: float
    #: The method.
    basis: Basis
    #: Reason for this method.
    why: str
    #: Number of runs.
    n: int
    #: Number of independent runs with the same information.
    effective_n: float
    #: Minimum number of independent runs for which no tail model is needed.
    enough_for_order: int
    #: The cost of this request.
    asked: WalltimeChoice
    #: The cost of median + 2 standard deviations.
    two_sigma: WalltimeChoice


def asked_walltime(
    costs: Sequence[float] | Floats, share: float = 0.99, confidence: float = 0.95
) -> Walltime:
    """The walltime within which, with this confidence, at least this share of runs finish.

    ``costs``: seconds of whole runs, in order of time. With enough of them (299 for 99% at 95%) it
    is an order statistic, a distribution-free upper confidence bound of the quantile. With fewer it
    is the bound of an exponential tail: excesses over the 75th, the 90th or the 97th percentile are
    assumed to be exponential or to decay faster (as normal ones do), and their mean is bounded by
    its gamma distribution. The result is the greatest of the three bounds, and at least the slowest
    observed run. Runs that depend on their predecessors count as fewer. Raises AssayError without
    costs, for costs that aren't positive, and unless ``share`` and ``confidence`` lie between 0 and
    1.
    """
    ordered = np.sort(values := checked(costs))
    if not 0.0 < share < 1.0 or not 0.0 < confidence < 1.0 or ordered[0] <= 0.0:
        raise AssayError("A walltime needs positive times, and a share and a confidence below 1.")
    n = int(values.size)
    worth = n * effective_sample_ratio(values)
    enough = fewest_runs(share, confidence)
    rank = _bounding_rank(worth, share, confidence)
    basis: Basis
    if rank is not None:
        # The rank among effective_n runs, scaled to n.
        place = min(math.ceil(rank * n / math.floor(worth)), n)
        seconds, basis = float(ordered[place - 1]), "order statistic"
        why = f"the {_ordinal(place)} of {n} runs by time bounds it for any distribution"
    else:
        model = _tail_bound(ordered, worth, share, confidence)
        slowest = float(ordered[-1])
        basis = "slowest seen" if model is None or model <= slowest else "tail model"
        seconds = slowest if model is None else max(model, slowest)
        late = (
            f"{unseen_share(worth, confidence):.0%} of all runs may take longer than any of these"
        )
        why = {
            "tail model": "assuming a tail that decays exponentially or faster, which "
            f"{n} runs are too few to verify: up to {late}",
            "slowest seen": "assuming a tail that decays exponentially or faster, which "
            f"{n} runs are too few to verify, and the slowest run took at least as long as its "
            f"bound: up to {late}",
        }[basis]
        if model is None:
            few = "one run is" if n == 1 else f"{n} runs are"
            why = f"{few} too few for any bound except the slowest run: up to {late}"
    deviation = float(values.std(ddof=1)) if n > 1 else 0.0
    return Walltime(
        seconds=seconds,
        share=share,
        confidence=confidence,
        basis=basis,
        why=why,
        n=n,
        effective_n=worth,
        enough_for_order=enough,
        asked=cost_of_asking(values, seconds),
        two_sigma=cost_of_asking(values, float(np.median(values)) + SIGMAS * deviation),
    )


def cost_of_asking(costs: Sequence[float] | Floats, seconds: float) -> WalltimeChoice:
    """The cost of requesting ``seconds``, if future runs take as long as ``costs``."""
    values = checked(costs)
    late = values > seconds
    killed = int(np.count_nonzero(late))
    each = 100.0 / values.size / 3600.0
    return WalltimeChoice(
        seconds=seconds,
        killed=killed,
        killed_share=killed / values.size,
        killed_ci95=clopper_pearson(killed, int(values.size)),
        lost_hours=killed * seconds * each,
        idle_hours=float((seconds - values[~late]).sum()) * each,
    )


def fewest_runs(share: float = 0.99, confidence: float = 0.95) -> int:
    """Minimum number of runs whose slowest bounds the quantile: share**n <= 1 - confidence."""
    return math.ceil(math.log(1.0 - confidence) / math.log(share) - RELATIVE)


def unseen_share(worth: float, confidence: float = 0.95) -> float:
    """Upper confidence bound of the share of an event that ``worth`` independent runs don't show.

    (1 - share)**worth = 1 - confidence (the "rule of three": J. Hanley, A. Lippman-Hand: If nothing
    goes wrong, is everything all right?, JAMA 249, 1983, 1743-1745).
    """
    return float(1.0 - (1.0 - confidence) ** (1.0 / max(worth, 1.0)))


def _bounding_rank(worth: float, share: float, confidence: float) -> int | None:
    """The smallest rank, from 1, whose order statistic bounds the quantile; None if there is none.

    X(k) exceeds the quantile if fewer than k values lie below it, and that number is binomial
    (David & Nagaraja, Order Statistics, 7.1).
    """
    from scipy.special import bdtr

    n = math.floor(worth)
    if n < fewest_runs(share, confidence):
        return None
    ranks = np.arange(1, n + 1)
    sure = np.asarray(bdtr(ranks - 1.0, n, share)) >= confidence
    return int(ranks[sure][0])


def _tail_bound(ordered: Floats, worth: float, share: float, confidence: float) -> float | None:
    """The quantile's upper bound by exponential tails above thresholds; None for too few values.

    Of k excesses with mean m over a threshold that a share t exceeds, 2 k m / scale is chi-squared
    with 2 k degrees of freedom, and the quantile is threshold + scale * ln(t / (1 - share)).
    """
    from scipy.special import gammaincinv

    bounds = []
    for start in _TAILS_FROM:
        threshold = float(np.quantile(ordered, start))
        above = ordered[ordered > threshold] - threshold
        if above.size < _MIN_ABOVE:
            # With few values: the greatest _MIN_ABOVE of them, above the next one.
            if ordered.size <= _MIN_ABOVE:
                continue
            threshold = float(ordered[-_MIN_ABOVE - 1])
            above = ordered[-_MIN_ABOVE:] - threshold
        k = above.size * worth / ordered.size
        scale = float(above.mean()) * k / float(gammaincinv(k, 1.0 - confidence))
        reached = above.size / ordered.size
        bounds.append(threshold + scale * math.log(max(reached / (1.0 - share), 1.0)))
    return max(bounds, default=None)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"
