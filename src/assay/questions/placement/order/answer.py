"""The part of the answer on rank orders."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import order_text
from assay.model.rank_order import ORDERS
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import Point, choice_note
from assay.questions.placement.order.findings import (
    OrderEffect,
    OrderFindings,
    SentBytes,
    effect_key,
)
from assay.questions.steadiness.factors.answer import p_text
from assay.units import capitalised, counted, format_quantity, format_share

# Maximum numbers of comparisons: in the verdict and the recommendations; in the evidence.
_IN_VERDICT, _IN_EVIDENCE = 3, 24
# Numbers of bytes that differ by a smaller share count as equal.
_EQUAL = 0.005


def part(found: OrderFindings) -> Part:
    """The part of the answer: the strongest significant effects first."""
    strongest = [effect for effect in found.headline if effect.significant]
    count = counted(len(found.effects), "comparison")
    clauses = [sentence(effect) for effect in _one_each(strongest)[:_IN_VERDICT]]
    remark = "; ".join(clauses) or (
        f"no rank order is distinguishable from block order ({count}{_span(found.effects)})"
    )
    shown = [*strongest, *(effect for effect in found.effects if not effect.significant)]
    skipped = (
        f"{counted(found.skipped, 'other order')} had too few launches for a comparison with block "
        "order."
    )
    return Part(
        remark=f"{capitalised(remark)}.",
        headline=_headline(found.headline),
        evidence=[_evidence(effect) for effect in shown[:_IN_EVIDENCE]],
        advice=_recommendations(strongest),
        method=[
            "Rank orders: each order is compared with block order while all other factors are "
            "equal, by medians over launches. The test is Welch's, Mann & Whitney's or Brunner & "
            f"Munzel's, as their assumptions allow; p-values are corrected by Holm for {count}. A "
            "difference is significant if the range of the ratio also excludes 1; of 1,000 runs "
            "without differences, at most one has such a range. Bytes "
            "between nodes count point-to-point messages, by the kernel's formulas or the "
            "communication matrix. Bytes of collective operations depend on the MPI library and "
            "are not counted (Barczak, Messom & Johnson 2003, figures 5 and 6)."
        ],
        limits=[skipped] if found.skipped else [],
    )


def _span(effects: Sequence[OrderEffect]) -> str:
    """``, 0.98 to 1.03 of its time``: the outermost ends of the 95% intervals."""
    low = min(effect.interval[0] for effect in effects)
    high = max(effect.interval[1] for effect in effects)
    return f", {low:.3f} to {high:.3f} of its time"


def _headline(effects: Sequence[OrderEffect]) -> list[Point]:
    both = [point for effect in effects for point in (effect.point, effect.block)]
    return list({point.summary.id: point for point in both}.values())


def _one_each(effects: Sequence[OrderEffect]) -> list[OrderEffect]:
    """The first effect of each order on each kernel or collective operation."""
    first: dict[tuple[str, str], OrderEffect] = {}
    for effect in effects:
        first.setdefault(effect_key(effect), effect)
    return list(first.values())


def sentence(effect: OrderEffect) -> str:
    """``cyclic order slows MG class A by 8% …: 3.1 times the bytes between nodes``."""
    low, high = effect.interval
    if effect.value >= 1.0:
        verb, size = "increases", format_share(effect.value - 1.0, (low - 1.0, high - 1.0))
    else:
        verb, size = "reduces", format_share(1.0 - effect.value, (1.0 - high, 1.0 - low))
    return (
        f"{order_text(effect.order)} {verb} the time of {effect.work} by {size} compared with "
        f"block order on {effect.where} ranks ({p_text(effect.p_corrected)}){bytes_text(effect)}"
    )


def bytes_text(effect: OrderEffect) -> str:
    """``: 3.1 times the bytes between nodes``; empty if unknown."""
    times = effect.bytes_ratio
    if times is None:
        more = effect.sent is not None and effect.sent.between > 0
        known = effect.sent_in_block is not None
        return ": it sends bytes between nodes, block order sends none" if known and more else ""
    if abs(times - 1.0) < _EQUAL:
        return ": the same number of bytes between nodes"
    if times > 1.0:
        return f": {times:.3g} times the bytes between nodes"
    return f": {format_share(times)} of the bytes between nodes"


def _evidence(effect: OrderEffect) -> Evidence:
    test = f"{p_text(effect.p_corrected)}{'' if effect.significant else ', not distinguishable'}"
    chosen = choice_note(effect.among, "chosen among {} comparable orders")
    return Evidence(
        label=f"{effect.work}, {order_text(effect.order)} over block, {effect.where} ranks",
        metric="ratio of times",
        unit="",
        value=effect.value,
        ci95=effect.interval,
        cells=[effect.point.summary.id, effect.block.summary.id],
        note=f"{test}{bytes_text(effect)}{'; ' if chosen else ''}{chosen}",
    )


def sent_text(sent: SentBytes | None) -> str | None:
    """``1.2 GB (31%)``: bytes between nodes and their share; only the share if bytes are
    unknown.
    """
    if sent is None:
        return None
    if sent.all == 1.0:
        return format_share(sent.share)
    return f"{format_quantity(sent.between, 'B')} ({format_share(sent.share)})"


def _recommendations(effects: Sequence[OrderEffect]) -> list[str]:
    """The order with the largest gain for each work, with its seats."""
    best: dict[tuple[str, str], OrderEffect] = {}
    for effect in sorted((e for e in effects if e.value < 1.0), key=lambda e: e.value):
        best.setdefault((effect.work, effect.where), effect)
    return [
        f"{effect.work} on {effect.where} ranks: use {order_text(effect.order)} of ranks"
        f"{_seats(effect)}, which reduces its time by "
        f"{format_share(1.0 - effect.value, (1.0 - effect.interval[1], 1.0 - effect.interval[0]))}."
        for effect in best.values()
    ][:_IN_VERDICT]


def _seats(effect: OrderEffect) -> str:
    order = effect.point.summary.cell.placement.order
    if order in ORDERS:
        return ""
    return (
        f" (the seat of each rank, counted in block order: {order}; launchers read it from a "
        "hostfile with one line per rank)"
    )
