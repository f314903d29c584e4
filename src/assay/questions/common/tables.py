"""Tables of a report, and the one that every question has: its evidence against limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.charts.figure import Datum
from assay.questions.common.answer import Evidence
from assay.questions.common.selection import quantity_text
from assay.units import format_share

Tone = Literal["", "good", "warn", "bad", "quiet"]


class Entry(msgspec.Struct, frozen=True):
    """One field of a table: as a person reads it, and as a program sorts it (SI base units)."""

    text: str
    value: Datum = None
    tone: Tone = ""


class Column(msgspec.Struct, frozen=True):
    """One column. ``unit`` is that of the entries' values; numeric columns align right."""

    name: str
    label: str
    unit: str = ""
    numeric: bool = False


class Table(msgspec.Struct, frozen=True):
    """A table; ``notes`` are numbered from 1, and entries refer to them by number.

    ``folded``: it is long and for looking things up, so that it stays out of the way.
    """

    id: str
    title: str
    columns: list[Column]
    rows: list[list[Entry]]
    caption: str = ""
    notes: list[str] = []
    folded: bool = False


def evidence_table(question: str, rows: Sequence[Evidence]) -> Table:
    """Each measured quantity against its limit."""
    sources = list(dict.fromkeys(row.limit_source for row in rows if row.limit_source))

    def limit(row: Evidence) -> Entry:
        if row.limit is None or row.limit_source is None:
            return Entry("")
        number = sources.index(row.limit_source) + 1
        return Entry(f"{quantity_text(row.limit, row.unit)} ({number})", row.limit)

    return Table(
        id=f"{question}-evidence",
        title="Measured against its limit",
        columns=[
            Column("what", "Measured"),
            Column("value", "Median [95% interval]", numeric=True),
            Column("limit", "Limit", numeric=True),
            Column("share", "Share of limit", numeric=True),
            Column("note", "How"),
        ],
        rows=[
            [
                Entry(row.label),
                Entry(quantity_text(row.value, row.unit, row.ci95), row.value),
                limit(row),
                Entry("" if row.share is None else _share(row), row.share),
                Entry(row.note, tone="quiet"),
            ]
            for row in rows
        ],
        notes=sources,
    )


def _share(row: Evidence) -> str:
    return format_share(row.share, row.share_ci95)
