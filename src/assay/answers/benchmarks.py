"""NPB EP and CG: the official Mop/s, per rank, and how they scale."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.model import Evidence
from assay.answers.select import (
    Growth,
    Part,
    Point,
    best_by,
    counted,
    evidence,
    labeller,
    leading,
    points,
    quantity_text,
    rivals,
    speedup,
)
from assay.kernels.npb import CLASS_ORDER
from assay.stats.model import CellSummary
from assay.units import format_share

TITLES = {"npb.ep": "EP", "npb.cg": "CG", "npb.ft": "FT", "npb.is": "IS"}
# Parallel efficiency within a node below which the loss is worth a word.
POOR_EFFICIENCY = 0.75


def benchmarks_part(cells: Sequence[CellSummary]) -> Part | None:
    """The part of the NPB; None if no usable cell measured any.

    The limit of a parallel run is perfect scaling: the rate on the fewest cores measured times the
    ratio of the core counts. The share of it is the parallel efficiency.
    """
    part = Part()
    for kernel, title in TITLES.items():
        found = points(cells, kernel, "rate")
        for size in reversed(CLASS_ORDER):  # the largest class leads: the smallest may fit in cache
            of_size = [point for point in found if point.parameter("class") == size]
            if not of_size:
                continue
            by_cores = best_by(leading(of_size), lambda point: point.cores)
            first = not any(title in row.label for row in part.evidence)
            efficiency = _add(part, f"{title} class {size}", by_cores, of_size)
            if first and efficiency is not None:
                few, *_, most = by_cores
                part.growth.append(Growth(few, most, title, efficiency.value))
                _judge(part, kernel, efficiency, most)
            if first:
                part.headline.append(by_cores[max(by_cores)])
    if not part.evidence:
        return None
    part.method = [
        "NPB EP and CG (Bailey et al., RNR-94-007): the timed part of the benchmark, verified "
        "against the official values; the rate counts the official operations."
    ]
    part.limits = [
        "EP hardly touches memory or network, so its scaling shows what sharing the chip costs "
        "(clock, hardware threads); CG gathers from memory at random and adds that on top."
    ]
    return part


def _add(
    part: Part, title: str, by_cores: dict[int, Point], found: Sequence[Point]
) -> Evidence | None:
    """The evidence of one benchmark and class; returns the row of its parallel efficiency."""
    label = labeller(found)
    few, most = min(by_cores), max(by_cores)
    for point in [*reversed(by_cores.values()), *rivals(found)]:
        each = quantity_text(point.metric.median / point.cores, "op/s")
        note = label(point) + ("" if point.cores == 1 else f"; {each} per core")
        part.evidence.append(
            evidence(f"{title}, {counted(point.cores, 'core')}", point, "rate", note=note)
        )
    if few == most:
        return None
    row = speedup(title, by_cores, few, most, note="parallel efficiency")
    part.evidence.append(row)
    return row


def _judge(part: Part, kernel: str, row: Evidence, most: int) -> None:
    if row.share is None or row.share >= POOR_EFFICIENCY:
        return
    if row.value < 1:
        part.advice.append(
            f"{TITLES[kernel]} is slower on {counted(most, 'core')} than on fewer: ranks shared "
            "cores with each other or with other work, or waited for each other most of the time."
        )
        return
    share = format_share(row.share, row.share_ci95)
    where = counted(most, "core")
    if kernel == "npb.ep":
        part.advice.append(
            f"EP keeps only {share} of perfect scaling on {where} though it shares almost nothing: "
            "look for ranks on two hardware threads of one core, a clock that falls under load, "
            "steal time, or a container's CPU quota."
        )
    else:
        part.advice.append(
            f"CG keeps only {share} of perfect scaling on {where}: its ranks wait for memory or "
            "for each other. "
            "Codes with sparse matrices gain little from the last cores of a node."
        )
