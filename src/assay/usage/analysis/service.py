"""Use by month, cluster, account and user, and single jobs with the most unused processor time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.analysis.efficiency import amount, efficiency_of, no_amounts
from assay.usage.analysis.model import UsageAccount, UsageEfficiency, UsageJob
from assay.usage.analysis.parts import STATES, shown_names
from assay.usage.analysis.prepared import JobChunk, PreparedJobs
from assay.usage.jobs import State
from assay.usage.period import DAY

# The most rows of the table by month, cluster, account and user, and the fewest named ones.
_MOST_ROWS, _FEWEST_NAMED = 500, 100
MOST_JOBS = 100
_OTHERS = "others"
# Month, cluster, group and user, as numbers.
_Key = tuple[int, int, int, int]
_NO_MONTH = -1


@dataclass(frozen=True)
class _Names:
    """Names in reports, by number."""

    clusters: list[str]
    groups: list[str]
    users: list[str]


def names_of(data: PreparedJobs) -> _Names:
    """The names of clusters, groups and users."""
    jobs = data.jobs
    return _Names(
        shown_names(data, "cluster", jobs.clusters),
        shown_names(data, "group", jobs.groups),
        shown_names(data, "user", jobs.users),
    )


def month_name(month: int) -> str:
    """``2026-03`` for a number of months since 1970; "" if the month is unknown."""
    return "" if month == _NO_MONTH else str(np.datetime64(month, "M"))


def _months(data: PreparedJobs, chunk: JobChunk) -> Ints:
    """The months in which jobs ended, or were submitted if they did not run."""
    when = np.where(np.isnan(chunk.end), chunk.entered, chunk.end)
    found = np.full(when.size, _NO_MONTH, dtype=np.int64)
    known = ~np.isnan(when)
    if data.machine.calendar:
        days = np.floor(data.local.at(when[known]) / DAY).astype("datetime64[D]")
        found[known] = days.astype("datetime64[M]").astype(np.int64)
    return found


class ServiceUse:
    """The amounts (``efficiency.AMOUNTS``) of the chosen jobs by month, cluster, group and user."""

    def __init__(self, data: PreparedJobs) -> None:
        self._data = data
        self._sums: dict[_Key, Floats] = {}
        for chunk in data.chunks():
            self._add(chunk)

    def _add(self, chunk: JobChunk) -> None:
        mine = chunk.chosen
        codes = [
            _months(self._data, chunk),
            *(chunk.jobs.code(name) for name in ("cluster", "group", "user")),
        ]
        keys, place = np.unique(
            np.column_stack([each[mine] for each in codes]), axis=0, return_inverse=True
        )
        sums = np.array(
            [np.bincount(place.ravel(), row, len(keys)) for row in chunk.amounts[:, mine]]
        )
        for number, key in enumerate(map(tuple, keys.tolist())):
            self._sums[key] = self._sums.get(key, no_amounts()) + sums[:, number]

    def by_month(self) -> Mapping[str, UsageEfficiency | None]:
        """The efficiency of each month."""
        sums: dict[int, Floats] = defaultdict(no_amounts)
        for (month, *_), each in self._sums.items():
            sums[month] = sums[month] + each
        return {month_name(month): efficiency_of(each) for month, each in sums.items()}

    def rows(self) -> list[UsageAccount]:
        """A row per month, cluster, group and user, in this order of months and by use. Those with
        the least use share a row per month and cluster, if there are many."""
        names = names_of(self._data)
        largest = sorted(self._sums, key=lambda key: -amount(self._sums[key], "use"))
        many = len(largest) > _MOST_ROWS
        shared = len({key[:2] for key in largest}) if many else 0
        named = max(_MOST_ROWS - shared, _FEWEST_NAMED) if many else len(largest)
        found = [
            _row(key, self._sums[key], (names.groups[key[2]], names.users[key[3]]), names)
            for key in largest[:named]
        ]
        others: dict[tuple[int, int], Floats] = defaultdict(no_amounts)
        for key in largest[named:]:
            others[key[:2]] = others[key[:2]] + self._sums[key]
        found += [
            _row((*key, 0, 0), sums, (_OTHERS, _OTHERS), names) for key, sums in others.items()
        ]
        return sorted(found, key=lambda row: (row.month, -row.use))


def _row(key: _Key, sums: Floats, who: tuple[str, str], names: _Names) -> UsageAccount:
    return UsageAccount(
        month=month_name(key[0]),
        cluster=names.clusters[key[1]],
        group=who[0],
        user=who[1],
        jobs=round(amount(sums, "jobs")),
        use=amount(sums, "use"),
        efficiency=efficiency_of(sums),
    )


def wasteful_jobs(data: PreparedJobs) -> list[UsageJob]:
    """The jobs with the most unused processor time; none if processor times are unknown."""
    if not data.processor_times:
        return []
    found: list[tuple[float, int]] = []
    for chunk in data.chunks():
        use = chunk.used
        unused = np.where(
            chunk.chosen, np.nan_to_num(use.run * use.processors - use.processor_time), 0.0
        )
        rows = np.flatnonzero(unused > 0)
        rows = rows[np.argsort(-unused[rows], kind="stable")[:MOST_JOBS]]
        found += [(float(unused[row]), int(row) + chunk.rows.start) for row in rows]
        found = sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_JOBS]
    ranks = {row: rank for rank, (_, row) in enumerate(found, 1)}
    names = names_of(data)
    jobs: dict[int, UsageJob] = {}
    for chunk in data.chunks():
        inside = [row for row in ranks if chunk.rows.start <= row < chunk.rows.stop]
        for row in inside:
            jobs[row] = _job(data, chunk, row - chunk.rows.start, ranks[row], names)
    return [jobs[row] for row in ranks]


def _job(data: PreparedJobs, chunk: JobChunk, place: int, rank: int, names: _Names) -> UsageJob:
    columns, use = chunk.jobs.columns, chunk.used
    number = int(columns["number"][place])

    def known(values: Floats) -> float | None:
        value = float(values[place])
        return None if np.isnan(value) else value

    gpus = int(columns["gpus"][place])
    return UsageJob(
        job=str(number) if data.query.identify and number >= 0 else f"job {rank}",
        month=month_name(int(_months(data, chunk)[place])),
        cluster=names.clusters[int(columns["cluster"][place])],
        group=names.groups[int(columns["group"][place])],
        user=names.users[int(columns["user"][place])],
        state=STATES[State(int(columns["state"][place]))],
        processors=int(columns["processors"][place]),
        run=float(chunk.run[place]),
        unused=float((use.run * use.processors - use.processor_time)[place]),
        cpu=known(use.cpu()),
        memory=known(use.memory()),
        gpus=gpus if gpus >= 0 else None,
        energy=known(use.energy),
    )
