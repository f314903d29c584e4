"""How complete a log is, and what it therefore can say about utilisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.questions.usage.model import UsageRecords, Utilisation
from assay.questions.usage.prepared import PreparedJobs
from assay.questions.usage.spans import day_name, local_day
from assay.units import counted, format_share
from assay.usage.jobs import Floats
from assay.usage.period import DAY, HOUR
from assay.usage.problems import Problem

# Share of records, of ids or of the use that may be wrong or absent in a log that is complete.
TOLERATED = 0.05
# Kinds of problems whose records may have been use that is not counted.
_NOT_COUNTED = (
    "malformed", "long", "truncated", "range", "negative", "backwards", "no size", "no end",
    "too large",
)  # fmt: skip


def records_of(data: PreparedJobs) -> UsageRecords:
    """Absent ids, empty days and gaps, over all jobs of the log."""
    first, last = data.period.first, data.period.last
    events = _events(data)
    edges = np.unique(np.concatenate(([first], events, [last])))
    low, high = local_day(data, first), local_day(data, last)
    # Whole days only: those of the first and last record are not.
    days = np.arange(low + 1, high)
    with_events = np.unique(np.floor(data.local.at(events) / DAY))
    empty = np.setdiff1d(days, with_events)
    numbers = data.jobs.code("number")
    absent: int | None = None
    share: float | None = None
    if numbers.size and numbers.min() >= 0:
        between = int(numbers.max()) - int(numbers.min()) + 1
        absent = between - int(np.unique(numbers).size)
        share = absent / between
    length = data.finish - data.begin
    return UsageRecords(
        jobs=len(data.jobs),
        stated=data.machine.records or None,
        absent=absent,
        absent_share=share,
        days=int(days.size),
        empty_days=[day_name(data, int(day)) for day in empty],
        longest_gap=float(np.diff(edges).max(initial=0.0)),
        quiet=float(np.diff(_quiet(data, events)[:, :2], axis=1).sum()) / length if length else 0.0,
    )


def _events(data: PreparedJobs) -> Floats:
    """Submissions, starts and ends, as times in the log's period."""
    times = np.concatenate((data.submit, data.start, data.end))
    return np.unique(times[(times >= data.period.first) & (times <= data.period.last)])


def _quiet(data: PreparedJobs, events: Floats) -> Floats:
    """Intervals (n, 2) of an hour or more within the period, without use and without any event."""
    inside = events[(events > data.begin) & (events < data.finish)]
    edges = np.concatenate(([data.begin], inside, [data.finish]))
    empty = (np.diff(edges) >= HOUR) & (data.busy.at(edges[:-1]) == 0.0)
    return np.column_stack((edges[:-1][empty], edges[1:][empty]))


def utilisation_of(
    data: PreparedJobs, records: UsageRecords, problems: Sequence[Problem]
) -> Utilisation:
    """Utilisation with the bounds that the log's gaps allow, and the reasons for them."""
    span = np.array([data.begin, data.finish])
    steps = data.capacity.available(data.busy)
    available = float(steps.integral(span)[0])
    used = float(data.busy.integral(span)[0])
    held = float(data.capacity.counted(data.busy).integral(span)[0])
    excess = (used - held) / used if used > 0 else 0.0
    mine = data.capacity.counted(data.busy_chosen).integral(span)[0]
    began = data.chosen & (data.start >= data.begin) & (data.start < data.finish)
    load = float(data.use[began].sum()) / available if available else 0.0
    if available <= 0.0:
        return Utilisation(None, 0.0, 1.0, load, excess, ["No processor was available."])
    value = min(float(mine) / available, 1.0)
    low = high = value
    missing = _missing(data, records, problems)
    reasons = [*missing]
    if data.capacity.source == "most in use":
        low = 0.0
        reasons.append(
            "The log doesn't state the machine's size: the share is of the most processors that "
            f"were ever in use ({data.capacity.processors:,}), and a larger machine was used less."
        )
    # With node events, time without use is idle where it isn't down.
    if not data.machine.outages and records.quiet > 0.0:
        quiet = _quiet(data, _events(data)).ravel()
        unseen = float(steps.integral(quiet)[::2].sum())
        high = float(mine) / max(available - unseen, float(mine)) if mine else 0.0
        reasons.append(
            f"In {format_share(records.quiet)} of the time nothing was in use and nothing was "
            "recorded; the log doesn't say whether the machine was idle or down."
        )
    if missing:
        high = 1.0
    if excess > TOLERATED:
        reasons.insert(
            0,
            f"{format_share(excess)} of the use exceeds the machine's {data.capacity.processors:,} "
            "processors: the jobs can't all have run when the log says, or the size is wrong.",
        )
        return Utilisation(None, 0.0, 1.0, load, excess, reasons)
    return Utilisation(value, low, high, load, excess, reasons)


def _missing(data: PreparedJobs, records: UsageRecords, problems: Sequence[Problem]) -> list[str]:
    """Why jobs may have used the machine that the log lacks; nothing for a complete log."""
    found = []
    if records.absent_share is not None and records.absent_share > TOLERATED:
        found.append(
            f"{format_share(records.absent_share)} of the job ids between the lowest and the "
            f"highest are absent ({records.absent:,}): what these jobs used is unknown."
        )
    if records.stated is not None and records.stated * (1.0 - TOLERATED) > records.jobs:
        found.append(
            f"The log's header states {records.stated:,} records, and the log holds "
            f"{records.jobs:,}."
        )
    if len(records.empty_days) > TOLERATED * max(records.days, 1):
        found.append(
            f"On {len(records.empty_days)} of {counted(records.days, 'whole day')} no job was "
            "submitted, started or ended."
        )
    wrong = sum(each.count for each in problems if each.kind in _NOT_COUNTED)
    if wrong > TOLERATED * (records.jobs + wrong):
        found.append(f"{counted(wrong, 'record')} could not be counted as use.")
    if not data.period.whole:
        found.append(
            "The log is too short: jobs that it lacks at its ends may have run most of the time."
        )
    return found
