"""Tables of a history: its changes, all cells, and the runs."""

from __future__ import annotations

from assay.charts.sparkline import sparkline
from assay.questions.common.tables import Entry, Table, TableBuilder, Tone, fact_table, quantity
from assay.subjects.history.model import CellHistory, History, HistoryEvent
from assay.subjects.history.words import (
    cell_name,
    event_text,
    percent,
    state_text,
    summary_line,
)
from assay.units import format_change, format_limit, format_minute

_COURSE = 30
_TONES: dict[str, Tone] = {
    "regression": "bad",
    "improvement": "good",
    "variable": "quiet",
    "short": "quiet",
}


def tables(history: History) -> list[Table]:
    """The table of changes."""
    return [event_table(history)]


def event_table(history: History) -> Table:
    """A row per change, the newest first."""
    found = [(cell, event) for cell in history.cells for event in cell.events]
    found.sort(key=lambda pair: -pair[1].utc)

    def size(pair: tuple[CellHistory, HistoryEvent]) -> Entry:
        event = pair[1]
        text = format_change(event.size, spec="+.2g")
        return Entry(text, event.size, "bad" if event.worse else "good")

    return (
        TableBuilder(found)
        .text("cell", "Cell", lambda pair: cell_name(pair[0], history))
        .text("what", "Change", lambda pair: event_text(pair[1], pair[0]))
        .numbers("size", "Size", size, unit="1")
        .text("remark", "Machine and toolchain", lambda pair: pair[1].remark)
        .table(
            "history-events",
            "Changes, the newest first",
            caption="" if found else "No result changed.",
        )
    )


def cell_table(history: History) -> Table:
    """A row per cell of each machine."""
    return (
        TableBuilder(history.cells)
        .text("system", "System", lambda cell: cell.system)
        .text("cell", "Cell", lambda cell: cell.label)
        .text("course", "Over time", lambda cell: sparkline(cell.points.value, _COURSE))
        .counts("runs", "Runs", lambda cell: len(cell.points.utc))
        .numbers(
            "level",
            "Present level [95% interval]",
            lambda cell: quantity(cell.level, cell.unit, cell.level_ci95),
        )
        .numbers("cov", "CoV", _deviation, unit="1")
        .numbers("against", "Relative to the best earlier level", _against, unit="1")
        .numbers("detectable", "Smallest detectable change", _detectable, unit="1")
        .column("state", "State", _state)
        .table("cells", "All cells")
    )


def _deviation(cell: CellHistory) -> Entry:
    deviation = cell.deviation
    return Entry("" if deviation is None else f"{100 * deviation:.2g}%", deviation)


def _detectable(cell: CellHistory) -> Entry:
    share = cell.detectable
    return Entry("" if share is None else f"{100 * share:.2g}%", share)


def _against(cell: CellHistory) -> Entry:
    return Entry("" if cell.against is None else percent(cell.against), cell.against)


def _state(cell: CellHistory) -> Entry:
    return Entry(state_text(cell), cell.state, _TONES.get(cell.state, ""))


def span_table(history: History) -> Table:
    """The machines, the first and last run, and the number of runs."""
    first = min((cell.points.utc[0] for cell in history.cells), default=None)
    last = max((cell.points.utc[-1] for cell in history.cells), default=None)
    facts = [
        ("Systems", ", ".join(history.systems)),
        ("First run", "" if first is None else f"{format_minute(first)} UTC"),
        ("Last run", "" if last is None else f"{format_minute(last)} UTC"),
        ("Runs", summary_line(history)),
        ("Smallest relevant change", format_limit(history.least)),
    ]
    return fact_table("system", "Runs", facts)
