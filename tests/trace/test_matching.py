"""Messages and collectives are matched as MPI does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.trace.events import PROC_NULL, Trace
from assay.trace.matching import match
from simulated_mpi import Script, events_of, simulate
from traces import late_at, repeated, ring, stencil


def _by_hand(trace: Trace) -> set[tuple[int, int, int, int]]:
    """Messages by queues, as (source, its call, destination, its call)."""
    queues = defaultdict(list)
    names = trace.functions
    for rank in trace.ranks:
        for i in range(len(rank.events)):
            e = rank.events
            if names[e.function[i]] in ("Send", "Isend", "Sendrecv"):
                queues[e.communicator[i], rank.rank, e.peer[i], e.tag[i]].append(i)
    found = set()
    for rank in trace.ranks:
        e = rank.events
        for i in range(len(e)):
            name = names[e.function[i]]
            if name in ("Recv", "Irecv", "Sendrecv"):
                both = name == "Sendrecv"
                source = e.source[i] if both else e.peer[i]
                tag = e.source_tag[i] if both else e.tag[i]
                queue = queues[e.communicator[i], source, rank.rank, tag]
                found.add((int(source), queue.pop(0), rank.rank, i))
    return found


def _pairs(trace: Trace) -> set[tuple[int, int, int, int]]:
    matched = match(trace)
    flat, of = matched.flat, matched.messages

    def place(event):
        rank = int(flat.rank[event])
        return trace.ranks[rank].rank, int(event - flat.first[rank])

    return {(*place(s), *place(r)) for s, r in zip(of.send, of.receive, strict=True)}


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1), st.booleans()),
        max_size=30,
    )
)
@settings(deadline=None, max_examples=60)
def test_messages_match_in_order(plan) -> None:
    plan = [one for one in plan if one[0] != one[1]]

    def program(rank: Script) -> None:
        handles = []
        for source, to, tag, _ in plan:
            if rank.rank == to:
                handles.append(rank.irecv(source, 8, tag))
        for source, to, tag, blocking in plan:
            if rank.rank == source:
                if blocking:
                    rank.send(to, 8, tag)
                else:
                    handles.append(rank.isend(to, 8, tag))
        if handles:
            rank.wait(*handles)

    trace = simulate(4, program)
    matched = match(trace)
    assert matched.unmatched == ()
    assert _pairs(trace) == _by_hand(trace)
    assert len(matched.messages) == len(plan)


def test_both_halves_of_sendrecv_are_matched() -> None:
    trace = simulate(3, lambda rank: rank.sendrecv((rank.rank + 1) % 3, (rank.rank - 1) % 3, 10))
    assert _pairs(trace) == {(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 0, 0)}


def test_requests_lead_to_their_completion() -> None:
    trace = stencil(iterations=2)
    matched = match(trace)
    names = np.array(trace.functions)[matched.flat.function]
    assert set(names[matched.messages.received_in]) == {"Waitall"}
    assert (matched.messages.size == 8000).all()
    assert len(matched.messages) == 2 * 2 * 4


def test_collectives_match_by_their_number() -> None:
    trace = late_at("Allreduce", times=3)
    (group,) = match(trace).collectives
    assert group.events.shape == (6, 4)
    names = np.array(trace.functions)[match(trace).flat.function[group.events]]
    assert (names == names[:, :1]).all()
    assert list(names[:, 0]) == ["Allreduce", "Barrier"] * 3


def test_a_communicator_of_some_ranks() -> None:
    def program(rank: Script) -> None:
        if rank.rank in (2, 0):
            rank.collective("Allreduce", communicator=1)
        rank.barrier()

    groups = match(simulate(3, program, communicators=((2, 0),))).collectives
    assert [group.members.tolist() for group in groups] == [[0, 1, 2], [2, 0]]


def test_what_has_no_partner_is_named() -> None:
    trace = ring(3, rounds=2)
    last = trace.ranks[2]
    events = last.events
    columns = {f.name: getattr(events, f.name) for f in fields(events)}
    kept = len(events) - 1  # its last send
    cut = {name: values[:kept] for name, values in columns.items()}
    cut["completed_start"] = columns["completed_start"][: kept + 1]
    cut["completed_request"] = columns["completed_request"]
    shorter = replace(last, events=type(events)(**cut), complete=False)
    found = match(replace(trace, ranks=(*trace.ranks[:2], shorter)))
    assert [(one.what, one.count) for one in found.unmatched] == [
        ("receives from rank 2 to rank 0", 1)
    ]
    absent = match(replace(trace, ranks=trace.ranks[:2]))
    assert {(one.what, one.count) for one in absent.unmatched} == {
        ("sends to ranks without a trace", 2),
        ("receives from ranks without a trace", 2),
    }


def test_messages_to_no_process_and_cancelled_receives_are_no_messages() -> None:
    rows = [
        (0.0, 1.0, 0, 0, 0, PROC_NULL, 0, -1, -1, 8, 0, -1),
        (1.0, 2.0, 1, 0, 0, 0, 0, -1, -1, 0, -1, 7),
    ]
    trace = simulate(1, lambda rank: rank.compute(1.0))
    one = replace(trace.ranks[0], events=events_of(rows, [[], []]))
    found = match(replace(trace, ranks=(one,), functions=("Send", "Irecv")))
    assert len(found.messages) == 0
    assert [(u.what, u.count) for u in found.unmatched] == [("receives that never completed", 1)]


def test_columns_of_different_length_are_refused() -> None:
    events = ring(2, rounds=1).ranks[0].events
    with pytest.raises(AssayError, match="'peer' has 1 entries instead of 2"):
        replace(events, peer=events.peer[:1])


def test_a_repeated_trace_has_as_many_messages_more() -> None:
    trace = stencil(iterations=2)
    assert len(match(repeated(trace, 3)).messages) == 3 * len(match(trace).messages)
    assert match(repeated(trace, 3)).unmatched == ()


def test_the_halves_of_a_sendrecv_may_have_different_tags() -> None:
    """Rank 0 sends with tag 5 and receives tag 6; rank 1 the other way round."""
    trace = simulate(2, lambda rank: rank.compute(1.0))
    ranks = []
    for rank, (out, into) in enumerate(((5, 6), (6, 5))):
        row = (0.0, 1.0, 0, 0, 0, 1 - rank, out, 1 - rank, into, 8, 8, -1)
        ranks.append(replace(trace.ranks[rank], events=events_of([row], [[]])))
    found = match(replace(trace, ranks=tuple(ranks), functions=("Sendrecv",)))
    assert found.unmatched == ()
    assert len(found.messages) == 2
