"""How steady is it? How runs differ, what changes that and why, and the noise within a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.answers.arrivals import arrivals_of, arrivals_part
from assay.answers.causes import Causes, causes_of
from assay.answers.causes import part_of as causes_part
from assay.answers.confidence import AGAIN, caveats_of, describe, is_broken, judge, why_broken
from assay.answers.factor_words import factors_part
from assay.answers.factors import Factors, factors_of
from assay.answers.model import QUESTIONS, Answer, Confidence
from assay.answers.noise import noise_of, noise_part
from assay.answers.presence import presence_part
from assay.answers.select import Part
from assay.answers.study import Study, study
from assay.answers.unmeasured import unmeasured
from assay.answers.variation import confidence_in, too_few, variation_part
from assay.answers.walltime import Ask, asks_of, walltime_advice
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.stats.noise import BARRIER, FTQ, FWQ
from assay.units import counted

_KERNELS = (FWQ, FTQ, BARRIER)
_LATER = (
    "Not measured here: how runs differ over hours, days and weeks. It takes the same suite run "
    "again at other times."
)
_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(frozen=True)
class Steadiness:
    """What answer, tables and figures share, found once: it takes longer than all of them."""

    study: Study
    factors: Factors | None
    asks: tuple[Ask, ...]
    causes: Causes | None


def steadiness_of(run: RunData, history: Sequence[RunData] = ()) -> Steadiness:
    """How the cells of a run vary, and of ``history`` those of the same suite."""
    studied = study(run, history)
    return Steadiness(
        studied,
        factors_of(studied),
        tuple(asks_of(studied)),
        causes_of([each.repeats for each in studied.varied], run),
    )


def answer_steadiness(
    cells: Sequence[CellSummary],
    run: RunData,
    history: Sequence[RunData] = (),
    found: Steadiness | None = None,
) -> Answer:
    """How runs differ, and the noise of one; ``found``: what is known already."""
    found = steadiness_of(run, history) if found is None else found
    broken = [cell for cell in cells if cell.kernel in _KERNELS and is_broken(cell)]
    parts = _variation_parts(found)
    varies = bool(parts)
    noise = noise_of(cells, run)
    arrivals = arrivals_of(cells, run)
    if noise:
        parts.append(noise_part(noise))
    if arrivals:
        parts.append(arrivals_part(arrivals))
    if not parts:
        return _unmeasured(cells, broken, found.study)
    headline = [point for part in parts for point in part.headline]
    confidence, why = _confidence(
        confidence_in(found.study) if varies else None,
        judge(headline, broken, run.complete) if headline or broken or not varies else None,
    )
    return Answer(
        question="steadiness",
        title=QUESTIONS["steadiness"],
        status="answered",
        verdict=" ".join(
            part.remark[:1].upper() + part.remark[1:] + "." for part in parts if part.remark
        ),
        confidence=confidence,
        confidence_why=why,
        evidence=[row for part in parts for row in part.evidence],
        advice=[
            *([AGAIN] if confidence == "low" else []),
            *(sentence for part in parts for sentence in part.advice),
        ],
        caveats=[
            *(f"{describe(cell)}: {why_broken(cell)}" for cell in broken),
            *caveats_of(headline),
        ],
        method=[sentence for part in parts for sentence in part.method],
        limits=[
            *(sentence for part in parts for sentence in part.limits),
            *([] if varies else [_LATER]),
        ],
    )


def _variation_parts(found: Steadiness) -> list[Part]:
    """How cells vary, what changes that and why; none where no cell ran often enough."""
    variation = variation_part(found.study)
    if variation is None:
        return []
    variation.advice += walltime_advice(found.asks)
    presence = presence_part([each.repeats for each in found.study.varied])
    return [
        variation,
        *([factors_part(found.factors)] if found.factors else []),
        *([presence] if presence else []),
        *([causes_part(found.causes)] if found.causes else []),
    ]


def _confidence(*judged: tuple[Confidence, str] | None) -> tuple[Confidence, str]:
    """The lesser confidence, and what is to be said of each part."""
    known = [each for each in judged if each is not None]
    lesser = min((confidence for confidence, _ in known), key=_ORDER.index)
    return lesser, " ".join(dict.fromkeys(why for _, why in known))


def _unmeasured(
    cells: Sequence[CellSummary], broken: Sequence[CellSummary], studied: Study
) -> Answer:
    plain = unmeasured("steadiness", cells)
    import msgspec

    if studied.few is not None:
        plain = msgspec.structs.replace(plain, verdict=too_few(studied.few))
    if not broken:
        return plain
    count = counted(len(broken), "cell")
    return msgspec.structs.replace(
        plain,
        verdict=f"Not measured: {count} of noise failed or ended before there was a result.",
        caveats=[f"{describe(cell)}: {why_broken(cell)}" for cell in broken],
    )
