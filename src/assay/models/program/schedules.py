"""Collectives as messages: the published algorithms that MPI libraries use.

Dissemination barrier (Hensgen, Finkel & Manber 1988); binomial trees, recursive doubling, ring and
pairwise exchange as described by Thakur, Rabenseifner & Gropp (IJHPCA 19(1), 2005). Libraries
choose further algorithms by size and number of ranks; a trace doesn't show which one ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from assay.trace.calls import ALL_TO_ALL, FROM_ROOT, PREFIX, TO_ROOT


@dataclass(frozen=True)
class ScheduleStep:
    """One round of one member: it sends to ``to`` and receives from ``source`` (None: neither)."""

    to: int | None
    source: int | None
    #: Identifies the message at both ends.
    round: int
    #: Size of the message, as a multiple of the collective's size.
    share: float = 1.0
    #: Member whose buffer is sent, if buffers differ.
    block: int | None = None


@dataclass(frozen=True)
class CollectiveSchedule:
    """The steps of each member, in order."""

    #: Name of the algorithm.
    algorithm: str
    steps: tuple[tuple[ScheduleStep, ...], ...]


@cache
def schedule_of(function: str, size: int, root: int) -> CollectiveSchedule | None:
    """The schedule of a collective (its blocking name) of ``size`` members.

    ``root``: a member's number, 0 if there is none. None if no algorithm is known.
    """
    if size < 2:
        return CollectiveSchedule("none", ((),) * size)
    if function == "Barrier":
        return _of("dissemination", size, _dissemination)
    if function in ("Allgather", "Allgatherv"):
        return _of("ring", size, _ring)
    if function in ("Alltoall", "Alltoallv", "Alltoallw"):
        return _of("pairwise exchange", size, _pairwise)
    if function in ("Reduce_scatter", "Reduce_scatter_block"):
        return _of("pairwise exchange", size, _pairwise_scattered)
    if function in ALL_TO_ALL:
        return _of("recursive doubling", size, _doubling)
    if function in FROM_ROOT | TO_ROOT:
        steps = tuple(tuple(_tree(place, size, root, function)) for place in range(size))
        return CollectiveSchedule("binomial tree", steps)
    if function in PREFIX:
        return _of("recursive doubling", size, _prefix)
    return None


def _of(name: str, size: int, steps: object) -> CollectiveSchedule:
    return CollectiveSchedule(name, tuple(tuple(steps(p, size)) for p in range(size)))  # type: ignore[operator]


def _dissemination(place: int, size: int) -> Iterator[ScheduleStep]:
    step = 1
    while step < size:
        yield ScheduleStep((place + step) % size, (place - step) % size, step, 0.0)
        step *= 2


def _ring(place: int, size: int) -> Iterator[ScheduleStep]:
    """In step k a member passes on the block that came from k places before it."""
    for step in range(size - 1):
        yield ScheduleStep((place + 1) % size, (place - 1) % size, step, 1.0, (place - step) % size)


def _pairwise(place: int, size: int) -> Iterator[ScheduleStep]:
    """The size covers all data that a member sends to others."""
    for step in range(1, size):
        yield ScheduleStep((place + step) % size, (place - step) % size, step, 1.0 / (size - 1))


def _pairwise_scattered(place: int, size: int) -> Iterator[ScheduleStep]:
    for step in range(1, size):
        yield ScheduleStep((place + step) % size, (place - step) % size, step, 1.0 / size)


def _doubling(place: int, size: int) -> Iterator[ScheduleStep]:
    """Members beyond a power of two are folded into their neighbours."""
    power = 1 << (size.bit_length() - 1)
    rest = size - power
    folded = place < 2 * rest
    if folded and place % 2 == 0:
        yield ScheduleStep(place + 1, None, -1)
        yield ScheduleStep(None, place + 1, -2)
        return
    if folded:
        yield ScheduleStep(None, place - 1, -1)
    mine = place // 2 if folded else place - rest
    mask = 1
    while mask < power:
        other = mine ^ mask
        partner = other * 2 + 1 if other < rest else other + rest
        yield ScheduleStep(partner, partner, mask)
        mask *= 2
    if folded:
        yield ScheduleStep(place - 1, None, -2)


def _prefix(place: int, size: int) -> Iterator[ScheduleStep]:
    """Member r receives from the members 1, 2, 4 … places below it (Hillis & Steele 1986)."""
    step = 1
    while step < size:
        to = place + step if place + step < size else None
        source = place - step if place - step >= 0 else None
        if to is not None or source is not None:
            yield ScheduleStep(to, source, step)
        step *= 2


def _tree(place: int, size: int, root: int, function: str) -> Iterator[ScheduleStep]:
    """Binomial tree: data of a gather or scatter grow with the subtree."""
    relative = (place - root) % size

    def member(number: int) -> int:
        return (number + root) % size

    def share(number: int, mask: int) -> float:
        part = min(mask, size - number)
        if function.startswith("Gather"):
            return float(part)
        # The size of a scatter covers the root's whole buffer.
        return part / size if function.startswith("Scatter") else 1.0

    masks = [1 << bit for bit in range((size - 1).bit_length())]
    parent = next((mask for mask in masks if relative & mask), None)
    children = [
        mask for mask in masks if (parent is None or mask < parent) and relative + mask < size
    ]
    if function in TO_ROOT:
        for mask in children:
            yield ScheduleStep(None, member(relative + mask), mask, share(relative + mask, mask))
        if parent is not None:
            yield ScheduleStep(member(relative - parent), None, parent, share(relative, parent))
        return
    if parent is not None:
        yield ScheduleStep(None, member(relative - parent), parent, share(relative, parent))
    for mask in reversed(children):
        yield ScheduleStep(member(relative + mask), None, mask, share(relative + mask, mask))
