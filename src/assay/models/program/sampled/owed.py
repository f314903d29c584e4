"""Which function of which rank the waiting of a trace is owed to.

The trace knows the origins of its waiting (`assay.models.program.origins`): a rank computed longer
than others between two calls. The samples of the late rank between these calls, before the late
call, show the functions in which it spent this time. What counts is the excess: the time of a
function on the late rank beyond the mean of all other ranks between the same calls. Of a rank that
never makes these calls one after the other, the time of the function counts in proportion to the
part of it that the late rank spends there. The waiting is distributed over the functions in
proportion to their excess.

A thread that has no CPU, sleeps or waits for a disk is not sampled. The part of the rank's excess
of wall time that its busiest thread did not spend on a CPU is therefore owed to no function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Indexes, Ints
from assay.models.program.origins import DelayCost
from assay.models.program.sampled.counts import CodePlace, function_of
from assay.models.program.sampled.functions import Z
from assay.trace.matching import FlatTrace, MatchedTrace
from assay.trace.samples.model import Activity, ProgramSamples
from assay.units import Interval

# Origins are followed until they cover this share of the waiting, and at most this many.
_COVERED, _MOST = 0.99, 200
# A gap between calls needs this many samples of the late rank: fewer don't show functions.
_LEAST_SAMPLES = 10


@dataclass(frozen=True)
class OwedWaiting:
    """Waiting of other ranks that one function of a rank causes."""

    rank: int
    place: CodePlace
    #: Waiting, s, and its 95% interval from the counts of samples.
    seconds: float
    interval: Interval


@dataclass(frozen=True)
class WaitingOwed:
    """The waiting that follows from computing, by what it is owed to."""

    #: The most waiting first.
    functions: list[OwedWaiting]
    #: Waiting for ranks that computed longer, s. It is the sum of the functions and the next two.
    computing: float
    #: ``asleep``: the late ranks had no CPU, slept, or waited for input and output. ``unsampled``:
    #: too few samples between the calls, or no excess in them.
    asleep: float
    unsampled: float


@dataclass(frozen=True)
class _Sampled:
    """Samples outside of MPI calls, ordered by gap: arrays of equal length."""

    gap: Ints
    rank: Indexes
    #: Index of the innermost function that isn't inlined, or -1 if the thread waited for others.
    function: Ints
    #: Number of the thread within all threads.
    thread: Indexes
    seconds: Floats
    #: Row of the rank of each thread.
    owner: Indexes
    #: Computing time by rank and function, s.
    totals: Floats

    def busiest(self, part: slice) -> Floats:
        """Time outside of calls of each rank's busiest thread, of a part of the samples, s."""
        threads = np.bincount(
            self.thread[part], weights=self.seconds[part], minlength=len(self.owner)
        )
        found = np.zeros(len(self.totals))
        np.maximum.at(found, self.owner, threads)
        return found


def waiting_owed(
    matched: MatchedTrace, costs: Sequence[DelayCost], samples: ProgramSamples
) -> WaitingOwed:
    """Distribute the waiting over functions. ``costs``: from `wait_origins`, the greatest first."""
    flat = matched.flat
    number: dict[CodePlace, int] = {}
    leaf_of = np.array([number.setdefault(function_of(one), len(number)) for one in samples.places])
    sampled = _sampled(flat, samples, leaf_of, len(number))
    walls = _gap_walls(flat)
    late = [cost for cost in costs if cost.kind == "computing"]
    computing = sum(cost.total for cost in late)
    places = list(number)
    sums: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    asleep = unsampled = followed = 0.0
    for cost in late[:_MOST]:
        if followed >= _COVERED * computing:
            break
        followed += cost.total
        gap = _code(flat, cost.after, cost.before)
        found = _excess(sampled, walls.rows(gap), gap, cost.rank)
        if found is None:
            unsampled += cost.total
            continue
        functions, excess, variance, on_cpu = found
        beyond = walls.excess(gap, cost.rank)
        share = min(max(on_cpu / beyond, 0.0), 1.0) if beyond > 0.0 else 1.0
        whole = float(excess.sum())
        asleep += cost.total * (1.0 - share)
        for function, one, spread in zip(functions, excess, variance, strict=True):
            total = sums[cost.rank, int(function)]
            total[0] += cost.total * share * float(one) / whole
            total[1] += (cost.total * share / whole) ** 2 * float(spread)
    unsampled += computing - followed
    owed = [
        OwedWaiting(
            rank=flat.trace.ranks[rank].rank,
            place=places[function],
            seconds=seconds,
            interval=(
                max(seconds - Z * variance**0.5, 0.0),
                min(seconds + Z * variance**0.5, computing),
            ),
        )
        for (rank, function), (seconds, variance) in sums.items()
    ]
    owed.sort(key=lambda one: (-one.seconds, one.rank, one.place))
    return WaitingOwed(owed, computing, asleep, max(unsampled, 0.0))


