"""The questions' answers side by side: speed, network, steadiness and placement of every side.

Each run's answer is the same as in its own report.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import LABEL_LIMIT, Row
from assay.charts.plot import Plot
from assay.questions import ask_all
from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured, Reply
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder
from assay.records.model import RunData
from assay.report.build import section_of
from assay.report.model import Section
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.one_thread import one_thread
from assay.subjects.compare.published import PublishedSide
from assay.subjects.compare.sides import AnySide
from assay.units import capitalised, format_share

# The questions that are shown side by side.
SHOWN = ("speed", "network", "steadiness", "placement")
_RANKS: Mapping[Confidence, int] = {"low": 0, "medium": 1, "high": 2}
# Maximum rows of the figure, and height of a row in pixels.
_MOST, _STEP = 30, 22


@dataclass(frozen=True)
class QuestionView:
    """The answers of all sides to one question."""

    name: str
    title: str
    #: Answers by letter, for sides that can be asked.
    replies: Mapping[str, Reply[Any]]
    #: Reasons by letter, for sides that can't be asked.
    without: Mapping[str, str]

    @property
    def answers(self) -> dict[str, Answer]:
        """Evidence by the side's letter."""
        return {letter: reply.answer for letter, reply in self.replies.items()}


@dataclass(frozen=True)
class _EvidenceRow:
    """Quantities for which several sides have evidence."""

    label: str
    metric: str
    sides: Mapping[str, Evidence]


@one_thread
def find_views(sides: Sequence[AnySide]) -> list[QuestionView]:
    """Ask every side the questions ``SHOWN``.

    Each run is asked without the earlier runs of its machine. Otherwise sides of the same machine
    would affect each other's answers.
    """
    replies: dict[str, list[Reply[Any]]] = {}
    without: dict[str, str] = {}
    for letter, side in zip(string.ascii_uppercase, sides, strict=False):
        reason = _reason(side)
        if isinstance(side, PublishedSide) or reason:
            without[letter] = reason
        else:
            (run,) = side.runs
            replies[letter] = ask_all(Measured(run, _planned(run), ()))
    if not replies:
        return []
    views = []
    for place, first in enumerate(next(iter(replies.values()))):
        if first.question.name in SHOWN:
            by_side = {letter: asked[place] for letter, asked in replies.items()}
            views.append(QuestionView(first.question.name, first.question.title, by_side, without))
    return views


def _planned(run: RunData) -> list[Any]:
    """The summaries of the cells that the side measured."""
    measured = {measurement.cell.id for measurement in run.measurements}
    return [cell for cell in summarise_cells(run) if cell.id in measured]


def _reason(side: AnySide) -> str:
    """Why a side can't be asked; empty if it can be asked."""
    if isinstance(side, PublishedSide):
        return "published figures are not asked"
    if side.run.manifest.imported:
        return "imported numbers are not asked"
    if len(side.runs) > 1:
        return (
            "several runs" if side.pooled else "a group of runs: `assay report` compares its nodes"
        )
    return ""


def view_section(view: QuestionView) -> Section:
    """The section on one question, with verdicts and evidence of all sides in columns."""
    answers = view.answers
    answered = {letter: a for letter, a in answers.items() if a.status == "answered"}
    shown = answered or answers
    known = [a.confidence for a in answered.values() if a.confidence]
    least = min(known, key=lambda confidence: _RANKS[confidence], default=None)
    reasons = [
        f"{letter}: {a.confidence_why}" for letter, a in answered.items() if a.confidence == least
    ]
    rows = _rows(answered)
    whole = Answer(
        question=view.name,
        title=view.title,
        status="answered" if answered else "unmeasured",
        verdict=" ".join(f"{letter}: {answer.verdict}" for letter, answer in shown.items()),
        confidence=least,
        confidence_why=" ".join(reasons),
        caveats=[
            *(f"{letter}: {reason}." for letter, reason in view.without.items()),
            *(f"{letter}: {text}" for letter, a in answered.items() for text in a.caveats),
        ],
        advice=[f"{letter}: {text}" for letter, a in answered.items() for text in a.advice],
    )
    tables = [_answers(view), *([_evidence(view, rows)] if rows else [])] if answered else []
    return section_of(
        whole,
        figures=_figures(view, rows),
        tables=tables,
        findings={letter: findings_json(reply.findings) for letter, reply in view.replies.items()},
    )


