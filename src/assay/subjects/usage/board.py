"""What a board needs of a log: how busy the machine was, what was idle or lost, what to change."""

from __future__ import annotations

from assay.subjects.board import Board, answer_board
from assay.subjects.usage.answer import answer
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.words import hours_text, period_text, processors_text
from assay.units import format_quantity, format_share


def board(found: UsageFindings) -> Board:
    """The board."""
    use = found.utilisation.value
    return answer_board(
        answer(found),
        "Unknown" if use is None else f"{format_share(use)} in use",
        tone="warn" if use is None else "",
        what=[
            f"Processors: {processors_text(found)}.",
            f"The log is from {period_text(found)}.",
        ],
        does=_does(found),
        costs=_costs(found),
    )


def _does(found: UsageFindings) -> list[str]:
    largest = sorted(found.groups or found.queues, key=lambda part: -part.share_of_use)
    return [
        f"{part.name}: {part.jobs:,} jobs with {format_share(part.share_of_use)} of the use."
        for part in largest[:4]
    ]


def _costs(found: UsageFindings) -> list[str]:
    sentences = []
    period = found.period.end - found.period.begin
    use = found.utilisation.value
    if use is not None and period > 0:
        idle = max(0.0, 1.0 - use) * found.capacity.processors * period
        sentences.append(
            f"Processors were idle for {hours_text(idle)} of "
            f"{hours_text(found.capacity.processors * period)}."
        )
    limits = found.limits
    if limits.lost and limits.lost_share is not None:
        sentences.append(
            f"Jobs that reached their time limit used {hours_text(limits.lost)}, "
            f"{format_share(limits.lost_share)} of the use."
        )
    jobs = found.efficiency
    if jobs is not None and jobs.cpu is not None:
        sentences.append(f"The jobs computed in {format_share(jobs.cpu)} of their processor time.")
    if jobs is not None and jobs.energy is not None:
        sentences.append(f"The jobs used {format_quantity(jobs.energy, 'J')}.")
    if not sentences:
        sentences.append("The log doesn't say how much was idle or lost.")
    return [*sentences, "The log states no prices."]
