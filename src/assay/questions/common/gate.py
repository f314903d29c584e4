"""The gate that every answer passes: numbers that can't be are findings, and no verdict's basis.

A number can't be if it is above a limit that nothing can pass, below a hundredth of what the same
processor gives, or counts more CPUs than there are. One of two things is then wrong, the number or
the limit, and which is not known, so the answer is computed again without the number and has low
confidence. Where only the limit is doubtful the value stays, without its share.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

import msgspec

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name, placement_text
from assay.questions.common.answer import Answer, Bound, Confidence, Evidence, ImpossibleValue
from assay.questions.common.selection import Point, quantity_text
from assay.stats.core.model import CellSummary
from assay.units import Interval, counted, format_share

# A share above this, with its whole interval, can't be: 1, plus 2% for the limit's own error (the
# clock rate that a peak is computed with is measured to a per cent or two). A limit measured in the
# same run may have been disturbed, so twice as much is allowed.
MOST: dict[Bound, float] = {"measured": 2.0, "reported": 1.02, "computed": 1.02, "attained": 1.02}
# From this share on no error of the clock rate explains it, so that the value is doubtful too.
DOUBTFUL = 2.0
# Below this share of a limit, or of what fewer cores give, a value has collapsed.
LEAST = 0.01
# Families of kernels whose results on one node depend on its processor and memory alone.
_OF_PROCESSOR = ("compute.", "memory.", "linpack", "npb.")

_WHY: dict[Bound, str] = {
    "measured": "One of the two measurements was disturbed, most likely the limit's: measure "
    "again when the node is quiet.",
    "reported": "Either the reported speed is wrong, as virtual adapters' often are, or the data "
    "took another way: check which adapter was used and its speed (`ethtool`), or name it "
    "(`--adapter`).",
    "computed": "Either the limit is wrong (another clock rate or other units than assumed), or "
    "the time is: check the clock rate (`assay doctor`) and measure again.",
    "attained": "Either the limit is wrong (another clock rate or other units than assumed), or "
    "the time is: check the clock rate (`assay doctor`) and measure again.",
}
_COLLAPSED = (
    "No sound run of it is that slow: other processes or too many threads took its cores, or its "
    "library does not use this processor. See what else runs (`assay doctor`) and measure again "
    "when the node is quiet."
)


def is_possible(share: float, interval: Interval | None, bound: Bound) -> bool:
    """Whether a value can be this share of a limit: its interval reaches down to ``MOST``."""
    return bound not in MOST or (interval[0] if interval else share) <= MOST[bound]


def impossible_rows(evidence: Iterable[Evidence]) -> list[tuple[Evidence, ImpossibleValue]]:
    """The rows whose share of their limit can't be, with the finding on each."""
    found = []
    for row in evidence:
        if row.limit is None or row.share is None:
            continue
        if not is_possible(row.share, row.share_ci95, row.bound):
            found.append((row, _finding("above", row, _WHY[row.bound])))
        elif row.bound == "attained" and (row.share_ci95 or (0.0, row.share))[1] < LEAST:
            found.append((row, _finding("collapsed", row, _COLLAPSED)))
    return found


def _finding(kind: str, row: Evidence, why: str) -> ImpossibleValue:
    assert row.limit is not None
    limit = quantity_text(row.limit, row.unit)
    source = f", {row.limit_source}" if row.limit_source else ""
    return msgspec.convert(
        {
            "kind": kind,
            "label": row.label,
            "value": row.value,
            "unit": row.unit,
            "bound": row.limit,
            "cells": row.cells,
            "sentence": f"This number can't be: {row.label}: "
            f"{quantity_text(row.value, row.unit, row.ci95)} is {format_share(row.share)} of its "
            f"limit ({limit}{source}). {why}",
        },
        ImpossibleValue,
    )


