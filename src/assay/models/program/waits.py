"""Waiting times in a trace by cause: the wait-state patterns of Scalasca.

Wolf & Mohr (2003), Geimer et al. (2010) and the Scalasca 2 manual define the patterns for
point-to-point messages and collectives. All are differences between the begins of matched calls, so
array operations find them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.calls import (
    ALL_TO_ALL,
    BUFFERED,
    FROM_ROOT,
    PARTITIONED,
    PREFIX,
    READY,
    SYNCHRONOUS,
    TO_ROOT,
    blocking_form,
)
from assay.trace.matching import FlatTrace, MatchedCollectives, MatchedTrace
from assay.trace.partners.model import Meetings

WaitCause = Literal[
    "late sender", "late receiver", "wait at barrier", "wait at N×N", "early reduce",
    "late broadcast", "wait at prefix", "late post", "late complete", "lock contention",
]  # fmt: skip
CAUSES: tuple[WaitCause, ...] = get_args(WaitCause)
# Size in bytes above which MPI libraries use rendezvous on most networks (MPICH's default).
USUAL_EAGER = 65536
# A send waited for its receive if it took at least this long (s) and had at least this many bytes.
_CHANCE, _LEAST_RENDEZVOUS = 1e-4, 1024
_CODES = {cause: code for code, cause in enumerate(CAUSES)}


@dataclass(frozen=True)
class WaitStates:
    """Calls that waited for another rank, at most one entry per call; arrays of equal length."""

    #: The call that waited. ``late``: the call of the late rank. Both are indices in the
    #: `FlatTrace`.
    event: Ints
    late: Ints
    #: Time from the begin of the waiting call to the begin of the late call, at most to the end of
    #: the waiting call, s.
    seconds: Floats
    #: Index into `CAUSES`.
    cause: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.event)

    def part(self, which: npt.NDArray[np.bool_] | Ints) -> WaitStates:
        """A selection of the waits."""
        return WaitStates(
            self.event[which], self.late[which], self.seconds[which], self.cause[which]
        )

    def by_cause(self) -> dict[WaitCause, float]:
        """Seconds of all ranks by cause; causes without waiting are absent."""
        sums = np.bincount(self.cause, weights=self.seconds, minlength=len(CAUSES))
        return {cause: float(sums[code]) for cause, code in _CODES.items() if sums[code] > 0.0}


@dataclass(frozen=True)
class _Found:
    event: Ints
    late: Ints
    seconds: Floats
    cause: WaitCause


def wait_states(matched: MatchedTrace) -> WaitStates:
    """All waits of a trace that are longer than the error of its clocks.

    A call that waits for several others (Waitall) counts its longest wait.
    """
    flat = matched.flat
    found = [_late_senders(matched), _late_receivers(matched)]
    for group in matched.collectives:
        found += _at_collectives(flat, group)
    found += [_at_meeting(flat, meeting) for meeting in matched.meetings]
    found += [
        _Found(one.waiting, one.late, _until(flat, one.waiting, one.late), one.what)  # type: ignore[arg-type]
        for one in matched.pairs
    ]
    event = np.concatenate([one.event for one in found])
    late = np.concatenate([one.late for one in found])
    seconds = np.concatenate([one.seconds for one in found])
    cause = np.concatenate([np.full(len(one.event), _CODES[one.cause], np.int8) for one in found])
    kept = seconds > flat.trace.clock_error
    states = WaitStates(event[kept], late[kept], seconds[kept], cause[kept])
    order = np.lexsort((states.seconds, states.event))
    states = states.part(order)
    last = np.ones(len(states), dtype=bool)
    last[:-1] = states.event[1:] != states.event[:-1]
    return states.part(last)


def _until(flat: FlatTrace, waiting: Ints, late: Ints) -> Floats:
    """Seconds from the begin of each waiting call to the begin of the late call, within the waiting
    call."""
    length = flat.end[waiting] - flat.begin[waiting]
    return np.asarray(np.clip(flat.begin[late] - flat.begin[waiting], 0.0, length))


def _late_senders(matched: MatchedTrace) -> _Found:
    """Waits of receives, and of probes for messages that are received later."""
    of, flat = matched.messages, matched.flat
    waiting = np.concatenate([of.received_in, matched.probes.probe])
    late = np.concatenate([of.send, matched.probes.send])
    return _Found(waiting, late, _until(flat, waiting, late), "late sender")


def _late_receivers(matched: MatchedTrace) -> _Found:
    """Sends that waited for their receive. Only sends by rendezvous do.

    A send that ends after its receive began may have waited for it. It did not if a message of at
    least its size, on the same kind of link, was complete before its receive began (`EagerSizes`).
    A call that also completes receives (Waitall, Sendrecv) may have waited for these. It counts if
    a message of at most its size waited in a call that completes only sends.
    """
    of, flat = matched.messages, matched.flat
    unlike = flat.is_one_of(BUFFERED | PARTITIONED | READY)
    known = np.flatnonzero((of.sent_in >= 0) & ~unlike[of.send])
    receive, sent_in, size = of.receive[known], of.sent_in[known], of.size[known]
    synchronous = flat.is_one_of(SYNCHRONOUS)[of.send[known]]
    waited = np.zeros(len(known), dtype=bool)
    for link, sizes in zip(_links(matched), eager_sizes(matched), strict=True):
        here = link[known]
        needs = synchronous | (size >= sizes.waits_from)
        waited |= here & needs & (flat.end[sent_in] >= flat.begin[receive])
    return _Found(
        sent_in[waited],
        receive[waited],
        _until(flat, sent_in[waited], receive[waited]),
        "late receiver",
    )


@dataclass(frozen=True)
class EagerSizes:
    """The sizes at which a trace shows the change from eager sends to rendezvous, bytes."""

    #: The largest message that was complete before its receive began (-1 if there is none).
    eager: int
    #: The smallest larger message that waited for its receive (None if there is none).
    waits: int | None

    @property
    def waits_from(self) -> int:
        """The size from which sends wait: as seen in the trace, otherwise the libraries' usual
        size."""
        return self.waits if self.waits is not None else max(self.eager, USUAL_EAGER) + 1

    @property
    def limit(self) -> int:
        """The largest size without a handshake."""
        return self.waits_from - 1


def eager_sizes(matched: MatchedTrace) -> tuple[EagerSizes, EagerSizes]:
    """The sizes that the trace shows within and between hosts."""
    of, flat = matched.messages, matched.flat
    unlike = flat.is_one_of(BUFFERED | SYNCHRONOUS | PARTITIONED | READY)
    plain = (of.sent_in >= 0) & ~unlike[of.send]
    sent_in = np.maximum(of.sent_in, 0)
    with_receive = np.zeros(len(flat.begin), dtype=bool)
    with_receive[of.received_in] = True
    early = flat.end[sent_in] < flat.begin[of.receive]
    # A send that ends after the receive's begin by chance took little longer than others.
    waited = flat.begin[of.receive] - flat.begin[sent_in]
    late = (waited > _CHANCE) & ~early & ~with_receive[sent_in] & (of.size >= _LEAST_RENDEZVOUS)
    found = []
    for link in _links(matched):
        eager = int(of.size[plain & link & early].max(initial=-1))
        waits = of.size[plain & link & late & (of.size > eager)]
        found.append(EagerSizes(eager, int(waits.min()) if len(waits) else None))
    return found[0], found[1]


def _links(matched: MatchedTrace) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether each message is within a host, and between hosts."""
    of, flat = matched.messages, matched.flat
    hosts = np.unique(np.array(flat.trace.hosts), return_inverse=True)[1]
    within = hosts[flat.rank[of.send]] == hosts[flat.rank[of.receive]]
    return within, ~within


