"""The confidence of an answer, derived from the points on which its verdict is based.

Confidence is the rate at which such claims are right: a 95% interval contains the true median in
at least 95% of the numbers with high confidence, and in at least 90% of those with medium
confidence (docs/methods/sampling.md, "Confidence"). It depends on the number of launches, on what
the run's other cells show, and on other runs of the machine. It does not depend on the width of the
interval up to 50%, because the stopping rule selects narrow intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Confidence
from assay.questions.common.selection import Point
from assay.stats.cells.agreement import (
    HIGH,
    MEDIUM,
    RUNS_FOR_HIGH,
    RUNS_FOR_MEDIUM,
    contradicted,
    p_beyond,
)
from assay.stats.cells.caveats import IMPRECISE
from assay.stats.cells.dependence import NEEDED
from assay.stats.cells.expected_coverage import UNKNOWN, expected_coverage
from assay.stats.core.intervals import relative_half_width
from assay.stats.core.launches import ENOUGH
from assay.stats.core.model import CellSummary, ClaimEvidence, RunAgreement
from assay.units import capitalised, counted, counted_verb, format_duration, format_half_width

# The rates at which claims are right.
RATES: Mapping[Confidence, float] = {"high": 0.95, "medium": 0.90}
# The expected coverage that is needed at the greatest dependence that the evidence permits. The
# coverage at the true dependence is 2 points higher.
_LEAST: Mapping[Confidence, float] = {"high": 0.93, "medium": 0.90}
# The coverage that is needed after the loss by stopping early, whose maximum is subtracted.
_LEAST_EARLY = 0.88
# Launches that high confidence needs. Fewer may all be in one of two equal modes that last for five
# launches; 30 launches are in 2 to 3% of cells.
FOR_MODES = 30
# The relative half-width above which confidence is low.
WIDE = 0.5

_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")

Cause = Literal["", "wide", "apart", "early", "unknown", "dependent", "one period", "few"]

# What lifts low confidence and medium confidence.
_LIFTS = (
    f"`--launches {ENOUGH}`, or {RUNS_FOR_MEDIUM} other runs of this machine within the interval, "
    "give medium confidence"
)
_LIFTS_TO_HIGH = (
    f"`--launches {FOR_MODES}`, or {RUNS_FOR_HIGH} other runs of this machine within the interval, "
    "can give high confidence"
)

AGAIN = (
    "Measure again before acting on this, with more time (`--budget`), more launches "
    "(`--launches 30`) and nothing else running; `assay doctor` reports what disturbs measurements "
    "on this machine."
)


def why_broken(cell: CellSummary) -> str:
    """Why a cell has no usable numbers."""
    if cell.verified is False:
        return "its result was wrong, so its numbers are not used"
    return cell.error or f"{cell.status} before it had a result"


def is_broken(cell: CellSummary) -> bool:
    """Whether a cell has no usable numbers."""
    return cell.status != "ok" or cell.verified is False


@dataclass(frozen=True)
class NumberConfidence:
    """The confidence in one number."""

    confidence: Confidence
    #: What keeps it from a higher one; empty if nothing does. ``wide``: the interval; ``apart``:
    #: other runs lie beyond it; ``early``: it stopped because its interval was narrow, unlike most
    #: cells; ``unknown``: too few launches of too few cells; ``dependent``: launches of other cells
    #: depend on each other; ``one period``: too few launches to show modes that last, and too few
    #: other runs that agree; ``few``: the same for high confidence.
    cause: Cause = ""


def evidence_for(point: Point) -> ClaimEvidence:
    """The evidence for a point's interval; without other cells, only its number of launches."""
    known = point.summary.evidence
    launches = point.metric.n
    if known is not None and known.launches == launches:
        return known
    cells, limit = (known.cells, known.autocorrelation) if known else (0.0, UNKNOWN)
    return ClaimEvidence(launches, cells, limit, None, expected_coverage(launches, limit))


def confidence_in(point: Point) -> NumberConfidence:
    """The confidence in a number that has an interval."""
    if half_width(point) > WIDE:
        return NumberConfidence("low", "wide")
    found = evidence_for(point)
    others = found.others
    if others is not None and contradicted(others):
        return NumberConfidence("low", "apart")
    launches = _by_launches(found)
    if others is None or launches.confidence == "high":
        return launches
    p = p_beyond(others.beyond, others.runs)
    if p <= HIGH:
        return NumberConfidence("high")
    if launches.confidence == "low" and p <= MEDIUM:
        return NumberConfidence("medium", "few")
    return launches


