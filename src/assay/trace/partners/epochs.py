"""Epochs of windows: the calls of other ranks that a call may have waited for.

With generalised active targets, the n-th MPI_Win_post of a target for an origin belongs to the n-th
MPI_Win_start of the origin for the target (MPI 4.1, 12.5.2): the origin waits, in the first call
that needs it, until the target posts; the target waits, in MPI_Win_wait, until the origin
completes. A lock is free again when its holder's MPI_Win_unlock begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.arrays import Ints
from assay.trace.events import NO_TAG, UNKNOWN_BYTES
from assay.trace.partners.model import FlatTrace, PairWaits

_EXCLUSIVE = 1
_HOLDS = ("Win_lock",)
# Calls between a lock and its unlock, which may have to wait until the lock is free.
_IN_EPOCH = frozenset(
    ("Win_lock", "Win_unlock", "Win_flush", "Win_flush_local", "Put", "Get", "Accumulate",
     "Get_accumulate", "Fetch_and_op", "Compare_and_swap")
)  # fmt: skip


@dataclass(frozen=True)
class _Epoch:
    """An epoch from the event ``begin`` to the event ``end``."""

    begin: int
    end: int
    #: World ranks on the other side.
    group: tuple[int, ...]


def match_epochs(flat: FlatTrace) -> list[PairWaits]:
    """Calls that may have waited for a post, a completion or a lock."""
    waits = [*_active_targets(flat), *_locks(flat)]
    return [one for one in waits if len(one.waiting)]


# ---- Generalised active targets ------------------------------------------------------------------


def _active_targets(flat: FlatTrace) -> Iterator[PairWaits]:
    if not {"Win_start", "Win_post"} <= set(flat.trace.functions):
        return
    ends = ("Win_wait", "Win_test")
    origins = _epochs(flat, "Win_start", ("Win_complete",))
    targets = _epochs(flat, "Win_post", ends)
    posts: list[tuple[int, int]] = []
    completions: list[tuple[int, int]] = []
    for key, access in origins.items():
        communicator, origin, target = key
        for one, exposure in zip(access, targets.get((communicator, target, origin), ()),
                                 strict=False):  # fmt: skip
            blocked = _blocked(flat, one, float(flat.begin[exposure.begin]))
            if blocked is not None:
                posts.append((blocked, exposure.begin))
            completions.append((exposure.end, one.end))
    for what, pairs in (("late post", posts), ("late complete", completions)):
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        yield PairWaits(what, table[:, 0], table[:, 1])


def _epochs(
    flat: FlatTrace, opens: str, closes: tuple[str, ...]
) -> dict[tuple[int, int, int], list[_Epoch]]:
    """The epochs in order, by communicator, world rank and each rank of the other side."""
    trace = flat.trace
    found: dict[tuple[int, int, int], list[_Epoch]] = defaultdict(list)
    names = {name: number for number, name in enumerate(trace.functions)}
    closing = [names[name] for name in closes if name in names]
    for place, rank in enumerate(trace.ranks):
        events = rank.events
        first = int(flat.first[place])
        here = (events.function == names[opens]) & (events.tag != NO_TAG)
        ends = np.isin(events.function, closing) & (events.received != UNKNOWN_BYTES)
        for communicator in np.unique(events.communicator[here]).tolist():
            on = events.communicator == communicator
            pairs = zip(np.flatnonzero(here & on), np.flatnonzero(ends & on), strict=False)
            for begin, end in pairs:
                group = trace.groups[int(events.tag[begin])]
                one = _Epoch(first + int(begin), first + int(end), group)
                for other in group:
                    found[communicator, rank.rank, other].append(one)
    return found


def _blocked(flat: FlatTrace, epoch: _Epoch, until: float) -> int | None:
    """The call of an epoch that was in progress at a time."""
    part = slice(epoch.begin, epoch.end + 1)
    under_way = np.flatnonzero((flat.begin[part] < until) & (flat.end[part] >= until))
    return epoch.begin + int(under_way[0]) if len(under_way) else None


# ---- Locks ---------------------------------------------------------------------------------------


def _locks(flat: FlatTrace) -> Iterator[PairWaits]:
    trace = flat.trace
    if not {"Win_lock", "Win_unlock"} <= set(trace.functions):
        return
    index = np.flatnonzero(flat.is_one_of(_IN_EPOCH))
    target = flat.column("peer")[index].astype(np.int64)
    communicator = flat.column("communicator")[index].astype(np.int64)
    known = (target >= 0) & np.array([one.real for one in trace.communicators])[communicator]
    index, target, communicator = index[known], target[known], communicator[known]
    waiting: list[Ints] = []
    late: list[Ints] = []
    width = int(target.max(initial=0)) + 1
    key = communicator * width + target
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    for part in np.split(index[order], starts[1:]):
        one, other = _contention(flat, part)
        waiting.append(one)
        late.append(other)
    yield PairWaits(
        "lock contention",
        np.concatenate([np.empty(0, dtype=np.int64), *waiting]),
        np.concatenate([np.empty(0, dtype=np.int64), *late]),
    )


def _contention(flat: FlatTrace, calls: Ints) -> tuple[Ints, Ints]:
    """The calls to one target that waited for a lock, and the unlocks that they waited for."""
    functions = np.array(flat.trace.functions)[flat.function[calls]]
    exclusive = _of_epochs(flat, calls, functions)
    unlocks = calls[functions == "Win_unlock"]
    if not len(unlocks):
        return calls[:0], calls[:0]
    unlocks = unlocks[np.argsort(flat.begin[unlocks], kind="stable")]
    released = flat.begin[unlocks]
    held_alone = exclusive[np.searchsorted(calls, unlocks)]
    held_since = _held_since(flat, calls, functions, unlocks)
    found, behind = np.full(len(calls), -1, dtype=np.int64), np.arange(len(calls))
    last = np.searchsorted(released, flat.end[calls], side="right") - 1
    # The last release by another rank during the call. The rank's own releases are ignored.
    for _ in range(2):
        at = unlocks[np.maximum(last, 0)]
        alone = exclusive | held_alone[np.maximum(last, 0)]
        good = (last >= 0) & (flat.rank[at] != flat.rank[calls]) & alone & (found < 0)
        good &= flat.begin[at] > flat.begin[calls]
        # An unlock that lost its CPU ends long after it released the lock.
        held = held_since[np.maximum(last, 0)] <= flat.begin[calls]
        good &= held | (flat.end[at] <= flat.end[calls] + _CLOSE)
        found[good] = at[good]
        last = np.where(last >= 0, last - 1, last)
    which = behind[found >= 0]
    return calls[which], found[which]


# Seconds by which the call that gets a lock may seem to end before the call that releases it.
_CLOSE = 1e-4


def _held_since(flat: FlatTrace, calls: Ints, functions: np.ndarray, unlocks: Ints) -> np.ndarray:
    """The time (s) since when each unlock's rank certainly held the lock: the end of the first
    flush.

    MPI_Win_lock proves nothing, since it may return before the lock is granted; a flush returns
    after the operations are done, which need the lock (MPI 4.1, 12.5.3 and 12.5.4).
    """
    locks, flushes = calls[functions == "Win_lock"], calls[functions == "Win_flush"]
    if not len(locks) or not len(flushes):
        return np.full(len(unlocks), np.inf)
    begun = locks[np.maximum(np.searchsorted(locks, unlocks) - 1, 0)]
    flush = flushes[np.minimum(np.searchsorted(flushes, begun), len(flushes) - 1)]
    inside = (flat.rank[begun] == flat.rank[unlocks]) & (begun < flush) & (flush < unlocks)
    return np.where(inside, flat.end[flush], np.inf)


def _of_epochs(flat: FlatTrace, calls: Ints, functions: np.ndarray) -> np.ndarray:
    """Whether the last lock of each call's rank is exclusive; ``calls`` are ascending."""
    locks = np.flatnonzero(functions == "Win_lock")
    tag = flat.column("tag")[calls]
    last = np.searchsorted(locks, np.arange(len(calls)), side="right") - 1
    at = locks[np.maximum(last, 0)] if len(locks) else np.zeros(len(calls), dtype=np.int64)
    same = (last >= 0) & (flat.rank[calls[at]] == flat.rank[calls])
    return np.asarray(same & (tag[at] == _EXCLUSIVE))
