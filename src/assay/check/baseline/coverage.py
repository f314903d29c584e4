"""Whether a baseline covers enough time for slowness to drain, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable

from assay.check.baseline.model import DAYS, SESSIONS, Baseline, ComponentBaseline
from assay.units import counted, format_duration

#: What the reason of a check says that found something slow and may not decide.
TOO_FEW = "too few sessions to decide"
#: How a reason that is not the only one ends.
OTHERS = "other reason"


def series_of(baseline: Baseline) -> list[ComponentBaseline]:
    """The baselines of all series."""
    gap = baseline.core_gap
    return [*baseline.components.values(), *([] if gap is None else [gap])]


def why_undecided(usual: ComponentBaseline) -> str:
    """``too few sessions to decide (1 of 8, days 1 of 3)``."""
    return (
        f"{TOO_FEW} ({min(len(usual.sessions), SESSIONS)} of {SESSIONS}, "
        f"days {min(usual.days, DAYS)} of {DAYS})"
    )


def missing_time(series: Iterable[ComponentBaseline]) -> str:
    """The sentences on why slowness can't drain yet; empty if it can.

    The series with the fewest sessions counts.
    """
    short = [each for each in series if not each.covers_time]
    if not short:
        return ""
    least = min(short, key=lambda each: (len(each.sessions), each.days))
    sessions = least.sessions
    span = max((each.end for each in sessions), default=0.0) - min(
        (each.begin for each in sessions), default=0.0
    )
    return (
        f"Slowness can't drain yet: the baseline covers {format_duration(max(span, 0.0))}, "
        f"{counted(len(sessions), 'session')} on {counted(least.days, 'day')}. It drains once "
        f"checks cover {SESSIONS} sessions on {DAYS} days, each at least two hours after the one "
        "before. Run `assay check --record` on the same nodes at other hours and on other days, or "
        "let the checks of jobs go on, and run `assay check --learn`. Until then slow readings are "
        "undecided."
    )
