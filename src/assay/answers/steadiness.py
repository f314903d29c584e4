"""How steady is it? Noise within a run; how runs differ over days needs more of them."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arrivals import arrivals_of, arrivals_part
from assay.answers.confidence import AGAIN, caveats_of, describe, is_broken, judge, why_broken
from assay.answers.model import QUESTIONS, Answer
from assay.answers.noise import noise_of, noise_part
from assay.answers.select import Part, counted
from assay.answers.unmeasured import unmeasured
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.stats.noise import BARRIER, FTQ, FWQ

_KERNELS = (FWQ, FTQ, BARRIER)
_LATER = (
    "Not measured here: how runs differ over hours, days and weeks. It takes the same suite run "
    "again at other times."
)


def answer_steadiness(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Answer:
    """Noise of a run. ``history`` is for how runs differ, which isn't answered yet."""
    broken = [cell for cell in cells if cell.kernel in _KERNELS and is_broken(cell)]
    noise = noise_of(cells, run)
    arrivals = arrivals_of(cells, run)
    parts: list[Part] = []
    if noise:
        parts.append(noise_part(noise))
    if arrivals:
        parts.append(arrivals_part(arrivals))
    if not parts:
        return _unmeasured(cells, broken)
    headline = [point for part in parts for point in part.headline]
    confidence, why = judge(headline, broken, run.complete)
    sentence = "; ".join(part.remark for part in parts)
    return Answer(
        question="steadiness",
        title=QUESTIONS["steadiness"],
        status="answered",
        verdict=sentence[:1].upper() + sentence[1:] + ".",
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
        limits=[*(sentence for part in parts for sentence in part.limits), _LATER],
    )


def _unmeasured(cells: Sequence[CellSummary], broken: Sequence[CellSummary]) -> Answer:
    plain = unmeasured("steadiness", cells)
    if not broken:
        return plain
    import msgspec

    count = counted(len(broken), "cell")
    return msgspec.structs.replace(
        plain,
        verdict=f"Not measured: {count} of noise failed or ended before there was a result.",
        caveats=[f"{describe(cell)}: {why_broken(cell)}" for cell in broken],
    )
