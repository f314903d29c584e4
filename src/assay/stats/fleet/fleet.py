"""Comparison of a fleet of nodes over all kernels: slow nodes, and the resources they are slow in.

Values are logarithms of costs, so that deviations are relative and neither units nor work matter:
value = cell's usual value (within a kind of nodes) + the node's deviation + the launch's deviation.
The scatter of nodes and of launches is estimated robustly from the fleet. A node's launches are
summarised by one value (Huber 1964, with the launches' scatter estimated from all nodes), which is
compared with the other nodes' (``peers``). The cells of one resource, and all cells, are further
columns: weighted means of deviations, with outlying cells clipped.

The false-discovery rate among the named nodes is controlled (Benjamini & Bogomolov 2014): a node's
p is Simes' (1986) over all its columns, Benjamini & Hochberg's (1995) procedure selects nodes, and
within a selected node columns are named at the level times the share of selected nodes. (With a
single procedure over all nodes and cells, one node that is slow in fifty cells would allow two
false nodes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.core.multiple import corrected, corrected_rows
from assay.stats.fleet.kinds import find_kinds
from assay.stats.fleet.peers import MIN_VALUES, against_peers, median_down, reach

# The level of the procedure is half of the stated false-discovery rate (STATED): a clearly slow
# node doubles the number of allowed false nodes, and data aren't exactly normal.
LEVEL, STATED = 0.025, 0.05
# Minimum scatter between nodes: 0.1%.
FLOOR = 1e-3
# Huber's constant: 95% of the mean's efficiency for normal values; and that efficiency.
HUBER, _EFFICIENCY = 1.345, 0.95
_ROUNDS = 6
# Cells are clipped at this number of deviations from the node's median deviation.
_CELL_CUT = 2.0
ALL = "all kernels"


@dataclass(frozen=True)
class Fleet:
    """The result of a comparison. Arrays are [node, column] unless stated; columns are the cells,
    then the resources with several cells, then all cells, as ``columns`` names them.

    ``kinds`` [node]: nodes are compared within their kind.
    """

    columns: tuple[str, ...]
    cells: int
    kinds: Ints
    #: Cells whose values distinguished kinds. ``counts`` [node, cell]: number of launches. ``slow``
    #: [node, cell]: number of launches that were slower than the usual node.
    split: tuple[int, ...]
    counts: Ints
    slow: Ints
    #: How much slower a node is than the usual node of its kind, as a difference of logarithms of
    #: costs; nan without measurements.
    shift: Floats
    #: Standard error of ``shift``.
    error: Floats
    #: The shift in units of the deviation between nodes.
    t: Floats
    #: Probability of such a shift if all nodes are alike.
    p: Floats
    #: Adjusted p of each column. ``p_nodes`` [node]: adjusted p of each node over all its columns;
    #: nodes at or below the level are outliers. ``p_fast`` [node]: the same for faster nodes.
    #: ``scatter`` [kind, column]: standard deviation between nodes. ``within`` [cell]: standard
    #: deviation between a node's launches, nan if no node has several.
    p_columns: Floats
    p_nodes: Floats
    p_fast: Floats
    scatter: Floats
    within: Floats

    @property
    def launches(self) -> int:
        """The median over nodes of the launches of the node's cell with the most launches."""
        return int(np.median(self.counts.max(axis=1))) if self.counts.size else 0

    def outliers(self, level: float = LEVEL) -> Ints:
        """The nodes that are slower than their kind, the smallest p first."""
        return _selected(self.p_nodes, level, np.nan_to_num(self.t, nan=-np.inf).max(axis=1))

    def faster(self, level: float = LEVEL) -> Ints:
        """The nodes that are faster than their kind, the smallest p first."""
        return _selected(self.p_fast, level, np.nan_to_num(-self.t, nan=-np.inf).max(axis=1))


