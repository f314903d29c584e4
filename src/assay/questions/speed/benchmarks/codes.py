"""The two codes of a benchmark side by side, to find how much of poor scaling the code causes.

The plain code has the passes and exchanges of users' codes (``kernels/npb/common.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.npb.common import is_plain
from assay.questions.common.selection import Point
from assay.questions.common.speedups import Speedup, speedup_of
from assay.questions.speed.benchmarks.scaling import Curve, curve_of
from assay.stats.compare.directions import compared
from assay.stats.core.intervals import Estimate, ratio_interval


@dataclass(frozen=True)
class CodeScaling:
    """The speedups of both codes on the same numbers of cores, with one class and toolchain."""

    #: Speedup of assay's own code.
    tuned: Speedup
    #: Speedup of the plain code (``code=plain``).
    plain: Speedup
    #: Whether the ratio of the two speedups certainly differs from 1.
    differ: bool


def of_codes(found: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The points of the tuned code and of the plain code.

    If only the plain code was measured, its points come first: they represent the benchmark.
    """
    plain = [point for point in found if is_plain(point.summary.cell.parameters)]
    tuned = [point for point in found if not is_plain(point.summary.cell.parameters)]
    return (tuned, plain) if tuned else (plain, [])


def code_suffix(curve: Curve) -> str:
    """``, plain code`` if these are its points; else ""."""
    cell = curve.points[curve.most].summary.cell
    return ", plain code" if is_plain(cell.parameters) else ""


def code_scaling(curve: Curve, plain: Sequence[Point]) -> CodeScaling | None:
    """The speedups from the fewest cores to the most on which both codes were measured, or None."""
    toolchain = curve.points[curve.most].summary.cell.toolchain
    same = [point for point in plain if point.summary.cell.toolchain == toolchain]
    if not same:
        return None
    of_plain = curve_of(same, curve.kernel, curve.size)
    shared = [count for count in curve.points if count in of_plain.points]
    if len(shared) < 2 or of_plain.processes != curve.processes:
        return None
    few, most = min(shared), max(shared)
    tuned = speedup_of(curve.points[few], curve.points[most])
    ordinary = speedup_of(of_plain.points[few], of_plain.points[most])
    return CodeScaling(tuned, ordinary, _differ(tuned, ordinary))


def _differ(one: Speedup, other: Speedup) -> bool:
    """Whether two speedups certainly differ."""
    if one.interval is None or other.interval is None:
        return False
    sides = Estimate(one.value, one.interval), Estimate(other.value, other.interval)
    launches = sum(point.metric.n for each in (one, other) for point in (each.few, each.most))
    found = compared(one.value / other.value, ratio_interval(*sides), launches=launches)
    return found.direction != "open"
