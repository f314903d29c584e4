"""The choice among architectures with uncertain figures.

Every uncertain figure is drawn from a log-normal distribution with its median and spread. A part's
figure is drawn once for all architectures that use the part. In each draw, every architecture gets
the number of nodes that the budget then allows, and the best architecture is found. A price thus
counts through the number of nodes that it allows, as with real offers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats
from assay.design.architecture import Architecture
from assay.design.candidates import Builder, PriceFactors
from assay.design.figures import PartFigure
from assay.design.search import BUDGET, TOTAL, combined, objective, within
from assay.design.spec.model import DesignSpec
from assay.design.workload import LINPACK, model_spread, most_rate, needs_rate, times

# Architectures with a score below this share of the best score are not drawn.
LEAST_SHARE = 0.5
MOST_DRAWN = 60
# Relative difference within which architectures count as equally good.
EQUAL = 0.02
_MONEY = (BUDGET, TOTAL)
_BINS = 10  # number of bins of a figure's draws, for the value of knowing it


@dataclass(frozen=True)
class Input:
    """One uncertain input: ``what`` of ``part``. ``figure`` is None for the error of the model."""

    part: str
    what: str
    figure: PartFigure | None


@dataclass(frozen=True)
class InputValue:
    """The value of knowing one uncertain input before the choice."""

    input: Input
    #: Relative increase of the expected rate if the input were known before the choice.
    gain: float
    #: Share of draws in which the input's bins prefer another architecture than the architecture
    #: that is best on average.
    changes: float


@dataclass(frozen=True)
class ArchitectureChoice:
    """The choice among architectures: their draws, probabilities and decisive inputs."""

    architectures: tuple[int, ...]
    #: Scores of each architecture (rows) in each draw; 0 if none of its sizes meets the limits.
    scores: Floats
    #: Probability that the architecture is within ``EQUAL`` of the best. ``expected``: mean
    #: logarithm of its score relative to the best score.
    likely: Floats
    #: Uncertain inputs, the largest gain first.
    values: tuple[InputValue, ...]


class Draws:
    """Draws of every input, made when first needed, from one seeded generator per input."""

    def __init__(self, number: int, seed: int) -> None:
        self._number = number
        self._seed = seed
        self.inputs: dict[tuple[str, str], Input] = {}
        self.factors: dict[tuple[str, str], Floats] = {}

    def factor(self, part: str, what: str, figure: PartFigure | None, spread: float) -> Floats:
        """Factors on the input, with median 1; the same in every call."""
        key = (part, what)
        if key not in self.factors:
            words = [ord(letter) for letter in f"{part}\n{what}"]
            generator = np.random.default_rng([self._seed, *words])
            self.factors[key] = np.exp(spread * generator.standard_normal(self._number))
            self.inputs[key] = Input(part, what, figure)
        return self.factors[key]

    def of(self, part: str, what: str, figure: PartFigure) -> Floats:
        """The factors on a figure."""
        return self.factor(part, what, figure, figure.spread)


def prices_of(one: Architecture, draws: Draws, spec: DesignSpec) -> PriceFactors:
    """Draws of an architecture's prices."""
    none = np.ones(1)
    room = spec.catalogue.room
    device, store, costs = one.accelerator, one.storage, spec.costs
    return PriceFactors(
        node=draws.of(one.host.name, "price", one.host.price),
        accelerator=draws.of(device.name, "price", device.price) if device else none,
        kit=draws.of(one.kit.name, "price", one.kit.price) if one.kit else none,
        disk=draws.of(one.disk.name, "price", one.disk.price) if one.disk else none,
        network=draws.of(one.network.name, "price", one.network.adapter),
        storage=draws.of(store.name, "price", store.price) if store else none,
        room=draws.of("room", "price", room.rack),
        energy=draws.of("energy", "price", costs.energy) if costs else none,
    )


def drawn_rates(
    spec: DesignSpec,
    builder: Builder,
    one: Architecture,
    count: NDArray[np.int64],
    draws: Draws,
) -> dict[str, Floats]:
    """Rates of each workload on ``count`` nodes (one number per draw), from drawn figures."""
    node, network = one.node, one.network
    rates = {}
    for name in spec.workload:
        known = builder.machines(one, count, name)
        bandwidth = draws.of(network.name, "bandwidth", network.bandwidth)
        rate = known.rate
        if needs_rate(name):
            part = one.rated_for(name)
            rate = rate * draws.of(part, f"rate of {name}", node.rates[name])
        error = _model_error(name, one, draws)
        machines = replace(
            known,
            dgemm=known.dgemm * draws.of(one.rated, "dgemm", node.dgemm),
            bandwidth=known.bandwidth * draws.of(one.rated, "bandwidth", node.bandwidth),
            rate=rate,
            latency=known.latency * draws.of(network.name, "latency", network.latency),
            link=known.link * bandwidth,
            bisection=known.bisection * bandwidth,
            drawn=_slowest(one, draws),
            error=error,
        )
        drawn = times(name, machines).rate
        if name != LINPACK:  # its rate has the error already, which depends on the nodes
            spread = model_spread(name, spec.jobs.get(name))
            drawn = np.minimum(drawn * np.exp(spread * error), most_rate(name, machines))
        rates[name] = drawn
    return rates