def compare(
    costs: Floats,
    resources: Sequence[str],
    known_kinds: Ints | None = None,
    level: float = LEVEL,
    *,
    split_kinds: bool = True,
) -> Fleet:
    """Compare nodes. ``costs`` [node, cell, repetition]: positive, more is worse, nan for none.

    ``resources``: the resource that limits each cell. ``known_kinds``: kinds of nodes that are
    known beforehand; kinds that the values show are distinguished in addition if ``split_kinds``.
    """
    logs = logarithms(costs)
    counts = np.isfinite(logs).sum(axis=2)
    within = _launch_scatter(logs, counts)
    values = _node_values(logs, counts, within)
    kinds, split = find_kinds(values, known_kinds, split=split_kinds)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(counts > 0, np.nan_to_num(within) ** 2 / _EFFICIENCY / counts, np.nan)
    groups = _groups(resources)
    table = _Table.empty(
        values.shape[0], len(resources) + len(groups), int(kinds.max(initial=0)) + 1
    )
    centre = np.full(values.shape, np.nan)
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        centre[rows] = _compare_kind(
            table=table,
            rows=rows,
            kind=int(kind),
            values=values[rows],
            noise=noise[rows],
            groups=groups,
        )
    with np.errstate(invalid="ignore"):
        slow = (logs > centre[:, :, None]).sum(axis=2)
    p_nodes, p_columns = _controlled(table.p, level)
    p_fast, _ = _controlled(1.0 - table.p, level)
    return Fleet(
        columns=(*(f"cell {i}" for i in range(len(resources))), *(name for name, _ in groups)),
        cells=len(resources),
        kinds=kinds,
        split=tuple(split),
        counts=counts,
        slow=slow,
        shift=table.shift,
        error=table.error,
        t=table.t,
        p=table.p,
        p_columns=p_columns,
        p_nodes=p_nodes,
        p_fast=p_fast,
        scatter=table.scatter,
        within=within,
    )


def logarithms(costs: Floats) -> Floats:
    """Logarithms of positive finite costs; nan for others."""
    given = np.asarray(costs, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((given > 0.0) & np.isfinite(given), np.log(given), np.nan)


@dataclass
class _Table:
    shift: Floats
    error: Floats
    t: Floats
    p: Floats
    scatter: Floats

    @classmethod
    def empty(cls, nodes: int, columns: int, kinds: int) -> _Table:
        shift, error, t, p = (np.full((nodes, columns), np.nan) for _ in range(4))
        return cls(shift, error, t, p, np.full((kinds, columns), np.nan))


def _compare_kind(
    table: _Table,
    rows: Ints,
    kind: int,
    values: Floats,
    noise: Floats,
    groups: Sequence[tuple[str, Ints]],
) -> Floats:
    """Fill in one kind's rows; returns the cells' usual values."""
    peers = against_peers(values, noise, FLOOR)
    cells = values.shape[1]
    shift = values - peers.centre
    known = np.where(noise > 0.0, noise, peers.scale**2)  # single launches: error unknown
    error = np.sqrt(known + peers.scale**2 / np.maximum(peers.count, 1))
    table.shift[rows, :cells], table.error[rows, :cells] = (
        shift,
        np.where(np.isfinite(shift), error, np.nan),
    )
    table.t[rows, :cells], table.p[rows, :cells] = peers.t, peers.p
    table.scatter[kind, :cells] = np.where(peers.count >= MIN_VALUES, peers.scale, np.nan)
    for place, (_, members) in enumerate(groups, cells):
        usable = members[peers.count[members] >= MIN_VALUES]
        if usable.size < 2:
            continue
        together = _together(shift[:, usable], peers.scale[usable])
        spread = _together_error(known[:, usable], shift[:, usable], peers.scale[usable])
        over = against_peers(together[:, None], floor=FLOOR / np.sqrt(usable.size))
        table.shift[rows, place] = together - over.centre[0]
        table.error[rows, place] = spread
        table.t[rows, place], table.p[rows, place] = over.t[:, 0], over.p[:, 0]
        table.scatter[kind, place] = over.scale[0]
    return np.broadcast_to(peers.centre, values.shape)


def _groups(resources: Sequence[str]) -> list[tuple[str, Ints]]:
    """The columns of several cells: each resource with several cells, and all cells."""
    names = dict.fromkeys(resources)
    table = [(n, np.array([i for i, r in enumerate(resources) if r == n])) for n in names]
    several = [(name, members) for name, members in table if members.size > 1]
    if len(table) > 1:
        several.append((ALL, np.arange(len(resources))))
    return several


def _launch_scatter(logs: Floats, counts: Ints) -> Floats:
    """Standard deviation between a node's launches, per cell, from the median of nodes' variances.

    A sample variance of normal values is chi-squared over its degrees of freedom; it is divided by
    the median of that distribution.
    """
    from scipy.special import chdtri

    freedom = counts - 1
    usual = chdtri(np.maximum(np.arange(counts.max(initial=1)), 1), 0.5)  # by degrees of freedom
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.nansum(logs, axis=2) / counts
        squares = np.nansum((logs - means[:, :, None]) ** 2, axis=2)
        variances = np.where(freedom > 0, squares / usual[np.maximum(freedom, 0)], np.nan)
    return np.sqrt(median_down(variances))


def _node_values(logs: Floats, counts: Ints, within: Floats) -> Floats:
    """One value per node and cell: Huber's estimate of location over its launches."""
    centre = median_down(np.moveaxis(logs, 2, 0))
    if logs.shape[2] < 3:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, np.nansum(logs, axis=2) / counts, np.nan)
    limit = np.where(np.nan_to_num(within) > 0.0, HUBER * within, np.inf)[None, :, None]
    for _ in range(_ROUNDS):
        away = np.clip(logs - centre[:, :, None], -limit, limit)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = centre + np.nansum(away, axis=2) / counts
    return centre


