"""The answer on exchanges between neighbours: which method is the fastest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.kernels.naming import placement_text
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import Point, evidence, quantity_text
from assay.questions.network.neighbours.findings import (
    COLLECTIVE,
    NeighbourFindings,
    method,
    operation,
)
from assay.questions.network.parameters import message_bytes
from assay.units import capitalised, counted, format_quantity, format_size

_METHODS = {
    COLLECTIVE: "by the neighbourhood collective",
    "messages": "by messages",
    "persistent": "by persistent messages",
    "persistent_collective": "by the persistent neighbourhood collective",
}


def part(found: NeighbourFindings) -> Part:
    """The part on exchanges between neighbours."""
    neighbours = Part(
        headline=[found.head],
        remark=f"{name_of(found.head)} takes {format_quantity(found.head.metric.median, 's')}",
        method=[
            "Neighbours: every rank exchanges a block with each neighbour in a grid, from a start "
            "time that all ranks agreed on until the last rank finishes."
        ],
    )
    for point in found.ends:
        where = placement_text(point.summary.cell.placement)
        neighbours.evidence.append(
            evidence(f"{capitalised(name_of(point))}", point, "time", note=where)
        )
    for times in found.methods:
        neighbours.evidence.append(
            ratio_row(
                f"{capitalised(name_of(times.above))} against {_METHODS[COLLECTIVE]}",
                times,
                above_first=True,
            )
        )
    for name in dict.fromkeys(method(each.above) for each in found.methods):
        own = [each for each in found.methods if method(each.above) == name]
        _add_advice(neighbours, name, own, len(found.methods))
    return neighbours


def name_of(point: Point) -> str:
    """``neighbour alltoall of 8 B by messages on 16 ranks``."""
    ranks = counted(point.summary.cell.placement.ranks, "rank")
    of = f"{operation(point)} of {format_size(message_bytes(point))}"
    return f"neighbour {of} {_METHODS.get(method(point), method(point))} on {ranks}"


def _add_advice(part: Part, name: str, found: Sequence[Ratio], comparisons: int) -> None:
    """Advice on the largest difference of a method from the collective, each way."""
    ways: tuple[tuple[str, Callable[[Sequence[Ratio]], Ratio], str], ...] = (
        ("less", _least, f"exchange {_METHODS.get(name, name)}"),
        ("more", _most, f"exchange {_METHODS[COLLECTIVE]}"),
    )
    for direction, extreme, instead in ways:
        own = [e for e in found if e.compared(comparisons=comparisons).direction == direction]
        if own:
            times = extreme(own)
            part.advice.append(
                f"{capitalised(name_of(times.above))} takes "
                f"{quantity_text(times.value, '', times.ci95)} the time of the neighbourhood "
                f"collective: {instead} at this size."
            )


def _least(found: Sequence[Ratio]) -> Ratio:
    return min(found, key=lambda each: each.value)


def _most(found: Sequence[Ratio]) -> Ratio:
    return max(found, key=lambda each: each.value)
