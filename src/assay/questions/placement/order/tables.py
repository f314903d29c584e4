"""The table of rank orders: each against block order, with the bytes between nodes."""

from __future__ import annotations

from assay.questions.common.selection import measured_text, quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.placement.order.answer import sent_text
from assay.questions.placement.order.findings import OrderEffect, OrderFindings, SentBytes
from assay.questions.steadiness.factors.answer import p_text
from assay.units import MISSING


def tables(found: OrderFindings) -> list[Table]:
    """Every order that was measured together with block order."""
    effects = found.effects
    return [
        Table(
            id="placement-order",
            title="Rank orders against block order",
            caption="Medians over launches with 95% intervals; below 1 the order is faster than "
            f"block. p by Holm for {len(effects)} comparisons. Bytes are point-to-point, in one "
            "operation: between nodes, and as a share of all.",
            columns=[
                Column("work", "Work"),
                Column("where", "Nodes × ranks"),
                Column("order", "Order"),
                Column("time", "Time", unit="s", numeric=True),
                Column("ratio", "Times block's", numeric=True),
                Column("p", "p, corrected", numeric=True),
                Column("sent", "Bytes between nodes", unit="B", numeric=True),
                Column("block", "in block order", unit="B", numeric=True),
            ],
            rows=[_row(effect) for effect in effects],
            folded=len(effects) > 30,
        )
    ]


def _row(effect: OrderEffect) -> list[Entry]:
    slower = effect.value > 1.0
    return [
        Entry(effect.work),
        Entry(effect.where),
        Entry(effect.order),
        Entry(measured_text(effect.point), effect.point.metric.median),
        Entry(quantity_text(effect.value, "", effect.interval), effect.value),
        Entry(
            p_text(effect.p_corrected),
            effect.p_corrected,
            tone="" if not effect.significant else "warn" if slower else "good",
        ),
        _sent(effect.sent),
        _sent(effect.sent_in_block),
    ]


def _sent(sent: SentBytes | None) -> Entry:
    text = sent_text(sent)
    if sent is None or text is None:
        return Entry(MISSING, tone="quiet")
    return Entry(text, sent.between)
