"""What an answer is: a verdict, its evidence, its confidence, the advice."""

from __future__ import annotations

from typing import Literal

import msgspec

QUESTIONS: dict[str, str] = {
    "speed": "How fast is it, and how far from its limits?",
    "network": "How does its network behave?",
    "steadiness": "How steady is it?",
    "placement": "How should I use its nodes?",
    "design": "What should I build next?",
}

Confidence = Literal["high", "medium", "low"]


class Evidence(msgspec.Struct, frozen=True):
    """One measured quantity against its limit. ``share`` = value / limit, with its interval.

    ``limit_source`` says where the limit comes from; ``cells`` are the ids it was computed from.
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


class Answer(msgspec.Struct, frozen=True):
    """The answer to one of the five questions. ``status`` unmeasured: ``verdict`` says just that.

    ``method``: how it was measured; ``limits``: what bounds it; both are sentences.
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