def _together(shift: Floats, scale: Floats) -> Floats:
    """Each node's mean shift over several cells, weighted by 1 / scale^2, with cells clipped around
    the median shift, so that one slow resource doesn't make a node slow in all of them.
    """
    usual = median_down(shift.T)
    away = np.clip(shift - usual[:, None], -_CELL_CUT * scale, _CELL_CUT * scale)
    weights = np.where(np.isfinite(shift), 1.0 / scale**2, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(usual + (weights * np.nan_to_num(away)).sum(axis=1) / weights.sum(axis=1))


def _together_error(known: Floats, shift: Floats, scale: Floats) -> Floats:
    """The standard error of ``_together``, for independent errors of cells."""
    weights = np.where(np.isfinite(shift), 1.0 / scale**2, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (weights**2 * np.nan_to_num(known)).sum(axis=1) / weights.sum(axis=1) ** 2
    return np.asarray(np.sqrt(variance))


def _controlled(p: Floats, level: float) -> tuple[Floats, Floats]:
    """Adjusted p: of each node over its columns, and of columns within selected nodes."""
    if p.size == 0:
        return np.full(p.shape[0], np.nan), p
    columns = corrected_rows(p)
    simes = np.where(
        np.isfinite(p).any(axis=1), np.nanmin(np.nan_to_num(columns, nan=2.0), axis=1), np.nan
    )
    nodes = corrected(simes, "bh")
    selected = max(int((nodes <= level).sum()), 1)
    share = selected / max(int(np.isfinite(nodes).sum()), 1)
    return nodes, np.minimum(columns / share, 1.0)


def _selected(p: Floats, level: float, strength: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        found = np.flatnonzero(p <= level)
    return found[np.lexsort((-strength[found], p[found]))]


def interval(shift: float, error: float, count: int) -> tuple[float, float]:
    """The 95% interval of a shift whose error is estimated from ``count`` nodes."""
    half = float(reach(max(count, MIN_VALUES))) * error
    return shift - half, shift + half
