"""What else tells how to use nodes, besides a search: rank orders, and what matters of several
factors.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.answers.confidence import caveats_of, is_broken, judge
from assay.answers.crossed import crossed_of, crossed_part
from assay.answers.model import QUESTIONS, Answer
from assay.answers.placement_order import order_part, orders_of
from assay.answers.select import Part
from assay.records.model import RunData
from assay.stats.model import CellSummary


def placement_parts(cells: Sequence[CellSummary], run: RunData) -> list[Part]:
    """What a run tells of rank orders and of crossed factors; empty where it has neither."""
    parts = []
    crossed = crossed_of(cells, run)
    if crossed:
        parts.append(crossed_part(crossed, cells))
    orders = orders_of(cells, run)
    if orders.effects:
        parts.append(order_part(orders))
    return parts


def of_parts(parts: Sequence[Part], cells: Sequence[CellSummary], run: RunData) -> Answer:
    """The answer of a run that searched for nothing."""
    headline = [point for part in parts for point in part.headline]
    kernels = {point.summary.kernel for point in headline}
    broken = [cell for cell in cells if cell.kernel in kernels and is_broken(cell)]
    confidence, why = judge(headline, broken, run.complete)
    return with_parts(
        Answer(
            question="placement",
            title=QUESTIONS["placement"],
            status="answered",
            verdict="",
            confidence=confidence,
            confidence_why=why,
            evidence=[],
            advice=[],
            caveats=caveats_of(headline),
            method=[],
            limits=["Ranks a node, threads and bindings were not searched for the best."],
        ),
        parts,
    )


def with_parts(answer: Answer, parts: Sequence[Part]) -> Answer:
    """The answer with what the parts add, below what it says already."""
    told = [f"{part.remark[:1].upper()}{part.remark[1:]}." for part in parts if part.remark]
    return msgspec.structs.replace(
        answer,
        verdict=" ".join(filter(None, (answer.verdict, *told))),
        evidence=[*answer.evidence, *(row for part in parts for row in part.evidence)],
        advice=[*answer.advice, *(line for part in parts for line in part.advice)],
        caveats=[*answer.caveats, *(line for part in parts for line in part.caveats)],
        method=[*answer.method, *(line for part in parts for line in part.method)],
        limits=[*answer.limits, *(line for part in parts for line in part.limits)],
    )
