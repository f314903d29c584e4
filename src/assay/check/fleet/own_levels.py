"""Nodes whose present level lies below their own earlier one.

A node's file keeps the mean of its first checks since the baseline was learned. Trends in its
recent checks show a fast decline; against this mean a slow one shows, too. The fleet's median
change is removed. The scale is the larger of two: the spread of all nodes' changes, which contains
what rooms and seasons do to single nodes, and the scatter of checks that the baseline learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from scipy.special import ndtr

from assay.arrays import Floats
from assay.check.decision.model import NodeState
from assay.check.fleet.baselines import UsualLevel
from assay.check.fleet.decline import (
    FEWEST_CHECKS,
    FEWEST_NODES,
    LEAST,
    RECENT,
    ComponentSeries,
    NodeDecline,
    significant,
)
from assay.check.fleet.model import FleetNode
from assay.decoding import UNREADABLE

# The median of n normal values has π/2 times the variance of their mean; and the factor from a
# median absolute deviation to a standard deviation (Rousseeuw and Croux, 1993).
_MEDIAN_VARIANCE, _TO_DEVIATION = math.pi / 2, 1.4826


def own_declines(
    nodes: Sequence[FleetNode],
    series: Sequence[ComponentSeries],
    usual: Mapping[tuple[str, str], UsualLevel],
    level: float,
) -> list[NodeDecline]:
    """The nodes below their own earlier level, the largest change first.

    ``usual``: by kind and component. ``level``: share of false ones among those named.
    """
    states = {node.host: _state(node) for node in nodes}
    by_host = {node.host: node for node in nodes}
    found, tests = [], 0
    for each in series:
        learned = usual.get((each.kind, each.component))
        # In two modes a median may be of either, and says little about a decline.
        if learned is None or learned.modes or len(each.hosts) < FEWEST_NODES:
            continue
        kept = [states[host].series.get(each.component) for host in each.hosts]
        counts = np.array([0 if one is None else one.checks for one in kept])
        own = np.array([math.nan if one is None else -one.level for one in kept])
        usable = (counts >= FEWEST_CHECKS) & (each.counts >= RECENT)
        if usable.sum() < FEWEST_NODES:
            continue
        shifts = np.where(usable, each.levels() - own, np.nan)
        shifts -= np.nanmedian(shifts)
        spread = _TO_DEVIATION * float(np.nanmedian(np.abs(shifts)))
        errors = np.sqrt(_MEDIAN_VARIANCE / RECENT + 1.0 / np.maximum(counts, 1))
        scale: Floats = np.maximum(spread, learned.scatter * errors)
        p = ndtr(shifts / scale)
        tests += int(usable.sum())
        for row in np.flatnonzero(usable & (shifts < math.log1p(-LEAST))):
            node = by_host[each.hosts[row]]
            found.append(
                NodeDecline(
                    host=node.host,
                    kind=each.kind,
                    component=each.component,
                    change=math.expm1(float(shifts[row])),
                    first=node.header.since,
                    last=node.records[-1].utc,
                    checks=node.header.healthy + node.header.unhealthy,
                    probability=float(p[row]),
                )
            )
    return significant(found, tests, level)


def _state(node: FleetNode) -> NodeState:
    try:
        state = node.header.state
        return msgspec.msgpack.decode(state, type=NodeState) if state else NodeState()
    except UNREADABLE:
        return NodeState()
