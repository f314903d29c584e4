"""Kinds of nodes in words: their size and names, and how much they differ."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.model import NodeKind
from assay.units import counted, format_signed

_ORDINALS = {1: "second", 2: "third", 3: "fourth", 4: "fifth"}


def kinds_by_value(found: NodesFindings) -> list[NodeKind]:
    """Kinds that differ from the largest one, if values separated kinds."""
    if not found.kinds_by_value:
        return []
    return [each for each in found.kinds if each.gain is not None]


def kinds_text(found: NodesFindings) -> str:
    """``A second kind of 8 nodes, 1.5% [1.2%, 1.8%] slower in all kernels: n[1-8]. ``"""
    return "".join(
        f"A {_ORDINALS.get(place, 'further')} kind of {counted(each.count, 'node')}, "
        f"{kind_text(each)}: {each.nodes}. "
        for place, each in enumerate(kinds_by_value(found), 1)
    )


def kind_text(each: NodeKind) -> str:
    """``1.5% [1.2%, 1.8%] slower in all kernels``; only for kinds with a deviation."""
    gain, ends = each.gain or 0.0, each.ci95 or (0.0, 0.0)
    sign = -1.0 if gain < 0.0 else 1.0
    low, high = (format_signed(end, ".1%") for end in sorted(sign * end for end in ends))
    words = ("low", "high") if each.rate else ("slower", "faster")
    return f"{abs(gain):.1%} [{low}, {high}] {words[gain > 0.0]} in {each.what}"


def kind_evidence(each: NodeKind) -> Evidence:
    """The kind's deviation from the largest kind."""
    gain, (low, high) = each.gain or 0.0, each.ci95 or (0.0, 0.0)
    return Evidence(
        label=f"kind {each.nodes}: {each.what}",
        metric="rate over the largest kind's" if each.rate else "time over the largest kind's",
        unit="",
        value=1.0 + gain if each.rate else 1.0 - gain,
        ci95=(1.0 + low, 1.0 + high) if each.rate else (1.0 - high, 1.0 - low),
        note=counted(each.count, "node"),
    )
