"""Parts of an answer: what each topic of a question adds, and how they are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.kernels.naming import cell_name
from assay.questions.common.answer import QUESTIONS, Answer, Confidence, Evidence
from assay.questions.common.confidence import AGAIN, caveats_of, why_broken
from assay.questions.common.selection import Point
from assay.questions.common.speedups import Speedup
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class Growth:
    """The ratio of ``what`` on the most cores to its value on the fewest."""

    what: str
    speedup: Speedup

    @property
    def cores(self) -> tuple[int, int]:
        """The fewest cores and the most."""
        return self.speedup.few.cores, self.speedup.most.cores


@dataclass
class Part:
    """The contribution of one topic to an answer."""

    evidence: list[Evidence] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    method: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    urgent: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    #: The points on which the verdict is based.
    headline: list[Point] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    #: Sentences on why confidence is at most medium if this part leads the answer.
    doubts: list[str] = field(default_factory=list)
    remark: str = ""


def merge(parts: Sequence[Part]) -> Part:
    """All parts merged in their order; their remarks are joined by semicolons."""
    return Part(
        evidence=[row for part in parts for row in part.evidence],
        advice=[sentence for part in parts for sentence in part.advice],
        caveats=[sentence for part in parts for sentence in part.caveats],
        method=[sentence for part in parts for sentence in part.method],
        limits=[sentence for part in parts for sentence in part.limits],
        urgent=[sentence for part in parts for sentence in part.urgent],
        published=[sentence for part in parts for sentence in part.published],
        headline=[point for part in parts for point in part.headline],
        growth=[growth for part in parts for growth in part.growth],
        doubts=[sentence for part in parts[:1] for sentence in part.doubts],
        remark="; ".join(part.remark for part in parts if part.remark),
    )


def answer_of(
    question: str,
    verdict: str,
    part: Part,
    *,
    judged: tuple[Confidence, str],
    broken: Sequence[CellSummary],
    general: bool = True,
) -> Answer:
    """The answer composed from a merged part.

    ``judged``: the confidence and its reason. ``broken``: cells without usable numbers that the
    question would have used. ``general``: add the caveats on broken cells and on the headline
    points, and the advice to measure again if the confidence is low.
    """
    confidence, why = judged
    failed = [f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in broken]
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="answered",
        verdict=verdict,
        confidence=confidence,
        confidence_why=why,
        evidence=part.evidence,
        advice=[*([AGAIN] if general and confidence == "low" else []), *part.advice],
        caveats=[*failed, *part.caveats, *caveats_of(part.headline)] if general else part.caveats,
        method=part.method,
        limits=part.limits,
        urgent=part.urgent,
        published=part.published,
    )
