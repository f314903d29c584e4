"""The call tree of all samples: the boxes of an icicle, and the stacks that exports write."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.models.program.sampled.counts import CodePlace, function_of
from assay.trace.samples.model import ProgramSamples

# Boxes deeper than this are left out.
_DEEPEST = 60
# Names of MPI functions; what they call is the library's own business.
_MPI = ("MPI_", "PMPI_", "mpi_", "pmpi_")


@dataclass(frozen=True)
class TreeBox:
    """A function on one path of calls. Shares count all samples."""

    place: CodePlace
    #: Number of functions that called it, one by the other.
    depth: int
    #: ``begin``, ``end``: its span, where the span of a caller contains the spans of its callees.
    begin: float
    end: float
    #: Share of the samples in the function itself.
    own: float

    @property
    def share(self) -> float:
        """Share of the samples in the function and its callees."""
        return self.end - self.begin


class _Node:
    """Samples of one path. ``own`` counts the samples that end here."""

    def __init__(self) -> None:
        self.total = 0.0
        self.own = 0.0
        self.below: dict[CodePlace, _Node] = {}


def call_tree(samples: ProgramSamples, least: float = 0.002, most: int = 1500) -> list[TreeBox]:
    """The boxes with at least ``least`` of all samples, at most ``most``: the largest ones.

    Callers precede their callees, and callees are ordered by their share. A function that calls
    itself directly is one box. Calls within the MPI library are left out.
    """
    numbers: Counter[int] = Counter()
    for thread in samples.threads:
        numbers.update(thread.stacks.tolist())
    root = _Node()
    for stack, number in numbers.items():
        _add(root, _path(samples, stack), number)
    boxes: list[TreeBox] = []
    todo = [(root, 0, 0.0)]
    while todo and root.total:
        node, depth, begin = todo.pop()
        for place, child in sorted(node.below.items(), key=lambda item: (-item[1].total, item[0])):
            share = child.total / root.total
            if share >= least and depth < _DEEPEST:
                own = child.own / root.total
                boxes.append(TreeBox(place, depth, begin, begin + share, own))
                todo.append((child, depth + 1, begin))
            begin += share
    boxes.sort(key=lambda box: (-box.share, box.depth, box.begin))
    return sorted(boxes[:most], key=lambda box: (box.depth, box.begin))


def _path(samples: ProgramSamples, stack: int) -> list[CodePlace]:
    path: list[CodePlace] = []
    for index in samples.stacks[stack]:
        place = function_of(samples.places[index])
        if not path or path[-1] != place:
            path.append(place)
        if place.function.startswith(_MPI):
            break
    return path


def _add(root: _Node, path: list[CodePlace], number: int) -> None:
    root.total += number
    node = root
    for place in path[:_DEEPEST]:
        node = node.below.setdefault(place, _Node())
        node.total += number
    node.own += number
