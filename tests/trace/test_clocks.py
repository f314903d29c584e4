"""No message is received before it was sent, whatever the clocks, and little else moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.trace.clocks import in_order
from assay.trace.events import Trace
from assay.trace.matching import match
from traces import imbalance, late_sender, ring


def shifted(trace: Trace, offsets: list[float]) -> Trace:
    """The trace with clocks that are wrong by these times."""
    ranks = []
    for rank, offset in zip(trace.ranks, offsets, strict=True):
        events = replace(
            rank.events, begin=rank.events.begin + offset, end=rank.events.end + offset
        )
        ranks.append(replace(rank, events=events))
    return replace(trace, ranks=tuple(ranks))


def backward(trace: Trace) -> int:
    """Messages that are received before their send begins."""
    found = match(trace)
    flat, messages = found.flat, found.messages
    return int(np.sum(flat.end[messages.received_in] < flat.begin[messages.send]))


@pytest.mark.parametrize("seed", range(5))
def test_no_message_is_received_before_its_send_began(seed):
    generator = np.random.default_rng(seed)
    right = ring(ranks=5)
    wrong = shifted(right, generator.normal(0.0, 2e-3, 5).tolist())
    assert backward(wrong) > 0
    corrected = in_order(wrong)
    assert backward(corrected) == 0
    for one, other in zip(wrong.ranks, corrected.ranks, strict=True):
        assert np.all(other.events.begin >= one.events.begin - 1e-12)
        assert np.all(other.events.end >= other.events.begin)
        assert np.all(np.diff(other.events.begin) >= 0.0)


def test_a_trace_in_order_stays_as_it_is():
    trace = late_sender()
    assert in_order(trace) is trace
    assert in_order(imbalance(ranks=3, iterations=5)) is not None


def test_threads_whose_times_are_equal_do_not_wait_for_each_other():
    """Two threads per rank exchange messages within one step of the clock. As one sequence per
    rank, each receive would come before the send that it needs.
    """
    trace = late_sender(times=4)
    sender, receiver = trace.ranks
    # Odd calls go the other way, made by a second thread of each rank.
    flip = np.arange(4) % 2 == 1
    names = list(trace.functions)
    send, recv = names.index("Send"), names.index("Recv")

    def mixed(rank, own: int, other: int):
        calls = [int(one) for one in np.flatnonzero(rank.events.function == own)]
        events = rank.events
        function, thread = events.function.copy(), events.thread.copy()
        sent, received = events.sent.copy(), events.received.copy()
        source, tag = events.source.copy(), events.source_tag.copy()
        begin, end = events.begin.copy(), events.end.copy()
        for call, turned in zip(calls, flip.tolist(), strict=True):
            begin[call] = end[call] = begin[calls[0]]
            if turned:
                function[call], thread[call] = other, 1
                sent[call], received[call] = received[call], sent[call]
        receives = function == recv
        source = np.where(receives, events.peer, -1).astype(source.dtype)
        tag = np.where(receives, events.tag, -1).astype(tag.dtype)
        order = np.argsort(begin, kind="stable")
        # Receives first: the order that a coarse clock can show.
        order = order[np.argsort(function[order] == send, kind="stable")]
        changed = replace(
            events, begin=begin, end=end, function=function, thread=thread, sent=sent,
            received=received, source=source, source_tag=tag,
        )  # fmt: skip
        columns = {
            name: getattr(changed, name)[order]
            for name in ("begin", "end", "function", "thread", "sent", "received", "source",
                         "source_tag", "peer", "tag", "site", "communicator", "request", "count")
        }  # fmt: skip
        return replace(rank, events=replace(changed, **columns))

    both = replace(trace, ranks=(mixed(sender, send, recv), mixed(receiver, recv, send)))
    late = shifted(both, [0.0, -1e-3])
    assert backward(late) > 0
    assert backward(in_order(late)) == 0
