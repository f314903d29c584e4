"""How much of the time in MPI the analysis of waiting covers.

A call is analysed if the calls of other ranks that it may wait for are known. For a receive, this
is its send; for a collective, the calls of all members; for a call that completes requests, the
calls of all requests. Calls that don't wait for another rank also count as analysed. For other
calls, only the waiting that was found counts.
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

    #: Time in MPI of all ranks and threads, s.
    inside: float
    #: Time in MPI that was analysed, s.
    analysed: float
    #: Time in MPI that wasn't analysed (s), by function.
    rest: dict[str, float]

    @property
    def share(self) -> float:
        """Analysed share of the time in MPI; 1 if there is none."""
        return self.analysed / self.inside if self.inside > 0.0 else 1.0


def coverage_of(matched: MatchedTrace, waits: WaitStates) -> Coverage:
    """The time in MPI with known waiting."""
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
    """The calls with only known partners."""
    flat = matched.flat
    begun = _begun(matched)
    names = flat.trace.functions
    known = begun.copy()
    # Calls that only begin an operation return at once. The waiting occurs in the call that
    # completes it.
    later = flat.is_one_of(LOCAL) | _chosen_later(flat)
    known |= later
    completing = chosen(names, WAITS | TESTS)[flat.function]
    known[completing] = _completions_known(flat, begun)[completing]
    nothing = flat.column("received") == UNKNOWN_BYTES
    # Tests that found nothing and aren't in a loop take negligible time.
    alone = flat.column("count") == 1
    known |= (chosen(names, TESTS)[flat.function] | nothing) & _idle(flat) & alone
    return known


def _chosen_later(flat: FlatTrace) -> Bools:
    """Calls that begin a non-blocking collective."""
    return np.array([begins_request(name) for name in flat.trace.functions])[flat.function]


def _idle(flat: FlatTrace) -> Bools:
    lengths = [np.diff(rank.events.completed_start) for rank in flat.trace.ranks]
    return np.asarray(np.concatenate(lengths) == 0)


def _begun(matched: MatchedTrace) -> Bools:
    """The calls (or the operations that they begin) with known partners."""
    flat, of = matched.flat, matched.messages
    names = flat.trace.functions
    peer, source = flat.column("peer"), flat.column("source")
    sends, receives = np.zeros(len(flat.begin), dtype=bool), np.zeros(len(flat.begin), dtype=bool)
    # A send is known by its receive, even if the call that completed the receive is unknown.
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
    # No other rank takes part in a collective on a communicator of one rank.
    known |= _alone(matched)
    return np.asarray(known)


def _alone(matched: MatchedTrace) -> Bools:
    """Calls on communicators of one rank."""
    trace = matched.trace
    single = np.array([one.members is not None and len(one.members) == 1
                       for one in trace.communicators])  # fmt: skip
    return np.asarray(single[matched.flat.column("communicator")])


def _completions_known(flat: FlatTrace, begun: Bools) -> Bools:
    """Calls that completed requests, if all of these have known partners."""
    completed = np.zeros(len(flat.begin), dtype=np.int64)
    good = np.zeros(len(flat.begin), dtype=np.int64)
    asked = flat.column("request") != NO_REQUEST
    done = asked & (flat.completed_in >= 0)
    np.add.at(completed, flat.completed_in[done], 1)
    np.add.at(good, flat.completed_in[done & begun], 1)
    return np.asarray((completed > 0) & (completed == good))
