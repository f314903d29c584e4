"""One component's baseline: levels, modes, hours and scatter, separated, from many checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from assay.arrays import Bools, Floats
from assay.check.baseline.common_course import common_course
from assay.check.baseline.fits import FLOOR, check_table, increasing, levels_table
from assay.check.baseline.model import ComponentBaseline, SessionShift
from assay.check.baseline.movement import deviation, movement_table, moves
from assay.check.baseline.samples import SeriesSample
from assay.check.baseline.sessions import merged
from assay.stats.fleet.clusters import find_clusters, least_likelier

# Of normal values: the standard deviation over the median distance of two of them.
_PAIRS = 1.0 / 0.9539
# Values that are searched for modes, and minimum distance and share of a mode.
_SEARCHED, _LEAST_GAP, _LEAST_SHARE = 400, 0.01, 0.03
# Minimum number of pairs of a node's successive checks that tell whether modes last, the time
# within which they follow each other, s, and the correlation of the modes from which on they do.
_LEAST_PAIRS, _SOON, _LASTING = 60, 7200.0, 0.3
# A node's recent checks are the ones since its last pause of this length, s. Minimum number of
# recent checks of a node, and of nodes with recent checks.
# From _MANY_MOVED nodes on, one of the highest 2.5% moves is among them with a probability of 95%.
_PAUSE, _LEAST_RECENT, _LEAST_MOVED, _MANY_MOVED = 43200.0, 8, 30, 120
# What levels may move by in an update, at least.
_LEAST_DRIFT = 0.0025
# Own levels are means of values, clipped at this number of standard deviations from their median.
_CLIPPED = 4.0


@dataclass(frozen=True)
class _Modes:
    gap: float = 0.0
    valley: float = 0.0
    share: float = 0.0

    def shifts(self, deviations: Floats) -> Floats:
        """The distance of each deviation's mode from the faster one."""
        return np.where(deviations > self.valley, self.gap, 0.0)


def component_baseline(
    sample: SeriesSample, earlier: Sequence[SessionShift] = (), *, virtual: bool = False
) -> ComponentBaseline:
    """The baseline of one series from its checks, without slow nodes.

    ``earlier``: sessions of the baseline that it replaces. ``virtual``: the nodes are virtual
    machines, whose hosts may slow them at any time.

    A cost is the level, the node's own deviation, what all nodes share at this time, the mode, and
    the scatter of checks and of rounds. Medians separate these, so that slow checks don't move
    them.
    """
    common = common_course(sample, middles(sample.bests))
    singles = sample.singles - common.of_check[:, None]
    bests = sample.bests - common.of_check[:, None]
    checks = middles(bests)
    level = _level(checks, sample)
    modes = _modes(checks - level)
    if modes.gap and not _last(checks - level > modes.valley, sample):
        modes = _Modes()
    if modes.gap:  # the level becomes that of the faster mode
        fast = float(np.median(checks[checks - level <= modes.valley])) - level
        level, modes = level + fast, _Modes(modes.gap, modes.valley - fast, modes.share)
    singles, bests, checks = singles - level, bests - level, checks - level
    fleet = check_table(_finite(singles), _finite(bests), sample.checks)
    checks = checks - modes.shifts(checks)
    scatter = _scatter_of_checks(checks, sample)
    counts = np.bincount(sample.node)
    own = _means(checks, sample, scatter)[counts > 0]
    error = scatter / np.sqrt(float(np.median(counts[counts > 0])))
    between, node_scatter = levels_table(own, error)
    within = _within(
        singles=singles,
        bests=bests,
        checks=checks,
        sample=sample,
        modes=modes,
        scatter=scatter,
        node_scatter=node_scatter,
    )
    sessions = merged(common.sessions.shifts, list(earlier))
    movement = movement_table(sessions)
    of_nodes = float(2.0 * node_scatter / np.sqrt(own.size))
    of_time = 2.0 * deviation(sessions) / float(np.sqrt(max(len(sessions), 1)))
    return ComponentBaseline(
        level=level,
        learned_level=level,
        drift=max(_LEAST_DRIFT, of_nodes, of_time),
        sessions=sessions,
        movement=movement,
        moving=virtual or moves(sessions, movement),
        hours=common.hours,
        fleet=fleet,
        within=within or fleet,
        between=between,
        check_scatter=scatter,
        node_scatter=node_scatter,
        round_scatter=_scatter_of_rounds(sample),
        wander=_wander(checks, sample, own, scatter),
        gap=modes.gap,
        valley=modes.valley,
        slow_share=modes.share,
        nodes=int(own.size),
        checks=sample.checks,
    )


def middles(rows: Floats) -> Floats:
    """The median of each row, without nan."""
    return np.asarray(np.nanmedian(rows, axis=1))


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _level(checks: Floats, sample: SeriesSample) -> float:
    """The median of the nodes' medians."""
    order = np.argsort(sample.node, kind="stable")
    parts = np.split(checks[order], np.flatnonzero(np.diff(sample.node[order])) + 1)
    return float(np.median([np.median(each) for each in parts]))


def _modes(deviations: Floats) -> _Modes:
    """Two modes of checks, if there are two (``stats/fleet/clusters``)."""
    ordered = np.sort(deviations)
    if ordered.size > _SEARCHED:
        ordered = np.quantile(ordered, (np.arange(_SEARCHED) + 0.5) / _SEARCHED)
    found = find_clusters(ordered, FLOOR)
    if found is None or found.likelier < least_likelier(ordered.size):
        return _Modes()
    share = float(found.upper.mean())
    fast, slow = ordered[~found.upper], ordered[found.upper]
    gap = float(np.median(slow) - np.median(fast))
    if gap < _LEAST_GAP or not _LEAST_SHARE <= share <= 1.0 - _LEAST_SHARE:
        return _Modes()
    return _Modes(gap, 0.5 * float(fast.max() + slow.min()), share)


