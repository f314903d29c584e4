"""How far all nodes of a kind move together from one session of checks to another.

The costs of nodes in sessions are an additive table: cost = node + session + rest (J. W. Tukey:
Exploratory Data Analysis, 1977, chapters 10 and 11). It is fitted by least squares and then
polished with medians, so that slow checks don't move it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from assay.arrays import Floats, Ints
from assay.check.baseline.model import APART, SessionShift
from assay.check.baseline.samples import SeriesSample

# Nodes from which on a fleet, and a session, tell what all nodes have in common. In a smaller fleet
# the movement of a node by itself can't be separated from a common one, and counts as much.
_COMMON_NODES = 8
# Of normal values: from the median deviation to the standard deviation, and the variance of a
# median over that of a mean.
_TO_DEVIATION, _MEDIAN_VARIANCE = 1.4826, math.pi / 2.0
# Repetitions of the polish, and the minimum degrees of freedom from which a scatter is estimated.
_POLISH, _LEAST_FREEDOM = 10, 8
# Sessions that are kept, the newest: some weeks of checks at all hours.
_MOST_SESSIONS = 200


@dataclass(frozen=True)
class FoundSessions:
    """The sessions of a sample."""

    shifts: list[SessionShift]
    #: The shift of each check's session about the mean session; 0 where it isn't known.
    of_check: Floats


def sessions_of(sample: SeriesSample, costs: Floats) -> FoundSessions:
    """The sessions of a sample whose checks have these costs.

    A session has all checks within two hours of its first one. Only nodes that were checked in
    several sessions tell how these differ; of sessions that share no nodes, the largest connected
    group counts.
    """
    order = np.argsort(sample.utc, kind="stable")
    session = np.empty(costs.size, dtype=np.int64)
    session[order] = _numbers(sample.utc[order])
    node_of, session_of, values = _cells(sample.node, session, costs)
    kept = _connected(node_of, session_of)
    chosen = np.unique(session_of[kept])
    nodes, node_of = np.unique(node_of[kept], return_inverse=True)
    of_cell = np.searchsorted(chosen, session_of[kept])
    found, own = _additive(node_of, of_cell, values[kept], (nodes.size, chosen.size))
    counts = np.bincount(of_cell, minlength=chosen.size)
    rest = values[kept] - own[node_of] - found[of_cell]
    centre = float(found.mean())
    found = found - centre
    errors = _errors(rest, counts, nodes.size)
    by_number = np.zeros(int(session.max(initial=0)) + 1)
    if nodes.size >= _COMMON_NODES:
        by_number[chosen] = np.where(counts >= _COMMON_NODES, found, 0.0)
    else:
        # The root mean square of few nodes' deviations.
        squares = np.bincount(of_cell, (rest + found[of_cell]) ** 2, chosen.size)
        found = np.copysign(np.sqrt(squares / counts), found)
        errors = np.zeros(chosen.size)
        usual = np.median(_medians(sample.node, costs)[1])
        # By how much the mean session is slower than the usual check.
        found = found + max(float(np.median(own)) + centre - float(usual), 0.0)
    shifts = [
        SessionShift(
            begin=float(sample.utc[session == number].min()),
            end=float(sample.utc[session == number].max()),
            shift=round(float(shift), 6),
            error=round(float(error), 6),
        )
        for number, shift, error in zip(chosen, found, errors, strict=True)
    ]
    return FoundSessions(shifts, by_number[session])


def merged(new: list[SessionShift], earlier: list[SessionShift]) -> list[SessionShift]:
    """Sessions with earlier ones that don't overlap them, by time: the newest 200."""
    apart = [
        each
        for each in earlier
        if all(each.begin - one.begin >= APART or one.begin - each.begin >= APART for one in new)
    ]
    return sorted([*apart, *new], key=lambda each: each.begin)[-_MOST_SESSIONS:]


def centred(shifts: list[SessionShift]) -> list[SessionShift]:
    """Sessions about their own mean, as far as that is known; none of a single one.

    What changes from one group of sessions to the next, such as a slow decline, is not in them.
    """
    if len(shifts) < 2:
        return []
    scale = math.sqrt(len(shifts) / (len(shifts) - 1.0))
    return [
        SessionShift(begin=each.begin, end=each.end, shift=scale * each.shift, error=each.error)
        for each in shifts
    ]


def _numbers(utc: Floats) -> Ints:
    """The session of each of these ordered times."""
    found = np.zeros(utc.size, dtype=np.int64)
    place = number = 0
    while place < utc.size:
        end = int(np.searchsorted(utc, utc[place] + APART, side="left"))
        found[place:end] = number
        place, number = max(end, place + 1), number + 1
    return found


def _medians(groups: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The groups, and the median of each."""
    order = np.lexsort((values, groups))
    ordered: Floats = values[order]
    found: Ints = groups[order]
    begin = np.flatnonzero(np.diff(found, prepend=found[:1] - 1))
    size = np.diff(begin, append=found.size)
    middle = 0.5 * (ordered[begin + (size - 1) // 2] + ordered[begin + size // 2])
    return found[begin], np.asarray(middle)


def _cells(node: Ints, session: Ints, costs: Floats) -> tuple[Ints, Ints, Floats]:
    """Node, session and median cost of each node in each session."""
    width = int(session.max(initial=0)) + 1
    keys, values = _medians(node * width + session, costs)
    return keys // width, keys % width, values


def _connected(node_of: Ints, session_of: Ints) -> Ints:
    """The cells of the largest number of sessions that are connected by common nodes."""
    first = int(session_of.max(initial=0)) + 1
    size = first + int(node_of.max(initial=0)) + 1
    graph = coo_array((np.ones(node_of.size), (session_of, first + node_of)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    of_session = label[np.unique(session_of)]
    return np.flatnonzero(label[session_of] == np.bincount(of_session).argmax())


def _additive(
    node_of: Ints, session_of: Ints, values: Floats, shape: tuple[int, int]
) -> tuple[Floats, Floats]:
    """The sessions' and the nodes' parts of the cells' values."""
    inside = np.zeros(shape)
    inside[node_of, session_of] = 1.0
    per_node = inside.sum(axis=1)
    own = np.bincount(node_of, values, shape[0]) / per_node
    matrix = np.diag(inside.sum(axis=0)) - inside.T @ (inside / per_node[:, None])
    right = np.bincount(session_of, values - own[node_of], shape[1])
    found: Floats = np.asarray(np.linalg.pinv(matrix, hermitian=True) @ right)
    for _ in range(_POLISH):
        own = _medians(node_of, values - found[session_of])[1]
        found = _medians(session_of, values - own[node_of])[1]
    return found, _medians(node_of, values - found[session_of])[1]


def _errors(rest: Floats, counts: Ints, nodes: int) -> Floats:
    """The standard error of each session's shift; 0 where the rest doesn't tell."""
    freedom = rest.size - nodes - counts.size + 1
    if freedom < _LEAST_FREEDOM:
        return np.zeros(counts.size)
    scale = _TO_DEVIATION * float(np.median(np.abs(rest))) * math.sqrt(rest.size / freedom)
    return np.asarray(scale * np.sqrt(_MEDIAN_VARIANCE / counts))
