"""The stopping rule of a cell: whether it needs another launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, median, stdev
from typing import Literal

from assay.model.replication import Replication
from assay.stats.core.intervals import at_least, median_of, relative_half_width, smallest_size
from assay.stats.core.launches import launch_interval
from assay.units import format_half_width

# The number of launches grows by this factor from one check to the next: 6, 9, 14, 21, 30.
SPACING = 1.5
# One check is enough if the interval is this many times narrower than requested.
FAR_BELOW = 4.0


@dataclass(frozen=True)
class Decision:
    """Decision."""

    #: Whether to launch again; ``why`` is the reason. ``stop`` is None while it is True.
    more: bool
    stop: Literal["precision", "launches"] | None
    why: str
    #: Relative half-width of the interval at the latest check.
    half_width: float | None
    #: Number of launches at the next check.
    next_check: int | None


def launch_half_width(
    values: Sequence[float], confidence: float = 0.95, step: float = 0.0
) -> float | None:
    """Half the median's interval over the median's size; None for few values or a median of 0.

    ``step``: the smallest difference that the values can show, in their unit.
    """
    import numpy as np

    interval = launch_interval(values, confidence) if len(values) else None
    if interval is None:
        return None
    middle = median_of(np.asarray(values, dtype=np.float64))
    return relative_half_width(at_least(interval, middle, step), middle)


def looks(replication: Replication) -> tuple[int, ...]:
    """Numbers of launches at which the precision is checked, spaced geometrically."""
    first = max(replication.min_launches, smallest_size(0.5, replication.confidence))
    sizes = []
    while first < replication.max_launches:
        sizes.append(first)
        first = max(first + 1, int(-(-first * SPACING // 1)))
    if replication.max_launches >= smallest_size(0.5, replication.confidence):
        sizes.append(replication.max_launches)
    return tuple(sizes)


def expected_launches(launch_values: Sequence[float], replication: Replication) -> int:
    """The number of launches after which ``needs_more`` is expected to stop.

    By the spread of the values so far: the interval of a median of n normal values is 1.253 times
    as wide as the interval of their mean (Kendall & Stuart 1977, 10.12). With fewer than three
    values, which hardly show a spread, it is the number at the second check.
    """
    sizes = [size for size in looks(replication) if size > len(launch_values)]
    most = replication.max_launches
    if len(launch_values) < 3:
        return min(max(replication.min_launches, *looks(replication)[:2], 1), most)
    spread = _spread(tuple(launch_values))
    z = NormalDist().inv_cdf(0.5 + replication.confidence / 2.0)
    held = False
    for size in sizes:
        width = 1.253 * z * spread / math.sqrt(size)
        if width * FAR_BELOW <= replication.precision or (held and width <= replication.precision):
            return max(size, replication.min_launches)
        held = width <= replication.precision
    return most


@lru_cache(maxsize=4096)
def _spread(values: tuple[float, ...]) -> float:
    """Coefficient of variation. It is asked for all cells after each launch; most are unchanged."""
    middle = abs(median(values))
    return stdev(values) / middle if middle > 0.0 else 0.0


def needs_more(launch_values: Sequence[float], replication: Replication) -> Decision:
    """Whether a cell whose launches have these medians, in this order, needs one more launch.

    Stopping at the first narrow interval favours intervals that are narrow by chance, and their
    coverage falls to 91%. The precision must therefore hold at two successive checks, or be four
    times better at one; coverage then stays at 93% (docs/methods/sampling.md, "Optional stopping").
    The same values always give the same decision, and further values don't revoke a decision to
    stop.
    """
    count = len(launch_values)
    held, width = 0, None
    wanted = format_half_width(replication.precision)
    upcoming = [size for size in looks(replication) if size > count]
    for size in looks(replication):
        if size > count:
            break
        width = launch_half_width(launch_values[:size], replication.confidence)
        within = width is not None and width <= replication.precision
        held = held + 1 if within else 0
        clearly = width is not None and width * FAR_BELOW <= replication.precision
        if width is not None and (held == 2 or clearly):
            why = f"{format_half_width(width)} after {size} launches, {wanted} requested"
            return Decision(False, "precision", why, width, None)
    if count >= replication.max_launches:
        width = launch_half_width(launch_values, replication.confidence)
        reached = width is not None and width <= replication.precision
        why = f"{count} launches are the maximum"
        return Decision(False, "precision" if reached else "launches", why, width, None)
    following = upcoming[0] if upcoming else None
    if width is None:
        why = f"{count} of at least {following or replication.max_launches} launches"
    elif held:
        why = f"{format_half_width(width)} must hold again, at {following} launches"
    else:
        why = f"{format_half_width(width)}, {wanted} requested; next check at {following} launches"
    return Decision(True, None, why, width, following)
