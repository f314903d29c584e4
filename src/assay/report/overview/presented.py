"""Prepares the report for readers: joins similar sentences and notes, drops empty columns, shortens
tables.
"""

from __future__ import annotations

import dataclasses

import msgspec

from assay.questions.common.tables import Entry, Table
from assay.report.model import ReportModel, Section
from assay.report.overview.grouped import grouped, merged_notes
from assay.report.shorten import MOST_ROWS, shortened
from assay.units import MISSING

# Maximum rows of a question's open table on a page. Longer tables are collapsed.
_LONGEST_OPEN = 24


def presented(report: ReportModel, most: int = MOST_ROWS) -> ReportModel:
    """The report for people.

    ``most``: maximum rows of a table. Programs read the original report.
    """
    report = msgspec.structs.replace(
        report,
        sections=[_section(section, report.cell_table) for section in report.sections],
        cell_table=without_empty_columns(_few_notes(report.cell_table)),
    )
    return shortened(report, most)


def _section(section: Section, cells: Table) -> Section:
    """The section for people, without a table that is also the report's table of cells."""
    return msgspec.structs.replace(
        section,
        caveats=grouped(section.caveats),
        tables=[
            _folded(without_empty_columns(table))
            for table in section.tables
            if table.rows and table.rows != cells.rows
        ],
    )


def _folded(table: Table) -> Table:
    long = len(table.rows) > _LONGEST_OPEN
    return dataclasses.replace(table, folded=table.folded or long)


def without_empty_columns(table: Table) -> Table:
    """The table without its empty columns."""
    kept = [
        place
        for place in range(len(table.columns))
        if any(row[place].text not in ("", MISSING) for row in table.rows)
    ]
    if not table.rows or len(kept) == len(table.columns):
        return table
    return dataclasses.replace(
        table,
        columns=[table.columns[place] for place in kept],
        rows=[[row[place] for place in kept] for row in table.rows],
    )


def _few_notes(table: Table) -> Table:
    """The table with notes joined that differ only in their numbers."""
    notes, places = merged_notes(table.notes)
    column = next((i for i, each in enumerate(table.columns) if each.name == "notes"), None)
    if column is None or len(notes) == len(table.notes):
        return table
    rows = []
    for row in table.rows:
        old = [int(word) - 1 for word in row[column].text.split(", ") if word]
        new = sorted({places[number] + 1 for number in old})
        rows.append([*row[:column], Entry(", ".join(map(str, new))), *row[column + 1 :]])
    return dataclasses.replace(table, rows=rows, notes=notes)
