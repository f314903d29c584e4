"""The report, before it has a form: built once, laid out by each renderer.

It is also the JSON report as it stands; ``docs/report-format.md`` is the prose.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assay.answers.model import Confidence, Evidence
from assay.stats.model import CellSummary

REPORT_SCHEMA = 1

Datum = str | int | float | bool | None
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


class Field(msgspec.Struct, frozen=True):
    """One column of a figure's data."""

    name: str
    unit: str
    meaning: str


class Figure(msgspec.Struct, frozen=True):
    """A figure: its data in SI base units, and a Vega-Lite specification without them.

    ``alt`` says in words what is to be seen. ``width``: of the text's, for layout.
    """

    id: str
    title: str
    caption: str
    alt: str
    fields: list[Field]
    rows: list[dict[str, Datum]]
    spec: dict[str, Any]
    width: Literal["full", "half"] = "full"


class Section(msgspec.Struct, frozen=True):
    """One of the five questions with everything that stands behind its verdict."""

    id: str
    title: str
    status: Literal["answered", "unmeasured"]
    verdict: str
    confidence: Confidence | None
    confidence_why: str
    evidence: list[Evidence]
    figures: list[Figure]
    tables: list[Table]
    method: list[str]
    limits: list[str]
    advice: list[str]
    caveats: list[str]


class ReportModel(msgspec.Struct, frozen=True):
    """A whole report. ``utc``: ISO 8601, of the start. ``unfinished``: empty when complete."""

    schema: int
    assay: str
    run: str
    suite: str
    title: str
    system: str
    utc: str
    complete: bool
    unfinished: str
    summary: str
    sections: list[Section]
    cells: list[CellSummary]
    cell_table: Table
    system_table: Table
    provenance: list[Table]
