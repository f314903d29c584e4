"""Which call of one rank belongs to which of another: messages and collectives of a trace.

Messages match in order per communicator, source, destination and tag (MPI 4.1, 3.5: messages
don't overtake); a receive from any source or with any tag has the actual ones. Collectives match
by their number on the communicator. Both are joins of sorted columns, without a loop over events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.trace.calls import BOTH_WAYS, COLLECTIVES, RECEIVES, SENDS, blocking_form, chosen
from assay.trace.events import NO_REQUEST, Integers, Trace

_NONE = -1


@dataclass(frozen=True)
class FlatTrace:
    """The events of all ranks one after the other, those of a rank in order of time.

    ``first``: where each rank's events begin, and the end. ``begin``, ``end``: s. ``function``,
    ``site``, ``rank``: of each event; ``rank`` is the place in ``trace.ranks``. ``completed_in``:
    the event that completed the request that the event began; itself if it began none, -1 if it
    was not completed.
    """

    trace: Trace
    first: Integers
    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    function: npt.NDArray[np.uint16]
    site: npt.NDArray[np.uint32]
    rank: npt.NDArray[np.int32]
    completed_in: Integers

    def is_one_of(self, names: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Whether each event is a call of one of these functions."""
        return chosen(self.trace.functions, names)[self.function]


@dataclass(frozen=True)
class MatchedMessages:
    """Messages, as arrays of equal length; events are numbers in the `FlatTrace`.

    ``send``, ``receive``: the calls that began them. ``sent_in``, ``received_in``: the calls that
    completed them (the same ones if they block); -1: never. ``size``: bytes.
    """

    send: Integers
    receive: Integers
    sent_in: Integers
    received_in: Integers
    size: Integers

    def __len__(self) -> int:
        return len(self.send)


@dataclass(frozen=True)
class MatchedCollectives:
    """The collectives on one communicator.

    ``members``: places in ``trace.ranks``, in the communicator's order. ``events``: numbers in the
    `FlatTrace`, a row per collective and a column per member.
    """

    communicator: int
    members: Integers
    events: Integers


@dataclass(frozen=True)
class UnmatchedCalls:
    """``count`` calls without a partner; ``what``: the calls, in words."""

    what: str
    count: int


@dataclass(frozen=True)
class MatchedTrace:
    """A trace and which of its calls belong together. ``unmatched``: those that have no partner."""

    flat: FlatTrace
    messages: MatchedMessages
    collectives: tuple[MatchedCollectives, ...]
    unmatched: tuple[UnmatchedCalls, ...]

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.flat.trace


def match(trace: Trace) -> MatchedTrace:
    """Match all messages and collectives of a trace."""
    flat = flatten(trace)
    messages, without = _messages(flat)
    collectives, lost = _collectives(flat)
    return MatchedTrace(flat, messages, tuple(collectives), (*without, *lost))


def flatten(trace: Trace) -> FlatTrace:
    """The events of all ranks as one table."""
    lengths = [len(rank.events) for rank in trace.ranks]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def column(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(rank.events, name) for rank in trace.ranks])

    columns = {name: column(name) for name in ("begin", "end", "function", "site")}
    # The ranks' columns are parts of these, not copies.
    ranks = []
    for rank, low, high in zip(trace.ranks, first[:-1].tolist(), first[1:].tolist(), strict=True):
        parts = {name: values[low:high] for name, values in columns.items()}
        ranks.append(replace(rank, events=replace(rank.events, **parts)))
    trace = replace(trace, ranks=tuple(ranks))
    completed = np.concatenate(
        [_completed_in(trace, place, int(first[place])) for place in range(len(lengths))]
    )
    return FlatTrace(
        trace=trace,
        first=first,
        **columns,
        rank=np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
        completed_in=completed,
    )


