"""Groups of points of collectives: curves over size, series over ranks, pairs of timings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from assay.model.placement import Value
from assay.models.network.minimum import GROWTH
from assay.questions.common.selection import Point, best, best_by
from assay.questions.network.parameters import message_bytes
from assay.units import counted, format_size

KERNEL = "network.collective"

Law = Literal["logarithm", "number"]

# Difference of Akaike's criterion from which the worse law has "considerably less" support
# (Burnham & Anderson, Model Selection and Multimodel Inference, 2nd ed. 2002, section 2.6).
_SUPPORT = 4.0
# Relative difference from a law that measurements can't resolve.
_EXACT = 1e-3
# Least growth from the fewest ranks to the most for which a law is determined.
_FLAT = 1.1


def operation(point: Point) -> str:
    """The collective that was timed."""
    return str(point.parameter("op"))


def timing(point: Point) -> str:
    """``appointed`` or ``barrier``."""
    return str(point.parameter("timing"))


def size(point: Point) -> int:
    """Bytes of the rank's vector or block; 0 if the operation has none (-1 in the plan)."""
    return max(message_bytes(point), 0)


def ranks(point: Point) -> int:
    """The number of MPI processes."""
    return point.summary.cell.placement.ranks


def name_of(point: Point) -> str:
    """``allreduce of 8 B on 16 ranks``."""
    of = "" if operation(point) == "barrier" else f" of {format_size(size(point))}"
    return f"{operation(point)}{of} on {counted(ranks(point), 'rank')}"


def operations(found: Iterable[Point]) -> list[str]:
    """The measured operations: allreduce, which codes use most, then in the order measured."""
    names = dict.fromkeys(map(operation, found))
    return sorted(names, key=lambda name: name != "allreduce")


def usual_points(found: Sequence[Point]) -> list[Point]:
    """The points for curves and rows: one timing, one rank order, one toolchain.

    Appointed starts are preferred to barriers, block order to others. The toolchain is the fastest
    in the smallest call of the first operation on the most ranks.
    """
    timed = [p for p in found if timing(p) == "appointed"] or list(found)
    orders = dict.fromkeys(p.summary.cell.placement.order for p in timed)
    order = "block" if "block" in orders else next(iter(orders))
    ordered = [p for p in timed if p.summary.cell.placement.order == order]
    first = largest(of_op(ordered, operations(ordered)[0]))
    toolchain = best(shortest(first)).summary.cell.toolchain
    return [p for p in ordered if p.summary.cell.toolchain == toolchain]


def largest(found: Sequence[Point]) -> list[Point]:
    """The points on the most ranks."""
    most = max(map(ranks, found))
    return [point for point in found if ranks(point) == most]


def of_op(found: Iterable[Point], op: str) -> list[Point]:
    """The points of one operation."""
    return [point for point in found if operation(point) == op]


def shortest(found: Sequence[Point]) -> list[Point]:
    """The points of ``smallest`` on their largest number of ranks."""
    return largest(smallest(found))


def smallest(found: Sequence[Point]) -> list[Point]:
    """The points of the smallest size above 0; of size 0 if there is no other."""
    least = min([size(point) for point in found if size(point) > 0], default=0)
    return [point for point in found if size(point) == least]


def alike_but(found: Iterable[Point], *free: str) -> list[list[Point]]:
    """Groups of points that agree in all factors except the named ones, in the order found."""
    groups: dict[tuple[tuple[str, Value | None], ...], list[Point]] = {}
    for point in found:
        placement = point.summary.cell.placement
        factors: dict[str, Value | None] = {
            "op": operation(point),
            "bytes": size(point),
            "root": point.parameter("root"),
            "timing": timing(point),
            "toolchain": point.summary.cell.toolchain,
            "nodes": placement.nodes,
            "ppn": placement.ppn,
            "order": placement.order,
            "binding": placement.binding,
            "adapter": placement.adapter,
        }
        key = tuple((name, value) for name, value in factors.items() if name not in free)
        groups.setdefault(key, []).append(point)
    return list(groups.values())


def growing(usual: Sequence[Point]) -> list[list[Point]]:
    """The smallest call of each operation by ascending rank count, if there are several counts.

    Either the number of nodes varies or the ranks per node, never both. If there are several such
    series, the longest is chosen.
    """
    chosen: list[list[Point]] = []
    for op in operations(usual):
        least = smallest(of_op(usual, op))
        series = [
            list(best_by(group, ranks).values())
            for free in ("nodes", "ppn")
            for group in alike_but(least, free)
        ]
        longest = max(series, key=lambda group: (len(group), ranks(group[-1])))
        if len(longest) > 1:
            chosen.append(longest)
    return chosen


def growth_law(counts: Sequence[int], times: Sequence[float]) -> Law | None:
    """Whether times grow with the logarithm of the number of ranks or with the number itself.

    Both laws, a + b log p and a + b p, are fitted by least squares of relative differences. The
    result is None if neither has clearly more support by Akaike's criterion. It is also None if the
    time hardly grows, or for fewer than four rank counts.
    """
    import numpy as np

    if len(counts) < GROWTH.points or max(times) < _FLAT * min(times):
        return None
    seconds = np.array(times, dtype=np.float64)
    number = np.array(counts, dtype=np.float64)
    laws: dict[Law, Any] = {"logarithm": np.log2(number), "number": number}
    misfit: dict[Law, float] = {}
    for law, grown in laws.items():
        terms = np.stack([np.ones_like(seconds), grown], axis=1) / seconds[:, None]
        found = np.linalg.lstsq(terms, np.ones_like(seconds), rcond=None)[0]
        left = terms @ found - 1.0
        misfit[law] = float(left @ left) + len(counts) * _EXACT**2
    support = len(counts) * math.log(misfit["number"] / misfit["logarithm"])
    if abs(support) < _SUPPORT:
        return None
    return "logarithm" if support > 0 else "number"


def timed_both_ways(found: Iterable[Point]) -> list[tuple[Point, Point]]:
    """Pairs of points that differ only in timing: (appointed, barrier)."""
    pairs = []
    for group in alike_but(found, "timing"):
        by_timing = {timing(point): point for point in group}
        if by_timing.keys() >= {"appointed", "barrier"}:
            pairs.append((by_timing["appointed"], by_timing["barrier"]))
    return pairs


def comparable(found: Iterable[Point]) -> bool:
    """Whether all points have intervals, so that differences can be distinguished from chance."""
    return all(point.metric.ci95 is not None for point in found)


def apart(one: Point, other: Point) -> bool:
    """Whether both points have intervals and the intervals are disjoint."""
    a, b = one.metric.ci95, other.metric.ci95
    return a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])
