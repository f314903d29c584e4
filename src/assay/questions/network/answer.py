"""How does its network behave? One verdict from the sides of it that were measured."""

from __future__ import annotations

from typing import Any

from assay.questions.common.answer import QUESTIONS, Answer
from assay.questions.common.parts import answer_of, merge
from assay.questions.common.question import Topic
from assay.questions.common.unmeasured import unmeasured_answer
from assay.questions.network.collectives.topic import TOPIC as COLLECTIVES
from assay.questions.network.concurrency.topic import TOPIC as CONCURRENCY
from assay.questions.network.fabric.topic import TOPIC as FABRIC
from assay.questions.network.findings import NetworkFindings
from assay.questions.network.messages.topic import TOPIC as MESSAGES
from assay.questions.speed.messages import part_of_barrier

# Besides the messages of one pair, in the order of the verdict.
FURTHER: tuple[Topic[Any], ...] = (CONCURRENCY, COLLECTIVES, FABRIC)


def answer(found: NetworkFindings) -> Answer:
    """The network's answer; unmeasured for a run that holds no more than single message sizes.

    One size of ping-pong is context for speed: how a network behaves takes a sweep, or one of the
    other sides. A barrier is context here as there.
    """
    sides = ((topic, getattr(found, topic.name)) for topic in FURTHER)
    answered = (topic.part(side) for topic, side in sides if side is not None)
    parts = [part for part in answered if part is not None]
    if found.messages is not None and (found.messages.swept or parts):
        messages = MESSAGES.part(found.messages)
        parts = [*([messages] if messages else []), *parts]
    if not parts:
        return unmeasured_answer("network", _why_not(found.pingpong_nodes))
    merged = merge([*parts, *([part_of_barrier(found.barrier)] if found.barrier else [])])
    return answer_of(
        "network",
        QUESTIONS["network"],
        f"{merged.remark[:1].upper()}{merged.remark[1:]}.",
        merged,
        broken=found.broken,
        complete=found.complete,
    )


def _why_not(nodes: tuple[int, ...]) -> str:
    """What comes near, ``nodes`` being those that ping-pong's placements span."""
    if not nodes:
        return "Not measured in this run."
    where = "within one node" if nodes == (1,) else "between two ranks"
    return f"Not measured in this run: only ping-pong {where} was, and is reported under speed."
