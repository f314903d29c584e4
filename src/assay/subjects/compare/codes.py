"""The ratio of the codes of two results, if one of their runs measured it.

The run of the side with assay's code has executables of the other code beside its kernels
(``assay run --beside``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.naming import placement_text
from assay.questions.common.code_factors import CellFactor, factor_of, factors_of
from assay.stats.core.intervals import Estimate
from assay.subjects.compare.results import OWN_CODES, SideResult
from assay.subjects.compare.sides import Side
from assay.units import format_quantity


@dataclass(frozen=True)
class CodeRatio:
    """By which factor the second result's code is faster than the first's, on one machine."""

    estimate: Estimate
    #: The measured speed of assay's code relative to the other code.
    factor: CellFactor

    @property
    def text(self) -> str:
        """``assay's code is 4.0 [3.9, 4.1] times as fast as NASA's NPB 3.4.2 (LU class A, …)``."""
        found = self.factor
        times = format_quantity(found.factor.value, "", found.factor.interval)
        return (
            f"assay's code is {times} times as fast as {found.code} "
            f"({found.title}, {placement_text(found.placement)})"
        )


def side_factors(side: Side) -> list[CellFactor]:
    """The code factors of a side's runs: of all nodes and of each toolchain."""
    return [factor for run in side.members or (side.run,) for factor in factors_of(run)]


def code_ratio(
    one: SideResult,
    factors: Sequence[CellFactor],
    other: SideResult,
    other_factors: Sequence[CellFactor],
) -> CodeRatio | None:
    """The ratio of the codes of two results.

    None if the codes are the same, or if neither side measured the ratio.
    """
    own, other_own = one.code in OWN_CODES, other.code in OWN_CODES
    if own and not other_own:
        found = factor_of(factors, one.cell, other.code)
        return None if found is None else CodeRatio(_inverse(found.factor.estimate), found)
    if other_own and not own:
        found = factor_of(other_factors, other.cell, one.code)
        return None if found is None else CodeRatio(found.factor.estimate, found)
    return None


def _inverse(factor: Estimate) -> Estimate:
    interval = factor.interval
    if interval is not None:
        interval = 1.0 / interval[1], 1.0 / interval[0]
    return Estimate(1.0 / factor.value, interval)
