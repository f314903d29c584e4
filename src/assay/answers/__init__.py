"""Answers: records become findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.answers.model import Answer
    from assay.answers.steadiness import Steadiness
    from assay.records.model import RunData
    from assay.stats.model import CellSummary


def answer_all(
    run: RunData,
    cells: Sequence[CellSummary],
    history: Sequence[RunData] = (),
    steadiness: Steadiness | None = None,
) -> list[Answer]:
    """The five questions in their order; what a run can't answer is one honest line.

    ``steadiness``: how its cells vary, where that is known already.
    """
    from assay.answers.model import QUESTIONS
    from assay.answers.network import answer_network
    from assay.answers.placement import answer_placement
    from assay.answers.speed import answer_speed
    from assay.answers.steadiness import answer_steadiness
    from assay.answers.unmeasured import unmeasured

    placement = answer_placement(cells, run, history)
    if run.manifest.plan.search is not None:  # few launches each, and no matter of other answers
        chosen = frozenset(run.manifest.plan.search.optional)
        cells = [cell for cell in cells if cell.id not in chosen]
    network = answer_network(cells, run, history)
    if network.status == "answered":  # messages then stand there, and not as context of speed too
        others = [cell for cell in cells if not cell.kernel.startswith("network.")]
    else:
        others = list(cells)
    made = {
        "network": network,
        "speed": answer_speed(others, run, history),
        "steadiness": answer_steadiness(cells, run, history, steadiness),
        "placement": placement,
    }
    return [made.get(question) or unmeasured(question, cells) for question in QUESTIONS]
