"""Use by day, week and hour of the week, in local time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.analysis.model import UsageCourse, UsageHour, UsageSpan
from assay.usage.analysis.prepared import PreparedJobs
from assay.usage.period import DAY, HOUR

_WEEK, _LONGEST_MONTH = 7, 31
# The course over time has hourly steps up to this number of steps.
MOST_STEPS = 50_000
# 1 January 1970 was a Thursday; days of the week count from Monday.
_THURSDAY = 3


def local_day(data: PreparedJobs, utc: float) -> int:
    """The number of a local day since 1970."""
    return int(np.floor(data.local.at(np.array([utc]))[0] / DAY))


def day_name(data: PreparedJobs, day: int) -> str:
    """The date of a day, or its number if times count from an unknown day."""
    if not data.machine.calendar:
        return f"day {day}"
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))


@dataclass(frozen=True)
class UsageSpans:
    """Use by day, by week and by month."""

    days: list[UsageSpan]
    weeks: list[UsageSpan]
    months: list[UsageSpan]


def spans_of(data: PreparedJobs, *, stated: bool) -> UsageSpans:
    """Days, weeks that begin on Monday, and months (none without dates) in the log's period.

    ``stated``: whether they have utilisations.
    """
    edges = _hours(data.begin_log, data.finish_log)
    if edges.size < 2:
        return UsageSpans([], [], [])
    busy = data.over_time.integral(data.counted_chosen, edges)
    available = data.over_time.integral(data.available, edges)
    whole = (edges[:-1] >= data.begin) & (edges[1:] <= data.finish)
    days = np.floor(data.local.at(edges[:-1]) / DAY).astype(np.int64)
    counts = _days_of(data)

    ends = data.local.at(edges[[0, -1]]) / DAY
    # Weeks of a log whose weekdays are unknown count from its first day.
    shift = _THURSDAY if data.machine.calendar else 0

    def week_of(days: Ints) -> Ints:
        return days - (days + shift) % _WEEK

    def grouped(begin_of: Callable[[Ints], Ints], longest: int) -> list[UsageSpan]:
        """Spans of at most ``longest`` days, each of which begins on the day ``begin_of``."""
        begins, first, place = np.unique(begin_of(days), return_index=True, return_inverse=True)
        sums = [np.bincount(place, values) for values in (busy, available)]
        complete = np.bincount(place, ~whole) == 0
        complete[0] &= ends[0] == begins[0]
        after = begins[-1] + np.arange(1, longest + 1)
        complete[-1] &= ends[1] == after[np.argmax(begin_of(after) != begins[-1])]
        numbers = [_counted(begin_of(of), each, begins) for of, each in counts]
        return [
            UsageSpan(
                name=day_name(data, int(begins[i])),
                utc=float(edges[first[i]]),
                busy=float(sums[0][i]),
                available=float(sums[1][i]),
                utilisation=float(sums[0][i] / sums[1][i]) if stated and sums[1][i] > 0 else None,
                submitted=int(numbers[0][i]),
                started=int(numbers[1][i]),
                ended=int(numbers[2][i]),
                whole=bool(complete[i]),
            )
            for i in range(begins.size)
        ]

    months = grouped(_month_of, _LONGEST_MONTH) if data.machine.calendar else []
    return UsageSpans(
        days=grouped(lambda days: days, 1),
        weeks=grouped(week_of, _WEEK),
        months=[replace(each, name=each.name[: len("2026-03")]) for each in months],
    )


def _month_of(days: Ints) -> Ints:
    """The first day of the month of each day; days count from 1970."""
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    first: Ints = months.astype("datetime64[D]").astype(np.int64)
    return first


def course_of(data: PreparedJobs) -> UsageCourse | None:
    """Use hour by hour over the log's period; None if the period has no length."""
    edges = _hours(data.begin_log, data.finish_log)
    if edges.size < 2:
        return None
    several = -(-(edges.size - 1) // MOST_STEPS)
    edges = np.append(edges[:-1:several], edges[-1])
    width = np.diff(edges)
    busy, available = (
        data.over_time.integral(of, edges) / width for of in (data.counted_chosen, data.available)
    )
    down = None
    if data.machine.outages:
        down = np.maximum(data.capacity.size.integral(edges) / width - available, 0.0).tolist()
    return UsageCourse(
        utc=edges[:-1].tolist(),
        end=float(edges[-1]),
        step=several * HOUR,
        busy=busy.tolist(),
        available=available.tolist(),
        down=down,
    )


def hours_of(data: PreparedJobs) -> list[UsageHour]:
    """The hours of the week over the settled period; none if weekdays are unknown."""
    if not data.machine.calendar:
        return []
    edges = _hours(data.begin, data.finish)
    if edges.size < 2:
        return []
    busy = data.over_time.integral(data.counted_chosen, edges)
    available = data.over_time.integral(data.available, edges)
    place = _hour_of_week(data.local.at(edges[:-1]))
    sums = [np.bincount(place, values, 24 * _WEEK) for values in (busy, available)]
    submitted = np.zeros(24 * _WEEK, dtype=np.int64)
    for chunk in data.chunks():
        times = chunk.entered[chunk.chosen & ~np.isnan(chunk.entered)]
        times = times[(times >= data.begin) & (times <= data.finish)]
        submitted += np.bincount(_hour_of_week(data.local.at(times)), minlength=24 * _WEEK)
    return [
        UsageHour(
            weekday=hour // 24,
            hour=hour % 24,
            utilisation=float(sums[0][hour] / sums[1][hour]) if sums[1][hour] > 0 else None,
            submitted=int(submitted[hour]),
        )
        for hour in range(24 * _WEEK)
    ]


def _hours(begin: float, end: float) -> Floats:
    """Edges of hours within a period, including its ends."""
    if not begin < end:
        return np.empty(0)
    inside = np.arange(np.floor(begin / HOUR) + 1, np.ceil(end / HOUR)) * HOUR
    return np.concatenate(([begin], inside, [end]))


def _hour_of_week(local: Floats) -> Ints:
    hours = np.floor(local / HOUR).astype(np.int64)
    place: Ints = (hours + 24 * _THURSDAY) % (24 * _WEEK)
    return place


def _days_of(data: PreparedJobs) -> list[tuple[Ints, Ints]]:
    """Days, and the numbers of chosen jobs that were submitted, started and ended on each."""
    counts: list[Counter[int]] = [Counter(), Counter(), Counter()]
    for chunk in data.chunks():
        for count, times in zip(counts, (chunk.entered, chunk.start, chunk.end), strict=True):
            kept = times[chunk.chosen & ~np.isnan(times)]
            kept = kept[(kept >= data.begin_log) & (kept <= data.finish_log)]
            days, number = np.unique(np.floor(data.local.at(kept) / DAY), return_counts=True)
            count.update(dict(zip(days.astype(np.int64).tolist(), number.tolist(), strict=True)))
    return [
        (np.array(list(count), dtype=np.int64), np.array(list(count.values()), dtype=np.int64))
        for count in counts
    ]


def _counted(values: Ints, numbers: Ints, begins: Ints) -> Ints:
    """The sum of the ``numbers`` whose value in ``values`` is each of the ascending ``begins``."""
    place = np.searchsorted(begins, values)
    known = place < begins.size
    known[known] = begins[place[known]] == values[known]
    total: Ints = np.bincount(place[known], numbers[known], begins.size).astype(np.int64)
    return total
