"""Tables of a report, their builder, and each question's table of evidence against limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from assay.charts.figure import Datum
from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, measured_text, quantity_text
from assay.units import MISSING, Interval, format_share, format_signed

Tone = Literal["", "good", "warn", "bad", "quiet"]
R = TypeVar("R")
_LONG_NOTE = 45  # characters; a longer part of a note becomes a footnote if several rows have it


@dataclass(frozen=True)
class Entry:
    """One field of a table: its text, and the value to sort by (SI base units)."""

    text: str
    value: Datum = None
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """One column. ``unit`` is the unit of the entries' values. Numeric columns align right."""

    name: str
    label: str
    unit: str = ""
    numeric: bool = False
    #: What a filtered page shows for the visible rows: ``sum``, the mean weighted by the column of
    #: this name, or nothing.
    total: str = ""


@dataclass(frozen=True)
class Table:
    """A table; ``notes`` are numbered from 1, and entries refer to them by number."""

    id: str
    title: str
    columns: list[Column]
    rows: list[list[Entry]]
    caption: str = ""
    notes: list[str] = field(default_factory=list)
    #: Whether the table is collapsed at first, as a long table for reference.
    folded: bool = False
    #: Whether the table precedes the figures.
    leading: bool = False
    #: Names of the columns by which a page filters the rows.
    filters: list[str] = field(default_factory=list)


NOTHING = Entry(MISSING, tone="quiet")


def count(number: int) -> Entry:
    """A count."""
    return Entry(str(number), number)


def written(value: float | None, template: str, *, missing: Entry = NOTHING) -> Entry:
    """A number formatted by a template such as ``{:+.1%}`` or ``{:g} s``; ``missing`` for None."""
    if value is None:
        return missing
    spec, _, unit = template.removeprefix("{:").partition("}")
    return Entry(format_signed(value, spec) + unit, value)


def quantity(value: float | None, unit: str, interval: Interval | None = None) -> Entry:
    """A quantity in SI base units, with its interval."""
    return NOTHING if value is None else Entry(quantity_text(value, unit, interval), value)


def share(value: float | None, interval: Interval | None = None) -> Entry:
    """A share, with its interval."""
    return NOTHING if value is None else Entry(format_share(value, interval), value)


def measured(point: Point | None) -> Entry:
    """A median with its interval, or with the number of launches if it has no interval."""
    return NOTHING if point is None else Entry(measured_text(point), point.metric.median)


class TableBuilder(Generic[R]):
    """A table of ``rows``, defined column by column; each column is a function of a row."""

    def __init__(self, rows: Iterable[R]) -> None:
        self._rows = list(rows)
        self._columns: list[Column] = []
        self._entries: list[Callable[[R], Entry]] = []

    def column(
        self, name: str, label: str, of: Callable[[R], Entry], *, unit: str = ""
    ) -> TableBuilder[R]:
        """Add a column of entries with a text, and a value to sort by or a tone."""
        return self._add(Column(name, label, unit), of)

    def numbers(
        self, name: str, label: str, of: Callable[[R], Entry], *, unit: str = "", total: str = ""
    ) -> TableBuilder[R]:
        """Add a column of numbers, which align right; ``unit`` is the unit of their values.
        ``total``: as for ``Column``."""
        return self._add(Column(name, label, unit, numeric=True, total=total), of)

    def text(
        self, name: str, label: str, of: Callable[[R], str], *, tone: Tone = ""
    ) -> TableBuilder[R]:
        """Add a column of text without values."""
        return self._add(Column(name, label), lambda row: Entry(of(row), tone=tone))

    def counts(self, name: str, label: str, of: Callable[[R], int]) -> TableBuilder[R]:
        """Add a column of counts."""
        return self.numbers(name, label, lambda row: count(of(row)))

    def _add(self, column: Column, of: Callable[[R], Entry]) -> TableBuilder[R]:
        self._columns.append(column)
        self._entries.append(of)
        return self

    def table(
        self,
        id: str,  # noqa: A002 - the name of the field in the report's JSON
        title: str,
        *,
        caption: str = "",
        notes: Iterable[str] = (),
        folded: bool = False,
        filters: Iterable[str] = (),
    ) -> Table:
        """The table; arguments as for ``Table``. Entries may add to ``notes``."""
        rows = [[of(row) for of in self._entries] for row in self._rows]
        return Table(
            id=id,
            title=title,
            columns=self._columns,
            rows=rows,
            caption=caption,
            notes=list(notes),
            folded=folded,
            filters=[each.name for each in self._columns if each.name in set(filters)],
        )


def fact_table(
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    facts: Iterable[tuple[str, str]],
    notes: Sequence[str] = (),
) -> Table:
    """A table of the names and values of the facts that are known."""
    known = TableBuilder([fact for fact in facts if fact[1]])
    known.text("fact", "Fact", lambda fact: fact[0])
    known.column("value", "Value", lambda fact: Entry(fact[1], fact[1]))
    return known.table(id, title, notes=notes)


def evidence_table(question: str, rows: Sequence[Evidence]) -> Table:
    """A table of each measured quantity, against its limit if there is one."""
    sources = list(dict.fromkeys(row.limit_source for row in rows if row.limit_source))
    parts = Counter(part for row in rows for part in row.note.split("; "))
    shared = [part for part, times in parts.items() if times > 1 and len(part) > _LONG_NOTE]
    notes = [*sources, *shared]

    def limit(row: Evidence) -> Entry:
        if row.limit is None or row.limit_source is None:
            return Entry("")
        number = sources.index(row.limit_source) + 1
        return Entry(f"{quantity_text(row.limit, row.unit)} ({number})", row.limit)

    def share_of_limit(row: Evidence) -> Entry:
        return Entry("") if row.share is None else share(row.share, row.share_ci95)

    def note(row: Evidence) -> str:
        """The row's note; long parts that other rows share are footnotes."""
        words = row.note.split("; ")
        numbers = ", ".join(str(notes.index(part) + 1) for part in words if part in shared)
        own = "; ".join(part for part in words if part not in shared)
        return " ".join(filter(None, [own, f"({numbers})" if numbers else ""]))

    return (
        TableBuilder(rows)
        .text("what", "Measured", lambda row: row.label)
        .numbers(
            "value", "Median [95% interval]", lambda row: quantity(row.value, row.unit, row.ci95)
        )
        .numbers("limit", "Limit", limit)
        .numbers("share", "Share of limit", share_of_limit)
        .text("note", "How", note, tone="quiet")
        .table(
            f"{question}-evidence",
            "Measured against its limit" if sources else "Measured",
            notes=notes,
        )
    )
