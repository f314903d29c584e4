"""Findings on overlap: the share of each operation that computation hides, and who progresses it.

An MPI library may move data while the program computes (by the network adapter, by a thread), or
only within its own calls. The second kind needs calls during the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.kernels.nonblocking.overlap import OPERATIONS, OVERLAP, hidden_share_osu
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points
from assay.questions.network.parameters import message_bytes
from assay.stats.compare.directions import compared
from assay.stats.core.model import CellSummary

#: ``most``: computation hides more than half of the operation; ``little``: less than a tenth.
Hidden = Literal["most", "little", "open"]
_MOST, _LITTLE = 0.5, 0.1
# Words on a case, each of which is a comparison: most, little, calls help.
_WORDS = 3
# Time with calls at which they count as a help: 5% less.
_HELP = 1.05


@dataclass(frozen=True)
class OverlapCase:
    """One operation of one size at one placement."""

    #: Operation, as in the kernel's parameter.
    op: str
    #: Size of a message, vector or block, in bytes; 0 for a barrier.
    bytes: int
    #: Hidden share without calls during the computation, by the definition of IMB-NBC:
    #: (communication + computation - both) / the longer of the two, from 0 to 1.
    hidden: Point
    #: The same with calls of MPI_Testall during the computation.
    hidden_with_calls: Point
    #: Time of the operation without computation, in s.
    communication: Point
    #: Time of the computation without the operation, in s.
    computation: Point
    #: Time of both together, in s.
    overlapped: Point
    #: Time of both together with calls of MPI_Testall, in s.
    with_calls: Point
    #: Hidden share by the definition of the OSU benchmarks, from the medians:
    #: (communication + computation - overlapped) / communication, at least 0.
    osu: float
    #: Time without calls over the time with calls.
    gain: Ratio
    #: Hidden share in a word; ``open`` unless the interval lies beyond the limit.
    progress: Hidden
    #: Whether calls shorten both together by at least 5%, beyond the range of ``gain``.
    calls_help: bool


@dataclass(frozen=True)
class OverlapFindings:
    """Overlap of a run."""

    #: Cases by operation, placement and size.
    cases: tuple[OverlapCase, ...]
    #: The case of the largest size of each operation and placement.
    largest: tuple[OverlapCase, ...]
    #: The case for the verdict: the largest exchange on the most nodes, or the first other one.
    head: OverlapCase
    #: Points of the figure, without calls.
    points: tuple[Point, ...] = field(metadata=INTERNAL)


def find(measured: Measured) -> OverlapFindings | None:
    """Findings on overlap; None if no usable cell measured it."""
    found = [
        point
        for point in points(measured.cells, OVERLAP, "overlap")
        if {"overlap_tested", "communication", "computation", "overlapped", "tested"}
        <= point.summary.metrics.keys()
    ]
    if not found:
        return None
    cases = sorted((_case(point, _WORDS * len(found)) for point in found), key=_place)
    last = {key_of(case): case for case in cases}  # sizes ascend
    largest = tuple(last.values())
    head = min(largest, key=lambda case: (case.op != "exchange", -_nodes(case)))
    return OverlapFindings(
        cases=tuple(cases),
        largest=largest,
        head=head,
        points=tuple(case.hidden for case in cases),
    )


def key_of(case: OverlapCase) -> tuple[str, str, str]:
    """What cases of one curve have in common: the operation, the placement, the toolchain."""
    cell = case.hidden.summary.cell
    return case.op, repr(cell.placement), cell.toolchain


def _place(case: OverlapCase) -> tuple[int, str, str, int]:
    _, placement, toolchain = key_of(case)
    return OPERATIONS.index(case.op), placement, toolchain, case.bytes


def _nodes(case: OverlapCase) -> int:
    return case.hidden.summary.cell.placement.nodes


def _case(point: Point, comparisons: int) -> OverlapCase:
    cell = point.summary
    alone, computing = _metric(cell, "communication"), _metric(cell, "computation")
    overlapped, tested = _metric(cell, "overlapped"), _metric(cell, "tested")
    gain = ratio_of(overlapped, tested)
    helped = gain.compared(equal=_HELP, comparisons=comparisons)
    return OverlapCase(
        op=str(point.parameter("op")),
        bytes=max(message_bytes(point), 0),
        hidden=point,
        hidden_with_calls=_metric(cell, "overlap_tested"),
        communication=alone,
        computation=computing,
        overlapped=overlapped,
        with_calls=tested,
        osu=hidden_share_osu(
            *(each.metric.median for each in (alone, computing, overlapped)),
        ),
        gain=gain,
        progress=_progress(point, comparisons),
        calls_help=helped.direction == "more",
    )


def _metric(cell: CellSummary, name: str) -> Point:
    return Point(cell, cell.metrics[name])


def _progress(point: Point, comparisons: int) -> Hidden:
    metric = point.metric
    if metric.ci95 is None:
        return "open"
    low, high = metric.ci95
    hidden = compared(
        metric.median, (low, high), launches=metric.n, comparisons=comparisons, equal=_MOST
    )
    exposed = compared(
        1 - metric.median,
        (1 - high, 1 - low),
        launches=metric.n,
        comparisons=comparisons,
        equal=1 - _LITTLE,
    )
    if hidden.direction == "more":
        return "most"
    return "little" if exposed.direction == "more" else "open"


def with_progress(found: Sequence[OverlapCase], progress: Hidden) -> list[OverlapCase]:
    """The cases whose hidden share has that word."""
    return [case for case in found if case.progress == progress]
