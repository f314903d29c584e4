"""The answer to how results have changed over time."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence
from assay.questions.history.findings import FALSE_DISCOVERIES
from assay.questions.history.model import CellHistory, History, HistoryEvent
from assay.questions.history.words import event_text, suspect_text
from assay.stats.changes.scan import FIRST
from assay.units import counted

QUESTION = "history"
TITLE = "How have results changed over time?"
# Cells that sentences are about: recommendations, caveats.
_MAX_NAMED = 5


def answer(history: History) -> Answer:
    """The verdict over all cells; unmeasured where every cell has too few runs."""
    judged = [cell for cell in history.cells if cell.state != "short"]
    short = len(history.cells) - len(judged)
    fewest = min((len(cell.points.utc) for cell in judged), default=0)
    confidence: Confidence = "high" if not short and fewest >= 3 * FIRST else "medium"
    why = f"{counted(len(judged), 'cell')} with {fewest} runs or more"
    why += f"; {counted(short, 'cell')} with fewer than {FIRST}" if short else ""
    worse = [cell for cell in judged if cell.state == "regression"]
    changed = [(cell, _last_level(cell)) for cell in worse[:_MAX_NAMED]]
    suspects = [cell for cell in judged if cell.suspect is not None]
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered" if judged else "unmeasured",
        verdict=history.verdict,
        confidence=confidence if judged else None,
        confidence_why=f"{why}." if judged else "",
        advice=[
            f"{cell.label}: {event_text(event, cell)}. {event.remark}"
            for cell, event in changed
            if event is not None
        ],
        caveats=[f"{cell.label}: {suspect_text(cell)}" for cell in suspects[:_MAX_NAMED]],
        method=[
            "Each run's result of a cell is compared with the results since the cell's last "
            "change; a change of level is reported if the order in which the runs came matters, "
            "whatever their distribution (a permutation test of all places, corrected for all "
            "cells by Holm's procedure at 5%; where a run depends on the one before it, of what "
            "it adds to that). A single outlying run is no change. Steps are "
            "distinguished from slow drifts by the Bayesian information criterion.",
            f"Of the cells reported as regressed or improved, {FALSE_DISCOVERIES:.0%} at most are "
            "expected to be so by chance (Benjamini & Hochberg, 1995); changes below "
            f"{100 * history.least:.3g}% count as neither.",
        ],
        limits=[
            "A version that changed together with a result is not proved to be its cause: "
            "something that no snapshot holds may have changed too.",
        ],
    )


def _last_level(cell: CellHistory) -> HistoryEvent | None:
    """The last change of level."""
    return next((event for event in reversed(cell.events) if event.kind != "spread"), None)
