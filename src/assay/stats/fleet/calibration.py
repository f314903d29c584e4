"""What a fleet's own launches say of how surely a node can be named.

The comparison of nodes takes launches for normal. Launches that are late now and then make nodes of
three launches look slow, and a node is named in most clean fleets. So fleets without slow nodes are
made of the launches that were seen (a bootstrap of residuals: B. Efron: Bootstrap methods: another
look at the jackknife, Annals of Statistics 7, 1979, 1-26), and compared in the same way.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from assay.stats.core.intervals import Floats
from assay.stats.fleet.fleet import LEVEL, Fleet, Ints, compare, logarithms

# Clean fleets that are made, and the share of them in which a node may be named.
FLEETS, NAMED = 60, 0.05
# Launches of a node from which on a late one can be distinguished from a slow node at all.
FEWEST_LAUNCHES = 3
# More launches for each node that are tried.
_MORE = (1, 2, 3, 6, 12)
# Series by which the residuals from a median of few normal values are scaled.
_NORMAL = 4000


def clean_level(costs: Floats, resources: Sequence[str], fleet: Fleet) -> float:
    """The p up to which a node can be named so that one is in 5% of clean fleets of such
    launches; at most the usual one, and 0 with fewer than three launches of a node. ``costs`` and
    ``resources`` as in ``compare``. Random numbers follow from the costs.
    """
    if _launches(fleet) < FEWEST_LAUNCHES:
        return 0.0
    found = np.sort(_clean_p(costs, resources, fleet, 0))
    return min(LEVEL, float(found[int(NAMED * FLEETS) - 1]))


def more_launches(costs: Floats, resources: Sequence[str], fleet: Fleet) -> int:
    """How many launches more of each node, of 1, 2, 3, 6 and 12, would name a node in at most 5%
    of clean fleets of such launches; 12 where none of them would. Under three launches as many as
    make three.
    """
    few = FEWEST_LAUNCHES - _launches(fleet)
    if few > 0:
        return few
    for more in _MORE:
        found = _clean_p(costs, resources, fleet, more)
        if np.count_nonzero(found <= LEVEL) <= NAMED * FLEETS:
            return more
    return _MORE[-1]


def _launches(fleet: Fleet) -> int:
    """Launches of the median node in the cell that it has most of."""
    return int(np.median(fleet.counts.max(axis=1))) if fleet.counts.size else 0


def _clean_p(costs: Floats, resources: Sequence[str], fleet: Fleet, more: int) -> Floats:
    """The least p of a node in each of the fleets made, with so many launches more."""
    logs = logarithms(costs)
    drawn = np.random.default_rng(zlib.crc32(np.nan_to_num(logs).tobytes()))
    return _made(_residuals(logs, drawn), logs, resources, fleet, more, drawn)


def _residuals(logs: Floats, drawn: np.random.Generator) -> Floats:
    """Launches [node and launch, cell] less their node's median, as wide as of endless launches."""
    nodes, cells, launches = logs.shape
    normal = drawn.standard_normal((_NORMAL, launches))
    normal -= np.median(normal, axis=1, keepdims=True)
    wider = 1.0 / float(np.sqrt(np.mean(normal**2)))
    with np.errstate(invalid="ignore"):
        away = (logs - np.nanmedian(logs, axis=2, keepdims=True)) * wider
    rows = np.moveaxis(away, 2, 1).reshape(nodes * launches, cells)
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


def _made(
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
        made = compare(np.where(there, np.exp(values), np.nan), resources, _known_kinds(fleet))
        found[place] = float(np.nanmin(made.p_nodes)) if np.isfinite(made.p_nodes).any() else 1.0
    return found


def _known_kinds(fleet: Fleet) -> Ints | None:
    return fleet.kinds if fleet.kinds.max(initial=0) else None
