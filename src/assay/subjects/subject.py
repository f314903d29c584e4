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
from assay.questions.common.tables import Table

F = TypeVar("F")


@dataclass(frozen=True)
class ReportFrame:
    """What a report has in addition to its sections.

    ``name``: of the run, or of the command. ``utc``: s since 1970. ``summary``: one line. ``rows``:
    the table in the place of a run's cells; ``facts``: the table in the place of its system.
    ``unfinished``: empty if the subject is complete. ``provenance``: tables on the origin.
    """

    name: str
    title: str
    utc: float
    summary: str
    rows: Table
    facts: Table
    suite: str = ""
    system: str = ""
    unfinished: str = ""
    complete: bool = True
    provenance: Sequence[Table] = ()


def _no_figures(_: object) -> list[Figure]:
    return []


def _no_tables(_: object) -> list[Table]:
    return []


@dataclass(frozen=True)
class Subject(Generic[F]):
    """A subject of reports other than a run.

    ``name`` and ``title``: in ``docs/findings.md``. ``find``: returns the findings, a type whose
    docstring names its fields; they are in the JSON report. ``answer``, ``figures`` and ``tables``
    take only these findings. ``frame``: from the findings, and from what else the report of this
    subject is built from.
    """

    name: str
    title: str
    find: Callable[..., F]
    answer: Callable[[F], Answer]
    frame: Callable[..., ReportFrame]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables
