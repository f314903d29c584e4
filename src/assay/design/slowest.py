"""The slowdown of steps that end with the slowest of several nodes.

Speeds are log-normal, as in ``assay.simulation``. They vary between nodes (constant during a run)
and between the steps of a node. A code whose nodes wait for each other in each step runs at the
speed of the slowest node of the cluster, and additionally loses the maximum over the nodes of the
variation between steps. The maximum of n normal numbers has the median z(2^(-1/n)); its mean is
approximated by z((n - 3/8) / (n + 1/4)) (Blom 1958).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from assay.arrays import Floats


def slowest_factor(
    nodes: Floats, between_nodes: float, over_time: float, drawn: Floats | None = None
) -> Floats:
    """The factor on the time of computing on ``nodes`` nodes; the median is 1 for one node.

    ``drawn``: standard normal numbers, one per draw of the cluster's nodes; None for the median.
    """
    count = np.maximum(np.asarray(nodes, dtype=np.float64), 1.0)
    level = 0.5 if drawn is None else ndtr(drawn)
    slowest = ndtri(level ** (1.0 / count))
    if drawn is None:
        slowest = np.maximum(slowest, 0.0)
    in_a_step = ndtri((count - 0.375) / (count + 0.25))
    return np.asarray(np.exp(between_nodes * slowest + over_time * in_a_step))
