"""Shortens large reports: cuts long tables and figures, with a note."""

from __future__ import annotations

import dataclasses

import msgspec

from assay.charts.figure import Figure
from assay.questions.common.tables import Entry, Table
from assay.report.model import ReportModel, Section

# Maximum rows of a table, in HTML and Markdown and on a terminal.
MOST_ROWS = 500
MOST_LINES = 100
# Maximum points drawn in a figure: more points than pixels of width show nothing new, and each
# takes half a kilobyte of SVG.
MOST_POINTS = 1000
# The end of a text that is cut, and its characters.
_MORE = " …"
_CUT = len(_MORE)


def shortened(report: ReportModel, most: int = MOST_ROWS) -> ReportModel:
    """The report with at most ``most`` cells and rows per table, and ``MOST_POINTS`` per figure.

    A long table keeps rows of failures, then the first rows. Its caption, or otherwise its last
    note, gives the total number of rows and where to find them.
    """
    return msgspec.structs.replace(
        report,
        sections=[_section(section, most) for section in report.sections],
        cells=report.cells[:most],
        cell_table=_table(report.cell_table, most),
        provenance=[_table(table, most) for table in report.provenance],
    )


def _section(section: Section, most: int) -> Section:
    return msgspec.structs.replace(
        section,
        evidence=section.evidence[:most],
        figures=[_figure(figure) for figure in section.figures],
        tables=[_table(table, most) for table in section.tables],
    )


def _figure(figure: Figure) -> Figure:
    count = len(figure.rows)
    if count <= MOST_POINTS:
        return figure
    kept = [round(i * (count - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]
    note = f"The figure shows {MOST_POINTS:,} of {count:,} points; its data have all points."
    return msgspec.structs.replace(
        figure,
        rows=[figure.rows[place] for place in kept],
        caption=f"{figure.caption} {note}".strip(),
    )


def _table(table: Table, most: int) -> Table:
    count = len(table.rows)
    if count <= most:
        return table
    bad = [place for place, row in enumerate(table.rows) if any(e.tone == "bad" for e in row)]
    kept = set(bad[:most])
    for place in range(count):
        if len(kept) == most:
            break
        kept.add(place)
    rows = [table.rows[place] for place in sorted(kept)]
    failures = ", failures first" if bad and len(bad) < count else ""
    note = (
        f"The table shows {most} of {count:,} rows{failures}; `assay report --format json` has "
        "all rows."
    )
    rows, notes = _renumbered(table, rows)
    if table.caption:
        caption = f"{table.caption} {note}"
        return dataclasses.replace(table, rows=rows, notes=notes, caption=caption)
    return dataclasses.replace(table, rows=rows, notes=[*notes, note])


def _renumbered(table: Table, rows: list[list[Entry]]) -> tuple[list[list[Entry]], list[str]]:
    """The rows with their notes renumbered, and the notes that they refer to."""
    places = [place for place, column in enumerate(table.columns) if column.name == "notes"]
    if not places:
        return rows, table.notes
    (place,) = places
    numbers: dict[str, int] = {}
    kept = []
    for row in rows:
        old = [word for word in row[place].text.split(", ") if word]
        new = [str(numbers.setdefault(word, len(numbers) + 1)) for word in old]
        entry = dataclasses.replace(row[place], text=", ".join(new))
        kept.append([*row[:place], entry, *row[place + 1 :]])
    return kept, [table.notes[int(word) - 1] for word in numbers]


def beginning(text: str, most: int, whole: str = "") -> str:
    """The first clauses or sentences of a text that fit into ``most`` characters.

    ``whole``: the beginning of the text that is never cut.
    """
    most = max(most, len(whole) + _CUT)
    if len(text) <= most:
        return text
    ends = [at for mark in ("; ", ". ") for at in _places(text, mark) if 0 < at < most - _CUT]
    cut = max(ends, default=text.rfind(" ", 0, most - _CUT))
    cut = cut if cut > 0 else most - _CUT  # a single long word
    return f"{text[:cut]}{_MORE}"


def _places(text: str, mark: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(mark, at)]
