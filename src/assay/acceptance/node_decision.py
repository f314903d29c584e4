"""The decision on a promise that a share of the nodes must meet.

A node's value is the median of its launches. Few launches of one node don't show how far its median
is from the node's true value, but the launches of all nodes together do: their deviations from the
medians of their nodes are the noise of a launch. A node is slow if noise would bring its median so
far below the promised value with a small probability only, and good if noise would bring it so far
above the value that is worse by the margin with a small probability only. The risks are
divided by the number of nodes, so that any node is judged wrongly with the stated risk at most. The
nodes that were not measured are bounded by the hypergeometric distribution (``sampling``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.acceptance.boundaries import looks_of
from assay.acceptance.contract import PromisedRange
from assay.acceptance.decision import Outcome
from assay.acceptance.sampling import allowed_bad, at_most_found, most_bad
from assay.arrays import Floats
from assay.stats.cells.dependence import NEEDED, LaunchSeries, dependence_limits
from assay.stats.cells.expected_coverage import UNKNOWN
from assay.stats.core.launches import ENOUGH, autoregressive_size, dependence_of

# Standard errors that are added to an autocorrelation of the nodes' own launches, as for the
# interval of one cell; and those added to a number of deviations beyond a limit (its 90% limit).
_ADDED, _UNSURE = 1.5, 1.28
# Simulated machines, and those of them that may be undecided. A plan needs no exact share.
_MACHINES, _UNDECIDED = 20, 1
# Above this number of launches the formula counts.
_MOST = 46
# Nodes that are simulated at most: more of them make estimates better, and simulations slower.
_MOST_NODES = 64


@dataclass(frozen=True)
class PoorNode:
    """A node that is worse than promised."""

    #: Name of the node.
    node: str
    #: Median of its launches, in the metric's unit, and its launches.
    value: float
    #: Number of its launches.
    launches: int


@dataclass(frozen=True)
class NodeDecision:
    """The decision on a promise about nodes."""

    #: Verdict on the nodes.
    outcome: Outcome
    #: Number of measured nodes.
    sample: int
    #: Number of all nodes of the machine.
    nodes: int
    #: Number of nodes that may miss the promise.
    allowed: int
    #: The nodes that are worse than promised, the worst first.
    slow: list[PoorNode]
    #: Number of measured nodes that may be worse by the margin.
    doubtful: int
    #: Maximum number of nodes of the machine that are worse by the margin, with the buyer's risk.
    bound: int
    #: Fewest launches of a node.
    launches: int
    #: Autocorrelation of successive launches, of all nodes.
    autocorrelation: float


def decide_nodes(
    values: Mapping[str, Floats],
    limits: PromisedRange,
    margin: float,
    share: float,
    nodes: int,
    supplier: float,
    buyer: float,
) -> NodeDecision:
    """Decide on a promise by the nodes' launches, positive and in the unit of ``limits``.

    ``values``: at least one node with its launches in order of time. ``share``: of ``nodes``, that
    must meet the promise. ``supplier``, ``buyer``: the risks.
    """
    logs = {name: np.log(each) for name, each in values.items()}
    autocorrelation = _autocorrelation(list(logs.values()))
    noise = _Noise(list(logs.values()), autocorrelation)
    sample = len(logs)
    whole = sample >= nodes
    # Half of each risk is for the nodes that are judged, half for those that are not measured.
    part = (1.0 if whole else 0.5) / sample
    slow, doubtful = [], 0
    for name, each in logs.items():
        median = float(np.median(each))
        below, above = noise.chances(median, int(each.size), limits, margin)
        if below <= supplier * part:
            slow.append(PoorNode(name, float(np.median(values[name])), int(each.size)))
        if above > buyer * part:
            doubtful += 1
    allowed = allowed_bad(share, nodes)
    bound = doubtful if whole else most_bad(doubtful, sample, nodes, buyer / 2.0)
    outcome: Outcome = "undecided"
    if _too_many(len(slow), sample, nodes, allowed, supplier / 2.0):
        outcome = "rejected"
    elif bound <= allowed:
        outcome = "accepted"
    centre = limits.value
    return NodeDecision(
        outcome=outcome,
        sample=sample,
        nodes=nodes,
        allowed=allowed,
        slow=sorted(slow, key=lambda each: -abs(math.log(each.value / centre))),
        doubtful=doubtful,
        bound=bound,
        launches=min(int(each.size) for each in logs.values()),
        autocorrelation=autocorrelation,
    )


def _too_many(slow: int, sample: int, nodes: int, allowed: int, risk: float) -> bool:
    """Whether this number of slow nodes shows that the machine has more than it may have."""
    if slow > allowed:
        return True
    if slow == 0 or sample >= nodes:
        return False
    return 1.0 - at_most_found(allowed, slow - 1, sample, nodes) <= risk


def _autocorrelation(logs: list[Floats]) -> float:
    """What successive launches of a node may depend on each other: by the other nodes, if there
    are enough, or else by the node's own launches. Few launches of few nodes show nothing.
    """
    series = [LaunchSeries(range(each.size), each) for each in logs]
    limits = dependence_limits(series)
    if all(limit.cells >= NEEDED for limit in limits):
        return max(limit.autocorrelation for limit in limits)
    if min(each.size for each in logs) >= ENOUGH:
        return dependence_of(*logs, added=_ADDED)
    return UNKNOWN


class _Noise:
    """The deviations of launches from the true values of their nodes, of all nodes together."""

    def __init__(self, logs: list[Floats], autocorrelation: float) -> None:
        parts = [
            (each - np.median(each)) * _following(int(each.size), autocorrelation)
            for each in logs
            if each.size > 1
        ]
        self._deviations = np.sort(np.concatenate([np.empty(0), *parts]))
        self._autocorrelation = autocorrelation

    def chances(
        self, median: float, launches: int, limits: PromisedRange, margin: float
    ) -> tuple[float, float]:
        """Probabilities that a median this bad comes from a node that is as promised, and that one
        this good comes from a node that is worse by the margin.

        For a range, the smaller one of its two ends, doubled, and the greater one.
        """
        below, above = [], []
        if limits.low is not None:
            low = math.log(limits.low)
            below.append(self._down(median - low, launches))
            above.append(self._up(median - low - math.log1p(-margin), launches))
        if limits.high is not None:
            high = math.log(limits.high)
            below.append(self._up(median - high, launches))
            above.append(self._down(median - high - math.log1p(margin), launches))
        return min(len(below) * min(below), 1.0), max(above)

    def _down(self, by: float, launches: int) -> float:
        """The probability that noise moves a median by ``by`` or less (a negative number)."""
        return self._median(int(np.searchsorted(self._deviations, by, side="right")), launches)

    def _up(self, by: float, launches: int) -> float:
        """The probability that noise moves a median by ``by`` or more."""
        below = int(np.searchsorted(self._deviations, by, side="left"))
        return self._median(self._deviations.size - below, launches)

    def _median(self, beyond: int, launches: int) -> float:
        """The probability that half of the launches are beyond, if ``beyond`` deviations are."""
        from scipy.special import betainc

        beyond_at_most = beyond + 1.0 + _UNSURE * math.sqrt(beyond)
        share = min(beyond_at_most / (self._deviations.size + 1.0), 1.0)
        worth = max(autoregressive_size(launches, self._autocorrelation), 1.0)
        # The binomial tail of half of ``worth`` or more, also between whole numbers.
        return float(betainc(worth / 2.0, worth / 2.0 + 1.0, share))


def _following(launches: int, rho: float) -> float:
    """How much smaller the deviations from a median are because it follows the launches.

    The variance of deviations from the mean of n values is 1 - 1/w times theirs, where w is the
    number of independent values whose mean varies as much.
    """
    lags = np.arange(1, launches)
    alike = 1.0 + 2.0 * float(np.sum((1.0 - lags / launches) * rho**lags))
    return 1.0 / math.sqrt(1.0 - alike / launches)


@dataclass(frozen=True)
class NodesPlan:
    """How many launches of each node decide a commitment per node, by simulation.

    What noise is, and whether launches depend on each other, is estimated from the nodes' launches
    themselves. How good these estimates are has no formula.
    """

    nodes: int
    sample: int
    margin: float
    #: Coefficient of variation between launches of a node.
    variation: float
    supplier: float
    buyer: float

    def launches(self, fewest: int) -> int:
        """The launches at which 95% of machines exactly as promised are accepted.

        ``fewest``: what the formula says for known noise.
        """
        candidates = [fewest, *(size for size in looks_of(_MOST) if size > fewest)]
        return next((size for size in candidates if self._decides(size)), max(candidates))

    def _decides(self, launches: int) -> bool:
        undecided = 0
        for seed in range(_MACHINES):
            undecided += not self.is_accepted(np.random.default_rng(seed), launches)
            if undecided > _UNDECIDED:
                return False
        return True

    def is_accepted(self, rng: np.random.Generator, launches: int) -> bool:
        """Whether a simulated machine that is exactly as promised is accepted."""
        count = min(self.sample, _MOST_NODES)
        part = count / self.sample
        values = np.exp(self.variation * rng.standard_normal((count, launches)))
        found = decide_nodes(
            values={str(node): each for node, each in enumerate(values)},
            limits=PromisedRange(None, 1.0),
            margin=self.margin,
            share=1.0,
            nodes=count,
            supplier=self.supplier * part,
            buyer=self.buyer * part * (1.0 if self.sample >= self.nodes else 0.5),
        )
        return found.outcome == "accepted"
