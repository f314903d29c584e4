"""The answer to a question: verdict, evidence, confidence, advice."""

from __future__ import annotations

from typing import Literal

import msgspec

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


class Evidence(msgspec.Struct, frozen=True):
    """One measured quantity against its limit. ``share`` = value / limit, with its interval.

    ``limit_source`` says where the limit comes from; ``cells`` are the ids it was computed from.
    ``bound``: what the limit is; empty for a reference that the value may pass.
    """

    label: str
    metric: str
    unit: str
    value: float
    ci95: tuple[float, float] | None = None
    limit: float | None = None
    limit_source: str | None = None
    share: float | None = None
    share_ci95: tuple[float, float] | None = None
    cells: list[str] = []
    note: str = ""
    bound: Bound = ""


class ImpossibleValue(msgspec.Struct, frozen=True):
    """A number that can't be, which no verdict and no recommendation is based on.

    ``kind``: above its limit, collapsed (to less than a hundredth of its limit, or of what fewer
    cores give), or contention (more CPUs busy than there are). ``label``: what was measured;
    ``value``, in ``unit``; ``bound``: what it can't pass, in the same unit. ``cells``: the ids it
    was computed from. ``sentence``: value, bound, why it can't be, and what to do.
    """

    kind: Literal["above", "collapsed", "contention"]
    label: str
    value: float
    unit: str
    bound: float
    cells: list[str]
    sentence: str


class Answer(msgspec.Struct, frozen=True):
    """The answer to one of the questions. ``status`` unmeasured: ``verdict`` says why.

    ``method``: how it was measured. ``limits``: what bounds the results. Both are sentences.
    ``impossible``: numbers that can't be; the verdict is not based on them. ``urgent``: what has to
    be known before any of its numbers is used, such as a setting that halves them. ``published``:
    what published clusters achieved.
    """

    question: str
    title: str
    status: Literal["answered", "unmeasured"]
    verdict: str
    confidence: Confidence | None
    confidence_why: str
    evidence: list[Evidence] = []
    advice: list[str] = []
    caveats: list[str] = []
    method: list[str] = []
    limits: list[str] = []
    impossible: list[ImpossibleValue] = []
    urgent: list[str] = []
    published: list[str] = []