def decide(
    spec: DesignSpec,
    builder: Builder,
    architectures: Sequence[Architecture],
    best: Mapping[int, tuple[int, float]],
) -> ArchitectureChoice:
    """The decision among the architectures of ``best`` (index → number of nodes and score)."""
    top = max(score for _, score in best.values())
    drawn = sorted(best, key=lambda index: -best[index][1])
    drawn = [index for index in drawn if best[index][1] >= LEAST_SHARE * top][:MOST_DRAWN]
    draws = Draws(spec.draws, spec.seed)
    rows = []
    for index in drawn:
        one = architectures[index]
        count = _affordable(spec, builder, one, best[index][0], draws)
        some = np.maximum(count, 1)
        rate = combined(spec, drawn_rates(spec, builder, one, some, draws))
        total = builder.bill(one, some, prices_of(one, draws, spec)).total
        score = objective(spec, rate, total)
        rows.append(np.where(count > 0, score, 0.0))
    scores = np.array(rows)
    winner = np.max(scores, axis=0)
    likely = np.mean(scores >= (1.0 - EQUAL) * winner, axis=1)
    return ArchitectureChoice(tuple(drawn), scores, likely, _values(scores, draws))


def _affordable(
    spec: DesignSpec, builder: Builder, one: Architecture, nominal: int, draws: Draws
) -> NDArray[np.int64]:
    """The number of nodes in each draw: the maximum that the drawn prices allow.

    If something other than the budget limits the number, it stays at most the best number at the
    catalogue's prices. 0 if no node is affordable.
    """
    limits = spec.limits
    every = np.arange(limits.least, limits.most + 1, dtype=np.int64)
    quoted = builder.bill(one, every, PriceFactors.as_quoted())
    tests = within(spec, builder, one, quoted, every)
    allowed = np.logical_and.reduce([flags for name, flags in tests.items() if name not in _MONEY])
    if not np.isfinite(min(limits.budget, limits.total_cost)):
        return np.full(spec.draws, nominal)
    possible = every[allowed]
    if len(possible) == 0:
        return np.zeros(spec.draws, dtype=np.int64)
    # The nominal number is the best number within the budget. If more nodes would be affordable, it
    # is best for another reason and stays.
    affordable = every[allowed & tests[BUDGET] & tests[TOTAL]]
    if len(affordable) and nominal < affordable[-1]:
        possible = possible[possible <= nominal]
    prices = prices_of(one, draws, spec)
    low = np.full(spec.draws, -1, dtype=np.int64)
    high = np.full(spec.draws, len(possible), dtype=np.int64)
    for _ in range(int(np.ceil(np.log2(len(possible) + 1))) + 1):
        middle = (low + high) // 2
        inner = np.clip(middle, 0, len(possible) - 1)
        bill = builder.bill(one, possible[inner], prices)
        fits = (bill.price <= limits.budget) & (bill.total <= limits.total_cost) & (middle >= 0)
        open_ = high - low > 1
        low = np.where(open_ & fits, middle, low)
        high = np.where(open_ & ~fits, middle, high)
    return np.where(low >= 0, possible[np.maximum(low, 0)], 0)


def _slowest(one: Architecture, draws: Draws) -> Floats | None:
    """Standard normal draws of the slowness of the slowest node; None if all nodes are equal."""
    if one.node.between_nodes <= 0.0:
        return None
    return np.log(draws.factor(one.node.name, "slowest node", None, 1.0))


def _model_error(name: str, one: Architecture, draws: Draws) -> Floats:
    """The model's own error, standard normal: half of its variance is the node's, half the
    interconnect's."""
    half = math.sqrt(0.5)
    node = draws.factor(one.rated, f"model of {name}", None, half)
    network = draws.factor(one.network.name, f"model of {name}", None, half)
    return np.asarray(np.log(node * network))


def _values(scores: Floats, draws: Draws) -> tuple[InputValue, ...]:
    """The value of knowing each input.

    It is the expected value of partial perfect information, by bins of the input's draws (Strong &
    Oakley 2013, 2), minus the value that the same bins give in random order.
    """
    possible = np.all(scores > 0.0, axis=1)
    if np.sum(possible) < 2:
        return ()
    logs = np.log(scores[possible])
    logs = logs - np.max(logs, axis=0)
    number = logs.shape[1]
    mean = np.mean(logs, axis=1)
    chosen = int(np.argmax(mean))
    shuffled = np.random.default_rng(0).permutation(number)
    found = []
    for key, factors in draws.factors.items():
        order = np.argsort(factors, kind="stable")
        if factors[order[0]] == factors[order[-1]]:
            continue
        gain, changes = _gain(logs[:, order], float(mean[chosen]), chosen)
        chance, _ = _gain(logs[:, shuffled], float(mean[chosen]), chosen)
        found.append(InputValue(draws.inputs[key], max(gain - chance, 0.0), changes))
    return tuple(sorted(found, key=lambda value: (-value.gain, value.input.part)))


def _gain(ordered: Floats, without: float, chosen: int) -> tuple[float, float]:
    bins = np.array_split(ordered, _BINS, axis=1)
    means = [np.mean(part, axis=1) for part in bins]
    weights = [part.shape[1] / ordered.shape[1] for part in bins]
    known = sum(w * float(np.max(m)) for w, m in zip(weights, means, strict=True))
    changes = sum(w for w, m in zip(weights, means, strict=True) if int(np.argmax(m)) != chosen)
    return float(np.expm1(known - without)), changes
