"""The confidence of an answer, derived from the points on which its verdict is based."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Confidence
from assay.questions.common.selection import Point
from assay.stats.core.launches import ENOUGH
from assay.stats.core.model import CellSummary, MetricSummary
from assay.units import capitalised, counted, counted_verb, format_duration

# 97.5% quantile of the normal distribution; ratio of the standard errors of its median and its
# mean.
NORMAL_95, MEDIAN_ERROR = 1.96, 1.2533
# An interval is too narrow below this share of the width that the scatter of launches implies.
LEAST_WIDTH = 0.75

AGAIN = (
    "Measure again before acting on this, with more time (`--budget`) and nothing else running; "
    "`assay doctor` reports what disturbs measurements on this machine."
)


def why_broken(cell: CellSummary) -> str:
    """Why a cell has no usable numbers."""
    if cell.verified is False:
        return "its result was wrong, so its numbers are not used"
    return cell.error or f"{cell.status} before it had a result"


def is_broken(cell: CellSummary) -> bool:
    """Whether a cell has no usable numbers."""
    return cell.status != "ok" or cell.verified is False


def judge(
    headline: Sequence[Point], broken: Sequence[CellSummary], complete: bool
) -> tuple[Confidence, str]:
    """The confidence and its reasons: low for serious reasons, medium for minor ones, else high."""
    serious: list[str] = []
    minor: list[str] = []
    late = [cell for cell in broken if cell.left_out]
    if len(broken) > len(late):
        failed = counted(len(broken) - len(late), "cell")
        serious.append(f"{failed} failed, so the answer is incomplete")
    if late:
        left = counted_verb(len(late), "cell", "were")
        minor.append(f"{left} left out, since a sample would take too long")
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
            f"requested precision (widest: ±{half_width(worst):.1%}, "
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
        minor.append("caveats apply to some of the numbers")
    if any(point.summary.verified is None for point in headline):
        minor.append("some results could not be verified")
    if not complete:
        minor.append("the run is incomplete")
    if not headline:
        serious.append("no headline number was measured")
    reasons = serious + minor
    if not reasons:
        return "high", (
            "Every headline number is verified and reached the requested precision."
            f"{period_text(headline)}"
        )
    sentence = "; ".join(reasons)
    return ("low" if serious else "medium"), capitalised(sentence) + "."


def period_text(headline: Sequence[Point]) -> str:
    """A sentence on the period that intervals of few launches cover; "" if no point has few."""
    few = [
        point for point in headline if point.metric.n < ENOUGH and point.summary.span is not None
    ]
    if not few:
        return ""
    longest = max(point.summary.span or 0.0 for point in few)
    return (
        f" Intervals of fewer than {ENOUGH} launches hold for the median during the "
        f"{format_duration(longest)} of these launches, if the launches were independent."
    )


def is_too_narrow(metric: MetricSummary) -> bool:
    """Whether the interval is too narrow for the scatter of the launches.

    The reference is the interval of normally distributed launches with this coefficient of
    variation. An interval under 75% of its width arises by chance, or because launches have several
    modes. The standard error of the median is 1.2533 times the standard error of the mean (B.
    Kenney, E. Keeping: Mathematics of Statistics, 1962, 14.4).
    """
    if metric.ci95 is None or metric.cov is None or metric.n < 2 or not metric.median:
        return False
    half = (metric.ci95[1] - metric.ci95[0]) / 2.0 / abs(metric.median)
    implied = NORMAL_95 * MEDIAN_ERROR * metric.cov / math.sqrt(metric.n)
    return half < LEAST_WIDTH * implied


def half_width(point: Point) -> float:
    """Half the width of the 95% interval, relative to the median; infinite without an interval."""
    interval, median = point.metric.ci95, point.metric.median
    if interval is None or median == 0:
        return float("inf")
    return (interval[1] - interval[0]) / 2 / abs(median)


def caveats_of(headline: Sequence[Point]) -> list[str]:
    """The caveats of the headline cells, each once, with its cell or the number of its cells."""
    touched: dict[str, list[str]] = {}
    for point in headline:
        for caveat in point.summary.caveats:
            touched.setdefault(caveat, []).append(cell_name(point.summary.cell))
    return [
        f"{caveat} ({cells[0]})" if len(cells) == 1 else f"{caveat} ({len(cells)} headline cells)"
        for caveat, cells in touched.items()
    ]
