"""Which calls of different ranks belong together in a trace: messages, probes, collectives and
epochs of windows (`assay.trace.partners`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.trace.events import NO_REQUEST, Trace
from assay.trace.partners.collectives import match_collectives, match_meetings
from assay.trace.partners.epochs import match_epochs
from assay.trace.partners.messages import match_messages
from assay.trace.partners.model import (
    NONE,
    FlatTrace,
    MatchedCollectives,
    MatchedMessages,
    MatchedTrace,
    UnmatchedCalls,
)

__all__ = [
    "FlatTrace",
    "MatchedCollectives",
    "MatchedMessages",
    "MatchedTrace",
    "UnmatchedCalls",
    "flatten",
    "match",
]


def match(trace: Trace) -> MatchedTrace:
    """Match all calls of a trace."""
    flat = flatten(trace)
    found = match_messages(flat)
    collectives, lost = match_collectives(flat)
    return MatchedTrace(
        flat=flat,
        messages=found.messages,
        collectives=tuple(collectives),
        unmatched=(*found.unmatched, *lost),
        left_out=tuple(found.left_out),
        probes=found.probes,
        meetings=tuple(match_meetings(flat)),
        pairs=tuple(match_epochs(flat)),
        sent=found.sent,
    )


def flatten(trace: Trace) -> FlatTrace:
    """The events of all ranks as one table."""
    lengths = [len(rank.events) for rank in trace.ranks]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def column(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(rank.events, name) for rank in trace.ranks])

    columns = {name: column(name) for name in ("begin", "end", "function", "site")}
    # The ranks' columns are views of these, not copies.
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


def _completed_in(trace: Trace, place: int, first: int) -> Ints:
    """For each event of a rank, the event that completed its request, as a flat number."""
    events = trace.ranks[place].events
    number = len(events)
    found = np.arange(first, first + number, dtype=np.int64)
    asked = events.request != NO_REQUEST
    if not asked.any():
        return found
    began = np.flatnonzero(asked)
    calls, requests = events.completions()
    if requests.size == 0:
        found[began] = NONE
        return found
    # Requests are numbered in order of their begin.
    call_of = np.full(int(max(requests.max(), events.request.max())) + 1, NONE, dtype=np.int64)
    call_of[requests[::-1]] = calls[::-1] + first
    found[began] = call_of[events.request[began]]
    return found
