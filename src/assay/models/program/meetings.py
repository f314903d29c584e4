"""The collectives of a trace as messages of their algorithms, and the nodes where these begin and
end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.models.program.schedules import CollectiveSchedule, ScheduleStep, schedule_of
from assay.models.program.waits import roots
from assay.trace.calls import FROM_ROOT, TO_ROOT, blocking_form
from assay.trace.matching import FlatTrace, MatchedCollectives, MatchedTrace


@dataclass(frozen=True)
class Meeting:
    """Collectives of one function and root on one communicator, one row each."""

    schedule: CollectiveSchedule
    group: MatchedCollectives
    rows: Ints
    calls: Ints  # the events that complete them
    sizes: Floats


@dataclass(frozen=True)
class ScheduledMessage:
    """A message of a schedule: members, and offsets of nodes within their blocks."""

    source: int
    target: int
    ready: int
    posted: int
    received: int
    sent: int
    share: float
    block: int


def width_of(steps: Sequence[ScheduleStep]) -> int:
    """Nodes per step: one when the sender is ready, one when it is done, one when it has
    received."""
    return sum(2 * (step.to is not None) + (step.source is not None) for step in steps)


@cache
def messages_of(schedule: CollectiveSchedule) -> tuple[ScheduledMessage, ...]:
    """The messages, ordered so that each is sent after the messages that its sender received
    before."""
    places: list[dict[int, tuple[int, int, int, int]]] = []
    for steps in schedule.steps:
        offset, found = 0, {}
        for number, step in enumerate(steps):
            ready = offset
            received = offset + (step.to is not None)
            sent = received + (step.source is not None)
            found[step.round] = (number, ready, received, sent)
            offset += width_of((step,))
        places.append(found)
    reached = [0] * len(schedule.steps)
    arrived: set[tuple[int, int]] = set()
    sent_rounds: set[tuple[int, int]] = set()
    flights = []
    moving = True
    while moving:
        moving = False
        for member, steps in enumerate(schedule.steps):
            while reached[member] < len(steps):
                step = steps[reached[member]]
                if step.to is not None and (member, step.round) not in sent_rounds:
                    sent_rounds.add((member, step.round))
                    arrived.add((step.to, step.round))
                    _, ready, _, sent = places[member][step.round]
                    _, theirs, received, _ = places[step.to][step.round]
                    flights.append(
                        ScheduledMessage(
                            source=member,
                            target=step.to,
                            ready=ready,
                            posted=theirs - 1,
                            received=received,
                            sent=sent,
                            share=step.share,
                            block=member if step.block is None else step.block,
                        )
                    )
                    moving = True
                if step.source is not None and (member, step.round) not in arrived:
                    break
                reached[member] += 1
                moving = True
    return tuple(flights)


def meetings_of(matched: MatchedTrace) -> tuple[list[Meeting], set[str]]:
    """All collectives of a trace, and the names of those without a known algorithm."""
    flat = matched.flat
    names = np.array([blocking_form(name) for name in flat.trace.functions])
    sent = np.concatenate([rank.events.sent for rank in flat.trace.ranks])
    found, unknown = [], set()
    for group in matched.collectives:
        function = names[flat.function[group.events[:, 0]]]
        calls = flat.completed_in[group.events]
        done = (calls >= 0).all(axis=1)
        for name in np.unique(function):
            for root, which in _by_root(flat, group, (function == name) & done, str(name)):
                schedule = schedule_of(str(name), len(group.members), root)
                if schedule is None:
                    unknown.add(str(name))
                    continue
                rows = group.events[which]
                sizes = np.maximum(sent[rows], 0).astype(float)
                if str(name) in FROM_ROOT:
                    sizes = np.repeat(sizes[:, root : root + 1], sizes.shape[1], axis=1)
                found.append(Meeting(schedule, group, rows, calls[which], sizes))
    return found, unknown


def _by_root(
    flat: FlatTrace, group: MatchedCollectives, which: npt.NDArray[np.bool_], name: str
) -> Iterator[tuple[int, Ints]]:
    index = np.flatnonzero(which)
    if not len(index):
        return
    if name not in FROM_ROOT | TO_ROOT:
        yield 0, index
        return
    known, columns = roots(flat, group, group.events[index])
    index = index[known]
    for root in np.unique(columns):
        yield int(root), index[columns == root]
