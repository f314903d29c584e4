"""The answer on devices of a node: copies between them, and their collectives."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.ratios import ratio_row
from assay.questions.common.selection import Point, evidence, quantity_text
from assay.questions.network.devices.findings import (
    DeviceCollective,
    DeviceNetworkFindings,
    DevicePair,
    PeerMatrix,
    size_of,
)
from assay.units import counted, counted_verb, format_quantity, format_share, format_size, listed

# A pair below this share of the fastest pair's bandwidth is reported.
_UNEVEN = 0.8
_PEERS = (
    "Copies between devices: one rank drives all devices of its node, and pairs take turns. Words "
    "that arrive are compared."
)
_COLLECTIVES = (
    "Collectives of devices: bus bandwidth, the bytes of the vector times 2 (n - 1) / n for "
    "allreduce and (n - 1) / n otherwise, over the time, for n devices (NVIDIA, nccl-tests, "
    "PERFORMANCE.md). Every element of the result is compared."
)


def part(found: DeviceNetworkFindings) -> Part:
    """The part on copies and collectives of devices."""
    part = Part()
    said: list[str] = []
    for matrix in found.matrices:
        _matrix(part, matrix)
    if found.matrices:
        _pairs_advice(part, found.matrices[0])
        part.method.append(_PEERS)
        said.append(_between(found.matrices[0]))
    if found.direct_over_host is not None:
        label = "Copies between devices: direct over through the host, slowest pair"
        part.evidence.append(ratio_row(label, found.direct_over_host))
    for op, one in found.collectives.items():
        _collective(part, op, one)
    if found.collectives:
        part.method.append(_COLLECTIVES)
        said.append(_over_all(found))
    part.headline = [matrix.point for matrix in found.matrices[:1]]
    part.headline += [one.bandwidth for one in found.collectives.values()]
    part.remark = "; ".join(said)
    return part


def _matrix(part: Part, matrix: PeerMatrix) -> None:
    both = ", both directions" if matrix.direction == "both" else ""
    through = {"host": " through the host", "direct": " directly"}.get(matrix.path, "")
    name = f"Copies between devices{through}{both}"
    size = format_size(matrix.bytes)
    slowest = f"{size}; {_pair(matrix.slowest)}"
    part.evidence.append(_row(f"{name}, slowest pair", matrix.point, "bandwidth", matrix, slowest))
    if matrix.latency is not None:
        part.evidence.append(evidence(f"{name}, 8 B, slowest pair", matrix.latency, "latency"))
    if matrix.links is not None:
        part.limits.append(
            f"Copies between devices: {format_quantity(matrix.links, 'B/s')}, {matrix.links_name}; "
            "a pair may have only some of them."
        )
    for level in matrix.groups:
        groups = listed([f"{{{', '.join(map(str, group))}}}" for group in level.groups])
        part.limits.append(
            f"Devices form {counted(len(level.groups), 'group')}: {groups}. Copies between groups "
            f"take {level.between / level.within:.2f} times as long."
        )


def _pairs_advice(part: Part, matrix: PeerMatrix) -> None:
    """Advice on pairs that copy through the host or are slow."""
    slow = [p for p in matrix.pairs if p.bandwidth < _UNEVEN * matrix.fastest.bandwidth]
    by_host = [pair for pair in matrix.pairs if pair.direct is False]
    if by_host and len(by_host) < len(matrix.pairs):
        part.advice.append(
            f"{counted(len(by_host), 'pair')} of devices ({_first(by_host)}) can't write into each "
            "other's memory, and copy through the host: place ranks that exchange data on other "
            "pairs, or check access between devices (`nvidia-smi topo -m`, ACS, IOMMU)."
        )
    elif slow and not matrix.groups:
        ratio = matrix.slowest.bandwidth / matrix.fastest.bandwidth
        part.advice.append(
            f"Copies between devices differ: {_pair(matrix.slowest)} reaches {ratio:.0%} of "
            f"{_pair(matrix.fastest)}. Place ranks that exchange much data on fast pairs; if all "
            "pairs should be alike, check the links between the devices."
        )


def _pair(pair: DevicePair) -> str:
    return f"{pair.sender} to {pair.receiver}"


def _first(pairs: list[DevicePair]) -> str:
    shown = [_pair(pair) for pair in pairs[:3]]
    return ", ".join(shown) + (", …" if len(pairs) > len(shown) else "")


def _row(label: str, point: Point, metric: str, links: PeerMatrix | DeviceCollective,
         note: str) -> Evidence:  # fmt: skip
    """Links are a reference: a switch that reduces lets a collective exceed them."""
    return evidence(
        label, point, metric, limit=links.links, limit_source=links.links_name, note=note
    )


def _collective(part: Part, op: str, one: DeviceCollective) -> None:
    devices = counted(one.bandwidth.summary.cell.placement.ranks, "device")
    by = f", by {one.library}" if one.library else ""
    note = f"{format_size(size_of(one.bandwidth))}{by}"
    name = op.capitalize().replace("_", "-")
    label = f"{name} on {devices}, bus bandwidth"
    part.evidence.append(_row(label, one.bandwidth, "bandwidth", one, note))
    if one.smallest is not None:
        size = format_size(size_of(one.smallest))
        part.evidence.append(evidence(f"{name} of {size} on {devices}", one.smallest, "time"))


def _between(matrix: PeerMatrix) -> str:
    low = format_quantity(matrix.slowest.bandwidth, "B/s")
    high = format_quantity(matrix.fastest.bandwidth, "B/s")
    rates = low if low == high else f"{low} to {high}"
    return f"{counted_verb(len(matrix.devices), 'device', 'copy')} to each other at {rates}"


def _over_all(found: DeviceNetworkFindings) -> str:
    op = "allreduce" if "allreduce" in found.collectives else next(iter(found.collectives))
    one = found.collectives[op]
    metric = one.bandwidth.metric
    devices = counted(one.bandwidth.summary.cell.placement.ranks, "device")
    share = ""
    if one.links is not None:
        share = f" ({format_share(metric.median / one.links)} of the links)"
    rate = quantity_text(metric.median, metric.unit)
    return f"{op.replace('_', '-')} on {devices} has a bus bandwidth of {rate}{share}"
