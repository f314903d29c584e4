"""The tables of a history: its changes, all cells, and of which runs it is."""

from __future__ import annotations

from assay.charts.sparkline import sparkline
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table, Tone
from assay.questions.history.model import CellHistory, History
from assay.questions.history.words import cell_name, event_text, minute, percent, summary_line

_COURSE = 30
_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "short": "quiet"}


def tables(history: History) -> list[Table]:
    """The table of changes."""
    return [event_table(history)]


def event_table(history: History) -> Table:
    """A row per change, the newest first."""
    found = [(cell, event) for cell in history.cells for event in cell.events]
    found.sort(key=lambda pair: -pair[1].utc)
    return Table(
        id="history-events",
        title="Changes, the newest first",
        columns=[
            Column("cell", "Cell"),
            Column("what", "Change"),
            Column("size", "Size", unit="1", numeric=True),
            Column("remark", "Machine and toolchain"),
        ],
        rows=[
            [
                Entry(cell_name(cell, history)),
                Entry(event_text(event, cell)),
                Entry(f"{100 * event.size:+.2g}%", event.size, "bad" if event.worse else "good"),
                Entry(event.remark),
            ]
            for cell, event in found
        ],
        caption="" if found else "No result changed.",
    )


def cell_table(history: History) -> Table:
    """A row per cell of each machine."""
    return Table(
        id="cells",
        title="All cells",
        columns=[
            Column("system", "System"),
            Column("cell", "Cell"),
            Column("course", "Over time"),
            Column("runs", "Runs", numeric=True),
            Column("level", "Present level [95% interval]", numeric=True),
            Column("cov", "CoV", unit="1", numeric=True),
            Column("against", "Against the best earlier level", unit="1", numeric=True),
            Column("state", "State"),
        ],
        rows=[_cell_row(cell) for cell in history.cells],
    )


def _cell_row(cell: CellHistory) -> list[Entry]:
    return [
        Entry(cell.system),
        Entry(cell.label),
        Entry(sparkline(cell.points.value, _COURSE)),
        Entry(str(len(cell.points.utc)), len(cell.points.utc)),
        Entry(quantity_text(cell.level, cell.unit, cell.level_ci95), cell.level),
        Entry("" if cell.deviation is None else f"{100 * cell.deviation:.2g}%", cell.deviation),
        Entry("" if cell.against is None else percent(cell.against), cell.against),
        Entry(
            "too few runs" if cell.state == "short" else cell.state,
            cell.state,
            _TONES.get(cell.state, ""),
        ),
    ]


def span_table(history: History) -> Table:
    """Of which machines and days the runs are."""
    first = min((cell.points.utc[0] for cell in history.cells), default=None)
    last = max((cell.points.utc[-1] for cell in history.cells), default=None)
    facts = [
        ("Systems", ", ".join(history.systems)),
        ("First run", "" if first is None else f"{minute(first)} UTC"),
        ("Last run", "" if last is None else f"{minute(last)} UTC"),
        ("Runs", summary_line(history)),
        ("Smallest change that counts", f"{100 * history.least:.3g}%"),
    ]
    return Table(
        id="system",
        title="Runs",
        columns=[Column("fact", "Fact"), Column("value", "Value")],
        rows=[[Entry(name), Entry(value)] for name, value in facts if value],
    )
