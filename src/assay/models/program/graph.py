"""The execution graph of a traced run: dependencies between moments, with the cost of each step.

After LogGOPSim (Hoefler, Schneider & Lumsdaine, HPDC 2010) and LLAMP (Shen et al., SC24, arXiv
2404.14193): nodes are moments, edges say that one moment is at least a cost after another. A cost
is seconds of measured computing plus multiples of a link's L, G and o (LogGP), so that the graph
can be evaluated for any network. At most two edges lead to each node:

- to a node of a rank, from the rank's previous moment (computing, overhead) and, where the rank
  receives or a send by rendezvous ends, from a message;
- to the handshake of a message by rendezvous: from the arrival of the request to send and from the
  posted receive; the reply takes another L;
- to the injection and the arrival of a message between hosts: from the message itself, and from the
  previous message through the host's adapter (`adapters`).

Calls that don't communicate keep their measured time, collectives become the messages of a
published algorithm (`schedules`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.models.program.links import BETWEEN, WITHIN
from assay.models.program.meetings import Meeting, meetings_of, messages_of, width_of
from assay.trace.calls import FINALIZE
from assay.trace.matching import MatchedTrace
from assay.trace.native import topological

_NONE = -1
# Order of the items that a call completes: its own send first, collectives last.
_OWN_SEND, _COLLECTIVE = -1, 1 << 60


@dataclass(frozen=True)
class Edges:
    """At most one edge into each node: from node ``source`` (-1: none), with its cost."""

    source: Ints
    #: Measured time, s.
    seconds: Floats
    #: ``latencies``, ``bytes``, ``overheads``: multiples of L, G and o of ``link`` (`WITHIN` or
    #: `BETWEEN`).
    latencies: npt.NDArray[np.int8]
    bytes: Ints
    overheads: npt.NDArray[np.int8]
    link: npt.NDArray[np.int8]


@dataclass(frozen=True)
class FarMessages:
    """Messages between hosts: nodes of ``injection`` and ``arrival``, sizes in bytes, numbers of
    hosts."""

    injection: Ints
    arrival: Ints
    size: Ints
    source: Ints
    target: Ints
    #: Order of the messages: ascending by sending rank, then in the order of sending.
    order: Ints


@dataclass(frozen=True)
class ProgramGraph:
    """Nodes in an order in which each node comes after the nodes that it depends on."""

    #: Edges along ranks or adapters.
    along: Edges
    #: Edges of messages.
    across: Edges
    #: Index in the `FlatTrace` of the call that a node belongs to; -1 for the end of a rank and for
    #: a message's nodes.
    event: Ints
    #: Whether the node is the begin of its call.
    begins: npt.NDArray[np.bool_]
    #: The last node of each rank.
    ends: Ints
    #: Number of messages, including those of collectives.
    messages: int
    #: Names of collectives without an algorithm.
    unknown: tuple[str, ...]
    #: The messages between hosts.
    far: FarMessages
    #: ``sent_at``, ``received_at``: for each message of the `MatchedTrace`, the nodes of its ready
    #: sender and of its completed receive.
    sent_at: Ints
    received_at: Ints

    def __len__(self) -> int:
        return len(self.event)


@dataclass
class _Columns:
    source: Ints
    seconds: Floats
    latencies: npt.NDArray[np.int8]
    bytes: Ints
    overheads: npt.NDArray[np.int8]
    link: npt.NDArray[np.int8]

    @classmethod
    def empty(cls, number: int) -> _Columns:
        return cls(
            source=np.full(number, _NONE, dtype=np.int64),
            seconds=np.zeros(number),
            latencies=np.zeros(number, dtype=np.int8),
            bytes=np.zeros(number, dtype=np.int64),
            overheads=np.zeros(number, dtype=np.int8),
            link=np.full(number, BETWEEN, dtype=np.int8),
        )

    def ordered(self, order: Ints, place: Ints) -> Edges:
        return reordered(
            Edges(
                source=self.source,
                seconds=self.seconds,
                latencies=self.latencies,
                bytes=self.bytes,
                overheads=self.overheads,
                link=self.link,
            ),
            order,
            place,
        )


@dataclass
class _Items:
    """Parts of calls. Each has ``width`` nodes, belongs to event ``event``, and is ordered by
    ``order`` within it."""

    event: Ints
    order: Ints
    width: Ints


@dataclass(frozen=True)
class _Flights:
    """Messages: nodes of the ready sender, the posted receive, the completed receive and send."""

    ready: Ints
    posted: Ints
    received: Ints
    sent: Ints  # -1: nothing waits for it
    size: Ints
    source: Ints  # ranks
    target: Ints


def reordered(edges: Edges, order: Ints, place: Ints) -> Edges:
    """The edges of nodes in another order; ``place`` is its inverse."""
    source = edges.source[order]
    return Edges(
        source=np.where(source >= 0, place[source], _NONE),
        seconds=edges.seconds[order],
        latencies=edges.latencies[order],
        bytes=edges.bytes[order],
        overheads=edges.overheads[order],
        link=edges.link[order],
    )


def build_graph(matched: MatchedTrace, eager: tuple[float, float]) -> ProgramGraph:
    """The graph of a trace, without the sharing of adapters.

    ``eager``: the largest message, in bytes, that is sent without a handshake, within and between
    hosts. Waiting in probes (for a message that is received later) and in MPI_Finalize doesn't
    count as time of these calls.

    Raises AssayError if the calls can't have happened in any order (with these limits).
    """
    flat = matched.flat
    hosts = np.unique(np.array(flat.trace.hosts), return_inverse=True)[1]
    meetings, unknown = meetings_of(matched)
    layout = _Layout(matched, meetings, eager, hosts)
    flights = [layout.point_to_point(), *(layout.collective(i) for i in range(len(meetings)))]
    graph = _assemble(layout, flights, eager, hosts, tuple(sorted(unknown)))
    if graph is None:
        raise AssayError(
            "No order of the trace's calls is possible: the trace lacks messages, or the program "
            f"sent more than {eager[1]:,.0f} B without a handshake.",
            fix="Trace the program to its end.",
        )
    return graph


class _Layout:
    """The nodes of ranks: for each call, its begin, followed by its items."""

    def __init__(
        self,
        matched: MatchedTrace,
        meetings: list[Meeting],
        eager: tuple[float, float],
        hosts: npt.NDArray[np.intp],
    ) -> None:
        self.matched, self.flat, self.meetings = matched, matched.flat, meetings
        flat, of = matched.flat, matched.messages
        between = hosts[flat.rank[of.send]] != hosts[flat.rank[of.receive]]
        limit = np.where(between, eager[BETWEEN], eager[WITHIN])
        self.waited = np.flatnonzero((of.size > limit) & (of.sent_in >= 0))
        items = [
            _Items(of.send, np.full(len(of), _OWN_SEND), np.ones(len(of), dtype=np.int64)),
            _Items(of.received_in, of.receive * 2, np.ones(len(of), dtype=np.int64)),
            _Items(
                of.sent_in[self.waited],
                of.send[self.waited] * 2 + 1,
                np.ones(len(self.waited), dtype=np.int64),
            ),
        ]
        for meeting in meetings:
            widths = np.array([width_of(steps) for steps in meeting.schedule.steps])
            calls = meeting.calls.ravel()
            items.append(
                _Items(
                    calls,
                    _COLLECTIVE + meeting.rows.ravel(),
                    np.tile(widths, len(meeting.rows)).astype(np.int64),
                )
            )
        self._place(items)
        self.durations = _without_waiting(matched)

    def _place(self, items: list[_Items]) -> None:
        flat = self.flat
        event = np.concatenate([item.event for item in items])
        order = np.concatenate([item.order for item in items])
        width = np.concatenate([item.width for item in items])
        number = len(flat.begin)
        widths = np.bincount(event, weights=width, minlength=number).astype(np.int64)
        ranks = len(flat.trace.ranks)
        # One node for each begin, and one for the end of each rank after its calls.
        before = np.concatenate([[0], np.cumsum(1 + widths)])
        self.node_of: Ints = before[:-1] + flat.rank.astype(np.int64)
        self.ends = before[flat.first[1:]] + np.arange(ranks)
        self.size = int(before[-1]) + ranks
        self.has_items = widths > 0
        sort = np.lexsort((order, event))
        sums = np.cumsum(width[sort]) - width[sort]
        base = np.searchsorted(event[sort], event[sort], side="left")
        placed = np.empty(len(event), dtype=np.int64)
        placed[sort] = self.node_of[event[sort]] + 1 + sums - sums[base]
        splits = np.cumsum([len(item.event) for item in items])[:-1]
        self.ready, self.received, self.sent, *self.blocks = np.split(placed, splits)

    def point_to_point(self) -> _Flights:
        flat, of = self.flat, self.matched.messages
        sent = np.full(len(of), _NONE, dtype=np.int64)
        sent[self.waited] = self.sent
        return _Flights(
            ready=self.ready,
            posted=self.node_of[of.receive],
            received=self.received,
            sent=sent,
            size=of.size,
            source=flat.rank[of.send].astype(np.int64),
            target=flat.rank[of.receive].astype(np.int64),
        )

    def collective(self, number: int) -> _Flights:
        """All messages of one meeting, round by round."""
        meeting = self.meetings[number]
        shape = meeting.rows.shape
        block = self.blocks[number].reshape(shape)
        members = meeting.group.members
        columns: list[list[Ints]] = [[] for _ in range(7)]
        for flight in messages_of(meeting.schedule):
            size = np.rint(meeting.sizes[:, flight.block] * flight.share).astype(np.int64)
            ones = np.ones(shape[0], dtype=np.int64)
            for column, values in zip(
                columns,
                (
                    block[:, flight.source] + flight.ready,
                    block[:, flight.target] + flight.posted,
                    block[:, flight.target] + flight.received,
                    block[:, flight.source] + flight.sent,
                    size,
                    ones * members[flight.source],
                    ones * members[flight.target],
                ),
                strict=True,
            ):
                column.append(values)
        if not columns[0]:
            return _Flights(*(np.empty(0, dtype=np.int64) for _ in range(7)))
        return _Flights(*(np.concatenate(column) for column in columns))


def _assemble(
    layout: _Layout,
    flights: list[_Flights],
    eager: tuple[float, float],
    hosts: npt.NDArray[np.intp],
    unknown: tuple[str, ...],
) -> ProgramGraph | None:
    """Nodes of ranks, then handshakes, injections and arrivals; None if there is no order."""
    flat = layout.flat
    names = ("ready", "posted", "received", "sent", "size", "source", "target")
    every = _Flights(*(np.concatenate([getattr(one, name) for one in flights]) for name in names))
    between = hosts[every.source] != hosts[every.target]
    link = np.where(between, BETWEEN, WITHIN).astype(np.int8)
    hands = every.size > np.where(between, eager[BETWEEN], eager[WITHIN])
    handshakes, far = np.flatnonzero(hands), np.flatnonzero(between)
    handshake = layout.size + np.arange(len(handshakes))
    injection = layout.size + len(handshakes) + np.arange(len(far))
    arrival = injection + len(far)
    number = layout.size + len(handshakes) + 2 * len(far)
    along, across = _Columns.empty(number), _Columns.empty(number)

    _compute(layout, along)
    along.overheads[every.ready] = along.overheads[every.received] = 1
    along.link[every.ready] = along.link[every.received] = link

    # The node after which a message may be injected, and the number of latencies in between.
    start, replies = every.ready.copy(), hands.astype(np.int8)
    start[handshakes] = handshake
    along.source[handshake], along.latencies[handshake] = every.ready[handshakes], 1
    across.source[handshake] = every.posted[handshakes]
    along.link[handshake] = across.link[handshake] = link[handshakes]

    waited = np.flatnonzero(hands & (every.sent >= 0))
    came = start.copy()
    came[far] = arrival
    across.source[every.received] = came
    across.latencies[every.received] = np.where(between, 0, 1 + replies)
    across.bytes[every.received] = every.size
    across.overheads[every.received], across.link[every.received] = 1, link
    left = start.copy()
    left[far] = injection
    across.source[every.sent[waited]] = left[waited]
    across.latencies[every.sent[waited]] = np.where(between, 0, replies)[waited]
    across.bytes[every.sent[waited]], across.link[every.sent[waited]] = (
        every.size[waited],
        link[waited],
    )
    across.source[injection], across.latencies[injection] = start[far], replies[far]
    across.source[arrival], across.latencies[arrival] = injection, 1
    event = np.full(number, _NONE, dtype=np.int64)
    event[layout.node_of] = np.arange(len(flat.begin))
    event[: layout.size] = np.maximum.accumulate(event[: layout.size])
    event[layout.ends] = _NONE
    begins = np.zeros(number, dtype=bool)
    begins[layout.node_of] = True
    order_of = topological_order(along.source, across.source)
    if order_of is None:
        return None
    place = np.empty(number, dtype=np.int64)
    place[order_of] = np.arange(number)
    return ProgramGraph(
        along=along.ordered(order_of, place),
        across=across.ordered(order_of, place),
        event=event[order_of],
        begins=begins[order_of],
        ends=place[layout.ends],
        messages=len(every.size),
        unknown=unknown,
        far=FarMessages(
            injection=place[injection],
            arrival=place[arrival],
            size=every.size[far],
            source=hosts[every.source[far]].astype(np.int64),
            target=hosts[every.target[far]].astype(np.int64),
            order=every.ready[far],  # nodes of ranks are rank after rank, in order of time
        ),
        sent_at=place[layout.ready],
        received_at=place[layout.received],
    )


def _compute(layout: _Layout, along: _Columns) -> None:
    """Edges along the ranks: computing before each call and after the last one.

    A call without items takes its measured time, which counts with the computing after it.
    """
    flat = layout.flat
    nodes = np.arange(layout.size)
    along.source[: layout.size] = nodes - 1
    base = flat.trace.begin
    for place, rank in enumerate(flat.trace.ranks):
        low, high = int(flat.first[place]), int(flat.first[place + 1])
        begins = np.append(flat.begin[low:high], rank.end)
        free = np.concatenate([[rank.begin], flat.end[low:high]])
        own = np.where(layout.has_items[low:high], 0.0, layout.durations[low:high])
        between = np.maximum(begins - np.maximum.accumulate(free), 0.0)
        between[1:] += own
        targets = np.append(layout.node_of[low:high], layout.ends[place])
        along.seconds[targets] = between
        along.source[targets[0]] = _NONE
        along.seconds[targets[0]] += rank.begin - base


def _without_waiting(matched: MatchedTrace) -> Floats:
    """Seconds of each call. For probes, only the time after the begin of the send counts."""
    flat, probes = matched.flat, matched.probes
    begin = flat.begin.copy()
    np.maximum.at(begin, probes.probe, flat.begin[probes.send])
    durations = np.maximum(flat.end - begin, 0.0)
    durations[flat.is_one_of(frozenset((FINALIZE,)))] = 0.0
    return np.asarray(durations)


def topological_order(one: Ints, other: Ints) -> Ints | None:
    """A topological order of nodes with up to two incoming edges each, given the sources (-1:
    none).

    None if there is a circle (Kahn 1962).
    """
    return topological(one, other)
