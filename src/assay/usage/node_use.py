"""Use by node and time, and jobs that shared a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.usage.columns import unnamed_file, unwritable

# Number of pairs of a job and a node that are processed at a time.
PAIRS = 1 << 20
_PAIR = np.dtype([("node", "i4"), ("job", "i8"), ("start", "d"), ("end", "d")])


@dataclass(frozen=True)
class NodePairs:
    """Pairs of a job and one of its nodes."""

    #: Row of the job.
    job: Ints
    #: Position of the node in an order.
    node: Ints
    #: ``start``, ``end``: times of the job, Unix time in s.
    start: Floats
    end: Floats
    #: Number of the job's processors on the node.
    processors: Floats


def pieces(counts: Ints) -> Iterator[slice]:
    """Consecutive jobs with about ``PAIRS`` nodes in total. ``counts``: number of nodes of each
    job."""
    place = np.cumsum(counts) // PAIRS
    edges = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), counts.size]
    for low, high in pairwise(edges):
        if high > low:
            yield slice(low, high)


class GridUse:
    """Amount × s by row and by interval of time. ``edges``: edges of equal intervals, in s."""

    def __init__(self, rows: int, edges: Floats) -> None:
        self._edges = edges
        self._width = float(edges[1] - edges[0])
        # Amounts within single intervals, and changes of the amounts that fill intervals.
        self._parts: Floats = np.zeros((rows, edges.size - 1))
        self._changes: Floats = np.zeros((rows, edges.size))

    def add(self, row: Ints, start: Floats, end: Floats, amount: Floats) -> None:
        """Add amounts of rows from ``start`` to ``end``."""
        edges = self._edges
        last = edges.size - 2
        begin, until = np.clip(start, edges[0], edges[-1]), np.clip(end, edges[0], edges[-1])

        def interval(times: Floats) -> Ints:
            place: Ints = np.minimum((times - edges[0]) // self._width, last).astype(np.int64)
            return place

        low, high = interval(begin), interval(until)
        same = low == high
        head = np.where(same, until - begin, edges[low + 1] - begin)
        tail = np.where(same, 0.0, until - edges[high])
        shape = self._parts.shape
        self._parts += _summed(row * shape[1] + low, amount * head, shape)
        self._parts += _summed(row * shape[1] + high, amount * tail, shape)
        between = self._changes.shape
        self._changes += _summed(row * between[1] + low + 1, np.where(same, 0.0, amount), between)
        self._changes -= _summed(row * between[1] + high, np.where(same, 0.0, amount), between)

    def sums(self) -> Floats:
        """Amount × s, shape (rows, intervals)."""
        full = np.cumsum(self._changes, axis=1)[:, :-1] * self._width
        total: Floats = np.add(self._parts, full, dtype=np.float64)
        return total


def _summed(place: Ints, values: Floats, shape: tuple[int, ...]) -> Floats:
    summed: Floats = np.bincount(place, values, shape[0] * shape[1]).astype(np.float64)
    return summed.reshape(shape)


def sharing(
    pairs: Callable[[], Iterator[NodePairs]], jobs: int, nodes: int, number: int
) -> NDArray[np.bool_]:
    """For each of ``jobs``, whether it shared one of the ``nodes`` with another at the same time.

    ``number``: number of all pairs. Many pairs are kept in temporary files, by ranges of nodes.
    """
    shared = np.zeros(jobs, dtype=bool)
    files = min(max(-(-number // (2 * PAIRS)), 1), 400, max(nodes, 1))
    if files == 1:
        _mark(_packed(list(pairs())), shared)
        return shared
    opened = [unnamed_file() for _ in range(files)]
    try:
        for each in pairs():
            packed = _packed([each])
            place = packed["node"].astype(np.int64) * files // nodes
            for file in np.unique(place).tolist():
                opened[file].write(packed[place == file].tobytes())
    except OSError as error:
        raise unwritable(error) from None
    for file in opened:
        with file:
            file.seek(0)
            _mark(np.frombuffer(file.read(), dtype=_PAIR), shared)
    return shared


def _packed(found: list[NodePairs]) -> NDArray[np.void]:
    packed = np.empty(sum(each.job.size for each in found), dtype=_PAIR)
    for name in ("node", "job", "start", "end"):
        packed[name] = np.concatenate([[], *(getattr(each, name) for each in found)])
    return packed


def _mark(pairs: NDArray[np.void], shared: NDArray[np.bool_]) -> None:
    """Mark jobs whose times overlap on a node."""
    pairs = pairs[pairs["end"] > pairs["start"]]
    pairs = pairs[np.lexsort((pairs["start"], pairs["node"]))]
    if pairs.size < 2:
        return
    node, start, end = (pairs[name] for name in ("node", "start", "end"))
    first = np.append(True, np.diff(node) > 0)
    # The latest end so far on the node. Nodes are shifted in time so that one running maximum
    # serves all.
    span = float(end.max() - start.min()) + 1.0
    moved = end - start.min() + node * span
    before = np.append(-np.inf, np.maximum.accumulate(moved)[:-1])
    later = ~first & (start - start.min() + node * span < before)
    # An earlier job shares its node if the next job on the node starts before its end.
    earlier = np.append(~first[1:] & (start[1:] < end[:-1]), False)
    shared[pairs["job"][later | earlier]] = True
