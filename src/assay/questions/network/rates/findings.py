"""Findings on message rates: growth with the senders of a node, and threads against ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.kernels.nonblocking.rate import RATE
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points
from assay.questions.network.parameters import integer, message_bytes

Kind = Literal["ranks", "threads"]


@dataclass(frozen=True)
class RateCurve:
    """Rates of messages of one size from one node, by number of senders."""

    #: Whether the senders are ranks, or threads of ranks.
    kind: Kind
    #: Message size in bytes.
    bytes: int
    #: Number of nodes; 1: within a node.
    nodes: int
    #: Rate with the most senders over the rate with the fewest; None if there is one number of
    #: senders.
    growth: Ratio | None
    #: Points by ascending number of senders.
    points: tuple[Point, ...]


@dataclass(frozen=True)
class ThreadsAgainstRanks:
    """The same number of senders as threads and as ranks."""

    #: Number of senders.
    senders: int
    #: Message size in bytes.
    bytes: int
    #: Rate of the threads over the rate of the ranks.
    rates: Ratio
    #: "more" or "less" if the range of the ratio excludes equality, else "open".
    direction: Literal["more", "less", "open"]


@dataclass(frozen=True)
class RateFindings:
    """Message rates of a run."""

    #: Curves of ranks, then of threads, by number of nodes and size.
    curves: tuple[RateCurve, ...]
    #: Threads against ranks at the largest number of senders that both have, by size.
    threads: tuple[ThreadsAgainstRanks, ...]
    #: The curve for the verdict: ranks, the smallest messages, the most nodes.
    head: RateCurve
    #: All points.
    points: tuple[Point, ...] = field(metadata=INTERNAL)


def find(measured: Measured) -> RateFindings | None:
    """Findings on message rates; None if no usable cell measured them."""
    found = points(measured.cells, RATE, "rate")
    if not found:
        return None
    groups: dict[tuple[Kind, int, int, int, str], list[Point]] = {}
    for point in found:
        groups.setdefault(_key(point), []).append(point)
    curves = tuple(
        _curve(kind, size, nodes, group)
        for (kind, nodes, size, _, _), group in sorted(groups.items(), key=lambda each: each[0])
    )
    return RateFindings(
        curves=curves,
        threads=_threads(curves),
        head=min(curves, key=lambda curve: (curve.kind, -curve.nodes, curve.bytes)),
        points=tuple(found),
    )


def senders(point: Point) -> int:
    """The number of ranks of a node that send, times their threads."""
    placement = point.summary.cell.placement
    pairs = integer(point, "pairs") or placement.ranks // 2
    return pairs * placement.threads


def _key(point: Point) -> tuple[Kind, int, int, int, str]:
    cell = point.summary.cell
    kind: Kind = "threads" if cell.placement.threads > 1 else "ranks"
    size, window = message_bytes(point), integer(point, "window")
    return kind, cell.placement.nodes, size, window, cell.toolchain


def _curve(kind: Kind, size: int, nodes: int, group: Sequence[Point]) -> RateCurve:
    # If several cells have the same number of senders, the one with the fewest idle ranks counts.
    by_senders: dict[int, Point] = {}
    for point in sorted(group, key=lambda one: -one.summary.cell.placement.ranks):
        by_senders[senders(point)] = point
    ordered = tuple(by_senders[count] for count in sorted(by_senders))
    growth = ratio_of(ordered[-1], ordered[0]) if len(ordered) > 1 else None
    return RateCurve(kind, size, nodes, growth, ordered)


def _threads(curves: Sequence[RateCurve]) -> tuple[ThreadsAgainstRanks, ...]:
    pairs = [
        (of_threads, of_ranks)
        for of_threads in curves
        for of_ranks in curves
        if (of_threads.kind, of_ranks.kind) == ("threads", "ranks")
        and (of_threads.bytes, of_threads.nodes) == (of_ranks.bytes, of_ranks.nodes)
        and _setting(of_threads) == _setting(of_ranks)
    ]
    found = []
    for of_threads, of_ranks in pairs:
        of_each = [{senders(p): p for p in curve.points} for curve in (of_threads, of_ranks)]
        common = of_each[0].keys() & of_each[1].keys()
        if not common:
            continue
        most = max(common)
        rates = ratio_of(of_each[0][most], of_each[1][most])
        direction = rates.compared(comparisons=len(pairs)).direction
        found.append(ThreadsAgainstRanks(most, of_threads.bytes, rates, direction))
    return tuple(found)


def _setting(curve: RateCurve) -> tuple[int, str]:
    point = curve.points[0]
    return integer(point, "window"), point.summary.cell.toolchain
