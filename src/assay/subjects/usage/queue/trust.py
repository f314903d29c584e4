"""The confidence of what-ifs: how well the model reproduces the real waits, and how much of the
scheduler's load it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.subjects.usage.queue.model import QueueLoad, QueueWhatIf, WhatIfConfidence
from assay.units import (
    Interval,
    capitalised,
    counted,
    counted_verb,
    format_duration,
    format_share,
    listed,
)
from assay.usage.queue.fit import CYCLE
from assay.usage.queue.intervals import HIGH_LOAD, LEAST_RESAMPLES, LEAST_WEEKS
from assay.usage.queue.model import QueueFit, QueueMeasure, QueueMisfit
from assay.usage.workload.from_log import LEFT_OUT

# Largest factors between modelled and real waits for high and for medium confidence.
_CLOSE, _NEAR = 1.1, 1.3
# Largest shares of jobs that ran and are not in the load, for high and for medium confidence.
_FEW_LEFT_OUT, _SOME_LEFT_OUT = 0.01, 0.05
# Maximum number of groups of jobs in a sentence.
_MOST_GROUPS = 2
# What could explain that these groups wait differently.
_LACKS = {
    "size": "priorities, limits or partitions by size",
    "request": "partitions or limits by requested time",
    "user": "priorities, limits or reservations of users",
    "queue": "partitions or priorities of queues",
}


def factor_text(value: float, interval: Interval | None = None) -> str:
    """``37``, ``1.83 [1.5, 2.24]``: a factor, whole from 10 on."""

    def text(number: float) -> str:
        return f"{number:,.0f}" if number >= 10.0 else f"{number:.{3 if number > 0.1 else 2}g}"

    ends = "" if interval is None else f" [{', '.join(map(text, interval))}]"
    return f"{text(value)}{ends}"


def what_if_confidence(
    what_if: QueueWhatIf, load: QueueLoad, fit: QueueFit | None, own: QueueMeasure, resamples: int
) -> tuple[WhatIfConfidence | None, str]:
    """The confidence that the interval of a what-if holds the real change, and its reasons.

    ``own``: the replay without the change. None if the model doesn't reproduce the real waits.
    """
    if fit is not None and not fit.reproduced:
        return None, (
            "The model doesn't reproduce this scheduler: real and modelled waits differ by a "
            f"factor of {factor_text(fit.factor)}."
        )
    serious, minor = _of_interval(what_if, load, own, resamples), list[str]()
    if fit is not None:
        apart = f"modelled and real waits differ by a factor of {fit.factor:.2f}"
        if fit.factor > _NEAR:
            serious.append(apart)
        elif fit.factor > _CLOSE:
            minor.append(apart)
    ran = sum(each.number for each in load.left_out if each.reason != LEFT_OUT["never started"])
    missing = max(ran / (load.jobs + ran), load.absent)
    if missing > _FEW_LEFT_OUT:
        which = serious if missing > _SOME_LEFT_OUT else minor
        which.append(f"{format_share(missing)} of the jobs are not in the load")
    reasons = [*serious, *minor]
    if reasons:
        return ("low" if serious else "medium"), f"{capitalised('; '.join(reasons))}."
    seen = (
        f"the offered load is below {format_share(HIGH_LOAD)}, and "
        f"{counted_verb(load.weeks, 'week', 'were')} resampled."
    )
    if fit is None:
        return "high", capitalised(seen)
    return "high", (
        f"Modelled and real waits agree to within {format_share(fit.factor - 1.0)}, {seen}"
    )


def _of_interval(
    what_if: QueueWhatIf, load: QueueLoad, own: QueueMeasure, resamples: int
) -> list[str]:
    """Serious reasons against an interval."""
    serious: list[str] = []
    if own.wait < CYCLE:
        serious.append(
            f"the modelled mean wait is below {format_duration(CYCLE)}, as long as a scheduler "
            "takes to look at its queue"
        )
    elif what_if.wait_ci95 is None:
        if load.weeks < LEAST_WEEKS:
            serious.append(
                f"there is no interval: the load has {counted(load.weeks, 'whole week')}, and "
                f"{LEAST_WEEKS} are needed"
            )
        elif resamples < LEAST_RESAMPLES:
            serious.append(
                f"there is no interval: it takes {LEAST_RESAMPLES} resampled loads (`--resamples`)"
            )
        else:
            serious.append("there is no interval: the result holds only for this order of weeks")
    if load.offered >= HIGH_LOAD:
        serious.append(
            f"at an offered load of {format_share(load.offered)} queues last for weeks, which "
            "resampled weeks don't show"
        )
    return serious


def misfit_sentence(fit: QueueFit) -> str:
    """That the model doesn't reproduce the real waits, and by which factor."""
    return (
        "The model doesn't reproduce this scheduler: real and modelled waits differ by a factor of "
        f"{factor_text(fit.factor)} (mean: {factor_text(fit.mean)} times the modelled one; typical "
        f"weeks: {factor_text(fit.weeks)}; typical sizes: {factor_text(fit.sizes)}). Beyond "
        f"{fit.limit:g}, more than 30% of the changes by a model are wrong."
    )


def lacks_sentences(fit: QueueFit, weeks: int) -> list[str]:
    """Which jobs really wait longer or shorter than in the model, and what could explain it."""
    if not fit.compared:
        return ["The log is too short to show which jobs wait differently in the model."]
    sentences = []
    shown = []
    for direction, word in (("more", "Longer"), ("less", "Shorter")):
        some = [each for each in fit.groups if each.direction == direction][:_MOST_GROUPS]
        shown += some
        if some:
            names = listed([_group_text(each) for each in some])
            sentences.append(f"{word} waits than in the model, beside other jobs: {names}.")
    kinds = list(dict.fromkeys(each.kind for each in shown))
    if kinds:
        lacks = " or ".join(_LACKS[kind] for kind in kinds)
        sentences.append(f"The model may lack {lacks}.")
    if fit.half and 4 * len(fit.half) <= weeks:
        named = listed([str(number) for number in fit.half])
        which = f"Week {named} has" if len(fit.half) == 1 else f"Weeks {named} have"
        sentences.append(f"{which} half of the difference between real and modelled waits.")
    if not sentences:
        sentences.append(
            "No size, request, user, queue or week stands out: the machine may have fewer usable "
            "processors (`--processors`), the log may lack jobs, or the scheduler has another "
            "policy (`--model`)."
        )
    return sentences


def _group_text(group: QueueMisfit) -> str:
    jobs = {
        "size": f"jobs on {group.name} processor{'' if group.name == '1' else 's'}",
        "request": f"jobs that request {group.name}",
        "user": f"jobs of {group.name}" if group.name[:5] == "user " else f"user {group.name}",
        "queue": f"jobs of {group.name}" if group.name[:6] == "queue " else f"queue {group.name}",
    }[group.kind]
    return (
        f"{jobs} ({factor_text(group.factor, group.ci95)} times the modelled wait; others "
        f"{factor_text(group.others)} times)"
    )


def least_confident(what_ifs: Sequence[QueueWhatIf]) -> tuple[WhatIfConfidence | None, str]:
    """The lowest confidence of what-ifs with its reasons; the others with a higher one are named.

    None if no change is stated.
    """
    order: tuple[WhatIfConfidence | None, ...] = (None, "low", "medium", "high")
    worst = min(what_ifs, key=lambda each: order.index(each.confidence))
    better = [each for each in what_ifs if each.confidence != worst.confidence]
    higher = listed([f"{each.text} ({each.confidence})" for each in better]) if better else ""
    return worst.confidence, worst.confidence_why + (f" Higher: {higher}." if higher else "")
