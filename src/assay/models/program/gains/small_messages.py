"""Small messages in a row, and the saving if one message replaced them.

Messages of a rank to one peer are in a row if the rank receives nothing between them, takes part in
no collective, and computes no longer than a message takes: one message could carry their data. The
execution graph gives the saving: in each row, all messages but the last lose their latency and
overheads, the last one carries all bytes, and the longest path is compared with the run's. The same
applies to collectives that follow each other from one place without anything between.

The saving is a bound: the receiver may use the first message before the last one arrives. Messages
that are answered one by one, with hardly any computing between, are a separate kind of row. They
can be joined only if no message depends on an earlier answer, which a trace doesn't show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.arrays import Bools, Floats, Ints
from assay.models.program.adapters import with_adapters
from assay.models.program.graph import ProgramGraph
from assay.models.program.links import LinkParameters
from assay.models.program.prediction import ModelledRun
from assay.models.program.replay import replay
from assay.trace.calls import (
    BOTH_WAYS,
    COLLECTIVES,
    MEETINGS,
    PARTITIONED,
    SENDS,
    SYNCHRONOUS,
    begins_request,
    chosen,
)
from assay.trace.matching import FlatTrace, MatchedTrace

# Size in bytes up to which a message's time doesn't depend on its bytes (as in calibration).
SMALL = 4096
# Number of messages that make a row, and computing between two messages (s) that doesn't justify
# early sending on any network: the loop around the calls, and their recording.
_FEWEST, _PAUSE = 4, 5e-6
# Longer rows of answered messages are a test of the network, not an exchange in parts.
_MOST_ANSWERED = 4096
# Number of call sites whose gain is computed. Sites with most messages come first.
_MOST_SITES = 6
_ONE_WAY = SENDS - BOTH_WAYS - PARTITIONED - SYNCHRONOUS


@dataclass(frozen=True)
class SmallMessages:
    """Messages, or collectives, in a row from one call site."""

    #: ``function``, ``site``: numbers in the trace.
    function: int
    site: int
    #: Whether the calls are collectives.
    collective: bool
    #: Whether the sender receives between the messages.
    answered: bool
    #: Number of ranks that make the call there.
    ranks: int
    #: Number of messages in rows, or of calls of a collective, in the modelled run.
    calls: int
    #: Median number of messages in a row.
    in_a_row: int
    #: Median size in bytes.
    size: int
    #: Share of the run time that one message in place of each row would save at most.
    seconds: float


def small_messages(run: ModelledRun) -> list[SmallMessages]:
    """Rows of a run, the largest gain first; none if there is no gain."""
    flat = run.matched.flat
    links = (run.calibrated.within.parameters, run.calibrated.between.parameters)
    pause = max(_PAUSE, *(_alone(link) for link in links))
    calls = collective_rows(run.matched, pause)
    found: list[SmallMessages] = []
    for answered in (False, True):
        rows = message_rows(run.matched, pause, run.eager, answered=answered)
        places = flat.site[run.matched.messages.send[rows.message]]
        known = {one.site for one in found}
        found += [
            _of_messages(run, rows, places == site, answered=answered)
            for site in _most(places)
            if site not in known
        ]
    places = flat.site[calls.event]
    found += [_of_collectives(run, calls, places == site) for site in _most(places)]
    return sorted((one for one in found if one.seconds > 0.0), key=lambda one: -one.seconds)


def _alone(link: LinkParameters) -> float:
    """Time of a message without bytes, s."""
    return link.latency + 2 * link.overhead


def _most(sites: npt.NDArray[np.uint32]) -> list[int]:
    """The call sites with most entries."""
    values, counts = np.unique(sites, return_counts=True)
    return [int(site) for site in values[np.argsort(-counts, kind="stable")][:_MOST_SITES]]


@dataclass(frozen=True)
class MessageRows:
    """Messages in rows."""

    #: Indices into the `MatchedMessages`, row by row.
    message: Ints
    #: Number of each message's row, ascending.
    row: Ints
    #: Whether the message is the last of its row.
    last: Bools


def message_rows(
    matched: MatchedTrace,
    pause: float,
    eager: tuple[float, float] = (SMALL, SMALL),
    *,
    answered: bool = False,
) -> MessageRows:
    """Small messages in rows. ``pause``: computing between two messages that separates them, s.
    ``eager``: the largest size that is sent without a handshake, within and between hosts, bytes.
    ``answered``: whether the sender may receive between messages.
    """
    flat, of = matched.flat, matched.messages
    senders = _ONE_WAY | BOTH_WAYS if answered else _ONE_WAY
    which = np.flatnonzero((of.size <= min(SMALL, *eager)) & flat.is_one_of(senders)[of.send])
    if not len(which):
        return MessageRows(which, which, np.zeros(0, dtype=bool))
    ranks = len(flat.trace.ranks)
    sender, receiver = flat.rank[of.send[which]], flat.rank[of.receive[which]]
    communicator = flat.column("communicator")[of.send[which]].astype(np.int64)
    channel = (communicator * ranks + sender) * ranks + receiver
    order = np.lexsort((of.send[which], channel))
    which, channel = which[order], channel[order]
    send = of.send[which]
    together = np.diff(channel) == 0
    together &= np.diff(_turns(matched, received=not answered)[send]) == 0
    together &= np.diff(_computed(flat)[send]) <= pause
    row = np.concatenate([[0], np.cumsum(~together)])
    length = np.bincount(row)[row]
    enough = (length >= _FEWEST) & ((length <= _MOST_ANSWERED) | (not answered))
    which, row = which[enough], row[enough]
    return MessageRows(which, row, np.diff(row, append=-1) != 0)


def _turns(matched: MatchedTrace, *, received: bool) -> Ints:
    """For each event, the numbers of collectives and of calls that ``received`` before it."""
    turns = matched.flat.is_one_of(COLLECTIVES | MEETINGS).astype(np.int64)
    if received:
        turns[matched.messages.received_in] = 1
    return np.asarray(np.cumsum(turns) - turns)


def _computed(flat: FlatTrace) -> Floats:
    """Seconds outside of MPI before each event, cumulative over all ranks."""
    gap = np.zeros(len(flat.begin))
    for low, high in zip(flat.first[:-1].tolist(), flat.first[1:].tolist(), strict=True):
        free = np.maximum.accumulate(flat.end[low:high])[:-1]
        gap[low + 1 : high] = np.maximum(flat.begin[low + 1 : high] - free, 0.0)
    return np.cumsum(gap)


def _of_messages(
    run: ModelledRun, rows: MessageRows, mine: Bools, *, answered: bool
) -> SmallMessages:
    flat, of = run.matched.flat, run.matched.messages
    message = rows.message[mine]
    send = of.send[message]
    lengths = np.unique(rows.row[mine], return_counts=True)[1]
    return SmallMessages(
        function=int(np.bincount(flat.function[send]).argmax()),
        site=int(flat.site[send[0]]),
        collective=False,
        answered=answered,
        ranks=len(np.unique(flat.rank[send])),
        calls=len(send),
        in_a_row=int(np.median(lengths)),
        size=int(np.median(of.size[message])),
        seconds=_saved(run, joined_messages(run, rows, mine)),
    )


def _saved(run: ModelledRun, graph: ProgramGraph) -> float:
    """Reduction of the run time with a changed graph, s."""
    network = run.calibrated.network
    return run.saved(replay(with_adapters(graph, network), network))


def joined_messages(run: ModelledRun, rows: MessageRows, mine: Bools) -> ProgramGraph:
    """The graph without the messages ``mine``, except the last one of each row, which carries the
    row's bytes.
    """
    graph, of = run.graph, run.matched.messages
    gone = rows.message[mine & ~rows.last]
    kept = rows.message[rows.last]
    weights = np.where(mine & ~rows.last, of.size[rows.message], 0)
    more = np.bincount(rows.row, weights=weights)[rows.row[rows.last]].astype(np.int64)
    node, large = graph.received_at[kept], graph.across.bytes.copy()
    large[node] += more
    far = graph.far
    place = np.full(len(graph), -1, dtype=np.int64)
    place[graph.across.source[far.injection]] = np.arange(len(far.size))
    size = far.size.copy()
    at = place[graph.sent_at[kept]]
    size[at[at >= 0]] += more[at >= 0]
    at = place[graph.sent_at[gone]]
    size[at[at >= 0]] = 0
    changed = replace(graph, across=replace(graph.across, bytes=large), far=replace(far, size=size))
    nodes = np.concatenate([graph.sent_at[gone], graph.received_at[gone]])
    return _without_calls(run, _without_cost(changed, nodes), gone)


def _without_cost(graph: ProgramGraph, nodes: Ints) -> ProgramGraph:
    """The graph in which nothing is sent or received at these nodes of ranks."""
    along, across = graph.along, graph.across
    overheads, source = along.overheads.copy(), across.source.copy()
    overheads[nodes], source[nodes] = 0, -1
    costs = {name: getattr(across, name).copy() for name in ("latencies", "bytes", "overheads")}
    for column in costs.values():
        column[nodes] = 0
    return replace(
        graph,
        along=replace(along, overheads=overheads),
        across=replace(across, source=source, **costs),
    )


def _without_calls(run: ModelledRun, graph: ProgramGraph, gone: Ints) -> ProgramGraph:
    """Remove the time of calls that only post or complete messages that are ``gone``."""
    flat, of = run.matched.flat, run.matched.messages
    number = len(flat.begin)
    parts = np.bincount(graph.event[graph.event >= 0], minlength=number)
    sent_in = of.sent_in[of.sent_in >= 0]
    open_ = np.bincount(sent_in, minlength=number)
    mine = of.sent_in[gone]
    open_ -= np.bincount(mine[mine >= 0], minlength=number)
    calls = np.concatenate([of.receive[gone], mine[mine >= 0]])
    calls = np.unique(calls[(parts[calls] == 1) & (open_[calls] == 0)])
    begin = np.zeros(number + 1, dtype=np.int64)
    begin[graph.event[graph.begins]] = np.flatnonzero(graph.begins)
    rank = flat.rank[calls]
    final = calls + 1 == flat.first[rank + 1]
    behind = np.where(final, graph.ends[rank], begin[calls + 1])
    seconds = graph.along.seconds.copy()
    seconds[behind] = np.maximum(seconds[behind] - (flat.end[calls] - flat.begin[calls]), 0.0)
    return replace(graph, along=replace(graph.along, seconds=seconds))


@dataclass(frozen=True)
class CollectiveRows:
    """Collectives in rows."""

    #: Calls of collectives in rows.
    event: Ints
    #: Whether a call is the last of its row.
    last: Bools
    #: Number of the row, counted in calls of one rank.
    length: Ints


def collective_rows(matched: MatchedTrace, pause: float) -> CollectiveRows:
    """Small blocking collectives that follow each other on all their ranks, of one function, call
    site and root, without another call between. ``pause``: as in `message_rows`.
    """
    flat = matched.flat
    plain = np.array([not begins_request(name) for name in flat.trace.functions], dtype=bool)
    plain &= chosen(flat.trace.functions, COLLECTIVES - {"Barrier"})
    sent = flat.column("sent")
    small = plain[flat.function] & (sent >= 0) & (sent <= SMALL)
    alike = np.stack([flat.function, flat.site, flat.column("communicator"), flat.column("peer")])
    same = np.zeros(len(flat.begin), dtype=bool)  # the call equals the call right before it
    same[1:] = (np.diff(alike.astype(np.int64)) == 0).all(axis=0) & small[1:] & small[:-1]
    same[1:] &= np.diff(_computed(flat)) <= pause
    same[flat.first[:-1][flat.first[:-1] < len(same)]] = False
    events, lasts, lengths = [], [], []
    for group in matched.collectives:
        follows = np.asarray(same[group.events].all(axis=1))
        row = np.cumsum(~follows)
        length = np.bincount(row)[row]
        kept = length >= _FEWEST
        last = np.append(~follows[1:], True)
        width = group.events.shape[1]
        events.append(group.events[kept].ravel())
        lasts.append(np.repeat(last[kept], width))
        lengths.append(np.repeat(length[kept], width))
    nothing = np.zeros(0, dtype=np.int64)
    return CollectiveRows(
        np.concatenate([nothing, *events]),
        np.concatenate([nothing.astype(bool), *lasts]),
        np.concatenate([nothing, *lengths]),
    )


def _of_collectives(run: ModelledRun, rows: CollectiveRows, mine: Bools) -> SmallMessages:
    flat = run.matched.flat
    event = rows.event[mine]
    return SmallMessages(
        function=int(flat.function[event[0]]),
        site=int(flat.site[event[0]]),
        collective=True,
        answered=False,
        ranks=len(np.unique(flat.rank[event])),
        calls=len(event),
        in_a_row=int(np.median(rows.length[mine])),
        size=int(np.median(flat.column("sent")[event])),
        seconds=_saved(run, _without_collectives(run, rows.event[mine & ~rows.last])),
    )


def _without_collectives(run: ModelledRun, gone: Ints) -> ProgramGraph:
    """The graph without these calls. The bytes of kept calls remain unchanged, because they are
    small."""
    graph = run.graph
    removed = np.zeros(len(run.matched.flat.begin) + 1, dtype=bool)
    removed[gone] = True  # the last entry is for nodes without a call
    nodes = np.flatnonzero(removed[graph.event] & ~graph.begins)
    far = graph.far
    size = far.size.copy()
    size[np.isin(graph.across.source[far.injection], nodes)] = 0
    return _without_cost(replace(graph, far=replace(far, size=size)), nodes)