def _rows(answers: Mapping[str, Answer]) -> list[_EvidenceRow]:
    """The evidence of all sides by label and metric, in the order of the first side with it."""
    rows: dict[tuple[str, str, str], dict[str, Evidence]] = {}
    for letter, answer in answers.items():
        for each in answer.evidence:
            rows.setdefault((each.label, each.metric, each.unit), {}).setdefault(letter, each)
    return [_EvidenceRow(label, metric, of) for (label, metric, _), of in rows.items()]


def _answers(view: QuestionView) -> Table:
    return (
        TableBuilder(list(view.answers.items()))
        .text("side", "Run", lambda row: row[0])
        .text("verdict", "Answer", lambda row: row[1].verdict)
        .text("confidence", "Confidence", lambda row: capitalised(row[1].confidence or ""))
        .table(f"compare-{view.name}-answers", "Answers")
    )


def _evidence(view: QuestionView, rows: Sequence[_EvidenceRow]) -> Table:
    builder = TableBuilder(rows)
    builder.text("label", "Quantity", lambda row: row.label)
    builder.text("metric", "Metric", lambda row: row.metric)
    for letter in view.answers:
        builder.numbers(letter, letter, _column(letter))
    return builder.table(
        f"compare-{view.name}-evidence",
        "Evidence",
        caption="One column per run. Parentheses: share of the run's limit. Brackets: 95% "
        "intervals.",
    )


def _column(letter: str) -> Callable[[_EvidenceRow], Entry]:
    return lambda row: _entry(row.sides.get(letter))


def _entry(found: Evidence | None) -> Entry:
    if found is None:
        return NOTHING
    text = quantity_text(found.value, found.unit, found.ci95)
    if found.share is not None:
        text += f" ({format_share(found.share)})"
    return Entry(text, found.value)


def _figures(view: QuestionView, rows: Sequence[_EvidenceRow]) -> list[Figure]:
    """Shares of limits on all sides, if two or more quantities have limits on two sides."""
    shared = [row for row in rows if sum(each.share is not None for each in row.sides.values()) > 1]
    if len(shared) < 2:
        return []
    points = [
        _point(row, letter, each)
        for row in shared[:_MOST]
        for letter, each in row.sides.items()
        if each.share is not None
    ]
    return [
        _plot(points).figure(
            f"compare-{view.name}-shares",
            "Shares of limits",
            caption="Each quantity as a share of its limit, by run. Whiskers: 95% intervals.",
            alt=f"Shares of limits: {len(shared[:_MOST])} quantities, {len(view.answers)} runs.",
        )
    ]


def _point(row: _EvidenceRow, letter: str, found: Evidence) -> Row:
    low, high = found.share_ci95 or (None, None)
    return {
        "side": letter,
        "quantity": f"{row.label}: {row.metric}",
        "share": found.share,
        "low": low,
        "high": high,
    }


def _plot(points: Sequence[Row]) -> Plot:
    columns = [
        DataColumn("side", "run", title="run", kind="name"),
        DataColumn("quantity", "what was measured", kind="name"),
        DataColumn("share", "value / limit", "1", format=".1%"),
        DataColumn("low", "lower end of its 95% interval", "1"),
        DataColumn("high", "upper end of its 95% interval", "1"),
    ]
    plot = Plot(columns, points, step=_STEP)
    y = plot.names("quantity", ticks=False, label_limit=LABEL_LIMIT, grid=False)
    plot.share(y=y, beside_y="side", colour=plot.key("side", {"title": "run"}, sort="ascending"))
    x = plot.axis("share", "share of limit", format="%")
    plot.intervals("low", "high", x=x)
    return plot.dots(size=60, opacity=1, x=x, tips=("quantity", "side", "share"))
