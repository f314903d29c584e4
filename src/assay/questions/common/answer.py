"""The answer to a question: verdict, evidence, confidence, advice."""

from __future__ import annotations

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
# What a limit is, and so how far a value can be from it (``assay.questions.common.gate``).
#   "": a reference, such as perfect scaling, that a value may pass.
#   measured: measured in the same run.
#   reported: reported by a device, such as the speed of a link.
#   computed: computed from properties of the hardware, such as the theoretical peak.
#   attained: computed, and a hundredth of it is attained by any sound result.
Bound = Literal["", "measured", "reported", "computed", "attained"]


@dataclass(frozen=True)
class Evidence:
    """One measured quantity against its limit. ``share`` = value / limit, with its interval.

    ``limit_source`` says where the limit comes from; ``cells`` are the ids it was computed from.
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
    #: What the limit is; empty for a reference that the value may pass.
    bound: Bound = ""


@dataclass(frozen=True)
class ImpossibleValue:
    """A number that can't be, which no verdict and no recommendation is based on."""

    #: Above its limit, collapsed (to less than a hundredth of its limit, or of what fewer cores
    #: give), or contention (more CPUs busy than there are).
    kind: Literal["above", "collapsed", "contention"]
    #: What was measured; ``value``, in ``unit``.
    label: str
    value: float
    unit: str
    #: What it can't pass, in the same unit.
    bound: float
    #: The ids it was computed from.
    cells: list[str]
    #: Value, bound, why it can't be, and what to do.
    sentence: str


@dataclass(frozen=True)
class Answer:
    """The answer to one of the questions. ``status`` unmeasured: ``verdict`` says why."""

    question: str
    title: str
    status: Literal["answered", "unmeasured"]
    verdict: str
    confidence: Confidence | None
    confidence_why: str
    evidence: list[Evidence] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    #: How it was measured.
    method: list[str] = field(default_factory=list)
    #: What bounds the results. Both are sentences.
    limits: list[str] = field(default_factory=list)
    #: Numbers that can't be; the verdict is not based on them.
    impossible: list[ImpossibleValue] = field(default_factory=list)
    #: What has to be known before any of its numbers is used, such as a setting that halves them.
    urgent: list[str] = field(default_factory=list)
    #: What published clusters achieved.
    published: list[str] = field(default_factory=list)
