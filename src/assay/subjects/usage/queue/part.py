"""The scheduler's part of the answer on how busy a machine is."""

from __future__ import annotations

import dataclasses

from assay.questions.common.answer import Answer, Confidence, Evidence, PartConfidence
from assay.subjects.usage.queue.model import QueueFindings
from assay.subjects.usage.queue.trust import (
    factor_text,
    lacks_sentences,
    least_confident,
    misfit_sentence,
)
from assay.subjects.usage.queue.words import replay_sentence, signed, wait_change
from assay.units import counted, format_share, listed
from assay.usage.queue.intervals import LEAST_RESAMPLES
from assay.usage.queue.model import QueueFit

# Name of the part of the answer that has the model's confidence.
WHAT_IFS = "what-ifs"
TITLE = "How busy is it, and what does the queue cost?"
# Maximum number of what-ifs with one sentence each.
_MOST_SENTENCES = 3


def with_queue(answer: Answer, found: QueueFindings) -> Answer:
    """The answer with the model's results.

    The use of the machine keeps its own confidence; what-ifs have that of the model. A synthetic
    load has only the model's results.
    """
    asked = " ".join([*_results(found), replay_sentence(found)])
    if found.load.source != "log":
        confidence, why = _synthetic_confidence(found)
        return dataclasses.replace(
            answer,
            title=TITLE,
            status="answered",
            verdict=asked,
            asked=asked,
            confidence=confidence,
            confidence_why=why,
            evidence=_evidence(found),
            advice=[],
            caveats=_caveats(found),
            method=_method(found),
            limits=found.unknown,
        )
    return dataclasses.replace(
        answer,
        title=TITLE,
        verdict=f"{asked} {answer.verdict}",
        asked=asked,
        evidence=[*answer.evidence, *_evidence(found)],
        advice=[*_advice(found), *answer.advice],
        caveats=[*answer.caveats, *_caveats(found)],
        method=[*answer.method, *_method(found)],
        limits=[*answer.limits, *found.unknown],
        confidences=_confidences(answer, found),
    )


def _declined(found: QueueFindings) -> QueueFit | None:
    """The fit, if what-ifs are not answered because of it."""
    fit = found.fit
    return fit if fit is not None and found.what_ifs and not fit.reproduced else None


def _confidences(answer: Answer, found: QueueFindings) -> list[PartConfidence]:
    """The confidence in the use and in the what-ifs; empty without what-ifs."""
    if not found.what_ifs:
        return []
    confidence, why = least_confident(found.what_ifs)
    parts = [PartConfidence(WHAT_IFS, confidence, why)]
    if answer.confidence is not None:
        use = PartConfidence("use of the machine", answer.confidence, answer.confidence_why)
        parts.insert(0, use)
    return parts


def _synthetic_confidence(found: QueueFindings) -> tuple[Confidence, str]:
    """The confidence in the results for a synthetic load, and what it refers to."""
    refers = "It refers to the modelled scheduler and to loads of this kind, not to a real machine."
    if not found.what_ifs:
        return "medium", f"The load is synthetic, and this is one draw of it. {refers}"
    confidence, why = least_confident(found.what_ifs)
    return confidence or "low", f"{why} {refers}"


def _advice(found: QueueFindings) -> list[str]:
    """What to do if the model doesn't reproduce the real waits."""
    fit = _declined(found)
    if fit is None:
        return []
    others = [each for each in found.policies if each.fit is not None and not each.chosen]
    best = min(others, key=lambda each: each.fit or 0.0, default=None)
    if best is not None and best.fit is not None and best.fit <= fit.limit:
        return [
            f"Repeat the what-ifs with `--model {best.name}`: its waits and the real ones differ "
            f"by a factor of {factor_text(best.fit)}."
        ]
    return [
        "Describe this scheduler's partitions, priorities and reservations in a file (`--model "
        "site.toml`), and repeat the what-ifs with it."
    ]


