"""Findings of a design: the clusters found, how likely each is the best, what would decide it."""

from __future__ import annotations

from dataclasses import dataclass, field

DESIGN_SCHEMA = 1


@dataclass(frozen=True)
class PredictedRate:
    """The predicted rate of a ``workload`` on one cluster."""

    #: Name of the workload.
    workload: str
    #: The unit of the rate.
    unit: str
    #: In ``unit``, with its 95% ``interval`` from the uncertainty of the figures and of the model.
    rate: float
    #: 95% interval; None where there is none.
    interval: tuple[float, float]
    #: Of the time, by what it is spent on.
    shares: dict[str, float]
    #: The greatest of these.
    limit: str


@dataclass(frozen=True)
class BillLine:
    """A line of the parts list: ``number`` of ``part`` at ``price`` each.

    ``number`` 0: a sum over the cluster, ``price`` in all.
    """

    #: Name of the part.
    part: str
    #: How many are bought. 0: the price is a sum over the cluster.
    number: int
    #: Price of one part, or of all where ``number`` is 0.
    price: float
    #: Whether the price is measured, quoted or assumed.
    kind: str
    #: ``source``, ``date``: of the price.
    source: str
    date: str


@dataclass(frozen=True)
class DesignPlace:
    """The place of the predicted Linpack rate on a TOP500 list."""

    #: Of the list.
    date: str
    #: None if it is below the whole list.
    rank: int | None


@dataclass(frozen=True)
class OwnKindPlace:
    """The place of the predicted Linpack rate among listed systems of one kind."""

    #: Of the last list that it would be on.
    date: str
    #: Such as "systems with AMD processors".
    kind: str
    #: One more than the faster systems known to be of the kind, of ``of`` known on the list.
    rank: int
    #: Number of listed systems of this kind.
    of: int
    #: Faster systems whose kind is not known, by which the rank can be greater.
    unknown: int


@dataclass(frozen=True)
class DesignedCluster:
    """One cluster of the shortlist: the best number of nodes of its architecture."""

    #: Node, memory, disk and interconnect. ``nodes`` work, and ``spares`` are bought too.
    name: str
    #: Number of working nodes.
    nodes: int
    #: Number of spare nodes, which are bought too.
    spares: int
    #: Weighted geometric mean of the rates, relative to the best cluster's.
    score: float
    #: Probability that its architecture is within 2% of the best, given the uncertainty.
    likely: float
    #: In the currency of the design.
    price: float
    #: W. ``racks``, ``floor`` (m²). ``cores`` and ``memory`` (bytes) in all.
    power: float
    #: Number of racks.
    racks: int
    #: Floor space, m².
    floor: float
    #: Number of cores in all.
    cores: int
    #: Bytes of memory in all.
    memory: float
    #: ``memory_balance``, ``network_balance``: bytes per s per flop/s of DGEMM, of memory and of
    #: the adapters.
    memory_balance: float
    network_balance: float
    #: Between two nodes, mean.
    hops: float
    #: Its kind and extent.
    topology: str
    #: Predicted, by workload.
    rates: list[PredictedRate]
    #: The parts list.
    bill: list[BillLine]
    #: Per Gflop/s of Linpack, where that is a workload.
    price_per_gflops: float | None
    #: On TOP500 lists.
    places: list[DesignPlace]
    #: Among their systems with the same kind of processor and interconnect, by the names of the
    #: parts, and among self-made ones.
    own_kinds: list[OwnKindPlace] = field(default_factory=list)


@dataclass(frozen=True)
class FrontPoint:
    """A cluster of the Pareto front: no other is cheaper, draws less and is as fast."""

    #: Node, memory, disk and ``interconnect``; how many ``nodes``; its ``price`` and ``power`` (W).
    name: str
    #: Name of the interconnect.
    interconnect: str
    #: Number of nodes.
    nodes: int
    #: Price of the cluster.
    price: float
    #: Power, W.
    power: float
    #: Relative to the best within the limits.
    score: float


@dataclass(frozen=True)
class UncertainInput:
    """An uncertain figure: what knowing it before the choice would be worth.

    ``what`` of ``part``.
    """

    #: Name of the part.
    part: str
    #: The uncertain figure of the part.
    what: str
    #: Increase of the expected rate, relative.
    gain: float
    #: Share of its range in which another architecture is the better choice.
    changes: float
    #: ``value``, ``interval``: as the catalogue has it; None for the error of the model.
    value: float | None
    interval: tuple[float, float] | None
    #: Measured, quoted, assumed or model.
    kind: str
    #: File and line.
    where: str
    #: The command that would measure it, "" where none does.
    measure: str


@dataclass(frozen=True)
class ClusterDesign:
    """What a design came to."""

    #: Of these findings.
    schema: int
    #: ``title``, ``file``: of the specification.
    title: str
    #: When. All amounts are in ``currency``; ``budget`` None: not limited. ``draws`` of the
    #: uncertain figures from ``seed``.
    utc: float
    file: str
    #: The currency of all prices.
    currency: str
    #: The limit of the price, in ``currency``; None: not limited.
    budget: float | None
    #: Weights.
    workload: dict[str, float]
    #: Candidates.
    considered: int
    #: Those within the limits.
    possible: int
    #: By limit, how many it excludes.
    excluded: dict[str, int]
    #: The shortlist, best first.
    best: list[DesignedCluster]
    #: The Pareto front, by price.
    front: list[FrontPoint]
    #: Uncertain figures by what knowing them is worth.
    inputs: list[UncertainInput]
    #: The rate that a tenth more money buys, relative to the best cluster's; None without a budget.
    more: float | None
    #: Number of random draws of the uncertain figures.
    draws: int
    #: Seed of the draws.
    seed: int
    #: Number of figures used.
    figures: int
    #: How many of the figures used are assumed, of ``figures``.
    assumed: int
    #: Sentences on what the numbers can't say.
    unknown: list[str]
