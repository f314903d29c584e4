"""The answer on steadiness: differences between runs, their factors and causes, and the noise."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name
from assay.questions.common.answer import QUESTIONS, Answer, Confidence
from assay.questions.common.confidence import judge, why_broken
from assay.questions.common.parts import Part, answer_of, merge
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.steadiness.findings import SteadinessFindings
from assay.questions.steadiness.topics import topics_of
from assay.questions.steadiness.variation.answer import confidence_in, too_few
from assay.units import capitalised, counted

_NOT_OVER_TIME = (
    "Not measured: how runs differ over hours, days and weeks. Run the same suite again at other "
    "times to measure this."
)
_NOTHING = "Not measured: this run has no results whose variation could be reported."
_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


def answer(found: SteadinessFindings) -> Answer:
    """The answer, merged from the topics' parts; unmeasured if there are none."""
    parts = [part for topic, one in topics_of(found) if (part := topic.part(one)) is not None]
    if not parts:
        return _unmeasured(found)
    whole = merge(parts)
    if not found.variation.varied:
        whole.limits.append(_NOT_OVER_TIME)
    return answer_of(
        "steadiness",
        QUESTIONS["steadiness"],
        _verdict(parts),
        whole,
        broken=found.broken,
        judged=_judged(found, whole),
    )


def _verdict(parts: Sequence[Part]) -> str:
    """A sentence per topic."""
    remarks = [part.remark for part in parts if part.remark]
    return " ".join(f"{capitalised(remark)}." for remark in remarks)


def _judged(found: SteadinessFindings, whole: Part) -> tuple[Confidence, str]:
    """The lower of the confidences in variation and noise, if both were measured."""
    varies = bool(found.variation.varied)
    judged = [confidence_in(found.variation)] if varies else []
    if whole.headline or found.broken or not varies:
        judged.append(judge(whole.headline, found.broken, found.complete))
    return _lower(judged)


def _lower(judged: Sequence[tuple[Confidence, str]]) -> tuple[Confidence, str]:
    """The lowest confidence, and all reasons."""
    lowest = min((confidence for confidence, _ in judged), key=_ORDER.index)
    return lowest, " ".join(dict.fromkeys(why for _, why in judged))


def _unmeasured(found: SteadinessFindings) -> Answer:
    few = found.variation.few
    verdicts = []
    if found.broken:
        count = counted(len(found.broken), "cell")
        verdicts.append(f"Not measured: {count} of noise failed or ended without a result.")
    if few is not None:
        verdicts.append(too_few(few, found.command))
    caveats = [f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in found.broken]
    return unmeasured_answer("steadiness", " ".join(verdicts) or _NOTHING, caveats)