def _by_launches(found: ClaimEvidence) -> NumberConfidence:
    """The confidence that the launches permit, if no other run lies far beyond the interval."""
    coverage = expected_coverage(found.launches, found.autocorrelation)
    if coverage < _LEAST["medium"]:
        return NumberConfidence("low", "unknown" if found.cells < NEEDED else "dependent")
    if found.early is not None:
        coverage = found.coverage or 0.0
        if coverage < _LEAST_EARLY:
            return NumberConfidence("low", "early")
    others = found.others
    if found.launches < ENOUGH and (others is None or p_beyond(others.far, others.runs) > MEDIUM):
        return NumberConfidence("low", "one period")
    if found.launches < FOR_MODES:
        return NumberConfidence("medium", "few")
    if coverage < _LEAST["high"]:
        return NumberConfidence("medium", "dependent")
    return NumberConfidence("high")


def judge(
    headline: Sequence[Point], broken: Sequence[CellSummary], complete: bool
) -> tuple[Confidence, str]:
    """The confidence and its reasons: low for serious reasons, medium for minor ones, else high.

    It is at most the lowest confidence in a headline number.
    """
    serious: list[str] = []
    minor: list[str] = []
    late = [cell for cell in broken if cell.left_out]
    if len(broken) > len(late):
        failed = counted(len(broken) - len(late), "cell")
        serious.append(f"{failed} failed, so the answer is incomplete")
    bare = [point for point in headline if point.metric.ci95 is None]
    if bare:
        serious.append(f"{_of(bare, headline)} had too few launches for a 95% interval")
    judged = [(p, confidence_in(p)) for p in headline if p.metric.ci95 is not None]
    for cause, reason in _REASONS.items():
        points = [point for point, each in judged if each.cause == cause]
        if points:
            low = any(each.confidence == "low" for _, each in judged if each.cause == cause)
            (serious if low else minor).append(reason(points, headline))
    if late:
        left = counted_verb(len(late), "cell", "were")
        minor.append(f"{left} left out, since a sample would take too long")
    if any(_affecting(point.summary.caveats) for point in headline):
        minor.append("caveats apply to some of the numbers")
    if any(point.summary.verified is None for point in headline):
        minor.append("some results could not be verified")
    if not complete:
        minor.append("the run is incomplete")
    if not headline:
        serious.append("no headline number was measured")
    reasons = serious + minor
    width = _imprecise(headline)
    if not reasons:
        return "high", f"{_high(headline)}{width}"
    sentence = f"{capitalised('; '.join(reasons))}.{width}"
    return ("low", sentence) if serious else ("medium", f"{sentence}{period_text(headline)}")


def lowest_of(judged: Sequence[tuple[Confidence, str]]) -> tuple[Confidence, str]:
    """The lowest confidence of several judgements, and all reasons."""
    lowest = min((confidence for confidence, _ in judged), key=_ORDER.index)
    return lowest, " ".join(dict.fromkeys(why for _, why in judged))


def _high(headline: Sequence[Point]) -> str:
    """Why all numbers have high confidence."""
    runs = [each.runs for p in headline if (each := _agreeing(p, HIGH)) is not None]
    others = [point.metric.n for point in headline if _agreeing(point, HIGH) is None]
    words = []
    if others:
        words.append(
            f"has at least {min(others)} launches, enough to allow for dependence and lasting modes"
        )
    if runs:
        words.append(f"agrees with {min(runs)} or more other runs of this machine")
    return f"Every headline number is verified and {', or '.join(words)}."


def _agreeing(point: Point, level: float) -> RunAgreement | None:
    """The other runs if they show the point's interval at this level; else None."""
    others = evidence_for(point).others
    if others is None or p_beyond(others.beyond, others.runs) > level:
        return None
    return others


def _of(points: Sequence[Point], headline: Sequence[Point]) -> str:
    return f"{len(points)} of {counted(len(headline), 'headline number')}"


def _wide(points: Sequence[Point], headline: Sequence[Point]) -> str:
    worst = max(points, key=half_width)
    return (
        f"the interval of {_of(points, headline)} is wider than {format_half_width(WIDE)} (widest: "
        f"{format_half_width(half_width(worst))}, {cell_name(worst.summary.cell)})"
    )


