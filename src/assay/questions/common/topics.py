"""Questions with several topics: one composition of their findings, answer, figures and tables.

Topics are reported in the order in which the plan lists their kernels. A plan begins with its main
subject; additional measurements come later, such as STREAM to explain the scaling of benchmarks.
The same holds for plans of users and for single kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from assay.charts.figure import Figure
from assay.model.plan import Plan
from assay.questions.common.answer import QUESTIONS, Answer, Confidence
from assay.questions.common.confidence import judge, lowest_of
from assay.questions.common.parts import Part, answer_of, merge
from assay.questions.common.question import Measured, Question, Topic
from assay.questions.common.tables import Table
from assay.stats.core.model import CellSummary


class TopicFindings(Protocol):
    """What the findings of every question with topics have, in addition to a field per topic.

    ``broken``: cells without usable numbers that the question would have used. ``complete``:
    whether the run is complete.
    """

    @property
    def broken(self) -> Sequence[CellSummary]:
        """Cells without usable numbers."""

    @property
    def complete(self) -> bool:
        """Whether the run is complete."""


F = TypeVar("F", bound=TopicFindings)
Parts = Mapping[str, Part]


def find_topics(topics: Sequence[Topic[Any]], measured: Measured) -> dict[str, Any]:
    """The findings of each topic by its name; None for a topic that was not measured."""
    by_name = {topic.name: topic for topic in topics}
    found: dict[str, Any] = {}

    def find(topic: Topic[Any]) -> None:
        for name in topic.after:
            if name not in found:
                find(by_name[name])
        found[topic.name] = topic.find(measured, *(found[name] for name in topic.after))

    for topic in topics:
        if topic.name not in found:
            find(topic)
    return found


def _as_listed(_: object) -> Sequence[str]:
    return ()


def _all(_: object, parts: Parts) -> Parts:
    return parts


def _unchanged(_: object, answer: Answer) -> Answer:
    return answer


def _judged(found: TopicFindings, whole: Part) -> tuple[Confidence, str]:
    judged = judge(whole.headline, found.broken, found.complete)
    doubts: list[tuple[Confidence, str]] = [("medium", sentence) for sentence in whole.doubts]
    return lowest_of([judged, *doubts]) if doubts else judged


@dataclass(frozen=True)
class TopicQuestion(Generic[F]):
    """A question that consists of topics; ``question`` is the question itself.

    Most questions don't need the optional hooks.
    """

    name: str
    #: The topics, in the order of the report if the plan implies no other. The findings of each
    #: topic are in the field of its name.
    topics: tuple[Topic[Any], ...]
    find: Callable[[Measured], F]
    #: The verdict, from the findings and the parts of the answer.
    verdict: Callable[[F, Parts], str]
    #: The answer if there are no parts.
    unmeasured: Callable[[F], Answer]
    #: Names of the topics in the order of figures, tables and parts; by default the order of
    #: ``topics``.
    order: Callable[[F], Sequence[str]] = _as_listed
    #: Names of the topics that contribute parts, in order; by default all topics.
    answering: Callable[[F], Sequence[str]] | None = None
    #: The parts of the answer: it may rearrange, omit or add to the parts of the topics.
    arranged: Callable[[F, Parts], Parts] = _all
    #: The confidence and its reason.
    judged: Callable[[F, Part], tuple[Confidence, str]] = _judged
    #: The completed answer.
    finished: Callable[[F, Answer], Answer] = _unchanged
    #: Whether the answer has the caveats and the advice that hold for all measurements
    #: (``parts.answer_of``).
    general: bool = True
    answers_from: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    def question(self) -> Question[F]:
        """The question in the form that reports use."""
        return Question(
            name=self.name,
            title=QUESTIONS[self.name],
            find=self.find,
            answer=self.answer,
            figures=self.figures,
            tables=self.tables,
            answers_from=self.answers_from,
            kernels=self.kernels,
            topics=self.topics,
        )

    def measured(
        self, found: F, names: Sequence[str] | None = None
    ) -> list[tuple[Topic[Any], Any]]:
        """Each measured topic and its findings; ``names`` selects topics and their order."""
        if names is None:
            topics = in_order(self.topics, self.order(found))
        else:
            by_name = {topic.name: topic for topic in self.topics}
            topics = [by_name[name] for name in names]
        sides = ((topic, getattr(found, topic.name)) for topic in topics)
        return [(topic, side) for topic, side in sides if side is not None]

    def answer(self, found: F) -> Answer:
        """The answer, merged from the parts of the topics; unmeasured if there are none."""
        names = None if self.answering is None else self.answering(found)
        of_topics = {
            topic.name: part
            for topic, side in self.measured(found, names)
            if (part := topic.part(side)) is not None
        }
        parts = self.arranged(found, of_topics)
        if not parts:
            return self.unmeasured(found)
        whole = merge(list(parts.values()))
        answer = answer_of(
            self.name,
            self.verdict(found, parts),
            whole,
            judged=self.judged(found, whole),
            broken=found.broken,
            general=self.general,
        )
        return self.finished(found, answer)

    def figures(self, found: F) -> list[Figure]:
        """The figures of each topic."""
        return [figure for topic, side in self.measured(found) for figure in topic.figures(side)]

    def tables(self, found: F) -> list[Table]:
        """The tables of each topic; the leading tables of the first topic come first."""
        measured = self.measured(found)
        first = [table for topic, side in measured[:1] for table in topic.leading(side)]
        return first + [table for topic, side in measured for table in topic.tables(side)]


def plan_order(topics: Sequence[Topic[Any]], plan: Plan) -> tuple[str, ...]:
    """The names of the topics in the order of the plan's first cells of their kernels.

    A topic without kernels of its own follows its predecessor in ``topics``. Topics whose kernels
    the plan lacks come last.
    """
    first: dict[str, int] = {}
    for place, cell in enumerate(plan.cells):
        first.setdefault(cell.kernel, place)
    last = len(plan.cells)
    places: dict[str, int] = {}
    before = 0
    for topic in topics:
        if topic.kernels:
            before = min(
                (place for name, place in first.items() if name.startswith(topic.kernels)),
                default=last,
            )
        places[topic.name] = before
    return tuple(sorted(places, key=places.__getitem__))


def in_order(topics: Sequence[Topic[Any]], order: Sequence[str]) -> list[Topic[Any]]:
    """The topics in the order of ``order``; unchanged if ``order`` is empty."""
    places = {name: place for place, name in enumerate(order)}
    return sorted(topics, key=lambda topic: places.get(topic.name, len(places)))
