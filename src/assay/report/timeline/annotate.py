"""Finds the messages, waits and critical path of a trace, for its timeline."""

from __future__ import annotations

import numpy as np

from assay.models.program.critical_path import CriticalPath, critical_path
from assay.models.program.waits import CAUSES, WaitStates, wait_states
from assay.report.timeline.model import Annotations, Arrows, PathPiece, WaitMark
from assay.report.timeline.totals import place_name
from assay.trace.matching import FlatTrace, MatchedTrace

_MOST_WAITS = 50


def annotate(matched: MatchedTrace) -> Annotations:
    """What the analysis of a trace adds to its timeline."""
    waits = wait_states(matched)
    path = critical_path(matched.flat, waits)
    return Annotations(_arrows(matched), _worst(matched.flat, waits), _pieces(matched.flat, path))


def _arrows(matched: MatchedTrace) -> Arrows:
    """Messages from the call that started the send to the call that completed the receive."""
    flat, of = matched.flat, matched.messages
    done = of.received_in >= 0
    send, receive = of.send[done], of.received_in[done]
    sender, receiver = flat.rank[send].astype(np.int64), flat.rank[receive].astype(np.int64)
    return Arrows(
        sender=sender,
        send=send - flat.first[sender],
        receiver=receiver,
        receive=receive - flat.first[receiver],
    )


def _worst(flat: FlatTrace, waits: WaitStates) -> list[WaitMark]:
    """The longest waits. Waits for the same late call are represented by their longest."""
    order = np.argsort(-waits.seconds, kind="stable")
    _, firsts, counts = np.unique(waits.late[order], return_index=True, return_counts=True)
    chosen = np.argsort(firsts)[:_MOST_WAITS]
    trace = flat.trace
    return [
        WaitMark(
            rank=trace.ranks[flat.rank[event]].rank,
            begin=float(flat.begin[event]),
            end=float(flat.end[event]),
            waited=float(waits.seconds[at]),
            function=trace.functions[flat.function[event]],
            place=place_name(trace.sites[flat.site[event]]) if trace.sites else "",
            cause=CAUSES[waits.cause[at]],
            origin=trace.ranks[flat.rank[waits.late[at]]].rank,
            others=int(others),
        )
        for at, others in zip(order[firsts[chosen]], counts[chosen] - 1, strict=True)
        for event in (waits.event[at],)
    ]


def _pieces(flat: FlatTrace, path: CriticalPath) -> list[PathPiece]:
    ranks = flat.trace.ranks
    return [
        PathPiece(ranks[rank].rank, float(begin), float(end))
        for rank, begin, end in zip(path.rank, path.begin, path.end, strict=True)
    ]