def _apart(points: Sequence[Point], headline: Sequence[Point]) -> str:
    known = [(each, point) for point in points if (each := evidence_for(point).others) is not None]
    most, worst = max(known, key=lambda pair: pair[0].beyond)
    return (
        f"{most.beyond} of {counted(most.runs, 'other run')} of this machine lie on one side of "
        f"the interval of {cell_name(worst.summary.cell)} ({_of(points, headline)} "
        f"{'is' if len(points) == 1 else 'are'} of this kind), so runs differ more than the "
        "launches of this run"
    )


def _early(points: Sequence[Point], headline: Sequence[Point]) -> str:
    one = len(points) == 1
    return (
        f"{_of(points, headline)} stopped after {_launches(points)}, perhaps because "
        f"{'its interval was' if one else 'their intervals were'} narrow by chance "
        f"({cell_name(points[0].summary.cell)}, `--launches {FOR_MODES}` shows it)"
    )


def _unknown(points: Sequence[Point], _: Sequence[Point]) -> str:
    least = min(
        expected_coverage(point.metric.n, evidence_for(point).autocorrelation) for point in points
    )
    return (
        f"{_launches(points)} can't show whether launches depend on each other if the run has "
        f"fewer than {NEEDED:.0f} independent other cells ({_LIFTS}): if they depend, "
        f"{least:.0%} instead of 95% of such intervals are right"
    )


def _dependent(points: Sequence[Point], headline: Sequence[Point]) -> str:
    most = max(evidence_for(point).autocorrelation for point in points)
    return (
        f"successive launches may depend on each other, so that {_launches(points)} are too few "
        f"for {_of(points, headline)} (autocorrelation up to {most:.2f} by the run's other cells, "
        f"`--launches {FOR_MODES}` allows for it)"
    )


def _one_period(points: Sequence[Point], headline: Sequence[Point]) -> str:
    return (
        f"{_of(points, headline)} {'comes' if len(points) == 1 else 'come'} from "
        f"{_launches(points)}, which may all be in one of several lasting modes ({_LIFTS})"
    )


def _few(points: Sequence[Point], headline: Sequence[Point]) -> str:
    return (
        f"{_of(points, headline)} {'comes' if len(points) == 1 else 'come'} from "
        f"{_launches(points)}, which may all be in one of several lasting modes "
        f"({_LIFTS_TO_HIGH})"
    )


_REASONS = {
    "wide": _wide,
    "apart": _apart,
    "early": _early,
    "unknown": _unknown,
    "dependent": _dependent,
    "one period": _one_period,
    "few": _few,
}


def _launches(points: Sequence[Point]) -> str:
    """``6 launches``, ``6 to 14 launches``."""
    counts = [point.metric.n for point in points]
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most} launches" if fewest < most else counted(most, "launch")


def _affecting(caveats: Sequence[str]) -> bool:
    """Whether a caveat is about more than the width of an interval."""
    return any(not caveat.startswith(IMPRECISE) for caveat in caveats)


def _imprecise(headline: Sequence[Point]) -> str:
    """A sentence on numbers that missed the requested precision; "" if there are none."""
    missed = [p for p in headline if p.metric.ci95 is not None and p.metric.stop != "precision"]
    if not missed:
        return ""
    worst = max(missed, key=half_width)
    return (
        f" {capitalised(_of(missed, headline))} stopped before the requested precision (widest: "
        f"{format_half_width(half_width(worst))}, {cell_name(worst.summary.cell)})."
    )


def period_text(headline: Sequence[Point]) -> str:
    """A sentence on the period that intervals of few launches cover; "" if no point has few.

    It states the dependence for which such an interval is expected to hold. Where other runs agree,
    the interval holds for their periods, too.
    """
    few = [
        point
        for point in headline
        if point.metric.n < ENOUGH
        and point.metric.ci95 is not None
        and point.summary.span is not None
        and _agreeing(point, MEDIUM) is None
    ]
    if not few:
        return ""
    longest = max(point.summary.span or 0.0 for point in few)
    found = [evidence_for(point) for point in few]
    if any(each.cells < NEEDED for each in found):
        condition = "if the launches were independent, which they can't show"
    else:
        most = max(each.autocorrelation for each in found)
        condition = f"and the run's cells permit an autocorrelation of launches up to {most:.2f}"
    return (
        f" Intervals of fewer than {ENOUGH} launches hold for the median during the "
        f"{format_duration(longest)} of these launches, {condition}."
    )


def half_width(point: Point) -> float:
    """Half the width of the 95% interval, relative to the median; infinite without an interval."""
    found = relative_half_width(point.metric.ci95, point.metric.median)
    return float("inf") if found is None else found


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
