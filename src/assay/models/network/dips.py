"""Dips: message sizes at which the bandwidth falls with increasing size.

Edmundsson et al. (2004), 5.2 and figure 2, found one at 128 KB in every curve of their ping-pong.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import median_interval
from assay.units import Interval

# Probability that a curve whose bandwidth never falls has at least one dip.
FALSE_ALARMS = 0.01
# A shallower dip is too small to influence the choice of message sizes.
MIN_DEPTH = 0.05
# Avoids a division by 0 for exact times, which have no scatter.
_MIN_SCATTER = 1e-12


@dataclass(frozen=True)
class Dip:
    """A message size whose bandwidth is below its neighbours' bandwidth."""

    #: Message size, bytes.
    bytes: int
    #: Missing share of the ``expected`` bandwidth (B/s), which follows from linear interpolation of
    #: the time between the shoulders ``left`` and ``right`` (bytes).
    depth: float
    #: 95% interval of the depth across launches.
    ci95: Interval | None
    #: Bandwidth that the neighbours predict, B/s.
    expected: float
    #: The next smaller size, bytes.
    left: int
    #: The next larger size, bytes.
    right: int


def valleys(bytes_: Floats, seconds: Floats, scatter: Floats) -> list[tuple[int, int, int]]:
    """Indices (left shoulder, bottom, right shoulder) of each fall and recovery of the bandwidth.

    Both shoulders must be above the bottom by more than the ``scatter`` (relative standard errors
    of the seconds) makes likely in any of the n²/2 pairs of sizes, at ``FALSE_ALARMS``.
    ``bytes_`` ascend and are positive.
    """
    rate = np.log(bytes_ / seconds)
    n = rate.size
    if n < 3:
        return []
    far = NormalDist().inv_cdf(1 - FALSE_ALARMS / (n * n / 2))
    found = []
    for bottom in range(1, n - 1):
        left = _shoulder(rate, bottom, -1)
        right = _shoulder(rate, bottom, +1)
        if left is None or right is None:
            continue
        rises = [
            (rate[side] - rate[bottom])
            / max(np.hypot(scatter[side], scatter[bottom]), _MIN_SCATTER)
            for side in (left, right)
        ]
        if min(rises) > far:
            found.append((left, bottom, _recovered(rate, left, bottom, right)))
    return found


def _shoulder(rate: Floats, bottom: int, step: int) -> int | None:
    """The highest rate on one side before it falls below the bottom; None if there is none."""
    best, at = None, bottom + step
    while 0 <= at < rate.size and rate[at] >= rate[bottom]:
        if best is None or rate[at] > rate[best]:
            best = at
        at += step
    return best


def _recovered(rate: Floats, left: int, bottom: int, right: int) -> int:
    """The first size whose bandwidth is back at the left shoulder's, or else the right shoulder."""
    return next((i for i in range(bottom + 1, right) if rate[i] >= rate[left]), right)


def dip_at(
    bytes_: Floats, seconds: Floats, place: tuple[int, int, int], launches: Floats | None
) -> Dip | None:
    """The dip between two shoulders; None if it is shallower than ``MIN_DEPTH`` or uncertain.

    ``launches``: seconds by launch and size, NaN if not measured. The interval is computed across
    launches, and a dip is certain if the interval excludes 0.
    """
    left, bottom, right = place
    depth, expected = _depth(bytes_, seconds, place)
    if depth < MIN_DEPTH:
        return None
    own = None
    if launches is not None:
        whole = launches[np.isfinite(launches[:, [left, bottom, right]]).all(axis=1)]
        if whole.shape[0]:
            own = median_interval([_depth(bytes_, row, place)[0] for row in whole])
    if own is not None:
        own = min(own[0], depth), max(own[1], depth)
        if own[0] <= 0:
            return None
    return Dip(
        bytes=int(bytes_[bottom]),
        depth=depth,
        ci95=own,
        expected=expected,
        left=int(bytes_[left]),
        right=int(bytes_[right]),
    )


def _depth(bytes_: Floats, seconds: Floats, place: tuple[int, int, int]) -> tuple[float, float]:
    left, bottom, right = place
    way = (bytes_[bottom] - bytes_[left]) / (bytes_[right] - bytes_[left])
    expected = float(seconds[left] + way * (seconds[right] - seconds[left]))
    return 1 - expected / float(seconds[bottom]), float(bytes_[bottom]) / expected
