"""Records that a log holds more than once, or far from all others in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.usage.jobs import (
    LATEST,
    Jobs,
    State,
)

# Records further than this (s) from all others are wrong if they are at most this share of the
# jobs, or if there is only one.
_DAY, _YEAR, _FEW = 86400.0, 366 * 86400.0, 0.01
# Number of rows that are sorted at a time.
_SORTED = 1 << 22


def parts_of(jobs: Jobs) -> int:
    """Number of parts, by key, in which repeated jobs are searched for."""
    return max(-(-len(jobs) // _SORTED), 1)


def repeated(jobs: Jobs, part: int, parts: int) -> dict[str, Ints]:
    """Rows of records that share a key, by kind of problem, for keys ≡ ``part``."""
    rows_found, keys_found = [], []
    for rows, each in jobs.chunks():
        keys = each.code("key")
        mine = np.flatnonzero(keys % parts == part)
        rows_found.append(mine + rows.start)
        keys_found.append(keys[mine])
    index, keys = np.concatenate(rows_found), np.concatenate(keys_found)
    ordered = np.sort(keys)
    again = np.isin(keys, ordered[1:][ordered[1:] == ordered[:-1]])
    index, keys = index[again], keys[again]
    start, end, state = (jobs.columns[name][index] for name in ("start", "end", "state"))
    jobs.release()
    start, end = (np.nan_to_num(times.astype(np.float64), nan=-1.0) for times in (start, end))
    order = np.lexsort((index, end, start, keys))
    same_id = keys[order][1:] == keys[order][:-1]
    same = same_id & (start[order][1:] == start[order][:-1])
    same &= end[order][1:] == end[order][:-1]
    # If a log shows a job twice, first while it waits or runs, the earlier record is dropped.
    state = state.astype(np.int64)[order][:-1]
    earlier = (state == State.RUNNING) & (start[order][1:] == start[order][:-1])
    earlier = (earlier | (state == State.PENDING)) & same_id & ~same
    index = index[order]
    return {
        "duplicate": index[1:][same],
        "superseded": index[:-1][earlier],
        "reused": index[1:][same_id & ~same & ~earlier],
    }


def stray_jobs(jobs: Jobs) -> NDArray[np.bool_]:
    """Jobs more than a year away from nearly all others, for example because of a wrong date."""
    days = int(LATEST // _DAY) + 2
    # For each day: the number of times, the first and the last; separately for begins and ends.
    counts = np.zeros((2, days), dtype=np.int64)
    first, last = np.full((2, days), np.inf), np.full((2, days), -np.inf)
    for _, each in jobs.chunks():
        for kind, times in enumerate(_begins_and_ends(each)):
            known = times[~np.isnan(times)]
            day = (known // _DAY).astype(np.int64)
            counts[kind] += np.bincount(day, minlength=days)
            np.minimum.at(first[kind], day, known)
            np.maximum.at(last[kind], day, known)
    limits = [_most(*each) for each in zip(counts, first, last, strict=True)]
    stray = np.zeros(len(jobs), dtype=bool)
    if any(limit is not None for limit in limits):
        for rows, each in jobs.chunks():
            for limit, times in zip(limits, _begins_and_ends(each), strict=True):
                if limit is not None:
                    stray[rows] |= (times < limit[0]) | (times > limit[1])
    return stray


def _begins_and_ends(jobs: Jobs) -> tuple[Floats, Floats]:
    return np.fmin(jobs.number("submit"), jobs.number("start")), jobs.number("end")


def _most(counts: Ints, first: Floats, last: Floats) -> tuple[float, float] | None:
    """The times between which nearly all jobs lie, if a few others are more than a year away."""
    used = np.flatnonzero(counts)
    if not used.size:
        return None
    begins = np.flatnonzero(first[used][1:] - last[used][:-1] > _YEAR) + 1
    begins = np.concatenate(([0], begins))
    sizes = np.add.reduceat(counts[used], begins)
    piece = int(np.argmax(sizes))
    others = int(sizes.sum() - sizes[piece])
    if not others or sizes[piece] <= 1 or others > max(1.0, _FEW * float(sizes.sum())):
        return None
    ends = np.concatenate((begins[1:], [used.size])) - 1
    return float(first[used[begins[piece]]]), float(last[used[ends[piece]]])
