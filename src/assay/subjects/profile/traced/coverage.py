"""How much of the time in MPI the analysis of waiting covers.

A call is analysed if the calls of other ranks that it may wait for are known: of a receive its
send, of a collective those of all members, of a call that completes requests those of all of them.
Calls that wait for no other rank are analysed, too. Of other calls only the waiting that was found
is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from assay.arrays import Bools
from assay.models.program.waits import WaitStates
from assay.trace.calls import (
    BOTH_WAYS,
    LOCAL,
    PROBES,
    RECEIVES,
    SENDS,
    TESTS,
    WAITS,
    begins_request,
    chosen,
)
from assay.trace.events import NO_REQUEST, PROC_NULL, UNKNOWN_BYTES
from assay.trace.matching import FlatTrace, MatchedTrace


@dataclass(frozen=True)
class Coverage:
    """Coverage."""

    #: s in MPI, of all ranks and threads.
    inside: float
    #: Of these.
    analysed: float
    #: s that aren't, by function.
    rest: dict[str, float]

    @property
    def share(self) -> float:
        """Of the time in MPI; 1 without any."""
        return self.analysed / self.inside if self.inside > 0.0 else 1.0


def coverage_of(matched: MatchedTrace, waits: WaitStates) -> Coverage:
    """The time in MPI whose waiting is known."""
    flat = matched.flat
    length = np.maximum(flat.end - flat.begin, 0.0)
    known = _known(matched)
    done = np.where(known, length, 0.0)
    np.maximum.at(done, waits.event, waits.seconds)
    done = np.minimum(done, length)
    rest: dict[str, float] = defaultdict(float)
    names = flat.trace.functions
    sums = np.bincount(flat.function, weights=length - done, minlength=len(names))
    for number in np.flatnonzero(sums > 0.0).tolist():
        rest[names[number]] += float(sums[number])
    return Coverage(float(length.sum()), float(done.sum()), dict(rest))


def _known(matched: MatchedTrace) -> Bools:
    """The calls whose partners are all known."""
    flat = matched.flat
    begun = _begun(matched)
    names = flat.trace.functions
    known = begun.copy()
    # What only begins something ends at once; what completes it has the waiting.
    later = flat.is_one_of(LOCAL) | _chosen_later(flat)
    known |= later
    completing = chosen(names, WAITS | TESTS)[flat.function]
    known[completing] = _completions_known(flat, begun)[completing]
    nothing = flat.column("received") == UNKNOWN_BYTES
    # Questions that found nothing, and have no loop around them, take no time to speak of.
    alone = flat.column("count") == 1
    known |= (chosen(names, TESTS)[flat.function] | nothing) & _idle(flat) & alone
    return known


def _chosen_later(flat: FlatTrace) -> Bools:
    """Calls that begin a collective which a request completes."""
    return np.array([begins_request(name) for name in flat.trace.functions])[flat.function]


def _idle(flat: FlatTrace) -> Bools:
    lengths = [np.diff(rank.events.completed_start) for rank in flat.trace.ranks]
    return np.asarray(np.concatenate(lengths) == 0)


def _begun(matched: MatchedTrace) -> Bools:
    """The calls, or what they begin, with known partners."""
    flat, of = matched.flat, matched.messages
    names = flat.trace.functions
    peer, source = flat.column("peer"), flat.column("source")
    sends, receives = np.zeros(len(flat.begin), dtype=bool), np.zeros(len(flat.begin), dtype=bool)
    # A send is known by its receive, even if it isn't known which call completed that.
    sends[matched.sent] = receives[of.receive] = True
    both = chosen(names, BOTH_WAYS)[flat.function]
    is_send = chosen(names, SENDS)[flat.function]
    is_receive = chosen(names, RECEIVES)[flat.function]
    sends |= (peer == PROC_NULL) | (~both & (source == PROC_NULL)) | ~is_send
    receives |= (peer == PROC_NULL) & is_receive
    receives |= both & (source == PROC_NULL)
    receives |= ~(is_receive | both)
    known = np.where(is_send | is_receive, sends & receives, False)
    known[matched.probes.probe] = True
    known |= chosen(names, PROBES)[flat.function] & (peer == PROC_NULL)
    for group in matched.collectives:
        known[group.events] = True
    for meeting in matched.meetings:
        known[meeting.events] = True
        known[meeting.waiting[meeting.waiting >= 0]] = True
    for pair in matched.pairs:
        if pair.what != "lock contention":
            known[pair.waiting] = True
    # Of a root's own collective, and on communicators of one rank, nobody else takes part.
    known |= _alone(matched)
    return np.asarray(known)


def _alone(matched: MatchedTrace) -> Bools:
    """Calls on communicators of one rank."""
    trace = matched.trace
    single = np.array([one.members is not None and len(one.members) == 1
                       for one in trace.communicators])  # fmt: skip
    return np.asarray(single[matched.flat.column("communicator")])


def _completions_known(flat: FlatTrace, begun: Bools) -> Bools:
    """Calls that completed requests, all of which have known partners."""
    completed = np.zeros(len(flat.begin), dtype=np.int64)
    good = np.zeros(len(flat.begin), dtype=np.int64)
    asked = flat.column("request") != NO_REQUEST
    done = asked & (flat.completed_in >= 0)
    np.add.at(completed, flat.completed_in[done], 1)
    np.add.at(good, flat.completed_in[done & begun], 1)
    return np.asarray((completed > 0) & (completed == good))
