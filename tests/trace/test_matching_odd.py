"""Messages with cancelled, freed, pending and probed receives: matched as by a queue of MPI's.

The reference plays one communicator of MPI literally: posted receives and arrived messages are
lists, and each send and receive looks for its partner in the other's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.trace.clocks import matched_in_order
from assay.trace.events import NO_TAG, PROC_NULL, UNKNOWN_PEER, Trace
from assay.trace.matching import match
from simulated_mpi import events_of, simulate

SENDER, RECEIVER, FUNCTIONS = 0, 1, ("Send", "Irecv", "Wait", "Mprobe", "Mrecv", "Probe", "Cancel")
SEND, IRECV, WAIT, MPROBE, MRECV, PROBE, CANCEL = range(len(FUNCTIONS))


@dataclass
class Literal:
    """A receiver with one sender: what each receive and each probe gets."""

    posted: list[tuple[int, int]] = field(default_factory=list)  # row, tag asked for
    arrived: list[tuple[int, int]] = field(default_factory=list)  # row of the send, tag
    got: dict[int, tuple[int, int]] = field(default_factory=dict)
    probed: dict[int, tuple[int, int]] = field(default_factory=dict)

    def send(self, row: int, tag: int) -> None:
        for place, (receive, asked) in enumerate(self.posted):
            if asked in (NO_TAG, tag):
                self.got[receive] = (row, tag)
                del self.posted[place]
                return
        self.arrived.append((row, tag))

    def receive(self, row: int, asked: int) -> None:
        found = self.look(asked)
        if found is None:
            self.posted.append((row, asked))
        else:
            self.got[row] = self.arrived.pop(found)

    def look(self, asked: int) -> int | None:
        """The first message that has arrived and fits."""
        fits = (place for place, (_, tag) in enumerate(self.arrived) if asked in (NO_TAG, tag))
        return next(fits, None)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "send", "receive", "any", "cancel", "probe", "mprobe"]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=30,
)


def _trace(steps: list[tuple[str, int, bool]]) -> tuple[Trace, Literal]:
    """The trace of what happens in this order, one step per ms, and what each receive gets.

    The flag: whether a receive is completed at the end (a wildcard is, always). A cancelled
    receive gets nothing; a probe is made only if it finds a message.
    """
    rows: tuple[list[list[float]], list[list[float]]] = ([], [])
    completions: list[list[int]] = []
    world, waits = Literal(), []

    def add(rank: int, function: int, peer: int, tag: int, request: int = -1) -> int:
        now = 1e-3 * (len(rows[0]) + len(rows[1]))
        sent = 8 if function == SEND else 0
        received = 8 if function in (IRECV, MRECV) else 0
        rows[rank].append(
            [now, now + 5e-4, function, 0, 0, peer, tag, -1, -1, sent, received, request]
        )
        if rank == RECEIVER:
            completions.append([])
        return len(rows[rank]) - 1

    requests = 0
    for what, tag, completed in steps:
        if what == "send":
            world.send(add(SENDER, SEND, RECEIVER, tag), tag)
        elif what in ("receive", "any"):
            asked = tag if what == "receive" else NO_TAG
            row = add(RECEIVER, IRECV, SENDER, asked, requests)
            world.receive(row, asked)
            if completed or what == "any":
                waits.append((row, requests))
            requests += 1
        elif what == "cancel":
            # It has no partner, and MPI forgets it at once.
            row = add(RECEIVER, IRECV, PROC_NULL, tag, requests)
            add(RECEIVER, WAIT, -1, -1)
            completions[-1].append(requests)
            requests += 1
        elif (found := world.look(tag)) is not None:
            message = world.arrived[found]
            row = add(RECEIVER, MPROBE if what == "mprobe" else PROBE, SENDER, tag)
            world.probed[row] = message
            if what == "mprobe":
                del world.arrived[found]
                waits.append((row, -1))
    for row, request in waits:
        if request < 0:
            world.got[add(RECEIVER, MRECV, SENDER, int(rows[1][row][6]))] = world.probed[row]
        elif row in world.got:
            rows[RECEIVER][row][6] = world.got[row][1]  # its actual tag
            add(RECEIVER, WAIT, -1, -1)
            completions[-1].append(request)
    plain = simulate(2, lambda rank: rank.compute(1.0))
    ranks = (
        replace(plain.ranks[0], events=events_of(rows[0], [[] for _ in rows[0]])),
        replace(plain.ranks[1], events=events_of(rows[1], completions)),
    )
    return replace(plain, ranks=ranks, functions=FUNCTIONS), world


@given(STEPS)
@settings(deadline=None, max_examples=300)
def test_each_receive_gets_the_message_that_mpi_gives_it(steps) -> None:
    """Those that are completed, that is; pending ones take their turn all the same. A pending
    receive with any tag leaves open which message it took.
    """
    trace, world = _trace(steps)
    matched = matched_in_order(match(trace))
    flat, of = matched.flat, matched.messages
    first = int(flat.first[RECEIVER])
    found = {int(r) - first: int(s) for s, r in zip(of.send, of.receive, strict=True)}
    events = trace.ranks[RECEIVER].events
    done = set(events.completed_request.tolist())
    wanted = {
        row: message for row, (message, _) in world.got.items()
        if events.request[row] < 0 or int(events.request[row]) in done
    }  # fmt: skip
    assert found == wanted
    probes = {
        int(p) - first: int(s)
        for p, s in zip(matched.probes.probe, matched.probes.send, strict=True)
    }
    assert probes == {row: message for row, (message, _) in world.probed.items()}
    assert matched.left_out == ()


@given(STEPS, st.integers(0, 10))
@settings(deadline=None, max_examples=200)
def test_a_send_that_is_not_recorded_gives_no_message_a_wrong_time(steps, lost) -> None:
    """Whatever is left of the record, no receive ends before its send begins."""
    trace, _ = _trace(steps)
    sends = trace.ranks[SENDER].events
    if lost < len(sends):
        kept = [i for i in range(len(sends)) if i != lost]
        table = [
            [sends.begin[i], sends.end[i], sends.function[i], 0, 0, sends.peer[i], sends.tag[i],
             -1, -1, 8, 0, -1]
            for i in kept
        ]  # fmt: skip
        rank = replace(trace.ranks[SENDER], events=events_of(table, [[] for _ in table]))
        trace = replace(trace, ranks=(rank, trace.ranks[RECEIVER]))
    matched = matched_in_order(match(trace))
    of, flat = matched.messages, matched.flat
    assert np.all(flat.begin[of.send] <= flat.end[of.received_in] + 1e-9)
    known = len(of) + sum(one.count for one in matched.left_out)
    assert known <= len(trace.ranks[SENDER].events)


def test_a_pending_receive_from_anyone_makes_messages_with_too_few_receives_doubtful() -> None:
    """It may have taken the first of them, or the last."""
    rows: list[list[float]] = [
        [1e-3 * i, 1e-3 * i + 5e-4, SEND, 0, 0, 1, 0, -1, -1, 8, 0, -1] for i in range(3)
    ]
    mine = [[1e-4, 2e-4, IRECV, 0, 0, UNKNOWN_PEER, NO_TAG, -1, -1, 0, -1, 0]]
    mine += [
        [2e-4 + 2e-3 * i, 1.9e-3 + 2e-3 * i, IRECV, 0, 0, 0, 0, -1, -1, 0, 8, -1] for i in range(2)
    ]
    plain = simulate(2, lambda rank: rank.compute(1.0))
    ranks = (
        replace(plain.ranks[0], events=events_of(rows, [[] for _ in rows])),
        replace(plain.ranks[1], events=events_of(mine, [[] for _ in mine])),
    )
    matched = match(replace(plain, ranks=ranks, functions=FUNCTIONS))
    assert len(matched.messages) == 0
    (left_out,) = matched.left_out
    assert (left_out.communicator, left_out.ranks, left_out.count) == ("MPI_COMM_WORLD", (0, 1), 2)
