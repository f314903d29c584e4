"""The scheduler's part of the answer on how busy a machine is."""

from __future__ import annotations

import dataclasses

from assay.questions.common.answer import Answer, Evidence
from assay.subjects.usage.queue.model import QueueFindings
from assay.subjects.usage.queue.words import replay_sentence, signed
from assay.units import counted, format_share
from assay.usage.queue.intervals import LEAST_RESAMPLES

TITLE = "How busy is it, and what does the queue cost?"
# Maximum number of what-ifs with one sentence each.
_MOST_SENTENCES = 3


def with_queue(answer: Answer, found: QueueFindings) -> Answer:
    """The answer with the model's results.

    The confidence comes from the use of the machine. A synthetic load has only the model's results.
    """
    if found.load.source != "log":
        return dataclasses.replace(
            answer,
            title=TITLE,
            status="answered",
            verdict=" ".join([replay_sentence(found), *_results(found)]),
            confidence="medium",
            confidence_why="The load is synthetic; real loads differ from it.",
            evidence=_evidence(found),
            advice=[],
            caveats=_caveats(found),
            method=_method(found),
            limits=found.unknown,
        )
    return dataclasses.replace(
        answer,
        title=TITLE,
        verdict=" ".join([answer.verdict, replay_sentence(found), *_results(found)]),
        evidence=[*answer.evidence, *_evidence(found)],
        caveats=[*answer.caveats, *_caveats(found)],
        method=[*answer.method, *_method(found)],
        limits=[*answer.limits, *found.unknown],
    )


def _results(found: QueueFindings) -> list[str]:
    """The sentences of what-ifs. If there are many, what-ifs without a clear change share one."""
    unclear = [
        each
        for each in found.what_ifs
        if each.wait_ci95 is not None and each.wait_ci95[0] <= 0.0 <= each.wait_ci95[1]
    ]
    if len(found.what_ifs) <= _MOST_SENTENCES or len(unclear) < 2:
        return [each.sentence for each in found.what_ifs]
    changes = (f"{each.text} ({signed(each.wait, each.wait_ci95)})" for each in unclear)
    return [
        *(each.sentence for each in found.what_ifs if each not in unclear),
        f"No clear change of the mean wait: {', '.join(changes)}.",
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
        if each.wait is not None
    )
    return rows


def _caveats(found: QueueFindings) -> list[str]:
    caveats = [
        f"Not in the model: {counted(each.number, 'job')} that {each.reason}."
        if each.reason.startswith(("never", "still", "started", "ran"))
        else f"Not in the model: {counted(each.number, 'job')} {each.reason}."
        for each in found.load.left_out
    ]
    agreement = found.agreement
    if agreement is not None and agreement.wait is not None:
        ratio = agreement.wait
        if not 0.8 <= ratio <= 1.25:
            caveats.append(
                f"The modelled mean wait is {ratio:.2g} times the real one, because the real "
                "scheduler had other rules, jobs or nodes. Changes relative to the model are "
                "more reliable than its waits."
            )
    outside = [
        each.text
        for each in found.what_ifs
        if found.resamples >= LEAST_RESAMPLES and each.wait is not None and each.wait_ci95 is None
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
            f"Intervals of what-ifs contain the middle 95% of the changes over {found.resamples} "
            f"loads of {load.weeks} weeks, drawn with replacement from the load's own weeks. A "
            "user's session (think times under 20 min) stays whole, in the week in which it "
            f"begins. Seed {found.seed}."
        )
    return method
