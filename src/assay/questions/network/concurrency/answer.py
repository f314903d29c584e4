"""The answer on concurrent messages: shares of a single pair's and a single sender's bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import placement_text
from assay.model.placement import Placement
from assay.questions.common.answer import Evidence
from assay.questions.common.gate import is_possible
from assay.questions.common.parts import Part, merge
from assay.questions.common.ratios import range_text, ratio_row
from assay.questions.common.selection import quantity_text
from assay.questions.network.concurrency.findings import (
    SHARING,
    ConcurrencyFindings,
    ConcurrentPairs,
    ConcurrentSenders,
    KeptBandwidth,
)
from assay.units import counted, format_share, format_size

# Share of a single pair's bandwidth that the slowest of eight pairs got in Edmundsson et al.
# (2004), 5.2.
KEPT_BY_SETH = 0.9


def part(found: ConcurrencyFindings) -> Part | None:
    """Concurrency's part of the network's answer; None if it has no evidence.

    The headline numbers are the slowest pair, and the slowest of the most senders, at the largest
    message of each placement.
    """
    method = []
    if found.pairs:
        method.append(
            "Concurrent pairs: all pairs start a blocking ping-pong at the same time, each with "
            "the same number of round trips; the slowest and the fastest pair of each sample are "
            "reported (after Edmundsson et al. 2004, figure 2)."
        )
    if found.senders:
        method.append(
            "Concurrent sends: each rank of one node sends to a rank of another node, which "
            "acknowledges every message with an empty one; the slowest sender counts (after "
            "Luecke, Li & Cuma 2005, 4.3)."
        )
    concurrency = merge(
        [
            *(_pairs(pairs, len(found.pairs)) for pairs in found.pairs),
            *map(_senders, found.senders),
            Part(method=method),
        ]
    )
    return concurrency if concurrency.evidence else None


def _pairs(found: ConcurrentPairs, compared: int) -> Part:
    """Evidence on concurrent pairs at the largest and the smallest message.

    ``compared``: number of placements that are compared with a single pair.
    """
    part = Part()
    where = placement_text(found.placement)
    name = counted(found.pairs, "concurrent pair")
    if found.slowest and found.bytes is not None:
        kept = [
            ("slowest", found.slowest),
            *([("fastest", found.fastest)] if found.fastest else []),
        ]
        size = format_size(found.bytes)
        part.evidence += [
            _kept_row(f"{name}, {size}, {which} pair", one, where, "one pair")
            for which, one in kept
        ]
        part.headline.append(found.slowest.point)
        # A share without an interval is evidence, but not part of the verdict.
        shares = [
            one.share
            for _, one in kept
            if one.share is not None
            and one.share_ci95
            and is_possible(one.share, one.share_ci95, "measured")
        ]
        if shares:
            one_share = format_share(found.slowest.share, found.slowest.share_ci95)
            gets = one_share if len(kept) == 1 else _range(shares)
            part.remark = (
                f"with {counted(found.pairs, 'concurrent pair')}, each pair gets {gets} of a "
                f"single pair's bandwidth ({size})"
            )
            less = found.slowest.compared(KEPT_BY_SETH, compared).direction == "less"
            if found.pairs > 1 and less:
                part.advice.append(_advice_for_pairs(found, found.slowest))
    if found.slowdown:
        part.evidence.append(
            ratio_row(
                f"{name}, {format_size(min(found.alone))}, slowest pair",
                found.slowdown,
                metric="slowdown",
                note=f"{where}; its latency over a single pair's latency",
                above_first=True,
            )
        )
    return part


def _senders(found: ConcurrentSenders) -> Part:
    """Evidence on the concurrent senders of a node against a single sender."""
    part = Part()
    if found.bytes is None:
        return part
    where = placement_text(found.placement)
    slowdown, size = found.slowdowns[found.most][found.bytes], format_size(found.bytes)
    name = f"{found.most} concurrent senders, {size}"
    if found.each:
        part.evidence.append(_kept_row(f"{name}, slowest sender", found.each, where, "one sender"))
    if found.together:
        alone = f"{found.most} × one sender"
        part.evidence.append(_kept_row(f"{name}, in total", found.together, where, alone))
    part.headline.append(found.each.point if found.each else slowdown.above)
    part.evidence.append(ratio_row(name, slowdown, metric="slowdown", note=where, above_first=True))
    if slowdown.ci95 is None:
        return part
    times = slowdown.compared()
    clause = (
        f"{found.most} senders take {quantity_text(times.value, '', slowdown.ci95)} as long as one "
        f"at {size}"
    )
    if times.direction == "open":
        clause = (
            f"the time of {found.most} senders is not distinguishable from the time of one at "
            f"{size} ({range_text(times, slowdown.ci95)} times)"
        )
    if found.shared_from is None:
        negligible = slowdown.ci95[1] < SHARING
        part.remark = f"{clause}: contention is negligible" if negligible else clause
        return part
    shared_from = format_size(found.shared_from)
    part.advice.append(
        f"Messages of {shared_from} or more that {found.most} ranks of a node send concurrently "
        f"share {_shared(found.placement)}{_unshared(found)}. Codes whose ranks all send large "
        "messages at the same time gain from fewer ranks per node, or from sending in turns."
    )
    part.remark = f"{clause}, and they share bandwidth at {shared_from} and above"
    return part


def _unshared(found: ConcurrentSenders) -> str:
    """A clause on the messages that don't share, if the intervals show any."""
    if found.unshared_to is None:
        return ""
    return f"; messages up to {format_size(found.unshared_to)} hardly do"


def _kept_row(label: str, kept: KeptBandwidth, note: str, alone: str) -> Evidence:
    """A bandwidth against a single pair's or sender's, times ``times``, if that was measured."""
    metric, single = kept.point.metric, kept.single
    names = (name for name, one in kept.point.summary.metrics.items() if one is metric)
    return Evidence(
        label=label,
        metric=next(names),
        unit=metric.unit,
        value=metric.median,
        ci95=metric.ci95,
        limit=single.metric.median * kept.times if single else None,
        limit_source=f"{alone}, measured in this run" if single else None,
        share=kept.share,
        share_ci95=kept.share_ci95,
        cells=[kept.point.summary.id, *([single.summary.id] if single else [])],
        note=note,
        bound="measured" if single else "",
    )


def _advice_for_pairs(found: ConcurrentPairs, slowest: KeptBandwidth) -> str:
    return (
        f"When all of {found.pairs} pairs exchange, the slowest gets "
        f"{format_share(slowest.share, slowest.share_ci95)} of a single pair's bandwidth "
        f"(Edmundsson et al. 2004 found roughly {KEPT_BY_SETH:.0%}): they share "
        f"{_shared(found.placement)}. For codes in which all ranks exchange large messages "
        "concurrently, use this number rather than a single pair's."
    )


def _shared(placement: Placement) -> str:
    if placement.nodes > 1:
        return "the node's injection bandwidth"
    return "the node's cores, caches or memory"


def _range(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"
