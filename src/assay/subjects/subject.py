"""The type of a subject: its findings, and the answer, figures, tables and frame of its report.

A subject is a package of ``assay.subjects`` whose ``subject.py`` holds a ``SUBJECT``, and a line in
``assay/subjects/__init__.py``. ``assay.report.subject`` writes its report in every format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.charts.figure import Figure
from assay.questions.common.answer import Answer
from assay.questions.common.lines import ReportLine
from assay.questions.common.tables import Table
from assay.subjects.board import Board

F = TypeVar("F")


@dataclass(frozen=True)
class ReportFrame:
    """What a report has in addition to its sections."""

    #: Name of the run or of the command.
    name: str
    title: str
    #: Unix time, s.
    utc: float
    #: Summary in one line.
    summary: str
    #: Table that replaces the table of a run's cells.
    rows: Table
    #: Table that replaces the table of a run's system.
    facts: Table
    suite: str = ""
    system: str = ""
    #: What is missing, as a sentence; empty if the subject is complete.
    unfinished: str = ""
    complete: bool = True
    #: Tables on the origin of the data.
    provenance: Sequence[Table] = ()


def _no_figures(_: object) -> list[Figure]:
    return []


def _no_tables(_: object) -> list[Table]:
    return []


def _no_lines(_: object) -> list[ReportLine]:
    return []


@dataclass(frozen=True)
class Subject(Generic[F]):
    """A subject of reports other than a run."""

    #: ``name``, ``title``: name and title in ``docs/findings.md``.
    name: str
    title: str
    #: Returns the findings, which are part of the JSON report. ``answer``, ``figures`` and
    #: ``tables`` take only these findings.
    find: Callable[..., F]
    answer: Callable[[F], Answer]
    #: Builds the frame from the findings and the other sources of the report.
    frame: Callable[..., ReportFrame]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables
    #: What is wrong, one line each.
    lines: Callable[[F], Sequence[ReportLine]] = _no_lines
    #: What a board needs on one page; None: the answer's verdict, evidence and recommendations.
    board: Callable[[F], Board] | None = None
