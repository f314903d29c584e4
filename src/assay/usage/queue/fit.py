"""How well a modelled scheduler reproduces the waits of a log, and which jobs it gets wrong.

A what-if states the relative change of the mean wait in the model. It holds for the real scheduler
as far as the model waits like the real one. The fit is the factor between modelled and real waits:
of all jobs, and of typical weeks and sizes of jobs (docs/methods/scheduler.md, "Fit").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.compare.directions import compared
from assay.units import Interval, format_duration
from assay.usage.analysis.labels import size_label
from assay.usage.queue.model import QueueFit, QueueMisfit
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.resample import WEEK

# Added to mean waits before they are compared, s: real schedulers look at the queue every 30 s to
# 60 s, and logs hold whole seconds.
CYCLE = 60.0
# Largest factor between real and modelled waits for which changes by the model are stated. From
# 1.2 on, intervals over weeks alone miss the real change in more than 10% of the cases, from 2 on
# in more than 30%. Extended by the factor they hold it in at least 97% up to 2; from there to 3
# they miss 8 to 14% of the changes of policy (benchmarks/rates/what_ifs.py).
MOST_FACTOR = 2.0
# Weeks that the comparison of groups needs, and jobs of a group.
_LEAST_WEEKS, _LEAST_JOBS = 4, 20
# A group is named if its factor differs from that of the other jobs by at least this factor.
_APART = 1.2
# Users and queues with the most wait that are compared.
_MOST_NAMES = 10
# Upper bounds of the classes of requested times, s.
_REQUESTS = (3600.0, 4 * 3600.0, 12 * 3600.0, 24 * 3600.0)


@dataclass(frozen=True)
class JobGroups:
    """Jobs divided into groups."""

    #: What the groups are: size, request, user or queue.
    kind: str
    #: Number of the group of each job, shape (n,).
    of: Ints
    #: Names of the groups; "" for a group that isn't compared.
    names: Sequence[str]


@dataclass(frozen=True)
class _Waits:
    """Sums by group and week, each of shape (groups, weeks)."""

    jobs: Floats
    #: ``real``, ``modelled``: sums of waits, s.
    real: Floats
    modelled: Floats

    @classmethod
    def of(cls, group: Ints, week: Ints, shape: tuple[int, int], *waits: Floats) -> _Waits:
        """The sums of two columns of waits."""
        place = group * shape[1] + week
        sums = (
            np.bincount(place, weights, shape[0] * shape[1]).astype(np.float64).reshape(shape)
            for weights in (None, *waits)
        )
        return cls(*sums)

    def factors(self, axis: int | tuple[int, int]) -> Floats:
        """Real over modelled mean waits, both raised by ``CYCLE``, summed over one or both axes."""
        jobs, real, modelled = (
            each.sum(axis=axis) for each in (self.jobs, self.real, self.modelled)
        )
        return _factor(jobs, real, modelled)

    def typical(self, axis: int) -> float:
        """The typical factor, at least 1: the mean of |log factor|, weighted by the waits."""
        weight = (self.real + self.modelled).sum(axis=axis)
        known = weight > 0.0
        if not known.any():
            return 1.0
        logs = np.abs(np.log(self.factors(axis)[known]))
        return float(np.exp(np.average(logs, weights=weight[known])))


def fit_of(
    workload: Workload, real: Floats, modelled: Floats, groups: Sequence[JobGroups] = ()
) -> QueueFit:
    """The fit of modelled starts to the real ones, both in s with the load's origin.

    Jobs that never start in the model are left out. ``groups``: further divisions of the jobs to
    compare, such as users; sizes and requests are always compared.
    """
    started = ~np.isnan(modelled)
    waits = (
        np.maximum(real - workload.submit, 0.0)[started],
        np.maximum(modelled - workload.submit, 0.0)[started],
    )
    span = float(workload.submit[-1] - workload.submit[0])
    weeks = max(int(span // WEEK), 1)
    # The rest of a week belongs to the last whole week.
    week = np.minimum(((workload.submit - workload.submit[0]) // WEEK).astype(np.int64), weeks - 1)
    week = week[started]
    divided = [_sizes(workload), _requests(workload), *groups]
    sums = [_Waits.of(each.of[started], week, (len(each.names), weeks), *waits) for each in divided]
    mean = float(sums[0].factors((0, 1)))
    by_week, by_size = sums[0].typical(0), sums[0].typical(1)
    factor = max(mean, 1.0 / mean, by_week, by_size)
    enough = weeks >= _LEAST_WEEKS
    return QueueFit(
        mean=mean,
        weeks=by_week,
        sizes=by_size,
        factor=factor,
        limit=MOST_FACTOR,
        reproduced=factor <= MOST_FACTOR,
        groups=_misfits(divided, sums) if enough else [],
        compared=enough,
        half=_half(sums[0]),
    )


def _factor(jobs: Floats, real: Floats, modelled: Floats) -> Floats:
    empty = np.equal(jobs, 0.0)
    raised: Floats = (real + CYCLE * jobs + empty) / (modelled + CYCLE * jobs + empty)
    return raised


def _sizes(workload: Workload) -> JobGroups:
    """Sizes in powers of two."""
    power = np.ceil(np.log2(np.maximum(workload.processors, 1))).astype(np.int64)
    return JobGroups(
        "size",
        power,
        [
            size_label(2 ** (each - 1) + 1 if each else 1, 2**each)
            for each in range(int(power.max(initial=0)) + 1)
        ],
    )


def _requests(workload: Workload) -> JobGroups:
    bounds = [format_duration(each) for each in _REQUESTS]
    names = [
        f"up to {bounds[0]}",
        *(f"{low} to {high}" for low, high in pairwise(bounds)),
        f"over {bounds[-1]}",
    ]
    return JobGroups("request", np.digitize(workload.limit, _REQUESTS, right=True), names)


def _half(waits: _Waits) -> list[int]:
    """The fewest weeks with half of the difference between real and modelled waits, in order."""
    apart = np.abs((waits.real - waits.modelled).sum(axis=0))
    if not apart.sum() > 0.0:
        return []
    order = np.argsort(-apart, kind="stable")
    number = int(np.searchsorted(np.cumsum(apart[order]), apart.sum() / 2.0)) + 1
    return sorted(int(each) + 1 for each in order[:number])


def _misfits(divided: Sequence[JobGroups], sums: Sequence[_Waits]) -> list[QueueMisfit]:
    """The groups with another factor than the other jobs, those with the most wait first.

    Intervals come from the delete-one jackknife over weeks (Tukey, 1958) of the logarithm.
    """
    candidates = [
        (groups, waits, place)
        for groups, waits in zip(divided, sums, strict=True)
        for place in _largest(groups, waits)
    ]
    found = []
    for groups, waits, place in candidates:
        mine, whole = _without_weeks(waits, [place]), _without_weeks(waits, slice(None))
        if mine.jobs[0] >= whole.jobs[0]:
            continue
        others = _Waits(*(_minus(whole, mine, name) for name in ("jobs", "real", "modelled")))
        own = _factor(mine.jobs, mine.real, mine.modelled)
        apart = own / _factor(others.jobs, others.real, others.modelled)
        # The jackknife has one degree of freedom less than weeks, and ``apart`` one entry more.
        beside = compared(
            float(apart[0]), _jackknife(apart), launches=apart.size, comparisons=len(candidates)
        )
        if beside.direction == "open" or 1.0 / _APART < beside.value < _APART:
            continue
        jobs = int(mine.jobs[0])
        found.append(
            QueueMisfit(
                kind=groups.kind,
                name=groups.names[place],
                jobs=jobs,
                real=float(mine.real[0]) / jobs,
                modelled=float(mine.modelled[0]) / jobs,
                factor=float(own[0]),
                ci95=_jackknife(own),
                others=float(own[0] / apart[0]),
                direction=beside.direction,
            )
        )
    return sorted(found, key=lambda each: -each.jobs * abs(each.real - each.modelled))


def _largest(groups: JobGroups, waits: _Waits) -> list[int]:
    """The named groups with the most wait that have enough jobs, in at least half of the weeks."""
    total = (waits.real + waits.modelled).sum(axis=1)
    spread = 2 * np.count_nonzero(waits.jobs, axis=1) >= waits.jobs.shape[1]
    enough = spread & (waits.jobs.sum(axis=1) >= _LEAST_JOBS)
    order = [int(each) for each in np.argsort(-total, kind="stable")]
    return [each for each in order if groups.names[each] and enough[each]][:_MOST_NAMES]


def _without_weeks(waits: _Waits, groups: list[int] | slice) -> _Waits:
    """Sums over groups: of all weeks first, then without each week; shape (1 + weeks,)."""

    def sums(column: Floats) -> Floats:
        by_week = column[groups].sum(axis=0)
        return np.concatenate([[by_week.sum()], by_week.sum() - by_week])

    return _Waits(sums(waits.jobs), sums(waits.real), sums(waits.modelled))


def _minus(whole: _Waits, mine: _Waits, name: str) -> Floats:
    # Sums of many waits differ in their last digits.
    rest: Floats = np.maximum(getattr(whole, name) - getattr(mine, name), 0.0)
    return rest


def _jackknife(factors: Floats) -> Interval:
    """The 95% interval of the first factor; the others lack a week each."""
    from scipy.special import stdtrit

    logs = np.log(factors)
    weeks = logs.size - 1
    error = float(np.sqrt((weeks - 1) / weeks * np.sum((logs[1:] - logs[1:].mean()) ** 2)))
    half = float(stdtrit(weeks - 1, 0.975)) * error
    return float(np.exp(logs[0] - half)), float(np.exp(logs[0] + half))