def _results(found: QueueFindings) -> list[str]:
    """The sentences of what-ifs, or why none is answered.

    If there are many, what-ifs without a clear change share one.
    """
    fit = _declined(found)
    if fit is not None:
        asked = listed([f"`{each.text}`" for each in found.what_ifs])
        noun, verb = ("what-if", "is") if len(found.what_ifs) == 1 else ("what-ifs", "are")
        return [
            f"The {noun} {asked} {verb} not answered.",
            misfit_sentence(fit),
            *lacks_sentences(fit, found.load.weeks),
        ]
    unclear = [
        each
        for each in found.what_ifs
        if each.wait_ci95 is not None and wait_change(each).direction == "open"
    ]
    if len(found.what_ifs) <= _MOST_SENTENCES or len(unclear) < 2:
        return [each.sentence for each in found.what_ifs]
    names = (f"{each.text} ({signed(each.wait, each.wait_ci95)})" for each in unclear)
    return [
        *(each.sentence for each in found.what_ifs if each not in unclear),
        f"No clear change of the mean wait: {', '.join(names)}.",
    ]


def _evidence(found: QueueFindings) -> list[Evidence]:
    rows = []
    if found.real is not None:
        rows.append(Evidence("Mean wait, real", "wait", "s", found.real.wait))
    rows.append(Evidence(f"Mean wait, modelled ({found.model})", "wait", "s", found.replay.wait))
    rows.extend(
        Evidence(
            f"Change of the mean wait: {each.text}",
            "wait",
            "1",
            each.wait,
            ci95=each.wait_ci95,
            note=each.words,
        )
        for each in found.what_ifs
        if each.wait is not None and each.confidence is not None
    )
    return rows


def _caveats(found: QueueFindings) -> list[str]:
    caveats = [
        f"Not in the model: {counted(each.number, 'job')} that {each.reason}."
        if each.reason.startswith(("never", "still", "started", "ran"))
        else f"Not in the model: {counted(each.number, 'job')} {each.reason}."
        for each in found.load.left_out
    ]
    fit = found.fit
    if fit is not None and not fit.reproduced and not found.what_ifs:
        caveats += [misfit_sentence(fit), *lacks_sentences(fit, found.load.weeks)]
    outside = [
        each.text
        for each in found.what_ifs
        if found.resamples >= LEAST_RESAMPLES
        and each.confidence is not None
        and each.wait is not None
        and each.wait_ci95 is None
    ]
    if outside:
        caveats.append(
            f"{', '.join(outside)}: no interval, because the change for the load itself is "
            "outside of the changes for resampled weeks, which mix busy and quiet weeks in a "
            "new order. The result holds only for this order of weeks."
        )
    if any(each.measure.refused for each in found.policies):
        refused = max(each.measure.refused for each in found.policies)
        caveats.append(f"{counted(refused, 'job')} can't run on the modelled machine.")
    return caveats


def _method(found: QueueFindings) -> list[str]:
    load = found.load
    method = [
        f"The model replays {counted(load.jobs, 'job')} (offered load "
        f"{format_share(load.offered)}) on {counted(load.nodes, 'node')} with "
        f"{counted(load.processors, 'processor')} in total. Requested times: {load.requests}.",
        *load.notes,
    ]
    if found.what_ifs and found.resamples:
        method.append(
            f"Intervals of what-ifs come from the changes over {found.resamples} loads of "
            f"{load.weeks} weeks, drawn with replacement from the load's own weeks. A user's "
            "session (think times under 20 min) stays whole, in the week in which it begins. The "
            "distances of the middle 95% from the change are multiplied by 2.5, since resampled "
            f"weeks scatter too little. Seed {found.seed}."
        )
        if found.fit is not None:
            method.append(
                "Intervals are extended by the factor between modelled and real waits, "
                f"{factor_text(found.fit.factor)}."
            )
    return method