def _last(slow: Bools, sample: SeriesSample) -> bool:
    """Whether modes last from one check of a node to the next, as far as is known.

    If the modes of successive checks are independent, modes are part of the scatter of checks. If a
    mode lasts, the next checks of a node in the slower mode are in this mode, too. Only checks that
    follow soon can tell.
    """
    order = np.lexsort((sample.utc, sample.node))
    soon = (np.diff(sample.node[order]) == 0) & (np.diff(sample.utc[order]) <= _SOON)
    one, next_one = slow[order][:-1][soon], slow[order][1:][soon]
    if one.size < _LEAST_PAIRS or not 0.0 < one.mean() < 1.0 or not 0.0 < next_one.mean() < 1.0:
        return True
    upper = np.corrcoef(one, next_one)[0, 1] + 2.0 / np.sqrt(one.size)
    return bool(upper > _LASTING)


def _scatter_of_checks(checks: Floats, sample: SeriesSample) -> float:
    """The standard deviation of checks of one node, from the distances of successive ones."""
    order = np.lexsort((sample.utc, sample.node))
    same = np.diff(sample.node[order]) == 0
    distances = np.abs(np.diff(checks[order]))[same]
    found = _PAIRS * float(np.median(distances)) if distances.size else 0.0
    return max(found, FLOOR)


def _scatter_of_rounds(sample: SeriesSample) -> float:
    distances = _finite(np.abs(np.diff(sample.singles, axis=1)).ravel())
    return max(_PAIRS * float(np.median(distances)) if distances.size else 0.0, FLOOR)


def _means(checks: Floats, sample: SeriesSample, scatter: float) -> Floats:
    """The mean of each node's checks; nan for a node without any."""
    counts = np.bincount(sample.node)
    clipped = _clipped(checks, sample, scatter)
    sums = np.bincount(sample.node, clipped, counts.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / counts)


def _clipped(checks: Floats, sample: SeriesSample, scatter: float) -> Floats:
    order = np.argsort(sample.node, kind="stable")
    cuts = np.flatnonzero(np.diff(sample.node[order])) + 1
    middle = np.empty(checks.size)
    for part in np.split(order, cuts):
        middle[part] = np.median(checks[part])
    return np.clip(checks, middle - _CLIPPED * scatter, middle + _CLIPPED * scatter)


def _wander(checks: Floats, sample: SeriesSample, own: Floats, scatter: float) -> float:
    """How far a node's mean of many checks may be above its own level.

    It is observed between the successive recent checks of nodes and their earlier ones. If it
    wasn't, a node may move to any level of 95% of the nodes: modes that last look like nodes that
    differ.
    """
    order = np.lexsort((sample.utc, sample.node))
    cuts = np.flatnonzero(np.diff(sample.node[order])) + 1
    moved, errors = [], []
    for part in np.split(order, cuts):
        recent = np.cumsum(np.diff(sample.utc[part])[::-1] > _PAUSE)[::-1] == 0
        late = np.append(recent, True)
        if late.sum() >= _LEAST_RECENT and (~late).sum() >= 2:
            moved.append(np.median(checks[part][late]) - checks[part][~late].mean())
            errors.append(1.0 / late.sum() + 1.0 / (~late).sum())
    if len(moved) >= _LEAST_MOVED:
        # Fewer nodes may have no move of the highest 2.5%, except the highest of all.
        share = 0.975 if len(moved) >= _MANY_MOVED else 1.0 - 0.5 / len(moved)
        high = np.quantile(moved, share if len(moved) >= _MANY_MOVED else 1.0)
        error = float(special.ndtri(share)) * scatter * np.sqrt(np.median(errors))
        return float(_beyond(max(high - np.median(moved), 0.0), error))
    counts = np.bincount(sample.node)
    error = scatter / np.sqrt(float(np.median(counts[counts > 0])))
    high = np.quantile(own, 0.95) - np.median(own)
    return float(max(_beyond(high, 1.645 * error), FLOOR))


def _beyond(high: float, error: float) -> float:
    """What remains of a quantile without the error's part."""
    return float(np.sqrt(max(high**2 - error**2, 0.0)))


def _within(
    *,
    singles: Floats,
    bests: Floats,
    checks: Floats,
    sample: SeriesSample,
    modes: _Modes,
    scatter: float,
    node_scatter: float,
) -> list[float]:
    """The table of a check's value against the node's own level; empty without repeated checks.

    The own level is predicted from the node's other checks, so that a slow check doesn't move what
    it is compared with, and shrunk toward the fleet's as far as few checks are uncertain.
    """
    counts = np.bincount(sample.node)[sample.node]
    known = counts > 1
    if not known.any():
        return []
    sums = np.bincount(sample.node, _clipped(checks, sample, scatter))[sample.node]
    others = np.maximum(counts - 1, 1)
    weight = node_scatter**2 / (node_scatter**2 + scatter**2 / others)
    predicted = (weight * (sums - _clipped(checks, sample, scatter)) / others)[:, None]
    first = (singles - modes.shifts(singles) - predicted)[known]
    second = (bests - modes.shifts(bests) - predicted)[known]
    table = check_table(_finite(first), _finite(second), int(np.count_nonzero(known)))
    return increasing(np.array(table) + modes.gap)


def without(sample: SeriesSample, slow: Bools) -> SeriesSample:
    """The sample without the checks of some of its ``hosts``."""
    return sample.take(~slow[sample.node])
