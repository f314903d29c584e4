"""Other processes on the measured nodes limit the confidence of every answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from assay.questions.common.answer import Answer, Confidence, ImpossibleValue
from assay.records.model import Measurement, RunData
from assay.stats.cells.contention import Contention, contention_of
from assay.units import capitalised, counted, format_count

# Share of the machines' CPUs kept busy by other processes above which confidence is low.
MUCH = 0.25
# Relative half-width of an interval above which an answer under contention has low confidence.
WIDE = 0.1
# Share above which other processes may explain a difference between two runs: processes that take
# 5% of the CPUs slow a cell that uses all CPUs by as much.
DISTURBING = 0.05
ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


def worst_contention(run: RunData, ids: Collection[str]) -> Contention | None:
    """The contention of the most disturbed cell among ``ids``; among all cells if ``ids`` is None.

    One disturbed cell suffices: a mean over all would hide it.
    """
    by_cell: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        if not ids or measurement.cell.id in ids:
            by_cell.setdefault(measurement.cell.id, []).append(measurement)
    return worst(contention_of(alike, run.manifest.system) for alike in by_cell.values())


def worst(found: Iterable[Contention | None]) -> Contention | None:
    """The contention with the most busy CPUs per machine; None if none is known.

    Noticeable contention comes first, since short measurements hardly determine the number.
    Impossible numbers precede other noticeable ones.
    """
    known = [each for each in found if each is not None]
    return max(
        known,
        key=lambda each: (each.noticeable, not each.possible, each.busy / each.machines),
        default=None,
    )


def together(found: Iterable[Contention | None]) -> Contention | None:
    """The contention of separately measured machines, combined; None if no machine recorded it."""
    known = [each for each in found if each is not None]
    if not known:
        return None
    cpus = [each.cpus for each in known if each.cpus is not None]
    return Contention(
        busy=sum(each.busy for each in known),
        seconds=sum(each.seconds for each in known),
        cpus=sum(cpus) if len(cpus) == len(known) else None,
        machines=sum(each.machines for each in known),
        spans=sum(each.spans for each in known),
    )


def level_under(found: Contention, half_width: float) -> Confidence:
    """The highest confidence that contention leaves: medium or low.

    It is low if contention was strong, if its amount is unknown, or if an interval is wide.
    ``half_width``: relative half-width of the widest interval.
    """
    return "low" if _is_much(found) or half_width > WIDE or not found.possible else "medium"


def _is_much(found: Contention) -> bool:
    share = found.share
    return share > MUCH if share is not None else found.busy > found.machines


def disturbs(found: Contention | None) -> bool:
    """Whether other processes may explain a difference from another run."""
    if found is None or not found.noticeable:
        return False
    return found.share is None or found.share > DISTURBING or not found.possible


def capped(answer: Answer, found: Contention | None) -> Answer:
    """The answer with its confidence limited by contention, and the advice to measure again."""
    if found is None or answer.confidence is None or not found.noticeable:
        return answer
    widths = [
        (row.ci95[1] - row.ci95[0]) / 2.0 / abs(row.value)
        for row in answer.evidence
        if row.ci95 is not None and row.value
    ]
    level = level_under(found, max(widths, default=0.0))
    busy = busy_text(found)
    before = ", before acting on the following" if answer.advice else ""
    again = f"Measure again when the node is quiet{before}: {busy}."
    urgent = [f"{capitalised(busy)}: measure again when the node is quiet."]
    if not found.possible or not _is_much(found):
        urgent = []
    return dataclasses.replace(
        answer,
        confidence=min(level, answer.confidence, key=ORDER.index),
        confidence_why=f"{busy[0].upper()}{busy[1:]}, so confidence can't exceed {level}. "
        f"{answer.confidence_why}".rstrip(),
        advice=[again, *answer.advice],
        urgent=[*answer.urgent, *urgent],
    )


def busy_text(found: Contention) -> str:
    """``other processes kept 1.7 of 2 CPUs busy``."""
    if not found.possible:
        return "the number of CPUs that other processes kept busy is unknown"
    of = f" of {counted(found.cpus, 'CPU')}" if found.cpus else " CPUs"
    return f"other processes kept {format_count(found.busy)}{of} busy"


def impossible_contention(found: Contention | None) -> list[ImpossibleValue]:
    """The finding that more CPUs were busy than the machines have; empty otherwise."""
    if found is None or found.possible or not found.cpus:
        return []
    machines = counted(found.machines, "machine")
    return [
        ImpossibleValue(
            kind="contention",
            label="CPUs kept busy by other processes",
            value=found.busy,
            unit="",
            bound=float(found.cpus),
            cells=[],
            sentence="This number is impossible: other processes kept "
            f"{format_count(found.busy)} CPUs busy, and the {machines} measured "
            f"{'has' if found.machines == 1 else 'have'} {counted(found.cpus, 'CPU')}. Either "
            "hosts that share a machine were counted separately, as in streams of earlier "
            "versions, or the counters (/proc/stat) are wrong. The true load is unknown: measure "
            "again.",
        )
    ]
