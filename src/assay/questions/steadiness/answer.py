"""The answer on steadiness: differences between runs, their factors and causes, and noise."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Answer, Confidence, unmeasured_answer
from assay.questions.common.confidence import judge, lowest_of, why_broken
from assay.questions.common.parts import Part
from assay.questions.steadiness.findings import SteadinessFindings
from assay.questions.steadiness.variation.answer import confidence_in, too_few
from assay.units import capitalised, counted

_NOT_OVER_TIME = (
    "Not measured: how runs differ over hours, days and weeks. Run the same suite again at other "
    "times to measure this."
)
_NOTHING = "Not measured: this run has no results whose variation could be reported."


def arranged(found: SteadinessFindings, parts: Mapping[str, Part]) -> Mapping[str, Part]:
    """The parts of all topics, and a limit if variation over time was not measured."""
    if not parts or found.variation.varied:
        return parts
    return {**parts, "not over time": Part(limits=[_NOT_OVER_TIME])}


def verdict(_: SteadinessFindings, parts: Mapping[str, Part]) -> str:
    """A sentence per topic."""
    remarks = [part.remark for part in parts.values() if part.remark]
    return " ".join(f"{capitalised(remark)}." for remark in remarks)


def judged(found: SteadinessFindings, whole: Part) -> tuple[Confidence, str]:
    """The lower of the confidences in variation and noise, if both were measured."""
    varies = bool(found.variation.varied)
    confidences = [confidence_in(found.variation)] if varies else []
    if whole.headline or found.broken or not varies:
        confidences.append(judge(whole.headline, found.broken, found.complete))
    return lowest_of(confidences)


def unmeasured(found: SteadinessFindings) -> Answer:
    """The answer without results: what failed, or which results are missing."""
    few = found.variation.few
    verdicts = []
    if found.broken:
        count = counted(len(found.broken), "cell")
        verdicts.append(f"Not measured: {count} of noise failed or ended without a result.")
    if few is not None:
        verdicts.append(too_few(few, found.command))
    caveats = [f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in found.broken]
    return unmeasured_answer("steadiness", " ".join(verdicts) or _NOTHING, caveats)
