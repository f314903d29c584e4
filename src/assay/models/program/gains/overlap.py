"""Transfers right before computing, and the saving if both overlapped.

A blocking call that brings data takes, beside its waiting, the time of the transfer. If a
non-blocking call began the transfer earlier and the program waited for it after the computing, both
together would take as long as the longer one. Hiding the transfer saves the shorter of the two, if
the call is on the critical path (`critical_path`, on which nothing is waiting).

This is a bound of the saving: the computing may need the data at once, and many MPI libraries
transfer only while the program is in a call. Waiting that is also hidden isn't counted, because its
origin is a separate finding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Bools, Floats
from assay.models.program.critical_path import CriticalPath
from assay.trace.calls import (
    ALL_TO_ALL,
    BOTH_WAYS,
    FROM_ROOT,
    PREFIX,
    RECEIVES,
    TO_ROOT,
    WAITS,
    begins_request,
    chosen,
)
from assay.trace.matching import FlatTrace, MatchedTrace

_DATA = (ALL_TO_ALL | TO_ROOT | FROM_ROOT | PREFIX) - {"Barrier"}
_BLOCKING = (RECEIVES & {"Recv", "Mrecv"}) | (BOTH_WAYS & {"Sendrecv", "Sendrecv_replace"})
# Computing between two calls, as a share of the first call's transfer, below which both transfers
# come right before the computing after the second call.
_BESIDE = 0.1


@dataclass(frozen=True)
class TransferBeforeComputing:
    """Calls of one ``function`` and ``site`` (numbers in the trace) right before computing."""

    function: int
    site: int
    #: Number of ranks that make the calls.
    ranks: int
    #: Number of calls whose overlap would save time.
    calls: int
    #: ``transfer``, ``computing``: mean seconds per call, without waiting.
    transfer: float
    computing: float
    #: Share of the run time that overlap would save at most.
    seconds: float


def transfers_before_computing(
    matched: MatchedTrace, path: CriticalPath, overhead: float = 0.0
) -> list[TransferBeforeComputing]:
    """Overlaps on the critical path, the largest gain first.

    ``overhead``: the processor's own time in each call, s, which nothing hides.
    """
    flat = matched.flat
    if not len(flat.begin):
        return []
    brings = _brings(matched)
    transfer = np.where(brings, np.maximum(_on_path(flat, path) - overhead, 0.0), 0.0)
    behind = _computing_behind(flat)
    group = _side_by_side(flat, brings, transfer, behind)
    every = np.bincount(group, weights=transfer)
    hidden = np.minimum(every, np.bincount(group, weights=np.where(brings, behind, 0.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(every[group] > 0.0, transfer / every[group], 0.0)
    saved = part * hidden[group]
    last = np.append(np.flatnonzero(np.diff(group)), len(group) - 1)
    return _by_site(flat, saved, transfer, behind[last][group])


def _by_site(
    flat: FlatTrace, saved: Floats, transfer: Floats, computing: Floats
) -> list[TransferBeforeComputing]:
    which = np.flatnonzero(saved > 0.0)
    sites = len(flat.trace.sites)
    code = flat.function[which].astype(np.int64) * sites + flat.site[which]
    found = []
    for one in np.unique(code).tolist():
        mine = which[code == one]
        found.append(
            TransferBeforeComputing(
                function=one // sites,
                site=one % sites,
                ranks=len(np.unique(flat.rank[mine])),
                calls=len(mine),
                transfer=float(transfer[mine].mean()),
                computing=float(computing[mine].mean()),
                seconds=float(saved[mine].sum()),
            )
        )
    return sorted(found, key=lambda one: -one.seconds)


def _brings(matched: MatchedTrace) -> Bools:
    """Blocking calls after which a rank has data of other ranks."""
    flat = matched.flat
    names = flat.trace.functions
    plain = np.array([not begins_request(name) for name in names], dtype=bool)
    received = np.zeros(len(flat.begin), dtype=bool)
    received[matched.messages.received_in] = True
    received &= chosen(names, _BLOCKING | WAITS)[flat.function]
    return np.asarray(received | (chosen(names, _DATA) & plain)[flat.function])


def _on_path(flat: FlatTrace, path: CriticalPath) -> Floats:
    """Seconds of each call that are on the path."""
    found = np.zeros(len(flat.begin))
    for rank in np.unique(path.rank).tolist():
        here = path.rank == rank
        times = np.stack([path.begin[here], path.end[here]], axis=1).ravel()
        reached = np.cumsum(np.stack([np.zeros(here.sum()), np.diff(times)[::2]], axis=1).ravel())
        part = slice(int(flat.first[rank]), int(flat.first[rank + 1]))
        ends = np.interp(flat.end[part], times, reached)
        found[part] = ends - np.interp(flat.begin[part], times, reached)
    return found


def _computing_behind(flat: FlatTrace) -> Floats:
    """Seconds from the end of each call to the rank's next call, or to the rank's end."""
    next_begin = np.append(flat.begin[1:], 0.0)
    finals = flat.first[1:] - 1
    some = np.diff(flat.first) > 0
    next_begin[finals[some]] = np.array([rank.end for rank in flat.trace.ranks])[some]
    return np.maximum(next_begin - flat.end, 0.0)


def _side_by_side(
    flat: FlatTrace, brings: Bools, transfer: Floats, behind: Floats
) -> npt.NDArray[np.int64]:
    """Numbers of groups of calls, ascending. The calls of a group come right before the same
    computing."""
    joined = brings[1:] & brings[:-1] & (flat.rank[1:] == flat.rank[:-1])
    joined &= behind[:-1] < _BESIDE * transfer[:-1]
    return np.concatenate([[0], np.cumsum(~joined)]).astype(np.int64)
