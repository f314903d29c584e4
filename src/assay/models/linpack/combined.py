"""One prediction of Linpack on clusters of equal nodes, from what each source can tell.

- **Listed systems** of the kind (``listed``) give the level: the share of the peak that systems of
  this size, order, network and year reached. Parts are described, not named, so the prediction is
  the one without names, and so is its error.
- **The closed form** (``time.py``) contributes what lists don't state, as a ratio of two of its
  rates: a thin middle of the network, and nodes of unequal speed. It stands alone for one node,
  which no list has; from there to ``LISTED_NODES`` nodes its weight goes to 0 with the logarithm.
- **DGEMM and peak** of all nodes bound the rate. The log-normal distribution of the prediction is
  truncated there, so that neither the median nor an interval lies beyond.

docs/methods/machine.md has the weights that the closed form gets beside listed systems, measured on
families that no fit had seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from assay.arrays import Floats
from assay.models.linpack.listed.names import (
    UNKNOWN,
    ListedSystem,
    SystemNames,
    described_network,
)
from assay.models.linpack.listed.prediction import group_of, listed_model, width_of
from assay.models.linpack.time import FILL, fitted_coefficients

# Number of nodes from which only listed systems give the level.
LISTED_NODES = 16
# No core of a processor reaches this peak (flop/s): such a node has accelerators.
_CORE_PEAK = 1.5e11
# Peak of a core as lists count them, in the median of systems with accelerators since 2018: a core
# of an accelerator is one of its multiprocessors.
_LISTED_CORE_PEAK = 8.5e10
# Half-width of a normal 90% interval in standard deviations.
_NINETY = 1.6448536269514722
_POINTS = 8  # numbers of nodes per doubling at which listed systems are asked
# Years of the lists.
_FIRST, _LAST = 1993, 2021


@dataclass(frozen=True)
class DescribedNode:
    """A node and its network, as a list would state them."""

    #: Processors and cores of a node.
    sockets: int
    cores: int
    #: flop/s and bytes.
    peak: float
    memory: float
    year: int
    #: Names of the network.
    network: str
    #: Rate of a node's adapters (B/s) and latency of a message between neighbours (s).
    rate: float
    latency: float

    @property
    def accelerated(self) -> bool:
        """Whether the node has accelerators, by the peak of a core."""
        return self.peak / self.cores > _CORE_PEAK


@dataclass(frozen=True)
class ListedCurve:
    """The rate that listed systems of the kind reached, by number of nodes."""

    #: ``nodes``, ``rate``: logarithms of numbers of nodes and rates (flop/s); both increase.
    nodes: Floats
    rate: Floats
    #: Standard deviation of the logarithm of the rate.
    spread: float

    def at(self, nodes: Floats) -> Floats:
        """log of the rate on numbers of nodes."""
        return np.asarray(np.interp(np.log(nodes), self.nodes, self.rate))


def listed_curve(node: DescribedNode, most: int) -> ListedCurve:
    """The curve for 1 to ``most`` nodes.

    Trees step up and down. More nodes of a kind are never slower, so the rate is the largest up to
    each number of nodes.
    """
    points = 2 + math.ceil(_POINTS * math.log2(max(most, 2)))
    counts = np.geomspace(1.0, float(max(most, 2)), points)
    peak_of_core = _LISTED_CORE_PEAK if node.accelerated else node.peak / node.cores
    systems = [
        ListedSystem(
            cores=max(round(count * node.peak / peak_of_core), 1),
            peak=count * node.peak,
            year=min(max(node.year, _FIRST), _LAST),
            computer="",
            order=round(math.sqrt(FILL * count * node.memory / 8.0)),
        )
        for count in counts
    ]
    names = SystemNames(
        network=described_network(node.network, node.rate),
        latency=node.latency,
        rate=node.rate,
        processor="",
        accelerator="" if node.accelerated else UNKNOWN,
        maker="",
        clock=None,
        cores_per_chip=None if node.accelerated else max(node.cores // node.sockets, 1),
        words=frozenset(),
    )
    model = listed_model()
    efficiency, _ = model.logs(systems, [names] * points)
    rate = np.log(counts * node.peak) + np.minimum(efficiency, 0.0)
    width = width_of(model.unnamed_widths, group_of(systems[0], names))
    return ListedCurve(np.log(counts), np.maximum.accumulate(rate), width / _NINETY)


@dataclass(frozen=True)
class LinpackSources:
    """What the sources tell about clusters, as arrays that broadcast to one shape; flop/s."""

    nodes: Floats
    #: Rate of the closed form.
    closed: Floats
    #: Its rate with equal nodes and full bandwidth between all halves, as lists see a cluster.
    as_listed: Floats
    curve: ListedCurve
    #: A rate that the clusters can't exceed.
    bound: Floats

    @property
    def weight(self) -> Floats:
        """Weight of the listed systems in the logarithm; the rest is the closed form's."""
        return np.asarray(np.clip(np.log(self.nodes) / math.log(LISTED_NODES), 0.0, 1.0))

    @property
    def listed(self) -> Floats:
        """Rate by the listed systems, with the effects that only the closed form knows."""
        return np.asarray(np.exp(self.curve.at(self.nodes)) * self.closed / self.as_listed)

    def rate(self, error: Floats) -> Floats:
        """The prediction. ``error``: standard normal numbers; 0 for the median."""
        weight = self.weight
        level = weight * np.log(self.listed) + (1.0 - weight) * np.log(self.closed)
        own = fitted_coefficients().width_rate / _NINETY
        spread = weight * self.curve.spread + (1.0 - weight) * own
        below = log_ndtr((np.log(self.bound) - level) / spread)
        found = level + spread * ndtri_exp(log_ndtr(error) + below)
        return np.asarray(np.minimum(np.exp(found), self.bound))
