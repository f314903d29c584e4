"""Sentences about a history, for its answer, its tables and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.kernels.naming import metric_name
from assay.stats.changes.detectable import fewest_runs
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.directions import Comparison, compared
from assay.stats.compare.run_scatter import FALSE_DISCOVERIES
from assay.stats.core.intervals import Estimate
from assay.subjects.history.model import (
    CellHistory,
    History,
    HistoryEvent,
)
from assay.subjects.history.snapshots import SystemDifference, difference_text
from assay.units import counted, format_change, format_minute

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
    """The numbers of cells that have regressed, improved, or are steady."""
    counts = Counter(cell.state for cell in cells)
    if not cells:
        return "No history: no complete run has a result of the requested cells."
    judged = len(cells) - counts["short"]
    if not judged:
        needed = fewest_runs(FALSE_DISCOVERIES / len(cells))
        return f"Too few runs: a history of {counted(len(cells), 'cell')} needs {needed} runs each."
    parts = []
    directed = {id(cell): direction_of(cell, judged) for cell in cells}
    for state, verb in _VERBS.items():
        of_state = [cell for cell in cells if cell.state == state]
        clear = [cell for cell in of_state if directed[id(cell)].direction != "open"]
        if clear:
            has = "has" if len(clear) == 1 else "have"
            parts.append(
                f"{len(clear)} of {counted(judged, 'cell')} {has} {verb}{_lead(clear, cells)}"
            )
        parts += [
            f"{cell.label} changed in a direction that is not distinguishable "
            f"({_range_text(cell, directed[id(cell)])})"
            for cell in of_state
            if cell not in clear
        ]
    steady = [cell for cell in cells if cell.state == "steady"]
    variable = [cell for cell in cells if cell.state == "variable"]
    if len(steady) == judged:
        return (
            f"Steady: none of {counted(judged, 'cell')} has regressed or improved; "
            f"{_would_show(steady)}."
        )
    if len(variable) == judged:
        return f"Too variable to tell: only {_would_show(variable)}."
    parts += [f"{len(steady)} steady"] * bool(steady)
    if variable:
        parts.append(f"{len(variable)} too variable to tell: only {_would_show(variable)}")
    return f"{'; '.join(parts)}."


def direction_of(cell: CellHistory, comparisons: int = 1) -> Comparison:
    """The direction of the present level against its reference.

    ``comparisons``: the number of cells among which it may be chosen.
    """
    low, high = cell.against_ci95 or (0.0, 0.0)
    present, reference = cell.stretches[-1], cell.reference_first
    runs = present.last - present.first + 1
    if reference is not None and cell.reference_last is not None:
        runs += cell.reference_last - reference + 1
    return compared(
        1.0 + (cell.against or 0.0),
        (1.0 + low, 1.0 + high),
        launches=runs,
        comparisons=comparisons,
    )


def _lead(clear: Sequence[CellHistory], cells: Sequence[CellHistory]) -> str:
    """``: STREAM (−4.8% [−5.4, −4.1] bandwidth)``; of several cells, the one that changed most.

    Its interval allows for the choice among all cells that are compared with an earlier level.
    """
    lead = max(clear, key=lambda cell: abs(cell.against or 0.0))
    known = [cell for cell in cells if cell.against_ci95 is not None]
    changes = [
        Estimate(1.0 + (cell.against or 0.0), (1.0 + ends[0], 1.0 + ends[1]))
        for cell in known
        if (ends := cell.against_ci95) is not None
    ]
    interval = lead.against_ci95
    if lead in known:
        extended, _ = chosen_interval(changes, known.index(lead))
        interval = None if extended is None else (extended[0] - 1.0, extended[1] - 1.0)
    size = format_change(lead.against or 0.0, interval)
    most = ", the most" if len(clear) > 1 else ""
    return f"{most}: {lead.label} ({size} {metric_name(lead.metric)})"


def _range_text(cell: CellHistory, found: Comparison) -> str:
    """``+1.6% [−0.4, +3.6] bandwidth``: the range that decides on the direction."""
    ends = None if found.range is None else (found.range[0] - 1.0, found.range[1] - 1.0)
    return f"{format_change(cell.against or 0.0, ends)} {metric_name(cell.metric)}"


def _would_show(cells: Sequence[CellHistory]) -> str:
    """A clause on the changes that would be detected in at least one cell, and in all cells."""
    known = sorted(cell.detectable for cell in cells if cell.detectable is not None)
    if not known:
        return "more or quieter runs would make a change detectable"
    low, high = _size_text(known[0]), _size_text(known[-1])
    if len(known) < len(cells):
        return (
            f"a change above {low} would be detected, in {len(cells) - len(known)} of them no "
            "change"
        )
    if low == high or cells[0].state == "steady":
        return f"a change above {high} would be detected"
    start = low
    if (known[0] <= 1.0) == (known[-1] <= 1.0):  # the unit, or the word, is written once
        start, high = low.removesuffix("%"), high.removeprefix("a factor of ")
    return f"changes above {start} to {high} would be detected, depending on the cell"


def _size_text(size: float) -> str:
    """A relative change, as a factor if it is more than twofold."""
    return f"{100 * size:.2g}%" if size <= 1.0 else f"a factor of {1 + size:.2g}"


def state_text(cell: CellHistory) -> str:
    """The state in words: ``too variable to tell: only a change above 12% would be detected``."""
    if cell.state == "short":
        return "too few runs"
    if cell.state == "variable":
        return f"too variable to tell: only {_would_show([cell])}"
    return cell.state


def remark_on(found: Sequence[SystemDifference], kind: str) -> str:
    """A sentence on the differences of the snapshots before and after a change."""
    together = [each for each in found if each.coincides]
    others = [each for each in found if not each.coincides]
    if together:
        head = "Changed during the drift" if kind == "drift" else "Changed at the same time"
        return f"{head}: {'; '.join(difference_text(each) for each in together)}."
    if others:
        text = "; ".join(difference_text(each) for each in others[:_MAX_DIFFERENCES])
        return f"No property changed only at this time. Changed at this and other times: {text}."
    return "The snapshots of machine and toolchain before and after the change don't differ."


def event_text(event: HistoryEvent, cell: CellHistory) -> str:
    """A sentence on a change."""
    size = format_change(event.size, event.size_ci95, spec="+.2g")
    metric = metric_name(cell.metric)
    first, last = format_minute(event.after_utc), format_minute(event.before_utc)
    if event.kind == "drift":
        return f"Drift from {first} to {last}: {metric} {size}"
    if event.kind == "spread":
        return f"From about {format_minute(event.utc)}: scatter of {metric} {size}"
    low, high = event.size_ci95
    found = compared(
        1.0 + event.size,
        (1.0 + low, 1.0 + high),
        launches=len(cell.points.utc),
        comparisons=len(cell.events),
    )
    way = "worse" if event.worse else "better"
    if found.direction == "open":
        way = "direction not distinguishable"
    if event.modes is not None:
        modes = event.modes
        return (
            f"Between {first} and {last}, the share of runs whose {metric} is "
            f"{100 * modes.apart:.2g}% higher than in the other runs changed from "
            f"{modes.before:.0%} to {modes.after:.0%}: mean {size}, {way} (p = {event.p:.1g})"
        )
    return f"Step between {first} and {last}: {metric} {size}, {way} (p = {event.p:.1g})"


def suspect_text(cell: CellHistory) -> str:
    """A sentence on the newest runs if they deviate; otherwise empty."""
    if cell.suspect is None:
        return ""
    runs, size = cell.suspect.runs, cell.suspect.size
    newest = "The newest run deviates" if runs == 1 else f"The newest {runs} runs deviate"
    return (
        f"{newest} by {format_change(size, spec='+.2g')} from earlier runs. This happens by chance "
        "in 1 of 100 evaluations; further runs will decide."
    )


def summary_line(history: History) -> str:
    """The number of runs, their systems, and the numbers of runs left out."""
    parts = [f"{counted(history.runs, 'run')} of {', '.join(history.systems) or 'no system'}"]
    left = [f"{n} {_REASONS[name]}" for name, n in history.passed_over.items() if n]
    if left:
        parts.append(f"left out: {', '.join(left)}")
    return " · ".join(parts)


def cell_name(cell: CellHistory, history: History) -> str:
    """The cell's label, with its machine if there are several."""
    return f"{cell.system}: {cell.label}" if len(history.systems) > 1 else cell.label


def percent(share: float) -> str:
    """A relative change: ``+1.2%``; no sign if it rounds to 0."""
    return format_change(share)