def _code(flat: FlatTrace, after: int, before: int) -> int:
    """One number for a pair of call sites; -1 is the begin or the end of the trace."""
    return (after + 1) * (len(flat.trace.sites) + 1) + before + 1


def _codes(flat: FlatTrace, row: int) -> Ints:
    """The gap before each event of a rank, and the gap after the last one."""
    sites = flat.site[flat.first[row] : flat.first[row + 1]].astype(np.int64)
    after = np.concatenate([[-1], sites])
    before = np.concatenate([sites, [-1]])
    return np.asarray((after + 1) * (len(flat.trace.sites) + 1) + before + 1)


def _sampled(flat: FlatTrace, samples: ProgramSamples, leaf_of: Ints, functions: int) -> _Sampled:
    """The samples by gap. ``leaf_of``: the function of each place."""
    leaf = np.array([_leaf(samples, leaf_of, stack) for stack in samples.stacks], np.int64)
    rows = {rank.rank: row for row, rank in enumerate(flat.trace.ranks)}
    # What a rank forked computes beside it: the rank's calls don't wait for it.
    threads = [one for one in samples.threads if one.rank in rows and not one.parent]
    gaps, ranks, leaves, numbers, seconds = [], [], [], [], []
    for at, thread in enumerate(threads):
        row = rows[thread.rank]
        low, high = int(flat.first[row]), int(flat.first[row + 1])
        begin, end = flat.begin[low:high], flat.end[low:high]
        place = np.searchsorted(begin, thread.times, side="right")
        # The latest end of the calls that have begun: calls of several threads overlap.
        ended = np.concatenate([[-np.inf], np.maximum.accumulate(end)])
        outside = (thread.activities != Activity.MPI) & (thread.times >= ended[place])
        number = int(outside.sum())
        busy = thread.activities[outside] == Activity.COMPUTING
        each = samples.period * (1.0 + thread.lost / max(len(thread.times), 1))
        gaps.append(_codes(flat, row)[place[outside]])
        ranks.append(np.full(number, row, np.intp))
        leaves.append(np.where(busy, leaf[thread.stacks[outside]], -1))
        numbers.append(np.full(number, at, np.intp))
        seconds.append(np.full(number, each))
    gap = np.concatenate([*gaps, np.empty(0, np.int64)])
    order = np.argsort(gap, kind="stable")
    rank = np.concatenate([*ranks, np.empty(0, np.intp)])[order]
    function = np.concatenate([*leaves, np.empty(0, np.int64)])[order]
    spent = np.concatenate([*seconds, np.empty(0)])[order]
    shape = (len(flat.trace.ranks), max(functions, 1))
    busy = function >= 0
    code = rank[busy] * shape[1] + function[busy]
    totals = np.bincount(code, weights=spent[busy], minlength=shape[0] * shape[1])
    return _Sampled(
        gap=gap[order],
        rank=rank,
        function=function,
        thread=np.concatenate([*numbers, np.empty(0, np.intp)])[order],
        seconds=spent,
        owner=np.array([rows[thread.rank] for thread in threads], np.intp),
        totals=totals.astype(np.float64).reshape(shape),
    )


def _leaf(samples: ProgramSamples, leaf_of: Ints, stack: Sequence[int]) -> int:
    """The innermost function that isn't inlined: one that is may be in several functions."""
    real = (place for place in reversed(stack) if not samples.places[place].inlined)
    return int(leaf_of[next(real, stack[-1])]) if stack else -1


