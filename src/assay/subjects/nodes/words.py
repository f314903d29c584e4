"""Nodes, kinds and groups in words and as evidence: their names, and how much they differ."""

from __future__ import annotations

from dataclasses import replace

from assay.questions.common.answer import Evidence
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.model import (
    CellByNode,
    ExplainedNode,
    NodeGroup,
    NodeKind,
    NodeValue,
    SuspectNode,
)
from assay.units import counted, format_change, format_probability, format_signed

# Maximum number of nodes that a sentence of the verdict or of the evidence names.
MAX_NAMED = 3
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
    return f"{_deviation_text(each)} in {each.what}"


def kind_evidence(each: NodeKind) -> Evidence:
    """The kind's deviation from the largest kind."""
    label = f"kind {each.nodes}: {each.what}"
    return _deviation(each, label, "the largest kind's", counted(each.count, "node"))


def size_text(each: SuspectNode) -> str:
    """``memory bandwidth 14% low``, ``arithmetic 9.0% slower``."""
    size = f"{abs(each.gain):.1%}" if abs(each.gain) < 0.095 else f"{abs(each.gain):.0%}"
    return f"{each.what} {size} {'low' if each.rate else 'slower'}"


def seen_text(each: SuspectNode) -> str:
    """The numbers of launches and earlier runs in which the node was slow."""
    if each.how != "outlier":
        return f"{each.how} over {each.occasions} runs, since {each.since}"
    launches = f"{each.slow} of {counted(each.launches, 'launch')}"
    if not each.occasions:
        return launches
    return f"{launches}, {each.again} of {each.occasions} earlier runs"


def suspect_text(each: SuspectNode) -> str:
    """``n17: memory bandwidth 14% low, consistent over 6 launches: suspect a DIMM``."""
    seen = seen_text(each)
    if each.how == "outlier":
        seen = f"in {seen}"
        if each.slow == each.launches > 1 and each.again == each.occasions:
            runs = f" and {each.occasions} earlier runs" if each.occasions else ""
            seen = f"consistent over {each.launches} launches{runs}"
    beyond = f" beyond the deviation of {each.within}" if each.within else ""
    return f"{each.node}: {size_text(each)}{beyond}, {seen}: {each.suspicion.partition(':')[0]}"


def deviation_text(each: ExplainedNode) -> str:
    """``arithmetic 5.0% [4.1%, 5.9%] slower``."""
    return f"{each.what} {_deviation_text(each)}"


def _deviation_text(each: NodeKind | ExplainedNode | NodeGroup) -> str:
    """``5.0% [4.1%, 5.9%] slower``; ``low`` or ``high`` for rates."""
    gain, ends = each.gain or 0.0, each.ci95 or (0.0, 0.0)
    sign = -1.0 if gain < 0.0 else 1.0
    low, high = (format_signed(end, ".1%") for end in sorted(sign * end for end in ends))
    words = ("low", "high") if each.rate else ("slower", "faster")
    return f"{abs(gain):.1%} [{low}, {high}] {words[gain > 0.0]}"


def chance_text(beyond: float) -> str:
    """What a probability of ``beyond_tail`` means."""
    return (
        f"in {format_probability(beyond)} of fleets without slow nodes some node is as far away, "
        "given how the other nodes differ"
    )


def group_text(each: NodeGroup) -> str:
    """``rack r03 (16 nodes): memory bandwidth 1.0% [0.7%, 1.3%] low``."""
    return f"{each.title} ({members_count(each)}): {each.resource} {_deviation_text(each)}"


def members_count(each: NodeGroup) -> str:
    """``16 nodes``."""
    return counted(len(each.members), "node")


def signed(value: NodeValue) -> str:
    """``-3.1%, -4.2 σ``: the deviation from the median, and in robust deviations."""
    sigmas = "" if value.sigmas is None else f", {format_signed(value.sigmas, '+.1f')} σ"
    return format_change(value.gain) + sigmas


def _named(values: list[NodeValue]) -> str:
    return ", ".join(f"{value.node} {signed(value)}" for value in values)


def _beyond_text(each: SuspectNode) -> str:
    return "" if each.beyond is None else f"; {chance_text(each.beyond)}"


def suspect_evidence(each: SuspectNode) -> Evidence:
    """The node's deviation from the typical node, and what it follows from."""
    note = (
        f"{seen_text(each)}: {each.suspicion} ({each.evidence}); adjusted p "
        f"{each.p_adjusted:.2g}{_beyond_text(each)}"
    )
    return _deviation(each, f"{each.node}: {each.what}", "the typical node's", note)


def explained_evidence(each: ExplainedNode) -> Evidence:
    """The deviation of a node that may differ by nature."""
    note = f"slow or different by nature: {chance_text(each.beyond)}"
    return _deviation(each, f"{each.node}: {each.what}", "the typical node's", note)


def group_evidence(each: NodeGroup) -> Evidence:
    """The group's deviation from the median group."""
    note = (
        f"{members_count(each)}, {each.nodes}; slower in {each.slow_launches} of "
        f"{counted(each.launches, 'launch')}; adjusted p {each.p_adjusted:.2g}"
    )
    return _deviation(each, f"{each.title}: {each.resource}", "the median group's", note)


def cell_evidence(cell: CellByNode) -> Evidence:
    """A cell's median over nodes, with the slowest and the fastest ones."""
    slow, fast = cell.values[: -MAX_NAMED - 1 : -1], cell.values[:MAX_NAMED]
    return Evidence(
        label=cell.label,
        metric=cell.metric,
        unit=cell.unit,
        value=cell.median,
        ci95=cell.ci95,
        cells=[cell.id],
        note=f"slowest {_named(slow)}; fastest {_named(fast)}",
    )


def over_devices(row: Evidence) -> Evidence:
    """A cell's row, whose values are of devices."""
    return replace(row, label=f"{row.label}, each device")


def _deviation(
    each: NodeKind | SuspectNode | ExplainedNode | NodeGroup, label: str, than: str, note: str
) -> Evidence:
    """The ratio to ``than`` of a rate or a time, from the gain and its interval."""
    gain, (low, high) = each.gain or 0.0, each.ci95 or (0.0, 0.0)
    return Evidence(
        label=label,
        metric=f"{'rate' if each.rate else 'time'} over {than}",
        unit="",
        value=1.0 + gain if each.rate else 1.0 - gain,
        ci95=(1.0 + low, 1.0 + high) if each.rate else (1.0 - high, 1.0 - low),
        note=note,
    )
