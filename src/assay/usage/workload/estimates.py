"""Requested times of a load: exact, padded, better by a factor, or as users really choose them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.scheduler.schedule import Workload

_MINUTE, _HOUR = 60.0, 3600.0
# Least request, s: schedulers don't accept a request of 0, and a job may end at once.
LEAST_REQUEST = 1.0


def exact(workload: Workload) -> Workload:
    """Each job requests its run time, but at least 1 s."""
    return replace(workload, limit=np.maximum(workload.run, LEAST_REQUEST))


def padded(workload: Workload, factor: float) -> Workload:
    """Each job requests a multiple of its run time: for comparison only.

    No users estimate like this: exact run times times a factor keep the order of run times, so that
    a scheduler does better with them than with any real requests (Tsafrir and Feitelson: The
    dynamics of backfilling: solving the mystery of why increased inaccuracy may help, IISWC 2006).
    Raises AssayError for a factor below 1.
    """
    if not 1.0 <= factor < math.inf:
        raise AssayError(
            f"Jobs can't request {factor:g} times their run time.",
            fix="Write a factor of at least 1.",
        )
    return replace(workload, limit=np.maximum(workload.run * factor, LEAST_REQUEST))


def better(workload: Workload, factor: float) -> Workload:
    """What each job requests beyond its run time, divided by ``factor``. An infinite factor makes
    the request exact.

    Jobs that reach their limit keep it. Raises AssayError for a factor that isn't positive.
    """
    if not factor > 0.0:
        raise AssayError(
            f"Estimates can't be better by a factor of {factor:g}.", fix="Write a factor above 0."
        )
    slack = np.maximum(workload.limit - workload.run, 0.0)
    limit = np.where(workload.run <= workload.limit, workload.run + slack / factor, workload.limit)
    return replace(workload, limit=np.maximum(limit, LEAST_REQUEST))


# The model of user runtime estimates.
#
# D. Tsafrir, Y. Etsion, D. G. Feitelson: Modeling user runtime estimates, Job Scheduling Strategies
# for Parallel Processing (JSSPP), LNCS 3834, 2005, 1-35; parameters as in the paper and in its
# authors' program. Users choose few, round values: 20 of them ("head") hold 89% of the jobs, the
# longest that is allowed among them as the most popular.

# The 15 values that are in the head of all four logs of the paper, min.
_JOINT = (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080)
# Multiples of these, from the longest down, complete the head, min.
_ROUND = (12000, 6000, 3000, 600, 300, 120, 60, 20, 10, 5)
_HEAD = 20
_HEAD_SHARE = 0.89
# Share of the jobs, in percent, with the estimate of popularity rank x: a·exp(b·x) + c in the head
# from rank 2 on, a·x^b in the tail.
_HEAD_SIZES = (14.0491, -0.177531, 0.462513)
_TAIL_SIZES = (795.6, -2.267)
# Number of different values by number of jobs; linear between, constant beyond.
_VALUES_JOBS = (0, 20, 200, 1000, 10000, 70000, 250000)
_VALUES = (0, 10, 20, 35, 90, 340, 565)
# Value of relative time rank x in the tail: (a - 1)·x ÷ (a - x) of the longest, with
# a = 1 + p·(number of values)^q.
_TAIL_TIMES = (12.1039, -0.6026)
# The popularity rank of each value of the head by its rank in time (the longest first, then
# ascending), in the logs SDSC-106, CTC, KTH-4h and Blue Horizon.
_POPULARITY = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7), (7, 9, 2, 2),
    (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11), (16, 11, 19, 20), (10, 20, 5, 9),
    (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13), (19, 13, 17, 16), (11, 10, 15, 15),
    (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip


@dataclass(frozen=True)
class ModalEstimates:
    """Values that users request (s, ascending), and the share of the jobs that request each
    value."""

    values: Floats
    shares: Floats
    #: The popular values.
    head: Floats


def modal_estimates(jobs: int, longest: float, seed: int) -> ModalEstimates:
    """The distribution of the requests of this many jobs where ``longest`` (s) is the limit.

    Raises AssayError for a limit below an hour, for which the model defines no values.
    """
    if longest < _HOUR:
        raise AssayError(
            "Modal estimates need a limit of at least an hour for requests.",
            fix="Choose exact estimates or the log's own.",
        )
    random = np.random.default_rng(seed)
    head = _head_times(longest)
    ranks = np.arange(2, len(head) + 1)
    a, b, c = _HEAD_SIZES
    sizes = (a * np.exp(b * ranks) + c) / 100.0
    sizes = np.sort(np.concatenate(([_HEAD_SHARE - sizes.sum()], sizes)))[::-1]
    head_shares = sizes[_popularity(len(head), random) - 1]
    number = int(np.rint(np.interp(jobs, _VALUES_JOBS, _VALUES)))
    tail = _tail_times(number, head, longest)
    if not tail.size:
        shares = head_shares / head_shares.sum()
        order = np.argsort(head)
        return ModalEstimates(head[order], shares[order], head)
    tail_ranks = np.arange(_HEAD + 1.0, _HEAD + 1.0 + tail.size)
    tail_shares = random.permutation(_TAIL_SIZES[0] * tail_ranks ** _TAIL_SIZES[1])
    tail_shares *= (1.0 - _HEAD_SHARE) / tail_shares.sum()
    values = np.concatenate((head, tail))
    shares = np.concatenate((head_shares, tail_shares))
    order = np.argsort(values)
    return ModalEstimates(values[order], shares[order], head)


def modal(workload: Workload, seed: int, longest: float | None = None) -> Workload:
    """Random requests by the model of modal estimates, none below the job's run time.

    ``longest``: the limit (s); by default the longest request or run time of the load, rounded up
    to an hour. If more jobs run long than request long in the model, the remaining ones request the
    longest. Jobs that are killed at their limit keep their run time.
    """
    run = np.minimum(workload.run, workload.limit)
    if longest is None:
        most = float(np.max(np.maximum(workload.limit, run), initial=0.0))
        longest = max(math.ceil(most / _HOUR) * _HOUR, _HOUR)
    longest = max(longest, float(run.max(initial=0.0)))
    found = modal_estimates(len(workload), longest, seed)
    random = np.random.default_rng([seed, 1])
    count = len(workload)
    # Each value gets its share of the jobs: the cumulative shares at each job's place.
    places = (np.arange(count) + 0.5) / max(count, 1)
    cumulative = np.minimum(np.cumsum(found.shares), 1.0)
    last = found.values.size - 1
    values = found.values[np.minimum(np.searchsorted(cumulative, places), last)][::-1].copy()
    order = np.argsort(-run, kind="stable")
    ordered = run[order]
    values = np.where(values < ordered, longest, values)
    values[::-1].sort()
    # From the longest job on, each takes a random value among the remaining ones that are long
    # enough: from the value at its own place to the longest.
    highest = np.searchsorted(-values, -ordered, side="right") - 1
    draws = random.random(count)
    taken = values.tolist()
    for place, (high, draw) in enumerate(zip(highest.tolist(), draws.tolist(), strict=True)):
        other = place + int(draw * (high - place + 1))
        taken[place], taken[other] = taken[other], taken[place]
    limit = np.empty(count)
    limit[order] = taken
    return replace(workload, run=run, limit=limit)


def _head_times(longest: float) -> Floats:
    """At most 20 round values, s: the longest first, the others ascending."""
    others = [minutes * _MINUTE for minutes in _JOINT if minutes * _MINUTE < longest]
    for minutes in _ROUND:
        step = minutes * _MINUTE
        value = math.floor(longest / step) * step
        while value > 0 and len(others) < _HEAD - 1:
            if value not in others and value != longest:
                others.append(value)
            value -= step
    return np.array([longest, *sorted(others)])


def _popularity(number: int, random: np.random.Generator) -> Ints:
    """The popularity rank (from 1) of each head value by its rank in time.

    The longest is the most popular. For each further value, its ranks in the four logs join a pool,
    and the more popular of two random ranks is taken from the pool. A rank that no later value has
    in any log is taken at once.
    """
    last = {
        rank: max(place for place, row in enumerate(_POPULARITY) if rank in row)
        for rank in range(1, _HEAD + 1)
    }
    taken = [1]
    pool = [rank for rank in _POPULARITY[0] if rank != 1]
    for place in range(1, _HEAD):
        pool += [rank for rank in _POPULARITY[place] if rank not in taken]
        due = [rank for rank in range(1, _HEAD + 1) if last[rank] <= place and rank not in taken]
        if due:
            rank = due[0]
        else:
            first, second = (int(random.integers(len(pool))) for _ in range(2))
            rank = min(pool[first], pool[second])
        taken.append(rank)
        pool = [each for each in pool if each != rank]
    # If there are fewer than 20 values, ranks count only these values.
    ranks: Ints = np.argsort(np.argsort(taken[:number])) + 1
    return ranks


def _tail_times(number: int, head: Floats, longest: float) -> Floats:
    """Values outside the head, in whole minutes. Values that would be equal are moved by a few
    seconds."""
    count = number - head.size
    if count < 1:
        return np.empty(0)
    a = 1.0 + _TAIL_TIMES[0] * number ** _TAIL_TIMES[1]
    used = set(head.tolist())
    found = []
    for rank in range(1, count + 1):
        x = rank / count
        second = round((a - 1.0) * x / (a - x) * longest / _MINUTE) * _MINUTE
        for offset in (0, 30, -30, 20, -20, 10, -10):
            value = second + offset
            if 0 < value < longest and value not in used:
                used.add(value)
                found.append(value)
                break
    return np.array(found)
