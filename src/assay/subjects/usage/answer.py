"""The answer on how busy a machine is."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.queue.part import with_queue
from assay.subjects.usage.words import hours_text, of_many, one_number, quantile, verdict_of
from assay.units import counted, format_share
from assay.usage.analysis.model import UsageSpread
from assay.usage.analysis.prepared import SHORTEST
from assay.usage.period import MISSING_AT_MOST

QUESTION = "usage"
TITLE = "How busy is it?"
# Maximum width of the bounds of utilisation for medium confidence.
_NARROW = 0.1
# Advice is given above this share of the use lost at time limits, and below this median of used ÷
# requested.
_MUCH_LOST, _MUCH_UNUSED = 0.05, 0.5


def answer(found: UsageFindings) -> Answer:
    """The verdict; unmeasured if the log can't say how much was in use."""
    use = found.utilisation
    answered = use.value is not None
    confidence, why = _confidence(found)
    answered_use = Answer(
        question=QUESTION,
        title=TITLE,
        status="answered" if answered else "unmeasured",
        verdict=verdict_of(found),
        confidence=confidence if answered else None,
        confidence_why=why if answered else "",
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=[*use.reasons, *_assumed(found), *_problems(found)],
        method=[
            "Utilisation is the processor time in use divided by the processor time available, "
            "both over the same period. A job uses its processors from its start to its end. "
            "Processors that were down according to the log's node events are not available.",
            "Jobs that were submitted before the log begins, or that run when it ends, may be "
            "absent. The period excludes both ends of the log where, judged by the log's waits "
            f"and run times, more than {MISSING_AT_MOST:.0%} of the use may be missing.",
            "The bounded slowdown of a job is (wait + run time) ÷ run time, where run times "
            f"count as at least {SHORTEST:g} s (Feitelson et al., 1997).",
            *_efficiency_method(found),
        ],
        limits=found.unknown,
    )
    return answered_use if found.queue is None else with_queue(answered_use, found.queue)


def _confidence(found: UsageFindings) -> tuple[Confidence, str]:
    use = found.utilisation
    if one_number(found) and found.period.settled:
        return "high", "The machine's size is known, and no records seem to be absent."
    width = use.high - use.low
    reason = " ".join(use.reasons[:1]) or "The period includes the unsettled ends of the log."
    return ("medium" if width < _NARROW else "low"), reason


def _efficiency_method(found: UsageFindings) -> list[str]:
    if found.efficiency is None:
        return []
    return [
        "CPU efficiency is the processor time that jobs computed divided by their run time × "
        "processors. Memory efficiency is the memory that they used divided by the memory that "
        "they were allocated. Both are defined as in Slurm's seff; several jobs count in "
        "proportion to the processor time, or the memory × run time, that they held.",
    ]


def _assumed(found: UsageFindings) -> list[str]:
    """What was recognised by the size of numbers, since the log doesn't state it."""
    caveats = []
    if found.unix_times:
        caveats.append(
            "The log doesn't say when it begins (UnixStartTime). Its times are as large as Unix "
            "times, seconds since 1970, and are read as such."
        )
    return caveats + ([found.limits.memory_doubt] if found.limits.memory_doubt else [])


def _problems(found: UsageFindings) -> list[str]:
    named = [
        f"{counted(each.count, 'record')}: {each.meaning} ({', '.join(each.places)}"
        + (" …)" if each.count > len(each.places) else ")")
        for each in found.problems
    ]
    return [f"{text}." for text in named]


def _evidence(found: UsageFindings) -> list[Evidence]:
    use = found.utilisation
    rows = []
    if use.value is not None:
        note = f"between {format_share(use.low)} and {format_share(use.high)}"
        rows.append(Evidence("Utilisation", "utilisation", "1", use.value, note=note))
    for label, name, unit, spread in (
        ("Wait, median", "wait", "s", found.wait),
        ("Bounded slowdown, median", "slowdown", "", found.slowdown),
        ("Run time, median", "run", "s", found.run),
        ("Used ÷ requested time, median", "time", "1", found.limits.time),
        ("Used ÷ requested memory, median", "memory", "1", found.limits.memory),
        ("CPU efficiency of jobs, median", "cpu", "1", found.limits.cpu),
    ):
        if spread is not None:
            value = quantile(spread, 0.5)
            rows.append(Evidence(label, name, unit, value, note=counted(spread.n, "job")))
    return rows


def _little(used: UsageSpread | None, found: UsageFindings) -> float | None:
    """The median share of the requests that jobs used, if it is small and of many jobs."""
    if used is None or not of_many(used, found):
        return None
    share = quantile(used, 0.5)
    return share if share < _MUCH_UNUSED else None


def _advice(found: UsageFindings) -> list[str]:
    advice = []
    limits = found.limits
    if limits.reached and limits.lost_share is not None and limits.lost_share > _MUCH_LOST:
        what = "were killed at" if limits.killed else "ran as long as"
        advice.append(
            f"{counted(limits.reached, 'job')} {what} the requested time, with "
            f"{format_share(limits.lost_share)} of the processor time "
            f"({hours_text(limits.lost or 0.0)}): checkpoints would save the work of jobs that "
            "reach the limit."
        )
    if (share := _little(limits.time, found)) is not None:
        advice.append(
            f"Half of the jobs used less than {format_share(share)} of "
            "their requested time. With shorter requests, a scheduler with backfilling can "
            "start more jobs early."
        )
    if (share := _little(limits.cpu, found)) is not None:
        advice.append(
            f"Half of the jobs computed in less than {format_share(share)} of "
            "their processor time. The jobs with the most unused time are in a table of the report."
        )
    if (share := _little(limits.memory, found)) is not None:
        advice.append(
            f"Half of the jobs used less than {format_share(share)} of their requested memory."
        )
    return advice
