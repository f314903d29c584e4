"""The answer to a question: verdict, evidence, confidence, advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

QUESTIONS: dict[str, str] = {
    "papers": "What did the paper find, and what is it here?",
    "speed": "How fast is it, and how far from its limits?",
    "network": "How does its network behave?",
    "steadiness": "How steady is it?",
    "placement": "How should I use its nodes?",
    "design": "What should I build next?",
}

Confidence = Literal["high", "medium", "low"]
# Kind of a limit; it determines which values are possible (``assay.questions.common.gate``).
#   "": a reference, such as perfect scaling, that a value may pass.
#   measured: measured in the same run.
#   reported: reported by a device, such as the speed of a link.
#   computed: computed from properties of the hardware, such as the theoretical peak.
# attained: computed, and every undisturbed result reaches at least 1% of it.
Bound = Literal["", "measured", "reported", "computed", "attained"]


@dataclass(frozen=True)
class Evidence:
    """One measured quantity against its limit. ``share`` = value / limit, with its interval.

    ``limit_source`` says where the limit comes from. ``cells`` are the ids of the cells that the
    value was computed from.
    """

    label: str
    metric: str
    unit: str
    value: float
    #: 95% interval.
    ci95: tuple[float, float] | None = None
    limit: float | None = None
    limit_source: str | None = None
    share: float | None = None
    #: 95% interval of ``share``.
    share_ci95: tuple[float, float] | None = None
    cells: list[str] = field(default_factory=list)
    note: str = ""
    #: Kind of the limit; empty for a reference that the value may exceed.
    bound: Bound = ""


@dataclass(frozen=True)
class ImpossibleValue:
    """An impossible number; verdicts and recommendations don't use it."""

    #: ``above``: above its limit. ``collapsed``: less than 1% of its limit, or of the result on
    #: fewer cores. ``contention``: more CPUs were busy than the machine has.
    kind: Literal["above", "collapsed", "contention"]
    #: Name of the quantity; its value is ``value``, in ``unit``.
    label: str
    value: float
    unit: str
    #: Bound that the value violates, in the same unit.
    bound: float
    #: Ids of the cells that the value was computed from.
    cells: list[str]
    #: Sentence for readers: value, bound, why the value is impossible, and what to do.
    sentence: str


@dataclass(frozen=True)
class PartConfidence:
    """The confidence in one part of an answer, such as the what-ifs of a log."""

    #: Name of the part, as in "high confidence in the use of the machine".
    part: str
    #: None if the part isn't answered; ``why`` then says what is missing.
    confidence: Confidence | None
    #: Reasons for the confidence.
    why: str


@dataclass(frozen=True)
class Answer:
    """The answer to one of the questions. If ``status`` is unmeasured, ``verdict`` says why."""

    question: str
    title: str
    status: Literal["answered", "unmeasured"]
    verdict: str
    confidence: Confidence | None
    confidence_why: str
    evidence: list[Evidence] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    #: Sentences on how the results were measured.
    method: list[str] = field(default_factory=list)
    #: Sentences on what bounds the results.
    limits: list[str] = field(default_factory=list)
    #: Impossible numbers; the verdict doesn't use them.
    impossible: list[ImpossibleValue] = field(default_factory=list)
    #: Sentences to read before using any of the numbers, such as on a setting that halves them.
    urgent: list[str] = field(default_factory=list)
    #: Sentences on the results of published clusters.
    published: list[str] = field(default_factory=list)
    #: The confidence of each part, if parts have different grounds; ``confidence`` is the first's.
    confidences: list[PartConfidence] = field(default_factory=list)
    #: The beginning of the verdict that answers what the command line asks for, such as a what-if.
    #: The first screen shows all of it.
    asked: str = ""


def unmeasured_answer(question: str, verdict: str, caveats: Sequence[str] = ()) -> Answer:
    """An answer with the status unmeasured and this verdict; ``caveats`` say what failed."""
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="unmeasured",
        verdict=verdict,
        confidence=None,
        confidence_why="",
        caveats=list(caveats),
    )
