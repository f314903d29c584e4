"""The ratio of two codes on one machine, and a ratio of machines without it.

A rate is the product of a machine's factor and a code's factor. Two codes that were measured side
by side, on the same seats and in the same randomised blocks, share the machine: their ratio depends
only on the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.arrays import Floats
from assay.stats.compare.two_sides import ratio_of_sides
from assay.stats.core.intervals import Estimate, ratio_interval
from assay.units import Interval


@dataclass(frozen=True)
class CodeFactor:
    """The factor by which one code is faster than another."""

    #: The factor.
    value: float
    #: 95% interval; None with fewer than four launches per side.
    interval: Interval | None
    #: Numbers of launches of the code and of the other code.
    launches: tuple[int, int]

    @property
    def estimate(self) -> Estimate:
        """The factor with its interval."""
        return Estimate(self.value, self.interval)


def code_factor(
    code: Sequence[float] | Floats, other: Sequence[float] | Floats, better: Literal["more", "less"]
) -> CodeFactor | None:
    """The factor of speed of ``code`` over ``other``, whose values are one per launch.

    ``better``: whether the values are rates ("more") or times ("less"). Estimate and interval come
    from ``ratio_of_sides``: the launches of both sides count as independent, so that common
    variation of the launches of a block widens the interval rather than narrowing it. None where a
    value is not positive. Raises AssayError for no values, NaN and infinity.
    """
    slow, fast = (other, code) if better == "more" else (code, other)
    value, interval = ratio_of_sides(slow, fast)
    if value is None:
        return None
    return CodeFactor(value, interval, (len(code), len(other)))


def without_code(ratio: Estimate, factor: Estimate) -> Estimate:
    """A ratio of two machines' rates, measured with different codes, with the factor divided out.

    ``ratio``: the rate of this machine by this code over the rate of another machine by the other
    code; its interval is None where it is known without error. ``factor``: this code over the other
    one, measured side by side on one of the machines. Both are positive. The interval belongs to
    a quotient of independent estimates; it is None if the factor has none.
    """
    interval = ratio_interval(ratio, factor) if factor.interval is not None else None
    return Estimate(ratio.value / factor.value, interval)