def _completed_in(trace: Trace, place: int, first: int) -> Integers:
    """Per event of a rank, the event that completed its request, as a flat number."""
    events = trace.ranks[place].events
    number = len(events)
    found = np.arange(first, first + number, dtype=np.int64)
    asked = events.request != NO_REQUEST
    if not asked.any():
        return found
    began = np.flatnonzero(asked)
    calls, requests = events.completions()
    if requests.size == 0:
        found[began] = _NONE
        return found
    # Requests are numbered in order of their begin.
    call_of = np.full(int(max(requests.max(), events.request.max())) + 1, _NONE, dtype=np.int64)
    call_of[requests[::-1]] = calls[::-1] + first
    found[began] = call_of[events.request[began]]
    return found


@dataclass(frozen=True)
class _Halves:
    """Sends or receives: flat events with source, destination (places), tag and communicator."""

    event: Integers
    source: Integers
    destination: Integers
    tag: Integers
    communicator: Integers

    def part(self, kept: npt.NDArray[np.bool_]) -> _Halves:
        return _Halves(
            self.event[kept], self.source[kept], self.destination[kept], self.tag[kept],
            self.communicator[kept],
        )  # fmt: skip


def _halves(flat: FlatTrace, sending: bool) -> _Halves:
    trace = flat.trace
    # World ranks to places; ranks without a trace stay outside, and their calls unmatched.
    numbers = np.array([rank.rank for rank in trace.ranks])
    most = max(int(numbers.max()), *(int(r.events.peer.max(initial=-1)) for r in trace.ranks),
               *(int(r.events.source.max(initial=-1)) for r in trace.ranks))  # fmt: skip
    places = np.full(most + 1, -1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    both = chosen(trace.functions, BOTH_WAYS)
    wanted = chosen(trace.functions, SENDS if sending else RECEIVES | BOTH_WAYS)
    columns: list[list[Integers]] = [[], [], [], [], []]
    for place, rank in enumerate(trace.ranks):
        events = rank.events
        index = np.flatnonzero(wanted[events.function])
        halves = both[events.function[index]]
        peer, tag = events.peer[index], events.tag[index]
        if not sending:
            peer = np.where(halves, events.source[index], peer)
            tag = np.where(halves, events.source_tag[index], tag)
        real = peer >= 0
        index, peer, tag = index[real], peer[real], tag[real]
        mine = np.full(len(index), place, dtype=np.int64)
        theirs = places[peer]
        ends = (mine, theirs) if sending else (theirs, mine)
        for column, values in zip(
            columns, (index + flat.first[place], *ends, tag, events.communicator[index]),
            strict=True,
        ):  # fmt: skip
            column.append(values.astype(np.int64))
    return _Halves(*(np.concatenate(column) for column in columns))


def _messages(flat: FlatTrace) -> tuple[MatchedMessages, list[UnmatchedCalls]]:
    sends, receives = _halves(flat, True), _halves(flat, False)
    # A receive that was never completed (cancelled, or pending at the end) got no message.
    pending = flat.completed_in[receives.event] == _NONE
    problems = []
    if pending.any():
        problems.append(UnmatchedCalls("receives that never completed", int(pending.sum())))
        receives = receives.part(~pending)
    for halves, what in ((sends, "sends to"), (receives, "receives from")):
        far = halves.destination if halves is sends else halves.source
        absent = int((far < 0).sum())
        if absent:
            problems.append(UnmatchedCalls(f"{what} ranks without a trace", absent))
    sends = sends.part(sends.destination >= 0)
    receives = receives.part(receives.source >= 0)
    send_key, receive_key = _keys(sends, receives, len(flat.trace.ranks))
    send_order = np.argsort(send_key, kind="stable")
    receive_order = np.argsort(receive_key, kind="stable")
    send_kept = _have_partner(send_key[send_order], receive_key[receive_order])
    receive_kept = _have_partner(receive_key[receive_order], send_key[send_order])
    for kept, halves, order, what in (
        (send_kept, sends, send_order, "sends"),
        (receive_kept, receives, receive_order, "receives"),
    ):
        problems += _without(flat, halves, order[~kept], what)
    send = sends.event[send_order[send_kept]]
    receive = receives.event[receive_order[receive_kept]]
    return (
        MatchedMessages(
            send=send,
            receive=receive,
            sent_in=flat.completed_in[send],
            received_in=flat.completed_in[receive],
            size=_sizes(flat, send, receive),
        ),
        problems,
    )


def _keys(sends: _Halves, receives: _Halves, ranks: int) -> tuple[Integers, Integers]:
    """One number per communicator, source, destination and tag."""
    tags = np.unique(np.concatenate([np.unique(sends.tag), np.unique(receives.tag)]))

    def key(halves: _Halves) -> Integers:
        code = halves.communicator * ranks + halves.source
        code = code * ranks + halves.destination
        return np.asarray(code * len(tags) + np.searchsorted(tags, halves.tag))

    return key(sends), key(receives)


def _have_partner(mine: Integers, theirs: Integers) -> npt.NDArray[np.bool_]:
    """Of sorted keys: whether the k-th of a key has a k-th one on the other side."""
    # Keys are few, so that searches are for each key and not for each message.
    starts = np.flatnonzero(np.concatenate([[True], mine[1:] != mine[:-1]])[: len(mine)])
    keys, lengths = mine[starts], np.diff(np.append(starts, len(mine)))
    others = np.searchsorted(theirs, keys, side="right") - np.searchsorted(theirs, keys)
    ordinal = np.arange(len(mine)) - np.repeat(starts, lengths)
    return np.asarray(ordinal < np.repeat(others, lengths))


def _without(flat: FlatTrace, halves: _Halves, which: Integers, what: str) -> list[UnmatchedCalls]:
    """The unmatched by their two ranks, most first."""
    if which.size == 0:
        return []
    ranks = np.array([rank.rank for rank in flat.trace.ranks])
    pairs, counts = np.unique(
        np.stack([ranks[halves.source[which]], ranks[halves.destination[which]]]),
        axis=1, return_counts=True,
    )  # fmt: skip
    return [
        UnmatchedCalls(f"{what} from rank {pairs[0, i]} to rank {pairs[1, i]}", int(counts[i]))
        for i in np.argsort(-counts, kind="stable")
    ]


def _sizes(flat: FlatTrace, send: Integers, receive: Integers) -> Integers:
    """Bytes sent; of a send whose bytes are unknown, those received."""
    sent = np.concatenate([rank.events.sent for rank in flat.trace.ranks])[send]
    received = np.concatenate([rank.events.received for rank in flat.trace.ranks])[receive]
    return np.asarray(np.maximum(np.where(sent >= 0, sent, received), 0), dtype=np.int64)


def _collectives(
    flat: FlatTrace,
) -> tuple[list[MatchedCollectives], list[UnmatchedCalls]]:
    trace = flat.trace
    wanted = chosen(trace.functions, COLLECTIVES)
    by_communicator: dict[int, dict[int, Integers]] = {}
    for place, rank in enumerate(trace.ranks):
        index = np.flatnonzero(wanted[rank.events.function])
        communicators = rank.events.communicator[index]
        for number in np.unique(communicators):
            mine = index[communicators == number] + flat.first[place]
            by_communicator.setdefault(int(number), {})[place] = mine
    places = {rank.rank: place for place, rank in enumerate(trace.ranks)}
    found, problems = [], []
    for number, calls in sorted(by_communicator.items()):
        members = trace.communicators[number].members
        order = list(calls) if members is None else [places[m] for m in members if m in places]
        lengths = [len(calls.get(place, ())) for place in order]
        common = min(lengths)
        over = sum(lengths) - common * len(lengths)
        if over:
            problems.append(UnmatchedCalls(f"collectives on communicator {number}", over))
        if common == 0:
            continue
        events = np.stack([calls[place][:common] for place in order], axis=1)
        same = _same_function(flat, events)
        if not same.all():
            problems.append(
                UnmatchedCalls(
                    f"collectives on communicator {number}, of different functions",
                    int((~same).sum()),
                )
            )
        found.append(MatchedCollectives(number, np.array(order, dtype=np.int64), events[same]))
    return found, problems


def _same_function(flat: FlatTrace, events: Integers) -> npt.NDArray[np.bool_]:
    """Whether the ranks of each row call the same function (blocking or not)."""
    names = [blocking_form(name) for name in flat.trace.functions]
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    code = np.array([codes[name] for name in names])[flat.function[events]]
    return np.asarray((code == code[:, :1]).all(axis=1))
