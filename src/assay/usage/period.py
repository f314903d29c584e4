"""The period that a log covers, and the part of it in which all use is recorded.

A log that is ordered by submission lacks, at its beginning, jobs that were submitted earlier. A log
that is written when jobs end lacks, at its end, jobs that were still running. The missing use is
estimated from the log's own jobs: if the load was the same before, the use that is missing a time t
after the first record is sum(p × clip(w + r - t, 0, r)) / sum(p × r), over jobs with p processors,
wait w and run time r.
"""

from __future__ import annotations

import datetime
import math
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.usage.jobs import Jobs, MachineFacts, State

# Share of the use that may be missing at the ends of the settled period.
MISSING_AT_MOST = 0.05
HOUR, DAY, QUARTER = 3600.0, 86400.0, 900.0


@dataclass(frozen=True)
class LogPeriod:
    """Unix times of the first and last records, and of the ends of the settled period."""

    first: float
    last: float
    settled_from: float
    settled_to: float
    #: Whether the log has a settled period. If it is too short to have one, the settled period is
    #: the whole period.
    whole: bool


def period_of(jobs: Jobs, machine: MachineFacts) -> LogPeriod:
    """The period of a log with jobs. Raises AssayError if none of them has a time."""
    limits = dict.fromkeys(("entered", "start", "end"), (math.inf, -math.inf))
    running = False
    for _, each in jobs.chunks():
        submit, start, end = (each.number(name) for name in ("submit", "start", "end"))
        columns = {"entered": np.fmin(submit, start), "start": start, "end": end}
        for name, times in columns.items():
            known = times[~np.isnan(times)]
            low, high = limits[name]
            limits[name] = (
                float(known.min(initial=low)), float(known.max(initial=high)),
            )  # fmt: skip
        running |= bool(np.any(each.code("state") == State.RUNNING))
    greatest = {name: high for name, (_, high) in limits.items()}
    if machine.at_ends and math.isfinite(greatest["end"]):
        first, last = limits["end"]
        if machine.starts:
            last = max(last, greatest["start"])
    else:
        first, last = limits["entered"]
        if not math.isfinite(first):
            raise AssayError(
                f"None of the {len(jobs):,} jobs has a time.",
                fix="Also print the times at which jobs were submitted, started and ended.",
            )
        if running:  # read from a live system: everything up to then is recorded
            last = max(last, greatest["start"], greatest["end"])
    begin, finish = first, last
    if not machine.at_ends:
        begin = first + _edge(jobs, waits=True)
    elif not machine.starts:
        finish = last - _edge(jobs, waits=False)
    if begin < finish:
        return LogPeriod(first, last, begin, finish, whole=True)
    return LogPeriod(first, last, first, last, whole=False)


def _edge(jobs: Jobs, *, waits: bool) -> float:
    """Time in s after which at most ``MISSING_AT_MOST`` of the use is missing."""
    whole = low = high = 0.0
    for wait, run, processors in _used(jobs, waits=waits):
        whole += float(np.sum(processors * run))
        high = max(high, float(np.max(wait + run, initial=0.0)))
    # The missing share falls with time; its sum has no closed inverse.
    while high - low > 60.0:
        middle = (low + high) / 2
        missing = 0.0
        for wait, run, processors in _used(jobs, waits=waits):
            missing += float(np.sum(processors * np.clip(wait + run - middle, 0.0, run)))
        low, high = (middle, high) if missing > MISSING_AT_MOST * whole else (low, middle)
    return float(np.ceil(high))


def _used(jobs: Jobs, *, waits: bool) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Waits (0 without ``waits``), run times and processors of the jobs that used processors."""
    for _, each in jobs.chunks():
        submit, start, end = (each.number(name) for name in ("submit", "start", "end"))
        run = end - start
        work = each.number("processors") * run
        used = ~np.isnan(work) & (work > 0)
        wait = np.nan_to_num(start - submit)[used] if waits else np.zeros(int(used.sum()))
        yield wait, run[used], work[used] / run[used]


@dataclass(frozen=True)
class LocalTime:
    """Local time of the machine."""

    #: IANA name of the zone; "" if times are already local or the zone is unknown.
    zone: str = ""

    @classmethod
    def of(cls, stated: str | None, machine: MachineFacts) -> LocalTime:
        """The stated zone, else the log's. Raises AssayError for an unknown stated zone, or a
        stated zone for a log with local times.
        """
        if stated and machine.local:
            raise AssayError(
                "The log's times are already local times.", where="--zone", fix="Leave it out."
            )
        for name in (stated, machine.zone):
            if not name:
                continue
            try:
                zoneinfo.ZoneInfo(name)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                if name is stated:
                    raise AssayError(
                        f"'{name}' is not a time zone of this system.",
                        where="--zone",
                        fix="Write an IANA name such as Europe/Stockholm.",
                    ) from None
                continue
            return cls(name)
        return cls()

    def at(self, utc: Floats) -> Floats:
        """Local times as if they were UTC."""
        if not self.zone:
            return utc
        zone = zoneinfo.ZoneInfo(self.zone)
        # Offsets change at a quarter of an hour, and on few days.
        days, on_day = np.unique(np.floor(utc / DAY), return_inverse=True)
        begins = np.array([self._offset(float(day) * DAY, zone) for day in days])
        ends = np.array([self._offset(float(day + 1) * DAY, zone) for day in days])
        offsets = begins[on_day]
        changing = (begins != ends)[on_day]
        quarters, place = np.unique(np.floor(utc[changing] / QUARTER), return_inverse=True)
        exact = np.array([self._offset(float(each) * QUARTER, zone) for each in quarters])
        offsets[changing] = exact[place]
        shifted: Floats = utc + offsets
        return shifted

    def moment(self, day: datetime.datetime) -> float:
        """Unix time of a local time without a zone, or of a time with its own zone."""
        if day.tzinfo is None:
            zone = zoneinfo.ZoneInfo(self.zone) if self.zone else datetime.UTC
            day = day.replace(tzinfo=zone)
        return day.timestamp()

    @staticmethod
    def _offset(utc: float, zone: zoneinfo.ZoneInfo) -> float:
        offset = datetime.datetime.fromtimestamp(utc, zone).utcoffset()
        return 0.0 if offset is None else offset.total_seconds()
