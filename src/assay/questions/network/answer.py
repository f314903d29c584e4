"""How does its network behave? One verdict from all topics that were measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Answer, unmeasured_answer
from assay.questions.common.confidence import AGAIN, why_broken
from assay.questions.common.parts import Part, merge
from assay.questions.network.fabric.answer import plain_remark
from assay.questions.network.findings import NetworkFindings
from assay.questions.network.messages.sweeps import KERNEL as PINGPONG
from assay.questions.network.messages.topic import TOPIC as MESSAGES
from assay.questions.network.missing import sentence
from assay.questions.speed.messages import part_of_barrier
from assay.units import capitalised, listed

BARRIER = "network.barrier"


def arranged(found: NetworkFindings, parts: Mapping[str, Part]) -> Mapping[str, Part]:
    """The parts of the topics, and the barrier; empty if only single sizes of ping-pong are known.

    Single sizes are context for speed: this question needs a sweep of sizes or another topic. The
    barrier is context for both questions.
    """
    swept = found.messages is not None and found.messages.swept
    if not swept and not set(parts) - {MESSAGES.name}:
        return {}
    return {**parts, **({"barrier": part_of_barrier(found.barrier)} if found.barrier else {})}


def verdict(found: NetworkFindings, parts: Mapping[str, Part]) -> str:
    """The remarks of all parts as one sentence."""
    return f"{capitalised(merge(list(parts.values())).remark or _plain(found))}."


def _plain(found: NetworkFindings) -> str:
    """The verdict if no part has a remark, as with few launches on few nodes."""
    return plain_remark(found.fabric) if found.fabric else "nothing stands out"


def finished(found: NetworkFindings, answered: Answer) -> Answer:
    """The answer with the sentence on missing data as its first advice, if data are missing.

    The sentence replaces the general advice to measure again, which is less precise. If cells
    failed, the answer keeps both.
    """
    if found.shortage is None:
        return answered
    again = () if found.broken else (AGAIN,)
    advice = [sentence(found.shortage), *(one for one in answered.advice if one not in again)]
    return dataclasses.replace(answered, advice=advice)


def unmeasured(found: NetworkFindings) -> Answer:
    """The unmeasured answer: it says what failed, or what was measured instead."""
    caveats = [f"{cell_name(cell.cell)}: {why_broken(cell)}" for cell in found.broken]
    if found.broken and not found.pingpong_nodes:
        one = len(found.broken) == 1
        count = "the only network cell" if one else f"all {len(found.broken)} network cells"
        verdict = f"Not measured: {count} failed or "
        verdict += "was interrupted." if one else "were interrupted."
        return unmeasured_answer("network", verdict, caveats)
    return unmeasured_answer("network", _why_not(found), caveats)


def _why_not(found: NetworkFindings) -> str:
    """The verdict without an answer: what was measured, and what is missing."""
    if not found.kernels:
        return "Not measured: this run has no messages between ranks."
    others = [name for name in found.kernels if name not in (PINGPONG, BARRIER)]
    if others:
        missing = f" {sentence(found.shortage)}" if found.shortage else ""
        return f"Not answered: the results of {listed(others)} are not sufficient.{missing}"
    if not found.pingpong_nodes:
        return "Not measured in this run, except for barriers, which are reported under speed."
    where = "within one node" if found.pingpong_nodes == (1,) else "between two ranks"
    return f"Not measured in this run, except for ping-pong {where}, which is reported under speed."
