"""The answer on STREAM: sustained bandwidth against the best sample, and its growth with cores."""

from __future__ import annotations

from collections.abc import Callable

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Growth, Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    evidence,
    labeller,
    quantity_text,
)
from assay.questions.common.speedups import Speedup, speedup_row
from assay.questions.speed.memory.bandwidth import BandwidthFindings
from assay.units import counted, format_quantity, format_share

# Gain of STREAM from the second processor of a node in Edmundsson et al. (2004), 5.1.
SECOND_PROCESSOR = "17 to 45%"
# A median below this share of the cell's best sample indicates a disturbance.
STEADY = 0.9
# From this gain on it is advised to use non-temporal stores.
WORTH_STORES = 1.1
# With a smaller gain from the fewest cores to the most, more ranks hardly help memory-bound codes.
LITTLE_GAIN = 0.15


def bandwidth_part(found: BandwidthFindings) -> Part:
    """The part on STREAM of the answer."""
    headline, operation = found.headline, found.operation
    row = _row(found, labeller(found.measured))
    fewer = [point for point in reversed(found.by_cores.values()) if point is not headline]
    part = Part(
        headline=[headline],
        evidence=[
            row(operation, headline),
            *(row(name, point) for name, point in found.operations.items()),
            *(row(operation, point) for point in [*fewer, *found.rivals]),
        ],
        method=[_method(headline)],
        limits=[
            f"Best observed bandwidth: {format_quantity(found.ceiling.bandwidth, 'B/s')} "
            f"({found.ceiling.source}). The theoretical bandwidth of the memory can't be read "
            "without privileges, so this is a lower bound for the limit."
        ],
    )
    if found.of_best_pass < STEADY:
        part.advice.append(
            f"STREAM {operation} sustains {found.of_best_pass:.0%} of its best pass (median "
            "over launches): some passes are disturbed. Look for other work on the node, and "
            "compare the covariates (steal time, load) of slow and fast launches."
        )
    if found.nontemporal is not None:
        _stores(part, found, found.nontemporal)
    if found.speedup is not None:
        _scaling(part, found, found.speedup)
    return part


def _stores(part: Part, found: BandwidthFindings, gain: Ratio) -> None:
    """Non-temporal stores against ordinary ones; without write-allocates triad gains up to 4/3."""
    cores = counted(gain.above.cores, "core")
    ordinary = format_quantity(gain.below.metric.median, "B/s")
    part.evidence.append(
        ratio_row(
            f"STREAM {found.operation} with non-temporal stores over ordinary stores, {cores}",
            gain,
            note=f"{ordinary} with ordinary stores, as most compiled codes have them",
        )
    )
    if gain.compared(equal=WORTH_STORES).direction == "more":
        part.advice.append(
            f"With ordinary stores, STREAM {found.operation} sustains {ordinary} on {cores}, and "
            f"{gain.value:.2f} times that with non-temporal stores: let the compiler use them "
            "where a code writes long arrays that it doesn't read again soon."
        )


def _row(
    found: BandwidthFindings, label: Callable[[Point], str]
) -> Callable[[str, Point], Evidence]:
    def row(operation: str, point: Point) -> Evidence:
        return evidence(
            f"STREAM {operation}, {counted(point.cores, 'core')}",
            point,
            "bandwidth",
            limit=found.ceiling.bandwidth,
            limit_source=found.ceiling.source,
            note=label(point),
            bound="measured",
        )

    return row


def _method(headline: Point) -> str:
    elements = headline.parameter("elements")
    stores = headline.parameter("stores")
    ranks = headline.summary.cell.placement.ranks
    size = ""
    if isinstance(elements, int) and elements > 0:
        whole = format_quantity(3 * 8.0 * elements * ranks, "B")
        size = f" The three arrays hold {whole} in total, with {elements:,} elements per rank."
    how = f" Stores: {stores}." if isinstance(stores, str) and stores != "auto" else ""
    return (
        "STREAM (McCalpin): each pass over the arrays is a sample, timed on the slowest rank; the "
        "bandwidth counts the bytes of the operation, without write-allocate traffic. This is "
        "tuned STREAM, not a standard result: it uses non-temporal stores if they are faster, "
        "and huge pages; it reports medians, while stream.c prints the best pass."
        f"{size}{how}"
    )


def _scaling(part: Part, found: BandwidthFindings, speedup: Speedup) -> None:
    few, most = speedup.few.cores, speedup.most.cores
    part.evidence.append(speedup_row(f"STREAM {found.operation}", speedup))
    part.growth = [Growth("memory bandwidth", speedup)]
    if found.saturates:
        part.remark = f"memory bandwidth saturates at {found.saturated} of {counted(most, 'core')}"
    if found.saturated < most:
        part.advice.append(
            f"Beyond {counted(found.saturated, 'core')}, more cores add less than "
            f"{1 / ARRIVED - 1:.0%} of memory bandwidth: spread ranks of codes bound by it over "
            "more nodes first."
        )
    gain = speedup.compared(equal=1 + LITTLE_GAIN).direction
    if gain == "less":
        ratio = quantity_text(speedup.value, "", speedup.interval)
        part.advice.append(
            f"With {counted(few, 'core')}, memory bandwidth is nearly exhausted (with {most} it is "
            f"{ratio}): run codes that stream through memory on fewer ranks per node, and use the "
            "other cores for work that stays in cache."
        )
    elif gain == "more" and speedup.interval is not None:
        low, high = (end - 1 for end in speedup.interval)
        part.advice.append(
            f"From {counted(few, 'core')} to {most}, codes bound by memory bandwidth gain at most "
            f"about {format_share(speedup.value - 1, (low, high))}; Edmundsson et al. (2004) found "
            f"{SECOND_PROCESSOR} from the second processor of their nodes. Codes that compute in "
            f"cache can gain up to {most / few - 1:.0%}."
        )
