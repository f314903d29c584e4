"""Questions that a run doesn't answer: one line that says so, and what there is instead."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.model import QUESTIONS, Answer
from assay.stats.model import CellSummary

_MISSING = {
    "network": "Not measured in this run.",
    "steadiness": "Not measured in this run: it takes runs spread over time.",
    "placement": "Not measured in this run: it takes the same work placed in several ways.",
    "design": "Not asked: it takes a workload and prices besides measurements.",
}


def unmeasured(question: str, cells: Sequence[CellSummary]) -> Answer:
    """The answer that there is none, naming what this run measured that comes near."""
    verdict = _MISSING[question]
    nodes = {
        cell.cell.placement.nodes
        for cell in cells
        if cell.kernel == "network.pingpong" and cell.status == "ok"
    }
    if question == "network" and nodes:
        where = "within one node" if nodes == {1} else "between two ranks"
        verdict = (
            f"Not measured in this run: only ping-pong {where} was, and it stands under speed "
            "as context."
        )
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="unmeasured",
        verdict=verdict,
        confidence=None,
        confidence_why="",
        evidence=[],
        advice=[],
        caveats=[],
    )
