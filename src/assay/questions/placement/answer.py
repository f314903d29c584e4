"""The answer on placement, from the findings of all topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.questions.common.answer import Answer, Confidence, unmeasured_answer
from assay.questions.common.confidence import caveats_of, judge
from assay.questions.common.parts import Part
from assay.questions.placement.best import answer as best
from assay.questions.placement.best.topic import TOPIC as BEST
from assay.questions.placement.causes.topic import TOPIC as CAUSES
from assay.questions.placement.findings import PlacementFindings
from assay.questions.placement.order.topic import TOPIC as ORDER
from assay.questions.placement.ratios.topic import TOPIC as RATIOS
from assay.questions.placement.steadiest.topic import TOPIC as STEADIEST
from assay.questions.placement.toolchains.topic import TOPIC as TOOLCHAINS

NOT_SEARCHED = "The best ranks per node, threads and bindings were not searched for."
# The topics of the answer. After a search, its choice and the reasons precede the comparisons.
_SEARCHED = (BEST.name, RATIOS.name, CAUSES.name)
_COMPARED = (STEADIEST.name, TOOLCHAINS.name, ORDER.name)


def answering(found: PlacementFindings) -> tuple[str, ...]:
    """The names of the topics that contribute to the answer, in its order."""
    return _COMPARED if found.best is None else (*_SEARCHED, *_COMPARED)


def arranged(found: PlacementFindings, parts: Mapping[str, Part]) -> Mapping[str, Part]:
    """The parts in the order of the answer; none if a search measured no placement.

    The limits of a search follow the reasons for its choice. Without a search the limits say so.
    """
    if found.best is None:
        headline = [point for part in parts.values() for point in part.headline]
        bounds = Part(caveats=caveats_of(headline), limits=[NOT_SEARCHED])
        return {"bounds": bounds, **parts} if parts else {}
    chosen = parts.get(BEST.name)
    if chosen is None:
        return {}
    reasons = {name: parts[name] for name in _SEARCHED[1:] if name in parts}
    rest = {name: parts[name] for name in _COMPARED if name in parts}
    before = {BEST.name: replace(chosen, limits=[]), **reasons}
    return {**before, "bounds": Part(limits=chosen.limits), **rest}


def verdict(_: PlacementFindings, parts: Mapping[str, Part]) -> str:
    """The remarks of all parts, which are whole sentences."""
    return " ".join(part.remark for part in parts.values() if part.remark)


def judged(found: PlacementFindings, whole: Part) -> tuple[Confidence, str]:
    """The confidence in a search's choice; without a search, in the headline points."""
    if found.best is not None:
        return best.confidence(found.best)
    return judge(whole.headline, found.broken, found.complete)


def unmeasured(found: PlacementFindings) -> Answer:
    """The answer if a search has no result, or if there is nothing to compare."""
    if found.best is None:
        return unmeasured_answer("placement", _why_not(found.placements))
    return unmeasured_answer(
        "placement",
        "Not answered: no placement could be measured.",
        best.failed_caveats(found.best),
    )


def _why_not(placements: int) -> str:
    """The verdict without an answer; ``placements``: maximum number of placements of the same
    work.
    """
    if not placements:
        return "Not measured: no cell of this run has a result."
    if placements == 1:
        return "Not measured: the answer needs the same work at several placements, not at one."
    return (
        f"Not searched: this run measured the same work at up to {placements} placements (see its "
        "rates), but it didn't search for the best ranks per node, threads and bindings."
    )