def _excess(
    sampled: _Sampled, rows: Indexes, gap: int, row: int
) -> tuple[Ints, Floats, Floats, float] | None:
    """Functions with an excess on a rank in a gap: the excess and its variance (s, s²), and the
    excess of time on a CPU of the busiest thread. None if the samples show no excess.

    ``rows``: the ranks that have this gap.
    """
    low, high = np.searchsorted(sampled.gap, [gap, gap + 1])
    part = slice(int(low), int(high))
    rank, function, seconds = sampled.rank[part], sampled.function[part], sampled.seconds[part]
    here, ranks = rank == row, len(sampled.totals)
    if here.sum() < _LEAST_SAMPLES or ranks < 2:
        return None
    busy = function >= 0
    functions, column = np.unique(function[busy & here], return_inverse=True)
    others = busy & ~here & np.isin(function, functions)
    other_column = np.searchsorted(functions, function[others])
    elsewhere = np.setdiff1d(np.arange(ranks), [*rows, row])

    def sums(columns: Indexes, weights: Floats) -> Floats:
        return np.asarray(np.bincount(columns, weights, len(functions)), np.float64)

    period = float(seconds[here].mean())
    own = sums(column, seconds[busy & here])
    part_here = own / np.maximum(sampled.totals[row, functions], 1e-300)
    rest = sums(other_column, seconds[others])
    rest += part_here * sampled.totals[np.ix_(elsewhere, functions)].sum(axis=0)
    excess = own - rest / (ranks - 1)
    # The variance of a number of samples is the number.
    variance = period * (own + rest / (ranks - 1) ** 2)
    clear = excess > Z * np.sqrt(variance)
    # Where no function stands out, all with more samples than on other ranks share the excess.
    more = clear if clear.any() else excess > 0.0
    if not more.any():
        return None
    on_cpu, always = sampled.busiest(part), sampled.busiest(slice(None))
    on_cpu[elsewhere] = always[elsewhere] * on_cpu[row] / max(float(always[row]), 1e-300)
    beyond = float(on_cpu[row] - (on_cpu.sum() - on_cpu[row]) / (ranks - 1))
    return functions[more], excess[more], variance[more], beyond


class _GapWalls:
    """Wall time of each rank in each gap."""

    def __init__(self, codes: Ints, seconds: Floats, ranks: int) -> None:
        """``codes``: gap × ranks + row of the rank, ascending."""
        self.codes, self.seconds, self.ranks = codes, seconds, ranks
        self.computing = np.bincount(codes % ranks, weights=seconds, minlength=ranks)

    def _part(self, gap: int) -> slice:
        low, high = np.searchsorted(self.codes, [gap * self.ranks, (gap + 1) * self.ranks])
        return slice(int(low), int(high))

    def rows(self, gap: int) -> Indexes:
        """The ranks that have a gap."""
        return np.asarray(self.codes[self._part(gap)] % self.ranks, np.intp)

    def excess(self, gap: int, row: int) -> float:
        """Wall time of a rank in a gap beyond the mean of the other ranks, s.

        Of a rank without this gap, its computing time counts in proportion.
        """
        rows, part = self.rows(gap), self._part(gap)
        walls = np.zeros(self.ranks)
        walls[rows] = self.seconds[part]
        share = walls[row] / max(float(self.computing[row]), 1e-300)
        elsewhere = np.setdiff1d(np.arange(self.ranks), rows)
        walls[elsewhere] = self.computing[elsewhere] * share
        return float(walls[row] - (walls.sum() - walls[row]) / max(self.ranks - 1, 1))


def _gap_walls(flat: FlatTrace) -> _GapWalls:
    ranks = len(flat.trace.ranks)
    codes, lengths = [], []
    for row, rank in enumerate(flat.trace.ranks):
        low, high = int(flat.first[row]), int(flat.first[row + 1])
        ended = np.maximum.accumulate(np.concatenate([[rank.begin], flat.end[low:high]]))
        begins = np.concatenate([flat.begin[low:high], [rank.end]])
        codes.append(_codes(flat, row) * ranks + row)
        lengths.append(np.maximum(begins - ended, 0.0))
    every, place = np.unique(np.concatenate(codes), return_inverse=True)
    seconds = np.asarray(np.bincount(place, weights=np.concatenate(lengths)), np.float64)
    return _GapWalls(every, seconds, ranks)
