"""Messages of a trace: the send, the receive and the probe that belong together.

Messages match in order per communicator, source, destination and tag (MPI 4.1, 3.5: messages
don't overtake); the trace has the actual source and tag of a receive from any source or with any
tag. A receive takes its turn when it is posted, even if the program never completes it. A receive
by a matched probe takes its turn at the probe; a cancelled receive has none. All steps are joins of
sorted columns, without a loop over events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.trace.calls import (
    BOTH_WAYS,
    MATCHED_PROBES,
    MATCHED_RECEIVES,
    PARTITIONED,
    PROBES,
    READY,
    RECEIVES,
    SENDS,
    chosen,
)
from assay.trace.events import NO_TAG, PROC_NULL, UNKNOWN_BYTES, UNKNOWN_PEER
from assay.trace.partners.doubts import Pairs, doubtful_keys, left_out, paired_by_end
from assay.trace.partners.model import (
    NONE,
    FlatTrace,
    LeftOutMessages,
    MatchedMessages,
    MatchedProbes,
    UnmatchedCalls,
)


@dataclass(frozen=True)
class _Halves:
    """Sends, receives or probes: flat events with source, destination (places), tag and
    communicator.
    """

    event: Ints
    source: Ints
    destination: Ints
    tag: Ints
    communicator: Ints
    #: The event at which each of them takes its turn.
    order: Ints

    def part(self, kept: npt.NDArray[np.bool_] | Ints) -> _Halves:
        return _Halves(
            event=self.event[kept],
            source=self.source[kept],
            destination=self.destination[kept],
            tag=self.tag[kept],
            communicator=self.communicator[kept],
            order=self.order[kept],
        )


@dataclass(frozen=True)
class MessageMatch:
    """The result of `match_messages`."""

    messages: MatchedMessages
    sent: Ints
    probes: MatchedProbes
    unmatched: list[UnmatchedCalls]
    left_out: list[LeftOutMessages]


def match_messages(flat: FlatTrace) -> MessageMatch:
    """The messages of a trace, and the calls that could not be matched."""
    columns = _Columns.of(flat)
    sends = columns.halves(SENDS, sending=True)
    receives = columns.halves(RECEIVES | BOTH_WAYS, sending=False)
    probes = columns.halves(PROBES, sending=False)
    problems = []
    for halves, what in ((sends, "sends to"), (receives, "receives from")):
        far = halves.destination if halves is sends else halves.source
        absent = int((far < 0).sum())
        if absent:
            problems.append(UnmatchedCalls(f"{what} ranks without a trace", absent))
    sends = sends.part(sends.destination >= 0)
    receives = receives.part((receives.source >= 0) & (receives.tag != NO_TAG))
    probes = probes.part((probes.source >= 0) & (probes.tag != NO_TAG))
    send_key, receive_key, probe_key = _keys(flat, sends, receives, probes)
    receives = _taken_by_probes(flat, receives, receive_key, probes, probe_key)
    send_order = np.lexsort((sends.order, send_key))
    receive_order = np.lexsort((receives.order, receive_key))
    send_key, receive_key = send_key[send_order], receive_key[receive_order]
    send_kept = _have_partner(send_key, receive_key)
    receive_kept = _have_partner(receive_key, send_key)
    pending = flat.completed_in[receives.event[receive_order]] == NONE
    lost = int((pending & ~receive_kept).sum()) + columns.lost_receives()
    if lost:
        problems.append(UnmatchedCalls("receives that never completed", lost))
    problems += _without(flat, sends, send_order[~send_kept], "sends")
    problems += _without(flat, receives, receive_order[~receive_kept & ~pending], "receives")

    pairs = Pairs(
        flat,
        sends.event[send_order[send_kept]],
        receives.event[receive_order[receive_kept]],
        send_key[send_kept],
    )
    pairs = paired_by_end(pairs)
    surplus = np.unique(send_key[~send_kept])
    bad = doubtful_keys(pairs, columns.taken_by_unknown(sends, send_order, surplus, send_key))
    good = ~np.isin(pairs.key, bad)
    out = left_out(pairs.part(~good))
    found = _probed(
        flat=flat,
        receives=receives,
        receive_order=receive_order,
        receive_key=receive_key,
        sends=sends,
        send_order=send_order,
        send_key=send_key,
        probed=(probes, probe_key, bad),
    )
    pairs = pairs.part(good)
    return MessageMatch(_with_parts(flat, pairs), pairs.send, found, problems, out)


@dataclass(frozen=True)
class _Columns:
    """Columns of all events, with positions instead of world ranks (-1: a rank without a trace)."""

    flat: FlatTrace
    peer: Ints
    tag: Ints
    source: Ints
    source_tag: Ints
    received: Ints
    communicator: Ints
    places: Ints
    real: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, flat: FlatTrace) -> _Columns:
        trace = flat.trace
        names = ("peer", "tag", "source", "source_tag", "received")
        columns = {name: flat.column(name) for name in names}
        communicator = flat.column("communicator").astype(np.int64)
        numbers = np.array([rank.rank for rank in trace.ranks])
        most = max(
            int(numbers.max()),
            int(columns["peer"].max(initial=-1)),
            int(columns["source"].max(initial=-1)),
        )
        places = np.full(most + 1, -1, dtype=np.int64)
        places[numbers] = np.arange(len(numbers))
        known = np.ones(1 + int(communicator.max(initial=0)), dtype=bool)
        for one in trace.communicators:
            if one.number < len(known):
                known[one.number] = one.real
        return cls(flat, **columns, communicator=communicator, places=places, real=known)

    def halves(self, functions: frozenset[str], *, sending: bool) -> _Halves:
        flat, names = self.flat, self.flat.trace.functions
        index = np.flatnonzero(chosen(names, functions)[flat.function])
        both = chosen(names, BOTH_WAYS)[flat.function[index]]
        peer, tag = self.peer[index], self.tag[index]
        if sending:
            kept = both | (self.source[index] != PROC_NULL)  # otherwise it was cancelled
        else:
            peer = np.where(both, self.source[index], peer)
            tag = np.where(both, self.source_tag[index], tag)
            kept = np.ones(len(index), dtype=bool)
            if functions == PROBES:
                kept &= self.received[index] != UNKNOWN_BYTES
        kept &= (peer >= 0) & self.real[self.communicator[index]]
        index, peer, tag = index[kept], peer[kept], tag[kept].astype(np.int64)
        mine = flat.rank[index].astype(np.int64)
        theirs = self.places[peer]
        ends = (mine, theirs) if sending else (theirs, mine)
        communicator = self.communicator[index]
        # Partitioned sends match only partitioned receives.
        apart = chosen(names, PARTITIONED)[flat.function[index]]
        communicator = communicator + np.where(apart, len(self.real), 0)
        return _Halves(index, *ends, tag, communicator, index)

    def _unknown_receives(self) -> Ints:
        """Receives of unknown source or tag that may have got a message."""
        flat, names = self.flat, self.flat.trace.functions
        both = chosen(names, BOTH_WAYS)[flat.function]
        peer = np.where(both, self.source, self.peer)
        tag = np.where(both, self.source_tag, self.tag)
        takes = chosen(names, RECEIVES | BOTH_WAYS)[flat.function]
        open_ = (peer == UNKNOWN_PEER) | ((peer >= 0) & (tag == NO_TAG))
        return np.flatnonzero(takes & open_ & self.real[self.communicator])

    def lost_receives(self) -> int:
        """Receives from a known source, with any tag, that never completed."""
        unknown = self._unknown_receives()
        pending = (self.flat.completed_in[unknown] == NONE) & (self.peer[unknown] >= 0)
        return int(pending.sum())

    def taken_by_unknown(self, sends: _Halves, order: Ints, surplus: Ints, key: Ints) -> Ints:
        """The keys with more sends than receives for which a receive of unknown source or tag may
        have taken a message.
        """
        takers = self._unknown_receives()
        if not len(takers) or not len(surplus):
            return np.empty(0, dtype=np.int64)
        width = len(self.flat.trace.ranks)
        at = self.communicator[takers] * width + self.flat.rank[takers]
        first = order[np.searchsorted(key, surplus)]
        here = sends.communicator[first] * width + sends.destination[first]
        return surplus[np.isin(here, at)]


def _keys(flat: FlatTrace, *halves: _Halves) -> list[Ints]:
    """One number per communicator, source, destination and tag."""
    ranks = len(flat.trace.ranks)
    tags = np.unique(np.concatenate([np.unique(one.tag) for one in halves]))
    found = []
    for one in halves:
        code = (one.communicator * ranks + one.source) * ranks + one.destination
        found.append(np.asarray(code * max(len(tags), 1) + np.searchsorted(tags, one.tag)))
    return found


def _taken_by_probes(
    flat: FlatTrace, receives: _Halves, key: Ints, probes: _Halves, probe_key: Ints
) -> _Halves:
    """Receives of probed messages take their turn at the probe: the k-th receive at the k-th probe
    of its key."""
    names = flat.trace.functions
    mine = np.flatnonzero(chosen(names, MATCHED_RECEIVES)[flat.function[receives.event]])
    theirs = np.flatnonzero(chosen(names, MATCHED_PROBES)[flat.function[probes.event]])
    if not len(mine) or not len(theirs):
        return receives
    mine = mine[np.argsort(key[mine], kind="stable")]
    theirs = theirs[np.argsort(probe_key[theirs], kind="stable")]
    has_probe = _have_partner(key[mine], probe_key[theirs])
    has_receive = _have_partner(probe_key[theirs], key[mine])
    order = receives.order.copy()
    order[mine[has_probe]] = probes.event[theirs[has_receive]]
    return replace(receives, order=order)


def _have_partner(mine: Ints, theirs: Ints) -> npt.NDArray[np.bool_]:
    """For sorted keys, whether the k-th entry of a key has a k-th entry on the other side."""
    # There are few keys, so the search is per key and not per message.
    starts = np.flatnonzero(np.concatenate([[True], mine[1:] != mine[:-1]])[: len(mine)])
    keys, lengths = mine[starts], np.diff(np.append(starts, len(mine)))
    others = np.searchsorted(theirs, keys, side="right") - np.searchsorted(theirs, keys)
    ordinal = np.arange(len(mine)) - np.repeat(starts, lengths)
    return np.asarray(ordinal < np.repeat(others, lengths))


def _without(flat: FlatTrace, halves: _Halves, which: Ints, what: str) -> list[UnmatchedCalls]:
    """The unmatched calls by their two ranks, most calls first."""
    if which.size == 0:
        return []
    ranks = np.array([rank.rank for rank in flat.trace.ranks])
    pairs, counts = np.unique(
        np.stack([ranks[halves.source[which]], ranks[halves.destination[which]]]),
        axis=1,
        return_counts=True,
    )
    return [
        UnmatchedCalls(f"{what} from rank {pairs[0, i]} to rank {pairs[1, i]}", int(counts[i]))
        for i in np.argsort(-counts, kind="stable")
    ]


def _probed(
    flat: FlatTrace,
    receives: _Halves,
    receive_order: Ints,
    receive_key: Ints,
    sends: _Halves,
    send_order: Ints,
    send_key: Ints,
    probed: tuple[_Halves, Ints, Ints],
) -> MatchedProbes:
    """The message that each probe found: the one after the messages of the receives that had their
    turn."""
    probes, probe_key, bad = probed
    kept = ~np.isin(probe_key, bad)
    probes, probe_key = probes.part(kept), probe_key[kept]
    keys = np.unique(np.concatenate([receive_key, probe_key]))
    events = len(flat.begin) + 1
    turns = np.searchsorted(keys, receive_key) * events + receives.order[receive_order]
    asked = np.searchsorted(keys, probe_key) * events + probes.event
    before = np.searchsorted(turns, asked) - np.searchsorted(receive_key, probe_key)
    place = np.searchsorted(send_key, probe_key) + before
    known = place < np.searchsorted(send_key, probe_key, side="right")
    return MatchedProbes(probes.event[known], sends.event[send_order[place[known]]])


def _with_parts(flat: FlatTrace, pairs: Pairs) -> MatchedMessages:
    """The messages that arrived. A partitioned message begins at the call that handed over its last
    part.

    Messages received by a request that nothing completed are not analysed.
    """
    pairs = pairs.part(flat.completed_in[pairs.receive] != NONE)
    send, receive = pairs.send, pairs.receive
    size = pairs.sizes()
    last = send.copy()
    parts = np.flatnonzero(flat.is_one_of(READY))
    if len(parts):
        partitioned = flat.is_one_of(PARTITIONED)[send]
        until = np.where(flat.completed_in[send] >= 0, flat.completed_in[send], len(flat.begin))
        before = parts[np.maximum(np.searchsorted(parts, until) - 1, 0)]
        real = partitioned & (before > send) & (flat.rank[before] == flat.rank[send])
        last = np.where(real, before, send)
    return MatchedMessages(
        send=last,
        receive=receive,
        sent_in=flat.completed_in[send],
        received_in=flat.completed_in[receive],
        size=size,
        key=pairs.key,
    )
