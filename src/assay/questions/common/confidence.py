"""How far an answer can be trusted: by the points that its verdict stands on."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Confidence
from assay.questions.common.selection import Point
from assay.stats.core.model import CellSummary
from assay.units import counted

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
        return "high", "Every headline number is verified and reached the precision asked for."
    sentence = "; ".join(reasons)
    return ("low" if serious else "medium"), sentence[:1].upper() + sentence[1:] + "."


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
