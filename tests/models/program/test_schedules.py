"""The algorithms of collectives: messages have two ends, and data reach all."""

from __future__ import annotations

import pytest

from assay.models.program.schedules import schedule_of
from assay.trace.calls import ALL_TO_ALL, FROM_ROOT, PREFIX, TO_ROOT

EVERY = sorted(ALL_TO_ALL | FROM_ROOT | TO_ROOT | PREFIX)


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize("size", range(1, 10))
def test_each_message_has_a_sender_and_a_receiver(function, size) -> None:
    for root in range(size if function in FROM_ROOT | TO_ROOT else 1):
        schedule = schedule_of(function, size, root)
        assert schedule is not None
        sent = [
            (member, step.to, step.round)
            for member, steps in enumerate(schedule.steps)
            for step in steps
            if step.to is not None
        ]
        received = [
            (step.source, member, step.round)
            for member, steps in enumerate(schedule.steps)
            for step in steps
            if step.source is not None
        ]
        assert sorted(sent) == sorted(received)
        assert len(set(sent)) == len(sent)


def _sent(function: str, size: int, member: int, root: int = 0) -> float:
    schedule = schedule_of(function, size, root)
    assert schedule is not None
    return sum(step.share for step in schedule.steps[member] if step.to is not None)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_scatter_hands_each_member_its_part(size) -> None:
    """The root keeps one part of its buffer; inner members hand on all but their own."""
    schedule = schedule_of("Scatter", size, 1 % size)
    assert schedule is not None
    for member, steps in enumerate(schedule.steps):
        got = sum(step.share for step in steps if step.source is not None)
        got = 1.0 if member == 1 % size else got
        assert got - _sent("Scatter", size, member, 1 % size) == pytest.approx(1 / size)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_gather_brings_all_parts_to_the_root(size) -> None:
    schedule = schedule_of("Gather", size, 0)
    assert schedule is not None
    got = [sum(s.share for s in steps if s.source is not None) for steps in schedule.steps]
    assert got[0] == size - 1
    for member in range(1, size):
        assert _sent("Gather", size, member) == got[member] + 1


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_bytes_of_exchanges(size) -> None:
    """Of Alltoall all that a member sends, of Reduce_scatter all but its own part."""
    assert _sent("Alltoall", size, 0) == pytest.approx(1.0)
    assert _sent("Reduce_scatter", size, 0) == pytest.approx((size - 1) / size)
    assert _sent("Allgather", size, 0) == size - 1
    assert _sent("Barrier", size, 0) == 0.0
