"""The session of each result: the recorded one, or one inferred from pauses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.compare.levels import combined, numbered
from assay.stats.repeats.repeats import Repeats

# A pause that is longer than PAUSE seconds and longer than _PAUSES times the median pause starts a
# new session.
PAUSE, _PAUSES = 300.0, 5.0


def sessions(parts: Sequence[Repeats]) -> Ints:
    """The number of each result's session, from 1 in the order of their first results.

    One entry for each result of all parts, one part after the other. Results of runs that were
    measured in sessions keep the recorded session; other results are separated at pauses of more
    than five minutes, or five times the median pause if that is longer.
    """
    utc = np.concatenate([part.utc for part in parts])
    recorded = _recorded(parts)
    number = np.empty(utc.size, dtype=np.int64)
    has_number = recorded >= 0
    number[has_number] = recorded[has_number]
    order = np.argsort(utc, kind="stable")
    rest = order[~has_number[order]]
    number[rest] = int(recorded.max(initial=-1)) + _by_pauses(utc[rest])
    return _in_order(number, order)


def _recorded(parts: Sequence[Repeats]) -> Ints:
    """A number for each run and session in it; -1 if the run recorded no sessions."""
    known = np.concatenate([part.session_numbers() for part in parts])
    if not known.size or known.max() < 0:
        return known
    runs, _ = numbered([name for part in parts for name in part.run])
    return np.where(known >= 0, combined([runs, known + 1], known.size), -1)


def _by_pauses(utc: Floats) -> Ints:
    """Session numbers from 1 for ascending times (s)."""
    gaps = np.diff(utc, prepend=utc[:1])
    usual = float(np.median(gaps[1:])) if gaps.size > 1 else 0.0
    return np.asarray(1 + np.cumsum(gaps > max(PAUSE, _PAUSES * usual)), dtype=np.int64)


def _in_order(number: Ints, order: Ints) -> Ints:
    """The numbers relabelled from 1, by their first occurrence in the order ``order``."""
    if not number.size or number.min() == number.max():
        return np.ones(number.size, dtype=np.int64)
    different, first, codes = np.unique(number[order], return_index=True, return_inverse=True)
    rank = np.empty(different.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(1, different.size + 1)
    labels = np.empty(number.size, dtype=np.int64)
    labels[order] = rank[codes.reshape(-1)]
    return labels
