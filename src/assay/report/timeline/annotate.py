"""Finds the messages, waits and critical path of a trace, for its timeline."""

from __future__ import annotations

import numpy as np

from assay.models.program.critical_path import CriticalPath, critical_path
from assay.models.program.sampled.counts import function_of
from assay.models.program.waits import CAUSES, WaitStates, wait_states
from assay.report.timeline.model import (
    Annotations,
    Arrows,
    ComputingSamples,
    PathPiece,
    WaitMark,
)
from assay.report.timeline.totals import place_name
from assay.trace.matching import FlatTrace, MatchedTrace
from assay.trace.samples.model import Activity, ProgramSamples

_MOST_WAITS = 50
_LONGEST_NAME = 160  # characters of a function's name
_WAITING = "waiting for threads"


def annotate(matched: MatchedTrace, samples: ProgramSamples | None = None) -> Annotations:
    """What the analysis of a trace, and of its samples, adds to its timeline.

    Samples are left out if parts of the run are cut out of the trace's times.
    """
    waits = wait_states(matched)
    path = critical_path(matched.flat, waits)
    known = samples is not None and not matched.trace.cut
    return Annotations(
        arrows=_arrows(matched),
        waits=_worst(matched.flat, waits),
        path=_pieces(matched.flat, path),
        samples=_computing(samples) if samples is not None and known else None,
    )


def _computing(samples: ProgramSamples) -> ComputingSamples:
    """Samples outside of MPI by their innermost function; waiting for threads counts as one."""
    names = [_WAITING, *(function_of(place).name for place in samples.places)]
    index = {name: at for at, name in enumerate(dict.fromkeys(names))}
    leaf = [index[names[stack[-1] + 1]] if stack else -1 for stack in samples.stacks]
    ranks, times, functions = [], [], []
    for thread in samples.threads:
        if thread.parent:  # forked: it computes beside the rank's calls
            continue
        waits = thread.activities == Activity.WAITING
        function = np.where(waits, 0, np.array([*leaf, -1], np.int64)[thread.stacks])
        chosen = (thread.activities != Activity.MPI) & (function >= 0)
        ranks.append(np.full(int(chosen.sum()), thread.rank, np.int64))
        times.append(thread.times[chosen])
        functions.append(function[chosen])
    every = list(index)
    used, function = np.unique(
        np.concatenate([*functions, np.empty(0, np.int64)]), return_inverse=True
    )
    return ComputingSamples(
        functions=[every[at][:_LONGEST_NAME] for at in used],
        period=samples.period,
        rank=np.concatenate([*ranks, np.empty(0, np.int64)]),
        time=np.concatenate([*times, np.empty(0)]),
        function=function,
    )


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
