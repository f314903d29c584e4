"""The format-independent report: built once, rendered by each format.

It is also the layout of the JSON report, which ``docs/report-format.md`` documents.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assay.charts.figure import Figure
from assay.questions.common.answer import Confidence, Evidence, ImpossibleValue, PartConfidence
from assay.questions.common.lines import ReportLine
from assay.questions.common.tables import Table
from assay.stats.core.model import CellSummary
from assay.subjects.board import Board

REPORT_SCHEMA = 1


class Section(msgspec.Struct, frozen=True):
    """One question: its verdict and everything that the verdict is based on."""

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
    #: The findings as plain data; ``docs/findings.md`` describes each field.
    findings: Any = None
    #: Impossible numbers, which the verdict does not use.
    impossible: list[ImpossibleValue] = []
    #: Results of published clusters.
    published: list[str] = []
    #: The confidence of each part of the answer, if parts have different grounds.
    confidences: list[PartConfidence] = []
    #: The beginning of the verdict that answers what the command line asks for.
    asked: str = ""
    #: Whether the section begins a page of its own on paper, and isn't listed on the first screen.
    page: bool = False


class CompanionFile(msgspec.Struct, frozen=True):
    """A file that belongs to the report."""

    title: str
    #: Path relative to the report's folder.
    path: str


class MethodSentence(msgspec.Struct, frozen=True):
    """A sentence of a section on methods, with the keys of the works that it refers to."""

    text: str
    cites: list[str] = []


class ReportModel(msgspec.Struct, frozen=True):
    """A complete report."""

    schema: int
    assay: str
    run: str
    suite: str
    title: str
    system: str
    #: Start of the run, ISO 8601.
    utc: str
    complete: bool
    #: What the run lacks, as a sentence; empty if the run is complete.
    unfinished: str
    summary: str
    sections: list[Section]
    cells: list[CellSummary]
    cell_table: Table
    system_table: Table
    provenance: list[Table]
    findings_schema: int = 1
    #: Files next to the report that the report links to.
    files: list[CompanionFile] = []
    #: The measured machine in one line.
    machine: str = ""
    #: The most important finding, in a sentence.
    foremost: str = ""
    #: Id of the section whose question was asked. This section is shown first.
    asked: str = ""
    #: The first screen of a report on which a board decides; otherwise null.
    board: Board | None = None
    #: What is wrong, one line per node, cell or finding; empty if nothing is.
    lines: list[ReportLine] = []
    #: What a board needs on one page (``--page``); null in reports that have no such page.
    page: Board | None = None
    #: How the results were measured, for the section on methods of a paper.
    methods: list[MethodSentence] = []
