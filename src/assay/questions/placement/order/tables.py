"""Table of rank orders: each compared with block order, with the bytes between nodes."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    Tone,
    measured,
    quantity,
)
from assay.questions.placement.order.answer import sent_text
from assay.questions.placement.order.findings import OrderEffect, OrderFindings, SentBytes
from assay.questions.steadiness.factors.answer import p_text
from assay.units import counted


def tables(found: OrderFindings) -> list[Table]:
    """All orders that were compared with block order."""
    effects = found.effects
    return [
        TableBuilder(effects)
        .text("work", "Work", lambda each: each.work)
        .text("where", "Nodes × ranks", lambda each: each.where)
        .text("order", "Order", lambda each: each.order)
        .numbers("time", "Time", lambda each: measured(each.point), unit="s")
        .numbers(
            "ratio", "Time over block order", lambda each: quantity(each.value, "", each.interval)
        )
        .numbers("p", "p, corrected", _corrected)
        .numbers("sent", "Bytes between nodes", lambda each: _sent(each.sent), unit="B")
        .numbers("block", "In block order", lambda each: _sent(each.sent_in_block), unit="B")
        .table(
            "placement-order",
            "Rank orders against block order",
            caption="Medians over launches with 95% intervals. A ratio whose interval contains 1 "
            f"has no direction. p: corrected by Holm for {counted(len(effects), 'comparison')}. "
            "Bytes: sent point to point between nodes in one operation, and their share of all "
            "bytes.",
            folded=len(effects) > 30,
        )
    ]


def _corrected(effect: OrderEffect) -> Entry:
    tone: Tone = "" if not effect.significant else "warn" if effect.value > 1.0 else "good"
    return Entry(p_text(effect.p_corrected), effect.p_corrected, tone)


def _sent(sent: SentBytes | None) -> Entry:
    text = sent_text(sent)
    return NOTHING if sent is None or text is None else Entry(text, sent.between)
