"""The answer on devices: rates against the limits of their models, and one device against all."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.gate import is_possible
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_of, ratio_row
from assay.questions.common.selection import (
    Point,
    evidence,
    measured_text,
    quantity_text,
    scaled,
)
from assay.questions.speed.devices.findings import (
    GEMM,
    STREAM,
    TRANSFER,
    DevicesFindings,
    DeviceShare,
    size_of,
)
from assay.questions.speed.devices.limits import unknown_models
from assay.stats.compare.directions import compared
from assay.units import counted, format_quantity, format_share, format_size, listed

# Shares of their limits below which something is wrong. STREAM reaches 85 to 95% of the bandwidth
# of the bus, a vendor's library 70 to 95% of the peak, and large transfers 75 to 90% of a link's
# rate, since packets have headers.
LOW_STREAM, LOW_PRODUCT, LOW_TRANSFER = 0.75, 0.6, 0.65
# Speed with all devices at once, relative to a single one, below which they disturb each other.
SHARED = 0.95
# Devices of a node count as alike above this ratio of the slowest to the fastest.
EVEN = 0.97
# Least ratio at which one way is recommended over another.
MUCH_SLOWER = 1.1
# Above this number of types, the verdict has the first two.
_MOST_TYPES = 3
_OPERATIONS = {
    "stream": "STREAM",
    "gemm": "matrix products",
    "to device": "transfers to the device",
    "to host": "transfers to the host",
}
_RESOURCES = {
    STREAM: "bandwidth of the memory",
    GEMM: "matrix products",
    TRANSFER: "transfers",
}
_ERRORS = {
    "device_ecc_uncorrected": "uncorrectable memory errors",
    "device_xid": "errors that the driver logged (Xid)",
}
_METHODS = {
    "stream": "Bandwidth of a device: arrays of four times its last cache or more, bytes as "
    "STREAM counts them, from before the first launch until the device has finished. Every "
    "element is compared with the processor's result.",
    "products": "Matrix products on a device: 2 n³ operations, all of them dense.",
    "transfers": "Transfers: a batch in a row between the memory of the host and of the device.",
    "all": "All devices: one rank's device after the other, then all at once.",
}


def part(found: DevicesFindings) -> Part | None:
    """The part on devices."""
    part = Part()
    if found.stream is not None:
        _add_stream(part, found, found.stream)
    if found.products:
        _add_products(part, found)
    if found.transfers or found.transfers_on_all:
        _add_transfers(part, found)
    _uneven(part, found)
    _launches(part, found)
    _latencies(part, found)
    _all_at_once(part, found)
    _state(part, found)
    if not part.evidence:
        return None
    part.limits += unknown_models(found.devices)
    part.headline = _headline(found)
    part.remark = "; ".join([*_sustained(found), *_shared(found)])
    return part


def _sustained(found: DevicesFindings) -> list[str]:
    """``the device NAME sustains 1.40 TB/s from memory (90% of its limit) and …``."""
    rates = []
    if found.stream is not None:
        rates.append(f"{measured_text(found.stream.point)} from memory{_of_limit(found.stream)}")
    products = [
        f"{quantity_text(share.point.metric.median, share.point.metric.unit)} in {kind} products"
        f"{_of_limit(share)}"
        for kind, share in found.products.items()
    ]
    rates += products[:2] if len(products) > _MOST_TYPES else products
    best = _best_transfer(found)
    if best is not None:
        direction = str(best.point.parameter("direction"))
        where = {"to device": "to the device", "to host": "to the host"}.get(direction, "both ways")
        rate = quantity_text(best.point.metric.median, "B/s")
        rates.append(f"{rate} in transfers {where}{_of_limit(best)}")
    names = list(dict.fromkeys(each.name for each in found.devices))
    # Records of other programs may not name it.
    device = f"the device {listed(names)}" if names else "a device"
    return [f"{device} sustains {listed(rates)}"] if rates else []


def _best_transfer(found: DevicesFindings) -> DeviceShare | None:
    return max(
        found.transfers.values(),
        key=lambda share: (share.share or 0.0, share.point.metric.median),
        default=None,
    )


def _shared(found: DevicesFindings) -> list[str]:
    """Clauses on operations in which all devices at once are certainly slower than one."""
    return [
        f"with {_devices_of(point)} at once each has {point.metric.median:.0%} of its single "
        f"speed in {_OPERATIONS.get(op, op)}"
        for op, point in found.all_at_once.items()
        if _is_shared(point)
    ]


def _is_shared(point: Point) -> bool:
    metric = point.metric
    return compared(metric.median, metric.ci95, launches=metric.n, equal=SHARED).direction == "less"


def _devices_of(point: Point) -> str:
    return counted(point.summary.cell.placement.ranks, "device")


def _headline(found: DevicesFindings) -> list[Point]:
    shares = [*([found.stream] if found.stream else []), *found.products.values()]
    shares += [*found.transfers.values(), *found.transfers_on_all.values()][:1]
    points = [share.point for share in shares] or [*found.launches.values()]
    return points or [*found.latencies.values(), *found.all_at_once.values()]


def _row(label: str, share: DeviceShare, metric: str, note: str = "") -> Evidence:
    limit = share.limit
    return evidence(
        label,
        share.point,
        metric,
        limit=limit.rate if limit else None,
        limit_source=limit.source if limit else None,
        note=note,
        bound="computed" if limit else "",
    )


def _of_limit(share: DeviceShare) -> str:
    """`` (89% of its limit)``; "" without a limit, or if the share is impossible."""
    if share.limit is None or share.share is None:
        return ""
    interval = scaled(share.point.metric.ci95, 1 / share.limit.rate)
    if not is_possible(share.share, interval, "computed"):
        return ""
    return f" ({share.share:.0%} of {'its limit' if share.devices == 1 else 'their limit'})"


def _is_low(share: DeviceShare, least: float) -> bool:
    if share.limit is None or share.share is None:
        return False
    metric = share.point.metric
    interval = scaled(metric.ci95, 1 / share.limit.rate)
    return compared(share.share, interval, launches=metric.n, equal=least).direction == "less"


def _add_stream(part: Part, found: DevicesFindings, stream: DeviceShare) -> None:
    op = stream.point.parameter("op")
    size = format_size(size_of(stream.point))
    part.evidence.append(
        _row(f"Device memory, STREAM {op}", stream, "bandwidth", f"arrays of {size}")
    )
    part.method.append(_METHODS["stream"])
    if stream.limit is not None:
        part.limits.append(f"Bandwidth of the memory: {stream.limit.source}.")
    for number, share in found.stream_on.items():
        label = f"Device memory, STREAM {share.point.parameter('op')}, {counted(number, 'device')}"
        part.evidence.append(_row(label, share, "bandwidth"))
    speedup = found.stream_speedup
    if speedup is not None:
        label = f"STREAM triad, {speedup.few.cores} → {counted(speedup.most.cores, 'device')}"
        part.evidence.append(
            Evidence(
                label=label,
                metric="speedup",
                unit="",
                value=speedup.value,
                ci95=speedup.interval,
                limit=speedup.perfect,
                limit_source="each device as fast as alone",
                share=speedup.efficiency,
                share_ci95=speedup.efficiency_interval,
                cells=[speedup.few.summary.id, speedup.most.summary.id],
            )
        )
    if _is_low(stream, LOW_STREAM):
        part.advice.append(
            f"STREAM reaches only {format_share(stream.share)} of the bandwidth of the device's "
            "memory: check its memory clock, whether it is divided or shared, and whether other "
            "processes use it (`assay doctor`)."
        )


def _add_products(part: Part, found: DevicesFindings) -> None:
    for kind, share in found.products.items():
        n, by = share.point.parameter("n"), found.libraries.get(kind, "")
        note = ", ".join(filter(None, (f"n = {n}" if n else "", f"by {by}" if by else "")))
        part.evidence.append(_row(f"Matrix product, {kind}", share, "rate", note))
        if _is_low(share, LOW_PRODUCT):
            part.advice.append(_slow_product(kind, share, by))
    part.method.append(_METHODS["products"])
    part.limits += [
        f"Peak of {kind}: {share.limit.source}."
        for kind, share in found.products.items()
        if share.limit is not None
    ]


def _slow_product(kind: str, share: DeviceShare, library: str) -> str:
    reaches = f"Matrix products of {kind} reach only {format_share(share.share)} of the peak"
    if library.startswith("own"):
        return (
            f"{reaches}: they were computed by assay's own kernel. Install the vendor's library "
            "and measure again with library=vendor."
        )
    return (
        f"{reaches}: check the clock and the power limit of the device while it computes "
        "(`assay system`), and larger matrices (n=…)."
    )


def _add_transfers(part: Part, found: DevicesFindings) -> None:
    for way, share in found.transfers.items():
        size = format_size(int(share.point.parameter("bytes") or 0))
        part.evidence.append(_row(f"Transfer, {way} memory", share, "bandwidth", size))
    for way, share in found.transfers_on_all.items():
        label = f"Transfer, {way} memory, {counted(share.devices, 'device')}"
        part.evidence.append(_row(label, share, "bandwidth"))
    part.method.append(_METHODS["transfers"])
    limits = [share.limit.source for share in found.transfers.values() if share.limit]
    if limits:
        part.limits.append(
            f"Link to the host: {limits[0]}; its rate after encoding, headers of packets included."
        )
    for way, ratio in found.pinned.items():
        part.evidence.append(ratio_row(f"Transfer, {way}: pinned over pageable", ratio))
    faster = [way for way, ratio in found.pinned.items() if _is_more(ratio, len(found.pinned))]
    if faster:
        most = max(found.pinned[way].value for way in faster)
        part.advice.append(
            f"Transfer from pinned memory ({listed(faster)}): it reaches up to {most:.2f} times "
            "the bandwidth of pageable memory."
        )
    _near(part, found)
    slow = [way for way, share in found.transfers.items() if _is_low(share, LOW_TRANSFER)]
    pinned = [way for way in slow if way.endswith("pinned")]
    if pinned:
        share = found.transfers[pinned[0]]
        part.advice.append(
            f"Transfers {pinned[0].partition(',')[0]} from pinned memory reach only "
            f"{format_share(share.share)} of the link: check its generation and lanes "
            "(`assay system`), and on which NUMA node the ranks run (binding=numa:all)."
        )


def _near(part: Part, found: DevicesFindings) -> None:
    for way, ratio in found.near.items():
        node = ratio.above.summary.cell.placement.numa_node
        other = ratio.below.summary.cell.placement.numa_node
        label = f"Transfer, {way}: from NUMA node {node} over NUMA node {other}"
        part.evidence.append(ratio_row(label, ratio))
        if _is_more(ratio, len(found.near)):
            part.advice.append(
                f"Run ranks that use the device on NUMA node {node}: transfers {way} are "
                f"{ratio.value:.2f} times as fast as from NUMA node {other}."
            )


def _is_more(ratio: Ratio, comparisons: int) -> bool:
    return ratio.compared(equal=MUCH_SLOWER, comparisons=comparisons).direction == "more"


def _uneven(part: Part, found: DevicesFindings) -> None:
    """The slowest device of a node over the fastest, and advice if they certainly differ."""
    for kernel, ratio in found.uneven.items():
        slow, fast = (point.parameter("device") for point in (ratio.above, ratio.below))
        label = f"Slowest over fastest device, {_RESOURCES[kernel]}"
        note = f"device {slow} over device {fast}"
        part.evidence.append(ratio_row(label, ratio, note=note, above_first=True))
        if ratio.compared(equal=EVEN, comparisons=len(found.uneven)).direction == "less":
            part.advice.append(
                f"Device {slow} reaches {ratio.value:.0%} of device {fast} in "
                f"{_RESOURCES[kernel]}: compare their clocks, temperatures and links "
                "(`assay system`)."
            )


def _launches(part: Part, found: DevicesFindings) -> None:
    names = {"single": "waiting for each", "row": "many in a row", "graph": "as a graph"}
    for mode, point in found.launches.items():
        part.evidence.append(evidence(f"Launch, {names.get(mode, mode)}", point, "time"))
    single, row = found.launches.get("single"), found.launches.get("row")
    if single and row:
        saved = ratio_of(single, row)
        part.evidence.append(ratio_row("Launch: waiting for each over many in a row", saved))


def _latencies(part: Part, found: DevicesFindings) -> None:
    for size, point in found.latencies.items():
        where = f"working set of {format_size(size)}" if size else "its memory"
        label = "Load on the device"
        part.evidence.append(evidence(f"{label}, {where}", point, "time"))


def _all_at_once(part: Part, found: DevicesFindings) -> None:
    for op, point in found.all_at_once.items():
        what, devices = _OPERATIONS.get(op, op), _devices_of(point)
        part.evidence.append(evidence(f"{devices} at once over one, {what}", point, "share"))
        if _is_shared(point):
            metric = point.metric
            cause = "links to the host" if op.startswith("to ") else "power and cooling"
            part.advice.append(
                f"With {devices} at once, each has {format_share(metric.median, metric.ci95)} "
                f"of its single speed in {what}: they share {cause}."
            )
    if found.all_at_once:
        part.method.append(_METHODS["all"])


def _state(part: Part, found: DevicesFindings) -> None:
    """New errors of a device come first; the caveats of the cells have them, too."""
    for name, count in found.errors.items():
        part.urgent.append(
            f"{format_quantity(count, '')} {_ERRORS.get(name, name)} occurred during the "
            "measurements: have the device examined before its results are used."
        )
