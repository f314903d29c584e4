"""Sentences and values of the scheduler's model, for its part of the answer, tables and figures."""

from __future__ import annotations

from assay.stats.compare.directions import Comparison, compared
from assay.subjects.usage.queue.model import QueueFindings, QueueWhatIf
from assay.units import MISSING, Interval, counted, format_change, format_duration, format_share
from assay.usage.analysis.model import LEVELS
from assay.usage.queue.model import QueueMeasure
from assay.usage.queue.whatif import WhatIf

# Relative changes from which factors are easier to read than percentages.
MANY = 2.0


def wait_at(measure: QueueMeasure, level: float) -> float:
    """A quantile of the waits, s."""
    return measure.wait_quantiles[LEVELS.index(level)]


def percent(value: float, interval: Interval | None) -> str:
    """``3.2% [1.0, 5.1]``, with one more decimal below 1%."""
    decimals = 1 if max(map(abs, (value, *(interval or ())))) < 1.0 else 0
    if abs(value) < 0.01:
        decimals = 2

    return format_change(value, interval, spec=f".{decimals}f")


def times(change: float, interval: Interval | None) -> str:
    """A relative change as a factor: 4 is ``5.0 [4.1, 6.0]``."""
    low_high = "" if interval is None else f" [{', '.join(_factor(end) for end in interval)}]"
    return f"{_factor(change)}{low_high}"


def _factor(change: float) -> str:
    return f"{1 + change:.1f}" if change < 9.0 else f"{1 + change:,.0f}"


def signed(value: float | None, interval: Interval | None) -> str:
    """``+3.2% [1.0, 5.1]``; ``×5.0 [4.1, 6.0]`` for large increases."""
    if value is None:
        return MISSING
    if value >= MANY:
        return f"×{times(value, interval)}"
    return ("+" if value > 0 else "") + percent(value, interval)


def seconds(value: float) -> str:
    """A mean or median wait."""
    return format_duration(value)


def wait_change(found: QueueWhatIf) -> Comparison:
    """The mean wait after ÷ before, and whether it is longer; "open" without an interval."""
    if found.wait is None or found.wait_ci95 is None:
        return Comparison(1.0, None, "open")
    # A mean wait of 0 after the change has no logarithm.
    low, value, high = (
        max(1.0 + each, 1e-9) for each in (found.wait_ci95[0], found.wait, found.wait_ci95[1])
    )
    return compared(value, (low, high))


def result_sentence(what_if: WhatIf, found: QueueWhatIf, own: QueueMeasure) -> str:
    """``10% more nodes shorten the mean wait by 31.0% [25.1, 40.2], from 2 h to 1 h 23 min.``

    A direction is stated only if it is certain (``stats.compare.directions``).
    """
    ending = "" if what_if.many else "s"
    if found.wait is None:
        return f"{what_if.lead} leave{ending} the mean wait at {seconds(found.measure.wait)}."
    interval = found.wait_ci95
    between = f", from {seconds(own.wait)} to {seconds(found.measure.wait)}"
    change = wait_change(found)
    if change.direction == "open":
        if interval is not None and not interval[0] <= 0.0 <= interval[1] and change.range:
            interval = (change.range[0] - 1.0, change.range[1] - 1.0)
        text = f"change{ending} the mean wait by {signed(found.wait, interval)}"
        if interval is not None:
            text, between = f"{text}: no clear change", ""
    elif change.direction == "less":
        flipped = None if interval is None else (-interval[1], -interval[0])
        text = f"shorten{ending} the mean wait by {percent(-found.wait, flipped)}"
    elif found.wait >= MANY:
        text = f"make{ending} the mean wait {times(found.wait, interval)} times as long"
    else:
        text = f"lengthen{ending} the mean wait by {percent(found.wait, interval)}"
    sentence = f"{what_if.lead} {text}{between}"
    refused = found.measure.refused - own.refused
    if refused > 0:
        sentence += f"; {counted(refused, 'job')} more can't run at all"
    killed = found.measure.killed - own.killed
    if killed > 0:
        sentence += f"; {counted(killed, 'job')} more {'is' if killed == 1 else 'are'} killed"
    return f"{sentence}."


def replay_sentence(found: QueueFindings) -> str:
    """The mean wait of the replay and the real mean wait."""
    jobs = counted(found.load.jobs, "job")
    by = f"with {found.model} wait {seconds(found.replay.wait)} on average"
    load = f"at an offered load of {format_share(found.load.offered)}"
    if found.load.source != "log":
        return (
            f"{jobs} of {found.load.source}, scheduled {by} {load}; "
            f"{format_share(found.replay.utilisation)} of the machine is in use."
        )
    text = f"{jobs} replayed {by}"
    if found.real is None or found.agreement is None:
        return (
            f"{text} {load}; the log has no waits, so jobs are submitted when they really "
            "started, and these waits say little."
        )
    return (
        f"{text}; in the log they waited {seconds(found.real.wait)}, and "
        f"{format_share(found.agreement.pairs)} of all pairs start in the real order."
    )
