"""Samples counted by rank and by function or line.

A sample stands for a period of its thread's CPU time. It belongs to the innermost place of its
stack (its own samples), and to every function on the stack once, however often a recursion
repeats the function (inclusive samples).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Indexes, Ints
from assay.trace.samples.model import Activity, Place, ProgramSamples, ThreadSamples
from assay.trace.samples.names import printable_name


@dataclass(frozen=True, order=True)
class CodePlace:
    """A function, or one line of it if ``line`` is positive."""

    #: Readable name; "" for all code of ``module`` without a name.
    function: str
    module: str
    #: Path of the source file; "" for a whole function.
    file: str = ""
    line: int = 0
    #: Offset in ``module`` of a place without a name; 0 for a whole module.
    address: int = 0

    @property
    def name(self) -> str:
        """Name in reports."""
        if self.function:
            return self.function
        return f"{self.module}+{self.address:#x}" if self.address else f"{self.module} (no symbols)"


def function_of(place: Place) -> CodePlace:
    """The function of a place. All code of a module without names is one function."""
    return CodePlace(printable_name(place.function), printable_name(place.module))


def line_of(place: Place) -> CodePlace:
    """The line of a place, or its address if it has no name."""
    function, module, file = map(printable_name, (place.function, place.module, place.file))
    return CodePlace(function, module, file, place.line, 0 if function else place.address)


@dataclass(frozen=True)
class SampleCounts:
    """Numbers of samples. Rows are ranks, columns are functions or lines."""

    ranks: tuple[int, ...]
    places: tuple[CodePlace, ...]
    #: Computing samples whose innermost place this is.
    own: Ints
    #: Computing samples with this place anywhere on the stack.
    inclusive: Ints
    #: All samples of each rank by `Activity`.
    activities: Ints
    #: CPU time that a sample of each rank stands for, s: the period, and more if samples were lost.
    seconds: Floats

    @property
    def computing(self) -> Ints:
        """Computing samples of each rank."""
        return np.asarray(self.activities[:, Activity.COMPUTING])


def count_samples(
    samples: ProgramSamples, key: Callable[[Place], CodePlace] = function_of
) -> SampleCounts:
    """Count all samples by rank, and by function or (``key`` is `line_of`) by line."""
    ranks = sorted({thread.rank for thread in samples.threads})
    places, place_of = _keys(samples.places, key)
    leaf = np.array([place_of[stack[-1]] if stack else -1 for stack in samples.stacks], np.int64)
    row, stack, number = _computing_stacks(samples, ranks)
    shape = (len(ranks), len(places))
    known = leaf[stack] >= 0
    own = _sums(row[known], leaf[stack[known]], number[known], shape)
    every, first, length = _stacks(samples.stacks, place_of)
    repeats = length[stack]
    inner = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    inclusive = _sums(
        np.repeat(row, repeats),
        every[np.repeat(first[stack], repeats) + inner],
        np.repeat(number, repeats),
        shape,
    )
    activities = np.zeros((len(ranks), len(Activity)), np.int64)
    lost = np.zeros(len(ranks))
    rank_row = {rank: at for at, rank in enumerate(ranks)}
    for thread in samples.threads:
        at = rank_row[thread.rank]
        activities[at] += np.bincount(thread.activities, minlength=len(Activity))
        lost[at] += thread.lost
    taken = activities.sum(axis=1)
    seconds = samples.period * (1.0 + lost / np.maximum(taken, 1))
    return SampleCounts(
        ranks=tuple(ranks),
        places=places,
        own=own,
        inclusive=inclusive,
        activities=activities,
        seconds=seconds,
    )


def stack_counts(thread: ThreadSamples, activity: Activity) -> tuple[Indexes, Indexes]:
    """The stacks of a thread's samples with an activity, and the number of samples of each."""
    chosen = thread.stacks[thread.activities == activity]
    stacks, numbers = np.unique(chosen, return_counts=True)
    return stacks.astype(np.intp), numbers


def seconds_each(samples: ProgramSamples, thread: ThreadSamples) -> float:
    """CPU time that a sample of a thread stands for, s."""
    return samples.period * (1.0 + thread.lost / max(len(thread.times), 1))


def _keys(
    places: Sequence[Place], key: Callable[[Place], CodePlace]
) -> tuple[tuple[CodePlace, ...], list[int]]:
    """The different keys, and the index of each place's key."""
    number: dict[CodePlace, int] = {}
    place_of = [number.setdefault(key(place), len(number)) for place in places]
    return tuple(number), place_of


def _computing_stacks(
    samples: ProgramSamples, ranks: Sequence[int]
) -> tuple[Indexes, Indexes, Indexes]:
    """Row of the rank, stack, and number of computing samples with it."""
    rows = {rank: at for at, rank in enumerate(ranks)}
    parts = [(rows[one.rank], *stack_counts(one, Activity.COMPUTING)) for one in samples.threads]
    if not parts:
        empty = np.empty(0, np.intp)
        return empty, empty, empty
    return (
        np.concatenate([np.full(len(stacks), row, np.intp) for row, stacks, _ in parts]),
        np.concatenate([stacks for _, stacks, _ in parts]),
        np.concatenate([numbers for _, _, numbers in parts]),
    )


def _stacks(
    stacks: Sequence[Sequence[int]], place_of: Sequence[int]
) -> tuple[Indexes, Indexes, Indexes]:
    """The keys of all stacks one after the other, each once per stack; where each begins; how many
    it has.
    """
    sets = [{place_of[place] for place in stack} for stack in stacks]
    length = np.array([len(one) for one in sets], np.intp)
    every = np.array([key for one in sets for key in one], np.intp)
    return every, np.cumsum(length) - length, length


def _sums(row: Indexes, column: Indexes, number: Indexes, shape: tuple[int, int]) -> Ints:
    code = row * shape[1] + column
    sums = np.bincount(code, weights=number, minlength=shape[0] * shape[1])
    return np.rint(sums).astype(np.int64).reshape(shape)
