"""The answer on placement, from the findings of all topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.questions.common.answer import QUESTIONS, Answer, Confidence
from assay.questions.common.confidence import caveats_of, judge
from assay.questions.common.parts import Part, merge
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.placement.best import answer as best
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.causes import answer as causes
from assay.questions.placement.findings import PlacementFindings
from assay.questions.placement.order import answer as order
from assay.questions.placement.ratios import answer as ratios
from assay.questions.placement.steadiest import answer as steadiest
from assay.questions.placement.toolchains import answer as toolchains

NOT_SEARCHED = "The best ranks per node, threads and bindings were not searched for."


def answer(found: PlacementFindings) -> Answer:
    """The answer for a run that searched placements, or compared toolchains or rank orders."""
    parts = [
        *([steadiest.part(found.steadiest)] if found.steadiest else []),
        *([toolchains.part(found.toolchains)] if found.toolchains else []),
        *([order.part(found.order)] if found.order else []),
    ]
    if found.best is not None:
        return _searched(found, found.best, parts)
    if not parts:
        return unmeasured_answer("placement", _why_not(found.placements))
    headline = [point for part in parts for point in part.headline]
    bounds = Part(caveats=caveats_of(headline), limits=[NOT_SEARCHED])
    return _answered([bounds, *parts], judge(headline, found.broken, found.complete))


def _why_not(placements: int) -> str:
    """The verdict without an answer; ``placements``: the most at which the same work ran."""
    if not placements:
        return "Not measured: no cell of this run has a result."
    if placements == 1:
        return "Not measured: it needs the same work at several placements, and this run has one."
    return (
        f"Not searched: this run has the same work at up to {placements} placements, as its rates "
        "show, but no search for the best ranks per node, threads and bindings."
    )


def _searched(found: PlacementFindings, searches: BestFindings, parts: Sequence[Part]) -> Answer:
    """The chosen placements, the reasons, then the other parts."""
    chosen = best.part(searches)
    if chosen is None:
        return unmeasured_answer(
            "placement",
            "Not answered: no placement could be measured.",
            best.failed_caveats(searches),
        )
    before = [
        replace(chosen, limits=[]),
        *([ratios.part(found.ratios)] if found.ratios else []),
        *([causes.part(found.causes)] if found.causes else []),
        Part(limits=chosen.limits),
    ]
    return _answered([*before, *parts], best.confidence(searches))


def _answered(parts: Sequence[Part], confidence: tuple[Confidence, str]) -> Answer:
    """The answer, merged from the parts, whose remarks are whole sentences."""
    merged = merge(parts)
    level, why = confidence
    return Answer(
        question="placement",
        title=QUESTIONS["placement"],
        status="answered",
        verdict=" ".join(part.remark for part in parts if part.remark),
        confidence=level,
        confidence_why=why,
        evidence=merged.evidence,
        advice=merged.advice,
        caveats=merged.caveats,
        method=merged.method,
        limits=merged.limits,
    )
