"""A history in sentences, which its answer, its tables and the terminal share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from assay.kernels.naming import metric_name
from assay.questions.history.model import CellHistory, History, HistoryEvent
from assay.questions.history.snapshots import SystemDifference, difference_text
from assay.stats.changes.scan import FIRST
from assay.units import counted

_MAX_DIFFERENCES = 3
_VERBS = {"regression": "regressed", "improvement": "improved"}
_REASONS = {
    "unfinished": "unfinished",
    "groups": "of single nodes",
    "older": "of another version",
    "imported": "imported",
    "damaged": "damaged",
}


def verdict_of(cells: Sequence[CellHistory]) -> str:
    """How many cells have regressed, improved, or are steady."""
    counts = Counter(cell.state for cell in cells)
    if not cells:
        return "There is no history: no complete run holds a result of the cells asked for."
    judged = len(cells) - counts["short"]
    if not judged:
        return f"Too few runs: a history needs {FIRST} runs per cell."
    parts = []
    for state, verb in _VERBS.items():
        of_state = [cell for cell in cells if cell.state == state]
        if of_state:
            lead = max(of_state, key=lambda cell: abs(cell.against or 0.0))
            has = "has" if len(of_state) == 1 else "have"
            parts.append(
                f"{counted(len(of_state), 'cell')} of {judged} {has} {verb}, most {lead.label} "
                f"({100 * (lead.against or 0.0):+.1f}% {metric_name(lead.metric)})"
            )
    steady = counts["steady"]
    if steady == judged:
        return f"Steady: none of {counted(judged, 'cell')} has regressed or improved."
    text = "; ".join(parts)
    return f"{text}; {steady} steady." if steady else f"{text}."


def remark_on(found: Sequence[SystemDifference], kind: str) -> str:
    """What the snapshots before and after a change differ in."""
    together = [each for each in found if each.coincides]
    others = [each for each in found if not each.coincides]
    if together:
        head = "Changed during the drift" if kind == "drift" else "Changed at the same time"
        return f"{head}: {'; '.join(difference_text(each) for each in together)}."
    if others:
        text = "; ".join(difference_text(each) for each in others[:_MAX_DIFFERENCES])
        return f"Nothing changed at this time only; changed here and at other times too: {text}."
    return "No difference in the snapshots of machine and toolchain before and after it."


def event_text(event: HistoryEvent, cell: CellHistory) -> str:
    """A change in a sentence."""
    low, high = (100 * end for end in event.size_ci95)
    size = f"{100 * event.size:+.2g}% [{low:+.2g}, {high:+.2g}]"
    metric = metric_name(cell.metric)
    first, last = minute(event.after_utc), minute(event.before_utc)
    if event.kind == "drift":
        return f"Drift from {first} to {last}: {metric} {size}"
    if event.kind == "spread":
        return f"From about {minute(event.utc)}: scatter of {metric} {size}"
    way = "worse" if event.worse else "better"
    if event.modes is not None:
        modes = event.modes
        return (
            f"Between {first} and {last} the share of runs whose {metric} is "
            f"{100 * modes.apart:.2g}% higher than the others' changed from {modes.before:.0%} to "
            f"{modes.after:.0%}: mean {size}, {way} (p = {event.p:.1g})"
        )
    return f"Step between {first} and {last}: {metric} {size}, {way} (p = {event.p:.1g})"


def suspect_text(cell: CellHistory) -> str:
    """That the newest runs deviate, where they do."""
    if cell.suspect is None:
        return ""
    runs, size = cell.suspect.runs, cell.suspect.size
    newest = "The newest run deviates" if runs == 1 else f"The newest {runs} runs deviate"
    return (
        f"{newest} by {100 * size:+.2g}% from those before, which happens by chance in 1 of 100 "
        "evaluations: further runs will decide."
    )


def summary_line(history: History) -> str:
    """Of which runs the history is, and how many were left out."""
    parts = [f"{counted(history.runs, 'run')} of {', '.join(history.systems) or 'no system'}"]
    left = [f"{n} {_REASONS[name]}" for name, n in history.passed_over.items() if n]
    if left:
        parts.append(f"left out: {', '.join(left)}")
    return " · ".join(parts)


def cell_name(cell: CellHistory, history: History) -> str:
    """The cell in words, with its machine where there are several."""
    return f"{cell.system}: {cell.label}" if len(history.systems) > 1 else cell.label


def percent(share: float) -> str:
    """A relative change: ``+1.2%``; one that rounds to nothing has no sign."""
    text = f"{100 * share:+.1f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def minute(utc: float) -> str:
    """Unix time as day and minute, UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(utc))