def _at_collectives(flat: FlatTrace, group: MatchedCollectives) -> list[_Found]:
    """Waiting in the calls that complete the collectives of one communicator."""
    kinds = [
        (frozenset(("Barrier",)), "wait at barrier"),
        (ALL_TO_ALL - {"Barrier"}, "wait at N×N"),
        (TO_ROOT, "early reduce"),
        (FROM_ROOT, "late broadcast"),
        (PREFIX, "wait at prefix"),
    ]
    names = np.array([blocking_form(name) for name in flat.trace.functions])
    function = names[flat.function[group.events[:, 0]]]
    found = []
    for functions, cause in kinds:
        rows = group.events[np.isin(function, list(functions))]
        if len(rows):
            waiting, late = _collective_pairs(flat, group, rows, cause)
            waiting = flat.completed_in[waiting]
            done = waiting >= 0
            waiting, late = waiting[done], late[done]
            found.append(_Found(waiting, late, _until(flat, waiting, late), cause))  # type: ignore[arg-type]
    return found


def _at_meeting(flat: FlatTrace, meeting: Meetings) -> _Found:
    """Waiting in collective calls that need not wait for all ranks: waiting for the last rank that
    began before the call ended.
    """
    rows, waiting = meeting.events, meeting.waiting
    begin = flat.begin[rows]
    every = np.arange(len(rows))
    last = begin.argmax(axis=1)
    late = np.repeat(rows[every, last][:, None], rows.shape[1], axis=1)
    end = np.where(waiting >= 0, flat.end[waiting], -np.inf)
    # Rows in which some call ended before the last one began.
    for row in np.flatnonzero((end < begin[every, last][:, None]).any(axis=1)):
        seen = np.where(begin[row][None, :] <= end[row][:, None], begin[row][None, :], -np.inf)
        late[row] = rows[row][seen.argmax(axis=1)]
    real = waiting.ravel() >= 0
    event, late = waiting.ravel()[real], late.ravel()[real]
    return _Found(event, late, _until(flat, event, late), "wait at N×N")


def _collective_pairs(
    flat: FlatTrace, group: MatchedCollectives, rows: Ints, cause: str
) -> tuple[Ints, Ints]:
    """The calls that may wait, and the latest call that each of them needs."""
    every = np.arange(len(rows))
    begin = flat.begin[rows]
    if cause in ("wait at barrier", "wait at N×N"):
        last = rows[every, begin.argmax(axis=1)]
        return rows.ravel(), np.repeat(last, rows.shape[1])
    if cause == "wait at prefix":
        reached = np.maximum.accumulate(begin, axis=1)
        columns = np.where(begin == reached, np.arange(rows.shape[1]), 0)
        last_column = np.maximum.accumulate(columns, axis=1)
        return rows.ravel(), np.take_along_axis(rows, last_column, axis=1).ravel()
    known, column = roots(flat, group, rows)
    rows, begin, every = rows[known], begin[known], np.arange(int(known.sum()))
    if cause == "early reduce":
        return rows[every, column], rows[every, begin.argmax(axis=1)]
    root = np.repeat(rows[every, column], rows.shape[1])
    return rows.ravel(), root


def roots(
    flat: FlatTrace, group: MatchedCollectives, rows: Ints
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Which collectives have a known root, and the column of each of these."""
    # In an intercommunicator, only the root and the group without the root name the root.
    peer = flat.column("peer")[rows].max(axis=1)
    numbers = np.array([flat.trace.ranks[place].rank for place in group.members])
    same = numbers[None, :] == peer[:, None]
    known = same.any(axis=1)
    return known, same.argmax(axis=1)[known].astype(np.int64)
