"""Calibration of the level at which slow nodes are named, from the fleet's own launches.

The comparison of nodes assumes normal launches. Occasional late launches make nodes with three
launches look slow, so that a node would be named in most clean fleets. Fleets without slow nodes
are therefore simulated from the observed launches (a bootstrap of residuals: B. Efron: Bootstrap
methods: another look at the jackknife, Annals of Statistics 7, 1979, 1-26) and compared in the same
way.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.fleet.fleet import LEVEL, Fleet, compare, logarithms

# Number of simulated clean fleets, and the share of them in which a node may be named.
FLEETS, NAMED = 60, 0.05
# Minimum number of launches per node to distinguish a late launch from a slow node.
MIN_LAUNCHES = 3
# Numbers of additional launches per node that are tried.
_MORE = (1, 2, 3, 6, 12)
# Simulated series for the scale of residuals from a median of few normal values.
_NORMAL = 4000


def clean_level(
    costs: Floats, resources: Sequence[str], fleet: Fleet, named: float = NAMED
) -> float:
    """The level of p at which a node is named in a share ``named`` of such clean fleets.

    At most ``LEVEL``, and 0 with fewer than three launches per node. ``costs`` and ``resources`` as
    in ``compare``. The random numbers are seeded by the costs.
    """
    if fleet.launches < MIN_LAUNCHES:
        return 0.0
    found = np.sort(_clean_p(costs, resources, fleet, 0))
    return min(LEVEL, float(found[max(int(named * FLEETS) - 1, 0)]))


def more_launches(costs: Floats, resources: Sequence[str], fleet: Fleet) -> int:
    """The number of further launches per node with which at most 5% of clean fleets name a node.

    It is the first sufficient number of 1, 2, 3, 6 and 12, or else 12. With fewer than three
    launches it is the number missing to three.
    """
    few = MIN_LAUNCHES - fleet.launches
    if few > 0:
        return few
    for more in _MORE:
        found = _clean_p(costs, resources, fleet, more)
        if np.count_nonzero(found <= LEVEL) <= NAMED * FLEETS:
            return more
    return _MORE[-1]


def _clean_p(costs: Floats, resources: Sequence[str], fleet: Fleet, more: int) -> Floats:
    """The minimum p of a node in each simulated fleet, with ``more`` launches per node."""
    logs = logarithms(costs)
    drawn = np.random.default_rng(zlib.crc32(np.nan_to_num(logs).tobytes()))
    return _simulated_p(
        residuals=_residuals(logs, drawn),
        logs=logs,
        resources=resources,
        fleet=fleet,
        more=more,
        drawn=drawn,
    )


def _residuals(logs: Floats, drawn: np.random.Generator) -> Floats:
    """Launches [node and launch, cell] minus their node's median, scaled up for the median of few
    launches.
    """
    nodes, cells, launches = logs.shape
    normal = drawn.standard_normal((_NORMAL, launches))
    normal -= np.median(normal, axis=1, keepdims=True)
    wider = 1.0 / float(np.sqrt(np.mean(normal**2)))
    with warnings.catch_warnings():  # a cell without a launch on a node has no residuals
        warnings.simplefilter("ignore", RuntimeWarning)
        away = (logs - np.nanmedian(logs, axis=2, keepdims=True)) * wider
    rows = np.moveaxis(away, 2, 1).reshape(nodes * launches, cells)
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


def _simulated_p(
    residuals: Floats,
    logs: Floats,
    resources: Sequence[str],
    fleet: Fleet,
    more: int,
    drawn: np.random.Generator,
) -> Floats:
    nodes, cells, launches = logs.shape
    if not residuals.shape[0]:
        return np.zeros(FLEETS)
    scatter = np.nan_to_num(fleet.scatter[fleet.kinds, :cells])
    own = np.nan_to_num(fleet.within) ** 2 / np.maximum(fleet.counts, 1)
    between = np.sqrt(np.maximum(scatter**2 - own, 0.0))
    there = np.concatenate(
        [np.isfinite(logs), np.repeat(fleet.counts[:, :, None] > 0, more, axis=2)], axis=2
    )
    found = np.ones(FLEETS)
    for place in range(FLEETS):
        which = drawn.integers(0, residuals.shape[0], (nodes, launches + more))
        values = np.moveaxis(residuals[which], 2, 1)
        values = values + (between * drawn.standard_normal((nodes, cells)))[:, :, None]
        clean = compare(np.where(there, np.exp(values), np.nan), resources, _known_kinds(fleet))
        found[place] = float(np.nanmin(clean.p_nodes)) if np.isfinite(clean.p_nodes).any() else 1.0
    return found


def _known_kinds(fleet: Fleet) -> Ints | None:
    return fleet.kinds if fleet.kinds.max(initial=0) else None
