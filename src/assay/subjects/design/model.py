"""Findings of a design: clusters, the probability that each is best, and decisive inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

DESIGN_SCHEMA = 2


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
class CostLine:
    """Costs of a cluster's use, in the currency of the design."""

    #: What is paid for.
    what: str
    #: Costs of a year.
    per_year: float
    #: Costs of all years, discounted to the purchase.
    whole: float
    #: Whether the figure is measured, quoted or assumed; "stated" for a number without an origin.
    kind: str
    #: How the costs are computed.
    note: str


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
class SharedStorage:
    """The storage that all nodes share."""

    #: Name of the part.
    name: str
    #: Number of systems.
    number: int
    #: Capacity, bytes.
    capacity: float
    #: Predicted bandwidth of all nodes together, B/s.
    bandwidth: float
    #: What limits the bandwidth: the storage or the adapters.
    limit: str
    #: Number of files and directories.
    inodes: float


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
    #: Probability that its architecture is within 2% of the best, given the uncertainty; None if
    #: it is the only one that meets the limits.
    likely: float | None
    #: Price of the purchase in the currency of the design.
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
    #: Rate relative to the best rate of the shortlist; differs from ``score`` if the design
    #: maximises the rate per cost.
    rate: float = 1.0
    #: ``yearly``, ``total``: costs of a year of use; price and costs of all years. None without
    #: ``[costs]``.
    yearly: float | None = None
    total: float | None = None
    #: Costs of use by kind.
    costs: list[CostLine] = field(default_factory=list)
    #: Number of accelerators that work.
    accelerators: int = 0
    #: Their memory, bytes.
    accelerator_memory: float = 0.0
    #: Number of accelerators that are spare.
    spare_accelerators: int = 0
    #: Memory channels of a node; 0 if not stated.
    channels: int = 0
    #: Mean power of a rack, W.
    rack_power: float = 0.0
    #: Limit of a rack's power by supply and cooling (W); None if not limited.
    rack_limit: float | None = None
    #: Storage that all nodes share; None if none is required.
    storage: SharedStorage | None = None
    #: Share of the price that rests on assumed figures.
    assumed: float = 0.0


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
class RentedNodes:
    """Rented instances that replace the best cluster."""

    #: Name of the instance.
    name: str
    #: Number of instances; None if the maximum number is slower than the cluster.
    number: int | None
    #: Maximum number of instances.
    most: int
    #: Price of all instances per hour.
    hour: float | None
    #: Utilisation of the bought cluster at which both cost the same; null if renting is always
    #: cheaper or there are too few instances.
    break_even: float | None
    #: 95% interval; null at an end at which renting is always cheaper.
    interval: tuple[float | None, float | None] | None
    #: Probability that buying is cheaper at the stated load.
    buying: float | None
    #: File and line of the price.
    where: str


@dataclass(frozen=True)
class EndingOffer:
    """An offer that ends soon after the day of the choice."""

    #: Name of the vendor, or of the catalogue's file.
    vendor: str
    #: Last day on which the prices hold.
    expires: str
    #: File and line that state this day.
    where: str


@dataclass(frozen=True)
class DesignLot:
    """A division of the budget into two lots."""

    #: Share of the budget for the first lot.
    share: float
    #: ``first``, ``second``: clusters of the lots; "" if nothing is bought.
    first: str
    second: str
    #: Work until both lots go, relative to buying everything now.
    work: float
    #: Rate of both lots when they go, relative to buying everything now.
    end: float


@dataclass(frozen=True)
class NetworkWorth:
    """What an interconnect is worth to a program."""

    #: Name of the interconnect.
    name: str
    #: Share of the program's time in messages on the best cluster with this interconnect.
    share: float
    #: Runs per second of this cluster, relative to the best interconnect's.
    rate: float
    #: Whether latency and bandwidth meet the program's needs.
    meets: bool


@dataclass(frozen=True)
class NetworkNeed:
    """What a profiled program needs of the network."""

    #: Name of the workload.
    workload: str
    #: Computing time ÷ time in messages on the best cluster; None if no messages leave a node.
    grain: float | None
    #: Computing time between two messages of a rank on the best cluster, s; None without messages.
    between: float | None
    #: ``latency``, ``bandwidth``: latency (s) and bandwidth of a node's adapters (B/s) at which the
    #: messages, and the bytes, take 5% of the computing time each; None without messages, or bytes.
    latency: float | None
    bandwidth: float | None
    #: Interconnects, the fastest first.
    networks: list[NetworkWorth]


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
    #: Years of use; None if only the purchase counts.
    years: float | None = None
    #: What the design maximises: rate, or rate per cost.
    objective: str = "rate"
    #: Number of architectures considered.
    kinds: int = 0
    #: Number of architectures with clusters that meet the limits.
    possible_kinds: int = 0
    #: Rented instances instead of the best cluster.
    rented: list[RentedNodes] = field(default_factory=list)
    #: Divisions of the budget into two lots.
    lots: list[DesignLot] = field(default_factory=list)
    #: Years after which the second lot is bought; None without lots.
    lot_after: float | None = None
    #: Years after which both lots go; None without lots.
    lot_years: float | None = None
    #: What profiled programs need of the network.
    needs: list[NetworkNeed] = field(default_factory=list)
    #: Offers that end within 30 days of the choice.
    offers: list[EndingOffer] = field(default_factory=list)
