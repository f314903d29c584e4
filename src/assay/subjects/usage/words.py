"""Sentences and values of the findings on use, for its answer, tables and figures."""

from __future__ import annotations

import datetime
import zoneinfo

from assay.subjects.usage.model import UsageFindings, UsagePeriod
from assay.units import counted, format_duration, format_share
from assay.usage.analysis.model import LEVELS, UsageSpread

NOT_RECORDED = "not recorded"
# Bounds that differ by less than this count as one number.
_SAME = 0.005
# The most clusters that the verdict names.
_MOST_CLUSTERS = 4
SOURCES = {
    "stated": "as stated",
    "node events": "according to the log's node events",
    "node counts": "nodes in the log's events, each with the maximum number of processors that any "
    "job had per node",
    "header": "according to the log's header",
    "most in use": "maximum ever in use; the log doesn't state the machine's size",
}


def quantile(spread: UsageSpread, level: float) -> float:
    """One of the quantiles at ``LEVELS``."""
    return spread.quantiles[LEVELS.index(level)]


def day_of(utc: float, period: UsagePeriod) -> str:
    """The local day and minute of a time."""
    if not period.calendar:
        return f"day {utc / 86400:.1f}"
    zone = zoneinfo.ZoneInfo(period.zone) if period.zone else datetime.UTC
    return datetime.datetime.fromtimestamp(utc, zone).strftime("%Y-%m-%d %H:%M")


def period_text(found: UsageFindings) -> str:
    """The period of utilisation: ``2002-07-31 09:00 to 2002-09-23 16:04``."""
    begin, end = found.period.begin, found.period.end
    return f"{day_of(begin, found.period)} to {day_of(end, found.period)}"


def processors_text(found: UsageFindings) -> str:
    """The capacity and its source."""
    return f"{found.capacity.processors:,}, {SOURCES[found.capacity.source]}"


def one_number(found: UsageFindings) -> bool:
    """Whether the log determines the utilisation as one number."""
    value = found.utilisation
    return value.value is not None and value.high - value.low < _SAME


def verdict_of(found: UsageFindings) -> str:
    """The utilisation and its basis, or why there is none; by cluster if the log has several, and
    the efficiency of the jobs."""
    return " ".join(filter(None, (_utilisation(found), _by_cluster(found), _efficiency(found))))


def _by_cluster(found: UsageFindings) -> str:
    """The utilisation of each of several clusters."""
    each = [
        f"{cluster.name} {format_share(cluster.utilisation.value)} of {cluster.processors:,}"
        for cluster in found.clusters
        if cluster.utilisation.value is not None
    ]
    if not each:
        return ""
    some = each[:_MOST_CLUSTERS] + (["…"] if len(each) > _MOST_CLUSTERS else [])
    basis = {cluster.source for cluster in found.clusters}
    known = "" if "most in use" not in basis else ", the most ever in use where no size is stated"
    return f"By cluster: {', '.join(some)} processors{known}."


def of_many(spread: UsageSpread | None, found: UsageFindings) -> bool:
    """Whether a distribution covers at least half of the jobs."""
    return spread is not None and 2 * spread.n >= found.jobs


def _efficiency(found: UsageFindings) -> str:
    """The CPU efficiency of the jobs, and their memory efficiency, if most jobs have them."""
    jobs, limits = found.efficiency, found.limits
    if jobs is None or jobs.cpu is None or not of_many(limits.cpu, found):
        return ""
    memory = ""
    if jobs.memory is not None and of_many(limits.memory, found):
        memory = f" and used {format_share(jobs.memory)} of their memory"
    return f"The jobs computed in {format_share(jobs.cpu)} of their processor time{memory}."


def _utilisation(found: UsageFindings) -> str:
    use = found.utilisation
    period = found.period
    when = f"from {period_text(found)}" if period.end > period.begin else ""
    whose = f" by the chosen jobs ({found.chosen})" if found.chosen else ""
    machine = f"{counted(found.capacity.processors, 'processor')}"
    if use.value is None:
        text = " ".join(filter(None, ("The log can't say how busy the machine was", when)))
        text += f": {_within(use.reasons[0])}"
        if use.excess > 0:
            share = format_share(use.load)
            text += (
                f" The jobs' processor time is {share} of the processor time that the machine "
                "could provide."
            )
        elif found.jobs == 1 and found.run is not None and found.capacity.most_in_use:
            text += (
                f" The job ran for {format_duration(quantile(found.run, 0.5))} on "
                f"{counted(found.capacity.most_in_use, 'processor')}."
            )
        return text
    text = format_share(use.value)
    if one_number(found):
        return f"{text} of {machine} were in use{whose} {when}."
    if found.capacity.source == "most in use":
        if use.high < 1.0:
            return (
                f"At most {format_share(use.high)} of the machine was in use{whose} {when}. The "
                f"log doesn't state its size; at least {machine} existed, the maximum ever in "
                "use."
            )
        return (
            f"The log can't say how busy the machine was {when}: it is incomplete and doesn't "
            f"state the machine's size. On average, {text} of the maximum number of processors "
            f"ever in use ({found.capacity.processors:,}) were in use."
        )
    if use.high < 1.0:
        return (
            f"Between {format_share(use.low)} and {format_share(use.high)} of {machine} were in "
            f"use{whose} {when}, depending on whether the machine was idle or down while nothing "
            "was recorded."
        )
    return (
        f"At least {text} of {machine} were in use{whose} {when}. The log is incomplete and "
        f"can't tell whether utilisation was above {text}."
    )


def _within(sentence: str) -> str:
    """A sentence in lower case, as the end of another sentence."""
    return sentence[:1].lower() + sentence[1:]


def seconds_text(value: float | None) -> str:
    """A duration, or that it is not recorded."""
    return NOT_RECORDED if value is None else format_duration(value)


def hours_text(use: float) -> str:
    """Hours of processor time, from processor × s."""
    hours = use / 3600.0
    return f"{hours:,.0f} h" if hours >= 10 or hours == 0 else f"{hours:.2g} h"


def summary_line(found: UsageFindings) -> str:
    """The numbers of jobs and files, and the formats."""
    chosen = f" ({found.chosen})" if found.chosen else ""
    return (
        f"{counted(found.jobs, 'job')}{chosen} of {counted(found.files, 'file')}, "
        f"{', '.join(found.formats)}"
    )
