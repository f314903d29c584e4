"""How does its network behave? One verdict from all topics that were measured."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.questions.common.answer import QUESTIONS, Answer
from assay.questions.common.confidence import AGAIN
from assay.questions.common.parts import answer_of, merge
from assay.questions.common.question import Topic
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.network.collectives.topic import TOPIC as COLLECTIVES
from assay.questions.network.concurrency.topic import TOPIC as CONCURRENCY
from assay.questions.network.fabric.answer import plain_remark
from assay.questions.network.fabric.topic import TOPIC as FABRIC
from assay.questions.network.findings import NetworkFindings
from assay.questions.network.messages.topic import TOPIC as MESSAGES
from assay.questions.network.missing import sentence
from assay.questions.speed.messages import part_of_barrier
from assay.units import capitalised

# The topics other than messages of one pair, in the order of the verdict.
FURTHER: tuple[Topic[Any], ...] = (CONCURRENCY, COLLECTIVES, FABRIC)


def answer(found: NetworkFindings) -> Answer:
    """The network's answer; unmeasured for a run with only single message sizes of ping-pong.

    These are context for speed: this question needs a sweep of sizes or one of the other topics.
    A barrier is context for both questions.
    """
    sides = ((topic, getattr(found, topic.name)) for topic in FURTHER)
    found_parts = (topic.part(side) for topic, side in sides if side is not None)
    parts = [part for part in found_parts if part is not None]
    if found.messages is not None and (found.messages.swept or parts):
        messages = MESSAGES.part(found.messages)
        parts = [*([messages] if messages else []), *parts]
    if not parts:
        return unmeasured_answer("network", _why_not(found.pingpong_nodes))
    merged = merge([*parts, *([part_of_barrier(found.barrier)] if found.barrier else [])])
    answered = answer_of(
        "network",
        QUESTIONS["network"],
        f"{capitalised(merged.remark or _plain(found))}.",
        merged,
        broken=found.broken,
        complete=found.complete,
    )
    return _with_shortage(answered, found) if found.shortage else answered


def _plain(found: NetworkFindings) -> str:
    """The verdict where no part has one of its own, as with few launches of few nodes."""
    return plain_remark(found.fabric) if found.fabric else "nothing stands out"


def _with_shortage(answered: Answer, found: NetworkFindings) -> Answer:
    """The answer with the sentence on missing data first.

    It replaces the general advice to measure again, which would say the same less precisely, unless
    cells failed.
    """
    assert found.shortage is not None
    again = () if found.broken else (AGAIN,)
    advice = [sentence(found.shortage), *(one for one in answered.advice if one not in again)]
    return msgspec.structs.replace(answered, advice=advice)


def _why_not(nodes: tuple[int, ...]) -> str:
    """The verdict without an answer; ``nodes``: numbers of nodes of ping-pong's placements."""
    if not nodes:
        return "Not measured in this run."
    where = "within one node" if nodes == (1,) else "between two ranks"
    return f"Not measured in this run, except ping-pong {where}, which is reported under speed."
