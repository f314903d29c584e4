"""SimGrid's time-independent trace, which ``smpirun -replay`` replays on other platforms.

A folder with a text file of actions per rank and ``trace.txt``, which lists them. The actions
follow SMPI's replay (SimGrid 3.32, "Offline simulation: trace replay"). Computing is in flop,
`SPEED` per second of the run: a host with this speed computes as long as the real host, and a host
with twice the speed half as long. Each message has its own tag, so that the replay matches messages
as the run did, whatever the communicators and wildcards were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.trace.calls import BOTH_WAYS, FINALIZE, PROBES, TESTS, blocking_form
from assay.trace.events import Trace
from assay.trace.exports.model import TraceExport
from assay.trace.matching import MatchedTrace, match

SPEED = 1e9  # flop/s
LIST = "trace.txt"
# Calls whose time isn't computing: the messages that they wait for have their own actions.
_NO_COMPUTING = TESTS | PROBES | {FINALIZE}


@dataclass(frozen=True)
class _Sizes:
    """The most bytes that ranks send and receive in one collective over all ranks."""

    sent: int
    received: int
    ranks: int
    root: int


def _each(sizes: _Sizes) -> int:
    """Bytes per rank of a buffer for all of them."""
    return max(max(sizes.sent, sizes.received) // sizes.ranks, 1)


def _equal(sizes: _Sizes) -> str:
    return " ".join([str(_each(sizes))] * sizes.ranks)


# Arguments of the actions, from the sizes. A reduction's arithmetic is unknown and counts as 0.
_ACTIONS: dict[str, Callable[[_Sizes], str]] = {
    "Barrier": lambda s: "barrier",
    "Bcast": lambda s: f"bcast {max(s.sent, s.received, 1)} {s.root}",
    "Reduce": lambda s: f"reduce {max(s.sent, 1)} 0 {s.root}",
    "Allreduce": lambda s: f"allreduce {max(s.sent, 1)} 0",
    "Alltoall": lambda s: f"alltoall {_each(s)} {_each(s)}",
    "Alltoallv": lambda s: f"alltoall {_each(s)} {_each(s)}",
    "Alltoallw": lambda s: f"alltoall {_each(s)} {_each(s)}",
    "Gather": lambda s: f"gather {max(s.sent, 1)} {max(s.sent, 1)} {s.root}",
    "Gatherv": lambda s: f"gather {max(s.sent, 1)} {max(s.sent, 1)} {s.root}",
    "Allgather": lambda s: f"allgather {max(s.sent, 1)} {max(s.sent, 1)}",
    "Allgatherv": lambda s: f"allgather {max(s.sent, 1)} {max(s.sent, 1)}",
    "Scatter": lambda s: f"scatter {_each(s)} {_each(s)} {s.root}",
    "Scatterv": lambda s: f"scatter {_each(s)} {_each(s)} {s.root}",
    "Reduce_scatter": lambda s: f"reducescatter {_equal(s)} 0",
    "Reduce_scatter_block": lambda s: f"reducescatter {_equal(s)} 0",
    "Scan": lambda s: f"scan {max(s.sent, 1)} 0",
    "Exscan": lambda s: f"exscan {max(s.sent, 1)} 0",
}
_UNEVEN = ("Alltoallv", "Alltoallw", "Gatherv", "Allgatherv", "Scatterv", "Reduce_scatter")


@dataclass
class _Plan:
    """The actions of each call (a number in the `FlatTrace`), in the order of its lines."""

    begins: dict[int, list[str]] = field(default_factory=dict)
    ends: dict[int, list[str]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def _write(trace: Trace, path: Path) -> list[str]:
    path.mkdir()
    return write_actions(trace, path)


def write_actions(trace: Trace, path: Path) -> list[str]:
    """Write the actions to an existing folder. Returns sentences on what was left out or
    changed."""
    matched = match(trace)
    plan = _Plan()
    _plan_messages(matched, plan)
    _plan_collectives(matched, plan)
    names = []
    for place, rank in enumerate(trace):
        names.append(f"rank-{rank.rank}.txt")
        with (path / names[-1]).open("w", encoding="ascii") as out:
            for line in _lines(matched, plan, place):
                out.write(f"{rank.rank} {line}\n")
    (path / LIST).write_text("".join(f"{name}\n" for name in names), encoding="ascii")
    said = [f"{count} {what}." for what, count in plan.left_out.items()]
    said += [f"Without a partner, left out: {one.count} {one.what}." for one in matched.unmatched]
    return said


def _plan_messages(matched: MatchedTrace, plan: _Plan) -> None:
    flat, of = matched.flat, matched.messages
    world = [rank.rank for rank in matched.trace]
    order = np.argsort(of.send, kind="stable")
    tags: Counter[tuple[int, int]] = Counter()
    columns = (of.send, of.receive, of.sent_in, of.received_in, of.size)
    for send, receive, sent_in, received_in, size in zip(
        *(column[order].tolist() for column in columns), strict=True
    ):
        source, target = world[flat.rank[send]], world[flat.rank[receive]]
        tag = tags[source, target]
        tags[source, target] += 1
        # A receive of 0 bytes would make the replay probe for its size, and wait.
        rest = f"{tag} {max(size, 1)}"
        if sent_in == send and not _is_both(matched, send):
            plan.begins.setdefault(send, []).append(f"send {target} {rest}")
        else:
            plan.begins.setdefault(send, []).append(f"isend {target} {rest}")
            if sent_in >= 0:
                plan.ends.setdefault(sent_in, []).append(f"wait {source} {target} {tag}")
        if received_in == receive and not _is_both(matched, receive):
            plan.begins.setdefault(receive, []).append(f"recv {source} {rest}")
        else:
            plan.begins.setdefault(receive, []).insert(0, f"irecv {source} {rest}")
            plan.ends.setdefault(received_in, []).append(f"wait {source} {target} {tag}")


def _is_both(matched: MatchedTrace, event: int) -> bool:
    """Whether the call both sends and receives, so that neither half may block the other."""
    return matched.trace.functions[matched.flat.function[event]] in BOTH_WAYS


def _plan_collectives(matched: MatchedTrace, plan: _Plan) -> None:
    flat, trace = matched.flat, matched.trace
    sent = np.concatenate([rank.events.sent for rank in trace])
    received = np.concatenate([rank.events.received for rank in trace])
    peer = np.concatenate([rank.events.peer for rank in trace])
    for group in matched.collectives:
        if len(group.members) < len(trace.ranks):
            plan.left_out["collectives of a part of the ranks, written as computing"] += len(
                group.events
            )
            continue
        for row in group.events:
            name = blocking_form(trace.functions[flat.function[row[0]]])
            if name not in _ACTIONS:
                plan.left_out[f"calls of {name}, written as computing"] += 1
                continue
            if name in _UNEVEN:
                plan.left_out[f"calls of {name}, written with equal parts"] += 1
            root = max(int(peer[row].max()), 0)
            sizes = _Sizes(int(sent[row].max()), int(received[row].max()), len(row), root)
            line = _ACTIONS[name](sizes)
            for event in row:
                at = int(event)
                if flat.completed_in[at] == at:
                    plan.begins.setdefault(at, []).append(line)
                elif flat.completed_in[at] >= 0:
                    # The replay has no non-blocking collectives: a collective takes place when it
                    # is completed.
                    plan.ends.setdefault(int(flat.completed_in[at]), []).append(line)
                    plan.begins.setdefault(at, [])


def _lines(matched: MatchedTrace, plan: _Plan, place: int) -> Iterator[str]:
    """Write a rank's actions. Calls without actions, such as calls for files, are computing."""
    flat = matched.flat
    rank = matched.trace.ranks[place]
    yield "init"
    last = rank.begin
    for event in range(int(flat.first[place]), int(flat.first[place + 1])):
        begins, ends = plan.begins.get(event), plan.ends.get(event)
        waits = matched.trace.functions[flat.function[event]] in _NO_COMPUTING
        if begins is None and ends is None and not waits:
            continue
        yield from _compute(float(flat.begin[event]) - last)
        yield from begins or ()
        yield from ends or ()
        last = float(flat.end[event])
    yield from _compute(rank.end - last)
    yield "finalize"


def _compute(seconds: float) -> Iterator[str]:
    if seconds > 0:
        yield f"compute {seconds * SPEED:.0f}"


EXPORT = TraceExport("SimGrid's time-independent trace", "app-simgrid", True, _write)
