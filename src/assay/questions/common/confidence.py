"""How far an answer can be trusted: by the points that its verdict stands on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Confidence
from assay.questions.common.selection import Point
from assay.stats.core.launches import ENOUGH
from assay.stats.core.model import CellSummary, MetricSummary
from assay.units import counted, format_duration

# The normal distribution's 97.5% quantile, and the standard error of its median over the mean's.
NORMAL_95, MEDIAN_ERROR = 1.96, 1.2533
# Of the width that the launches' scatter implies an interval is at least this share, else it is
# narrow by chance.
LEAST_WIDTH = 0.75

AGAIN = (
    "Measure again before acting on this, with more time (`--budget`) and nothing else running; "
    "`assay doctor` reports what disturbs measurements on this machine."
)


def why_broken(cell: CellSummary) -> str:
    """Why a cell has no numbers to use."""
    if cell.verified is False:
        return "its result was wrong, so it counts for nothing"
    return cell.error or f"{cell.status} before it had a result"


def is_broken(cell: CellSummary) -> bool:
    """Whether a cell has no numbers to use."""
    return cell.status != "ok" or cell.verified is False


def judge(
    headline: Sequence[Point], broken: Sequence[CellSummary], complete: bool
) -> tuple[Confidence, str]:
    """High: verified, with intervals, as precise as asked. What falls short is named."""
    serious: list[str] = []
    minor: list[str] = []
    if broken:
        serious.append(f"{counted(len(broken), 'cell')} failed, so part of the picture is missing")
    bare = [point for point in headline if point.metric.ci95 is None]
    if bare:
        serious.append(
            f"{len(bare)} of {counted(len(headline), 'headline number')} had too few launches for "
            "a 95% interval"
        )
    wide = [p for p in headline if p.metric.ci95 is not None and p.metric.stop != "precision"]
    if wide:
        worst = max(wide, key=half_width)
        minor.append(
            f"{len(wide)} of {counted(len(headline), 'headline number')} stopped before the "
            f"precision asked for (widest: ±{half_width(worst):.1%}, "
            f"{cell_name(worst.summary.cell)})"
        )
    narrow = [point for point in headline if is_too_narrow(point.metric)]
    if narrow:
        minor.append(
            f"{len(narrow)} of {counted(len(headline), 'headline number')} stopped with an "
            f"interval narrower than {LEAST_WIDTH:.0%} of what the scatter of launches implies "
            f"({cell_name(narrow[0].summary.cell)}): by chance, or because launches have several "
            "modes"
        )
    if any(point.summary.caveats for point in headline):
        minor.append("caveats touch some of the numbers")
    if any(point.summary.verified is None for point in headline):
        minor.append("some results could not be verified")
    if not complete:
        minor.append("the run is incomplete")
    if not headline:
        serious.append("only context was measured")
    reasons = serious + minor
    if not reasons:
        return "high", (
            "Every headline number is verified and reached the precision asked for."
            f"{_of_when(headline)}"
        )
    sentence = "; ".join(reasons)
    return ("low" if serious else "medium"), sentence[:1].upper() + sentence[1:] + "."


def _of_when(headline: Sequence[Point]) -> str:
    """What the intervals of few launches are intervals of."""
    few = [
        point for point in headline if point.metric.n < ENOUGH and point.summary.span is not None
    ]
    if not few:
        return ""
    longest = max(point.summary.span or 0.0 for point in few)
    return (
        f" Intervals of fewer than {ENOUGH} launches are of the median in the "
        f"{format_duration(longest)} of these launches, if they were independent of each other."
    )


def is_too_narrow(metric: MetricSummary) -> bool:
    """Whether the interval is narrower than three quarters of what normal launches with this
    coefficient of variation would give: by chance, or within one of several modes.

    The median's standard error is 1.2533 times that of the mean (B. Kenney, E. Keeping: Mathematics
    of Statistics, 1962, 14.4).
    """
    if metric.ci95 is None or metric.cov is None or metric.n < 2 or not metric.median:
        return False
    half = (metric.ci95[1] - metric.ci95[0]) / 2.0 / abs(metric.median)
    implied = NORMAL_95 * MEDIAN_ERROR * metric.cov / math.sqrt(metric.n)
    return half < LEAST_WIDTH * implied


def half_width(point: Point) -> float:
    """Half the width of the 95% interval, relative to the median; infinite without interval."""
    interval, median = point.metric.ci95, point.metric.median
    if interval is None or median == 0:
        return float("inf")
    return (interval[1] - interval[0]) / 2 / abs(median)


def caveats_of(headline: Sequence[Point]) -> list[str]:
    """The headline cells' caveats, each once, with how many cells it touches if not only one."""
    touched: dict[str, list[str]] = {}
    for point in headline:
        for caveat in point.summary.caveats:
            touched.setdefault(caveat, []).append(cell_name(point.summary.cell))
    return [
        f"{caveat} ({cells[0]})" if len(cells) == 1 else f"{caveat} ({len(cells)} headline cells)"
        for caveat, cells in touched.items()
    ]
