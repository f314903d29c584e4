"""Types of a question: it computes findings once; answer, figures and tables use only these.

A question is a package of ``assay.questions`` whose ``question.py`` holds a ``QUESTION``, and a
line in ``assay/questions/__init__.py``. A question with several topics has a package of the same
shape for each, and is composed by ``assay.questions.common.topics``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from assay.charts.figure import Figure
from assay.model.demand import ProgramDemand
from assay.questions.common.answer import Answer, ImpossibleValue
from assay.questions.common.contention import capped, impossible_contention, worst_contention
from assay.questions.common.gate import (
    alike,
    beyond_arithmetic,
    beyond_memory,
    collapses,
    discredited,
    gated,
    impossible_rows,
    slower_than_collectives,
    without_shares,
)
from assay.questions.common.parts import Part
from assay.questions.common.tables import Table
from assay.records.model import RunData
from assay.stats.changes.courses import CellCourse
from assay.stats.core.model import CellSummary

F = TypeVar("F")


@dataclass(frozen=True)
class Measured:
    """The input of all questions."""

    run: RunData
    #: The summaries of the run's cells.
    cells: Sequence[CellSummary]
    #: Stored runs of the same system.
    history: Sequence[RunData] = ()
    #: Name prefixes of kernels that another question reports and that this question omits.
    elsewhere: tuple[str, ...] = ()
    #: The cells in the history of the machine, by id; empty if it was not read.
    courses: Mapping[str, CellCourse] = field(default_factory=dict)
    #: The profile that was given with the run, of a program that is to run on the machine.
    program: ProgramDemand | None = None

    def without_candidates(self) -> Measured:
        """The same input without candidates of a placement search, which have few launches each."""
        search = self.run.manifest.plan.search
        if search is None:
            return self
        chosen = frozenset(search.optional)
        return replace(self, cells=[cell for cell in self.cells if cell.id not in chosen])

    def without(self, ids: Collection[str]) -> Measured:
        """The same input without these cells."""
        return replace(self, cells=[cell for cell in self.cells if cell.id not in ids])

    def own_cells(self) -> Measured:
        """The same input without kernels that another question reports."""
        if not self.elsewhere:
            return self
        return replace(
            self,
            cells=[cell for cell in self.cells if not cell.kernel.startswith(self.elsewhere)],
        )


def _no_figures(_: object) -> list[Figure]:
    return []


def _no_tables(_: object) -> list[Table]:
    return []


def _always(_: Measured) -> bool:
    return True


@dataclass(frozen=True)
class Topic(Generic[F]):
    """One side of a question, such as the messages of the network.

    ``find`` returns None if no cell of the topic was measured.
    """

    name: str
    find: Callable[..., F | None]
    part: Callable[[F], Part | None]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables
    #: Tables at the start of the question if this topic is its first one.
    leading: Callable[[F], Sequence[Table]] = _no_tables
    #: Name prefixes of the kernels that the topic reports. They determine its position among the
    #: topics (``questions.common.topics``).
    kernels: tuple[str, ...] = ()
    #: Names of topics whose findings this topic needs. ``find`` takes them as arguments after
    #: ``Measured``. ``part``, ``figures`` and ``tables`` only read findings.
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question(Generic[F]):
    """A question of the report."""

    name: str
    title: str
    #: Computes the typed findings, a dataclass that the JSON report includes
    #: (``assay.questions.common.findings``). ``answer``, ``figures`` and ``tables`` take only these
    #: findings.
    find: Callable[[Measured], F]
    answer: Callable[[F], Answer]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables
    #: Name prefixes of kernels that other questions omit once this question is answered.
    answers_from: tuple[str, ...] = field(default=())
    #: Whether the report of a run includes the question.
    asked: Callable[[Measured], bool] = _always
    #: Name prefixes of kernels; a plan that begins with one of these kernels asks this question.
    kernels: tuple[str, ...] = ()
    #: Topics of the question (``assay.questions.common.topics``); empty if it has none.
    topics: tuple[Topic[Any], ...] = ()


@dataclass(frozen=True)
class Reply(Generic[F]):
    """A question with its findings and its answer."""

    question: Question[F]
    findings: F
    answer: Answer

    def figures(self) -> list[Figure]:
        """The figures; empty if the question is not answered."""
        if self.answer.status != "answered":
            return []
        return list(self.question.figures(self.findings))

    def tables(self) -> list[Table]:
        """The tables in addition to the evidence; empty if the question is not answered."""
        if self.answer.status != "answered":
            return []
        return list(self.question.tables(self.findings))


def ask(question: Question[F], measured: Measured) -> Reply[F]:
    """Compute a question's findings, and its answer from them.

    Every answer passes the gate (``assay.questions.common.gate``): an answer that used an
    impossible number is computed again without it. Other processes on the measured nodes limit its
    confidence (``assay.questions.common.contention``).
    """
    collapsed = {
        **collapses(measured.cells),
        **slower_than_collectives(measured.cells),
        **beyond_arithmetic(measured.run, measured.cells),
        **beyond_memory(measured.run, measured.cells),
    }
    impossible: dict[str, ImpossibleValue] = {}
    while True:
        findings = question.find(measured)
        answer = question.answer(findings)
        rows = impossible_rows(answer.evidence)
        used = {cell for row in answer.evidence for cell in row.cells}
        fallen = [collapsed[cell] for cell in sorted(used) if cell in collapsed]
        for each in (*(one for _, one in rows), *fallen):
            impossible.setdefault(each.cells[0] if each.cells else each.label, each)
        wrong = {*discredited(rows), *(each.cells[0] for each in fallen)}
        left_out = alike(measured.cells, wrong)
        if not left_out:
            break
        measured = measured.without(left_out)
    answer = without_shares(answer)
    found = list(impossible.values())
    if answer.status == "answered":
        contention = worst_contention(measured.run, used)
        answer = capped(answer, contention)
        found += impossible_contention(contention)
    return Reply(question, findings, gated(answer, found))
