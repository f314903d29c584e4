"""The choice of jobs and of the period, parsed from the options of the command line."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.units import parse_duration
from assay.usage.jobs import Jobs
from assay.usage.period import LocalTime


@dataclass(frozen=True)
class UsageQuery:
    """The jobs and the period to analyse."""

    #: ``since``, ``until``: as written on the command line.
    since: str | None = None
    until: str | None = None
    queue: str | None = None
    user: str | None = None
    #: The cluster whose jobs and size are analysed, as if the log had no other.
    cluster: str | None = None
    #: The number of processors that the user states.
    processors: int | None = None
    #: The time zone that the user states.
    zone: str | None = None
    #: Whether names are shown.
    identify: bool = False

    def _columns(self, jobs: Jobs) -> list[tuple[str, str, str, int]]:
        """For each filter: its option, its value, the column, and the number to look for."""
        return [
            (option, value, column, names.index(value) if value in names else -1)
            for option, value, column, names in (
                ("--queue", self.queue, "queue", jobs.queues),
                ("--user", self.user, "user", jobs.users),
            )
            if value is not None
        ]

    def chosen(self, jobs: Jobs) -> NDArray[np.bool_]:
        """Jobs of the queue and user."""
        kept = np.ones(len(jobs), dtype=bool)
        for _, _, column, code in self._columns(jobs):
            kept &= jobs.columns[column] == code
        return kept

    def check(self, jobs: Jobs) -> None:
        """Raises AssayError if there is no job of the queue and user."""
        wanted = self._columns(jobs)
        kept = np.zeros(len(wanted), dtype=np.int64)
        for _, each in jobs.chunks() if wanted else ():
            mine = np.ones(len(each), dtype=bool)
            for place, (_, _, column, code) in enumerate(wanted):
                mine &= each.columns[column] == code
                kept[place] += int(mine.sum())
        for count, (option, value, _, _) in zip(kept, wanted, strict=True):
            if not count:
                raise AssayError(
                    f"None of the {len(jobs):,} jobs matches.",
                    where=f"{option} {value}",
                    fix="`assay usage LOG --identify` lists the names of queues and users.",
                )

    def words(self) -> str:
        """The filter in words; "" for all jobs. Names are given only if they are shown."""
        parts = [
            f"{noun} {value}" if self.identify else f"one {noun}"
            for noun, value in (
                ("cluster", self.cluster),
                ("queue", self.queue),
                ("user", self.user),
            )
            if value is not None
        ]
        return ", ".join(parts)


def moment(text: str, where: str, local: LocalTime, last: float) -> float:
    """Unix time of a local day or time, or of the moment a duration before the log's last
    record."""
    try:
        return local.moment(datetime.datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return last - parse_duration(text, where=where)
    except AssayError:
        raise AssayError(
            f"'{text}' is neither a date, a time nor a duration.",
            where=where,
            fix='Write a date such as 2026-03-01, a time such as 2026-03-01T08:00, or "90 d" for '
            "the last days of the log.",
        ) from None
