"""The format-independent report: built once, rendered by each format.

It is also the layout of the JSON report, which ``docs/report-format.md`` documents.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assay.charts.figure import Figure
from assay.questions.common.answer import Confidence, Evidence, ImpossibleValue
from assay.questions.common.tables import Table
from assay.stats.core.model import CellSummary

REPORT_SCHEMA = 1


class Section(msgspec.Struct, frozen=True):
    """One question: its verdict and all that it is based on.

    ``findings``: the findings as plain data; ``docs/findings.md`` names each field.
    ``impossible``: numbers that can't be, on which the verdict is not based. ``published``: what
    published clusters achieved.
    """

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
    findings: Any = None
    impossible: list[ImpossibleValue] = []
    published: list[str] = []


class CompanionFile(msgspec.Struct, frozen=True):
    """A file that belongs to the report. ``path``: relative to the report's folder."""

    title: str
    path: str


class ReportModel(msgspec.Struct, frozen=True):
    """A whole report. ``utc``: ISO 8601, of the start. ``unfinished``: empty when complete.

    ``files``: files beside the report, to which it has links. ``machine``: the measured machine in
    one line. ``foremost``: the finding that matters most, in a sentence. ``asked``: the id of the
    section whose question was asked, which is shown first.
    """

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
    findings_schema: int = 1
    files: list[CompanionFile] = []
    machine: str = ""
    foremost: str = ""
    asked: str = ""
