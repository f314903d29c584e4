"""The answer on how results have changed over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.questions.common.answer import Answer, Confidence
from assay.questions.common.contention import busy_text, capped, worst
from assay.stats.changes.detectable import POWER, fewest_runs
from assay.stats.changes.scan import FIRST
from assay.stats.compare.run_scatter import FALSE_DISCOVERIES
from assay.stats.core.launches import levels_return
from assay.subjects.history.model import (
    CellHistory,
    History,
    HistoryEvent,
)
from assay.subjects.history.words import event_text, suspect_text
from assay.subjects.right_rates import rate_text
from assay.units import counted, counted_verb, format_count, format_limit

QUESTION = "history"
TITLE = "How have results changed over time?"
# If this share of the cells has levels that return, or one cell of a history with few runs, changes
# on record have low confidence: with modes that last five runs each, only a fifth of them were
# planted changes (benchmarks/rates/history_answers.py).
_RETURNING = 0.25
# Maximum number of cells in recommendations and in caveats.
_MAX_NAMED = 5


def answer(history: History) -> Answer:
    """The verdict over all cells; unmeasured if every cell has too few runs.

    Confidence is high if at least 95% of such verdicts are right, and medium if at least 90% are:
    few runs show their dependence on each other badly.
    """
    judged = [cell for cell in history.cells if cell.state != "short"]
    short = len(history.cells) - len(judged)
    fewest = min((len(cell.points.utc) for cell in judged), default=0)
    confidence: Confidence = "high" if not short and fewest >= 3 * FIRST else "medium"
    returning = [cell for cell in judged if levels_return(np.log(cell.points.value))]
    needed_share = _RETURNING if fewest >= 3 * FIRST else 0.0
    doubtful = bool(returning) and len(returning) >= needed_share * len(judged)
    doubtful = doubtful and any(_last_level(cell) for cell in judged)
    if doubtful:
        confidence = "low"
    why = f"{counted(len(judged), 'cell')} with at least {fewest} runs"
    needed = fewest_runs(FALSE_DISCOVERIES / max(len(history.cells), 1))
    why += f"; {counted(short, 'cell')} with fewer than {needed}" if short else ""
    if doubtful:
        why += (
            f"; {counted_verb(len(returning), 'cell', 'have')} two levels that last for several "
            "runs and return, so the changes on record may be such levels, too"
        )
    else:
        why += f"; {rate_text(confidence)}"
    regressed = [cell for cell in judged if cell.state == "regression"]
    changed = [(cell, _last_level(cell)) for cell in regressed[:_MAX_NAMED]]
    suspects = [cell for cell in judged if cell.suspect is not None]
    found = Answer(
        question=QUESTION,
        title=TITLE,
        status="answered" if judged else "unmeasured",
        verdict=history.verdict,
        confidence=confidence if judged else None,
        confidence_why=f"{why}." if judged else "",
        advice=[
            f"Find the cause of this change of {cell.label}. {event_text(event, cell)}. "
            f"{event.remark}"
            for cell, event in changed
            if event is not None
        ],
        caveats=[
            *(f"{cell.label}: {suspect_text(cell)}" for cell in suspects[:_MAX_NAMED]),
            *_contended(regressed),
        ],
        method=[
            "Each run's result of a cell is compared with the results since the cell's last "
            "change. A change of level is reported if it depends on the order of the runs. The "
            "test is a permutation test over all possible change points, valid for any "
            "distribution and corrected for all cells (Holm, 5%). Autocorrelated runs are "
            "tested by their residuals. A single outlying run is not a change. Steps are "
            "distinguished from slow drifts by the Bayesian information criterion.",
            f"Of the cells reported as regressed or improved, at most {FALSE_DISCOVERIES:.0%} are "
            "false positives on average (Benjamini & Hochberg, 1995); changes below "
            f"{format_limit(history.least)} are neither.",
            "The smallest detectable change is simulated: steps are added halfway through "
            f"permutations of a cell's own runs, and {POWER:.0%} of the steps of this size are "
            "reported.",
        ],
        limits=[
            "A version that changed together with a result is not necessarily the cause. "
            "Something that the snapshots do not record may also have changed.",
        ],
    )
    return capped(found, worst(cell.contention for cell in judged))


def _contended(regressed: Sequence[CellHistory]) -> list[str]:
    """Regressed cells that other processes may have slowed down, if there were fewer before."""
    return [
        f"{cell.label}: {busy_text(now)} since the change"
        + (
            f", and {format_count(before.busy)} before"
            if before is not None and before.possible
            else ""
        )
        + ": they may have caused it."
        for cell in regressed
        if (now := cell.contention) is not None
        and now.noticeable
        and ((before := cell.contention_before) is None or before.busy < now.busy / 2.0)
    ][:_MAX_NAMED]


def _last_level(cell: CellHistory) -> HistoryEvent | None:
    """The last change of level."""
    return next((event for event in reversed(cell.events) if event.kind != "spread"), None)
