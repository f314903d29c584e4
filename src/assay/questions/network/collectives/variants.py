"""Collectives with persistent requests or blocks of different sizes, against the usual ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.charts.figure import Figure
from assay.kernels.collective import block_shares
from assay.models.network.minimum import VARIANTS, MissingData
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import Point, quantity_text
from assay.questions.network.against import against, lacking, ratios_figure
from assay.questions.network.collectives.points import name_of, operation, ranks
from assay.units import capitalised


@dataclass(frozen=True)
class UnequalBlocks:
    """A call with blocks of different sizes against the same call with equal blocks."""

    #: Time with different blocks over the time with equal ones.
    times: Ratio
    #: The largest block over the mean.
    imbalance: float
    #: Bytes that the busiest rank receives from others, over those with equal blocks: a lower bound
    #: of the ratio for long messages.
    received: float


@dataclass(frozen=True)
class VariantFindings:
    """Calls that differ from the usual blocking ones with equal blocks."""

    #: Time of a persistent call (MPI_Start, MPI_Wait) over the time of the blocking call.
    persistent: tuple[Ratio, ...]
    #: Calls with blocks of different sizes.
    unequal: tuple[UnequalBlocks, ...]

    @property
    def missing(self) -> tuple[MissingData, ...]:
        """Data that the comparisons lack."""
        ratios = (*self.persistent, *(each.times for each in self.unequal))
        return lacking(VARIANTS, ratios)

    @property
    def comparisons(self) -> int:
        """Number of ratios among which the answer may choose."""
        return len(self.persistent) + len(self.unequal)


def is_usual(point: Point) -> bool:
    """Whether a call is blocking and has equal blocks."""
    return point.parameter("call") in (None, "blocking") and imbalance(point) == 1.0


def imbalance(point: Point) -> float:
    """The largest block over the mean; 1 for equal blocks."""
    value = point.parameter("imbalance")
    return float(value) if isinstance(value, (int, float)) else 1.0


def find_variants(found: Sequence[Point]) -> VariantFindings:
    """The variants among all points; each needs the same call in its usual form."""
    return VariantFindings(
        persistent=tuple(against(found, "call", "blocking")),
        unequal=tuple(
            UnequalBlocks(times, imbalance(times.above), _received(times.above))
            for times in against(found, "imbalance", 1.0)
        ),
    )


def _received(point: Point) -> float:
    """Bytes that the busiest rank receives, over those that each receives with equal blocks."""
    if operation(point) == "alltoallv":
        return imbalance(point)  # one block of this size from each rank
    size = ranks(point)
    return (1 - min(block_shares(size, imbalance(point)))) * size / (size - 1)


def add_variants(part: Part, found: VariantFindings) -> None:
    """Evidence on all variants, and advice where a ratio's range excludes equality."""
    for times in found.persistent:
        name = capitalised(name_of(times.above))
        part.evidence.append(ratio_row(f"{name}, persistent against blocking", times))
    for direction, do in (("less", "make persistent requests"), ("more", "keep blocking calls")):
        own = [each for each in found.persistent if _direction(found, each) == direction]
        if own:
            times = max(own, key=lambda each: abs(math.log(each.value)))
            part.advice.append(
                f"{capitalised(name_of(times.above))} by a persistent request takes "
                f"{quantity_text(times.value, '', times.ci95)} the time of a blocking call: {do} "
                "for calls that repeat."
            )
    for each in found.unequal:
        name = capitalised(name_of(each.times.above))
        blocks = f"blocks up to {each.imbalance:.3g} times the mean"
        more = f"the busiest rank receives {each.received:.0%} of the bytes of equal blocks"
        part.evidence.append(
            ratio_row(f"{name}, {blocks}, against equal ones", each.times, note=more)
        )
        if _direction(found, each.times, each.received) == "more":
            ratio = quantity_text(each.times.value, "", each.times.ci95)
            part.advice.append(
                f"{name} with {blocks} takes {ratio} the time with equal blocks, "
                f"although {more}: even out the blocks, or send the large ones apart."
            )
    if found.unequal:
        part.method.append(
            "Blocks of different sizes fall geometrically from rank 0 on; all bytes together are "
            "as many as with equal blocks."
        )


def _direction(found: VariantFindings, times: Ratio, equal: float = 1.0) -> str:
    return times.compared(comparisons=found.comparisons, equal=equal).direction


def variant_figures(found: VariantFindings) -> list[Figure]:
    """The ratios of persistent calls and of unequal blocks against size."""
    drawn = [
        ratios_figure(
            found.persistent,
            lambda times: operation(times.above),
            id="collectives-persistent",
            title="Persistent collectives against blocking ones",
            axis="time / time of the blocking call",
            series="operation",
            equal="On the dashed line both take as long.",
        ),
        ratios_figure(
            [each.times for each in found.unequal],
            lambda times: f"{operation(times.above)}, imbalance {imbalance(times.above):.3g}",
            id="collectives-imbalance",
            title="Collectives with blocks of different sizes against equal blocks",
            axis="time / time with equal blocks",
            series="operation and imbalance",
            equal="On the dashed line the imbalance costs nothing.",
        ),
    ]
    return [figure for figure in drawn if figure is not None]
