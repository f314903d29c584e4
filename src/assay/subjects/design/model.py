"""Findings of a design: clusters, the probability that each is best, and decisive inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

DESIGN_SCHEMA = 1


@dataclass(frozen=True)
class RateSource:
    """One source of a predicted rate."""

    #: Name of the source.
    name: str
    #: Rate by this source, in the unit of the prediction.
    rate: float
    #: Weight in the logarithm of the prediction; None for a rate that only bounds it.
    weight: float | None


@dataclass(frozen=True)
class PredictedRate:
    """The predicted rate of a ``workload`` on one cluster."""

    #: Name of the workload.
    workload: str
    #: Unit of the rate.
    unit: str
    #: Rate in ``unit``. Its 95% ``interval`` reflects the uncertainty of the figures and the model.
    rate: float
    #: 95% interval; None where there is none.
    interval: tuple[float, float]
    #: Share of the time by activity.
    shares: dict[str, float]
    #: Activity with the largest share.
    limit: str
    #: Sources of the rate, if there are several.
    sources: list[RateSource] = field(default_factory=list)


@dataclass(frozen=True)
class BillLine:
    """A line of the parts list: ``number`` pieces of ``part`` at ``price`` each.

    If ``number`` is 0, ``price`` is the total for the cluster.
    """

    #: Name of the part.
    part: str
    #: Number of pieces; 0 if the price is the total for the cluster.
    number: int
    #: Price of one piece, or the total if ``number`` is 0.
    price: float
    #: Whether the price is measured, quoted or assumed.
    kind: str
    #: ``source``, ``date``: source and date of the price.
    source: str
    date: str


@dataclass(frozen=True)
class DesignPlace:
    """The place of the predicted Linpack rate on a TOP500 list."""

    #: Date of the list.
    date: str
    #: Rank on the list; None if the rate is below the whole list.
    rank: int | None


@dataclass(frozen=True)
class OwnKindPlace:
    """The place of the predicted Linpack rate among listed systems of one kind."""

    #: Date of the last list that would include the cluster.
    date: str
    #: Kind of system, such as "systems with AMD processors".
    kind: str
    #: Rank among the listed systems known as this kind.
    rank: int
    #: Number of listed systems known as this kind.
    of: int
    #: Number of faster systems of unknown kind, which may lower the rank.
    unknown: int


@dataclass(frozen=True)
class DesignedCluster:
    """One cluster of the shortlist: the best number of nodes of its architecture."""

    #: Node, memory, disk and interconnect.
    name: str
    #: Number of working nodes.
    nodes: int
    #: Number of spare nodes, which are also bought.
    spares: int
    #: Weighted geometric mean of the rates, relative to the best cluster's.
    score: float
    #: Probability that its architecture is within 2% of the best, given the uncertainty.
    likely: float
    #: Price in the currency of the design.
    price: float
    #: Power, W.
    power: float
    #: Number of racks.
    racks: int
    #: Floor space, m².
    floor: float
    #: Total number of cores.
    cores: int
    #: Total memory, bytes.
    memory: float
    #: ``memory_balance``, ``network_balance``: bandwidth of memory and of the adapters, in byte/s
    #: per flop/s of DGEMM.
    memory_balance: float
    network_balance: float
    #: Mean number of hops between two nodes.
    hops: float
    #: Kind and size of the topology.
    topology: str
    #: Predicted rates, by workload.
    rates: list[PredictedRate]
    #: The parts list.
    bill: list[BillLine]
    #: Price per Gflop/s of Linpack; null if Linpack is not a workload.
    price_per_gflops: float | None
    #: Places on TOP500 lists.
    places: list[DesignPlace]
    #: Places among listed systems with the same kind of processor and interconnect (judged by the
    #: names of the parts), and among self-made systems.
    own_kinds: list[OwnKindPlace] = field(default_factory=list)


@dataclass(frozen=True)
class FrontPoint:
    """A cluster of the Pareto front: no other is cheaper, draws less power and is as fast."""

    #: Node, memory, disk and interconnect.
    name: str
    #: Name of the interconnect.
    interconnect: str
    #: Number of nodes.
    nodes: int
    #: Price of the cluster.
    price: float
    #: Power, W.
    power: float
    #: Rate relative to the best cluster that meets the limits.
    score: float


@dataclass(frozen=True)
class UncertainInput:
    """An uncertain figure, and what it would be worth to know it before the choice.

    The figure is ``what`` of ``part``.
    """

    #: Name of the part.
    part: str
    #: The uncertain figure of the part.
    what: str
    #: Relative increase of the expected rate if the figure were known.
    gain: float
    #: Share of the figure's range in which another architecture is better.
    changes: float
    #: ``value``, ``interval``: value in the catalogue and its interval; None for the error of the
    #: model.
    value: float | None
    interval: tuple[float, float] | None
    #: Origin of the figure: measured, quoted, assumed or model.
    kind: str
    #: File and line that state the figure.
    where: str
    #: Command that would measure the figure; "" if there is none.
    measure: str


@dataclass(frozen=True)
class ClusterDesign:
    """Findings of a design."""

    #: Version of these findings.
    schema: int
    #: ``title``, ``file``: title and file of the specification.
    title: str
    #: Time of the evaluation, Unix time (s).
    utc: float
    file: str
    #: Currency of all prices.
    currency: str
    #: Maximum price in ``currency``; None if it is not limited.
    budget: float | None
    #: Weight of each workload.
    workload: dict[str, float]
    #: Number of clusters considered.
    considered: int
    #: Number of clusters that meet the limits.
    possible: int
    #: Number of clusters that each limit excludes.
    excluded: dict[str, int]
    #: The shortlist, best first.
    best: list[DesignedCluster]
    #: The Pareto front, by price.
    front: list[FrontPoint]
    #: Uncertain figures, in order of the gain from knowing them.
    inputs: list[UncertainInput]
    #: Best rate with a 10% higher budget, relative to the best cluster; None without a budget.
    more: float | None
    #: Number of random draws of the uncertain figures.
    draws: int
    #: Seed of the draws.
    seed: int
    #: Number of figures used.
    figures: int
    #: Number of the figures used that are assumed.
    assumed: int
    #: Sentences on limits of these findings.
    unknown: list[str]