def collapses(cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the results that are a hundred times worse than the same on as many cores or
    fewer, on one node and with the same parameters and toolchain.

    Only kernels that depend on processor and memory alone are compared: through a network or a
    device a hundredth is possible.
    """
    alike: dict[str, list[Point]] = {}
    for cell in cells:
        kernel = known_kernel(cell.kernel)
        if kernel is None or cell.status != "ok" or cell.verified is False:
            continue
        wanted = cell.kernel.startswith(_OF_PROCESSOR) and cell.cell.placement.nodes == 1
        if wanted and kernel.headline in cell.metrics:
            given = sorted((name, str(value)) for name, value in cell.cell.parameters.items())
            key = f"{cell.kernel}/{given}/{cell.cell.toolchain}"
            alike.setdefault(key, []).append(Point(cell, cell.metrics[kernel.headline]))
    found = {}
    for points in alike.values():
        for point in points:
            peers = [other for other in points if other.cores <= point.cores]
            best = max(peers, key=_goodness)
            if _goodness(point) < LEAST * best.metric.median ** _sign(best):
                found[point.summary.id] = _collapse(point, best)
    return found


def _sign(point: Point) -> int:
    return 1 if point.metric.better == "more" else -1


def _goodness(point: Point) -> float:
    """The rate, or the inverse of a cost, at the better end of the interval."""
    metric = point.metric
    ends = metric.ci95 or (metric.median, metric.median)
    value = ends[1] if metric.better == "more" else ends[0]
    return value if metric.better == "more" else 1.0 / value if value > 0.0 else float("inf")


def _collapse(point: Point, best: Point) -> ImpossibleValue:
    metric, peer = point.metric, best.metric
    times = (peer.median / metric.median) ** _sign(point)
    where = placement_text(point.summary.cell.placement)
    elsewhere = placement_text(best.summary.cell.placement)
    label = f"{cell_name(point.summary.cell)}, {where}"
    return ImpossibleValue(
        kind="collapsed",
        label=label,
        value=metric.median,
        unit=metric.unit,
        bound=peer.median,
        cells=[point.summary.id, best.summary.id],
        sentence=f"This number can't be: {label}: "
        f"{quantity_text(metric.median, metric.unit, metric.ci95)} is {times:,.0f} times worse "
        f"than with {elsewhere} in this run ({quantity_text(peer.median, peer.unit)}). "
        f"{_COLLAPSED}",
    )


def discredited(rows: Sequence[tuple[Evidence, ImpossibleValue]]) -> list[str]:
    """The ids of the cells whose values, not only their shares, are doubtful."""
    return [
        row.cells[0]
        for row, finding in rows
        if row.cells
        and row.share is not None
        and (finding.kind == "collapsed" or row.bound in ("computed", "attained"))
        and (finding.kind == "collapsed" or row.share > DOUBTFUL)
    ]


def alike(cells: Iterable[CellSummary], ids: Collection[str]) -> set[str]:
    """The ids of all cells of the same kernel, placement and toolchain as these.

    A value that can't be discredits the others of its sweep: the next best would take its place.
    """
    cells = list(cells)
    wanted = {
        (cell.kernel, cell.cell.placement, cell.cell.toolchain) for cell in cells if cell.id in ids
    }
    return {
        cell.id
        for cell in cells
        if (cell.kernel, cell.cell.placement, cell.cell.toolchain) in wanted
    }


def without_shares(answer: Answer) -> Answer:
    """The answer without shares that can't be; the values stay in the evidence."""
    bad = {id(row) for row, _ in impossible_rows(answer.evidence)}
    evidence = [
        dataclasses.replace(
            row,
            share=None,
            share_ci95=None,
            note="; ".join(filter(None, [row.note, "passes its limit, which can't be"])),
        )
        if id(row) in bad
        else row
        for row in answer.evidence
    ]
    return dataclasses.replace(answer, evidence=evidence)


def gated(answer: Answer, found: Sequence[ImpossibleValue]) -> Answer:
    """The answer with its impossible numbers as caveats and findings, and with low confidence."""
    if not found:
        return answer
    count = counted(len(found), "number")
    why = f"{count} can't be; no conclusion is based on {'it' if len(found) == 1 else 'them'}."
    confidence: Confidence | None = "low"
    verdict = answer.verdict
    if answer.status == "unmeasured":
        confidence, verdict = None, f"Not answered: {count} can't be, and there is no other."
    return dataclasses.replace(
        answer,
        verdict=verdict,
        confidence=confidence,
        confidence_why=" ".join(filter(None, [why, answer.confidence_why])),
        caveats=[*(each.sentence for each in found), *answer.caveats],
        impossible=list(found),
    )
