"""Use by day, week and hour of the week, in local time."""

from __future__ import annotations

import time

import numpy as np

from assay.questions.usage.model import UsageHour, UsageSpan
from assay.questions.usage.prepared import PreparedJobs
from assay.usage.jobs import Floats, Ints
from assay.usage.period import DAY, HOUR

_WEEK = 7
# 1 January 1970 was a Thursday; days of the week count from Monday.
_THURSDAY = 3


def local_day(data: PreparedJobs, utc: float) -> int:
    """The number of a local day since 1970."""
    return int(np.floor(data.local.at(np.array([utc]))[0] / DAY))


def day_name(data: PreparedJobs, day: int) -> str:
    """Its date, or its number where times count from an unknown day."""
    if not data.machine.calendar:
        return f"day {day}"
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))


def spans_of(data: PreparedJobs, *, stated: bool) -> tuple[list[UsageSpan], list[UsageSpan]]:
    """Days, and weeks from Monday on, of the log's period. ``stated``: with their utilisation."""
    edges = _hours(data.begin_log, data.finish_log)
    if edges.size < 2:
        return [], []
    busy = data.capacity.counted(data.busy_chosen).integral(edges)
    available = data.capacity.available(data.busy).integral(edges)
    whole = (edges[:-1] >= data.begin) & (edges[1:] <= data.finish)
    days = np.floor(data.local.at(edges[:-1]) / DAY).astype(np.int64)
    counts = [_days_of(data, times) for times in (data.entered, data.start, data.end)]

    ends = data.local.at(edges[[0, -1]]) / DAY
    # Weeks of a log whose weekdays are unknown count from its first day.
    shift = _THURSDAY if data.machine.calendar else 0

    def grouped(length: int) -> list[UsageSpan]:
        def begin_of(days: Ints) -> Ints:
            return days if length == 1 else days - (days + shift) % _WEEK

        begins, first, place = np.unique(begin_of(days), return_index=True, return_inverse=True)
        sums = [np.bincount(place, values) for values in (busy, available)]
        complete = np.bincount(place, ~whole) == 0
        complete[0] &= ends[0] == begins[0]
        complete[-1] &= ends[1] == begins[-1] + length
        numbers = [_counted(begin_of(each), begins) for each in counts]
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

    return grouped(1), grouped(_WEEK)


def hours_of(data: PreparedJobs) -> list[UsageHour]:
    """The hours of the week over the settled period; none where weekdays are unknown."""
    if not data.machine.calendar:
        return []
    edges = _hours(data.begin, data.finish)
    if edges.size < 2:
        return []
    busy = data.capacity.counted(data.busy_chosen).integral(edges)
    available = data.capacity.available(data.busy).integral(edges)
    place = _hour_of_week(data.local.at(edges[:-1]))
    sums = [np.bincount(place, values, 24 * _WEEK) for values in (busy, available)]
    times = data.entered[data.chosen & ~np.isnan(data.entered)]
    times = times[(times >= data.begin) & (times <= data.finish)]
    submitted = np.bincount(_hour_of_week(data.local.at(times)), minlength=24 * _WEEK)
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
    """Edges of hours within a period, with its ends."""
    if not begin < end:
        return np.empty(0)
    inside = np.arange(np.floor(begin / HOUR) + 1, np.ceil(end / HOUR)) * HOUR
    return np.concatenate(([begin], inside, [end]))


def _hour_of_week(local: Floats) -> Ints:
    hours = np.floor(local / HOUR).astype(np.int64)
    place: Ints = (hours + 24 * _THURSDAY) % (24 * _WEEK)
    return place


def _days_of(data: PreparedJobs, times: Floats) -> Ints:
    kept = times[data.chosen & ~np.isnan(times)]
    kept = kept[(kept >= data.begin_log) & (kept <= data.finish_log)]
    days: Ints = np.floor(data.local.at(kept) / DAY).astype(np.int64)
    return days


def _counted(values: Ints, begins: Ints) -> Ints:
    """How often each of the ascending ``begins`` occurs."""
    ordered = np.sort(values)
    numbers: Ints = np.searchsorted(ordered, begins, "right") - np.searchsorted(ordered, begins)
    return numbers
