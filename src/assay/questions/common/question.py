"""What a question is: it finds once, and speaks from its findings alone.

A question is a package of ``assay.questions`` whose ``question.py`` holds a ``QUESTION``, and its
line in ``assay/questions/__init__.py``. A question with several sides is made of topics, each a
package of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from assay.charts.figure import Figure
from assay.questions.common.answer import Answer
from assay.questions.common.parts import Part
from assay.questions.common.tables import Table
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

F = TypeVar("F")


@dataclass(frozen=True)
class Measured:
    """What questions are asked of.

    ``cells``: the summaries of the run's cells. ``history``: stored runs of the same system.
    ``elsewhere``: kernels, as prefixes of their names, that another question has answered from, so
    that they are no context of this one.
    """

    run: RunData
    cells: Sequence[CellSummary]
    history: Sequence[RunData] = ()
    elsewhere: tuple[str, ...] = ()

    def without_candidates(self) -> Measured:
        """The same without the cells that only a search asked for: few launches each."""
        search = self.run.manifest.plan.search
        if search is None:
            return self
        chosen = frozenset(search.optional)
        return replace(self, cells=[cell for cell in self.cells if cell.id not in chosen])

    def own_cells(self) -> Measured:
        """The same without kernels that another question has answered from."""
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


@dataclass(frozen=True)
class Topic(Generic[F]):
    """One side of a question, such as the messages of the network.

    ``find`` is None where nothing of it was measured. ``part``, ``figures`` and ``tables`` read the
    findings and compute nothing of their own.
    """

    name: str
    find: Callable[[Measured], F | None]
    part: Callable[[F], Part | None]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables


@dataclass(frozen=True)
class Question(Generic[F]):
    """A question of the report.

    ``find``: typed findings, a dataclass whose fields its docstring names; they are in the JSON
    report (``assay.questions.common.findings``). ``answer``, ``figures``, ``tables`` take these
    findings alone. ``answers_from``: prefixes of the kernels' names that are no context of other
    questions once this one is answered.
    """

    name: str
    title: str
    find: Callable[[Measured], F]
    answer: Callable[[F], Answer]
    figures: Callable[[F], Sequence[Figure]] = _no_figures
    tables: Callable[[F], Sequence[Table]] = _no_tables
    answers_from: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Reply(Generic[F]):
    """A question with what it found and its answer."""

    question: Question[F]
    findings: F
    answer: Answer

    def figures(self) -> list[Figure]:
        """Its figures; none where the question is not answered."""
        if self.answer.status != "answered":
            return []
        return list(self.question.figures(self.findings))

    def tables(self) -> list[Table]:
        """Its tables beside the evidence; none where the question is not answered."""
        if self.answer.status != "answered":
            return []
        return list(self.question.tables(self.findings))


def ask(question: Question[F], measured: Measured) -> Reply[F]:
    """Find, and answer from what was found."""
    findings = question.find(measured)
    return Reply(question, findings, question.answer(findings))
