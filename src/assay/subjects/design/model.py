"""Findings of a design: the clusters found, how likely each is the best, what would decide it."""

from __future__ import annotations

import msgspec

DESIGN_SCHEMA = 1


class PredictedRate(msgspec.Struct, frozen=True):
    """The predicted rate of a ``workload`` on one cluster.

    ``rate``: in ``unit``, with its 95% ``interval`` from the uncertainty of
    the figures and of the model. ``shares``: of the time, by what it is spent on. ``limit``: the
    greatest of these.
    """

    workload: str
    unit: str
    rate: float
    interval: tuple[float, float]
    shares: dict[str, float]
    limit: str


class BillLine(msgspec.Struct, frozen=True):
    """A line of the parts list: ``number`` of ``part`` at ``price`` each.

    ``number`` 0: a sum over the cluster, ``price`` in all. ``kind``: whether the price is measured,
    quoted or assumed; ``source``, ``date``: of the price.
    """

    part: str
    number: int
    price: float
    kind: str
    source: str
    date: str


class DesignPlace(msgspec.Struct, frozen=True):
    """The place of the predicted Linpack rate on a TOP500 list.

    ``date``: of the list. ``rank``: None if it is below the whole list.
    """

    date: str
    rank: int | None


class OwnKindPlace(msgspec.Struct, frozen=True):
    """The place of the predicted Linpack rate among listed systems of one kind.

    ``date``: of the last list that it would be on. ``kind``: such as "systems with AMD processors".
    ``rank``: one more than the faster systems known to be of the kind, of ``of`` known on the list.
    ``unknown``: faster systems whose kind is not known, by which the rank can be greater.
    """

    date: str
    kind: str
    rank: int
    of: int
    unknown: int


class DesignedCluster(msgspec.Struct, frozen=True):
    """One cluster of the shortlist: the best number of nodes of its architecture.

    ``name``: node, memory, disk and interconnect. ``nodes`` work, and ``spares`` are bought too.
    ``likely``: probability that its architecture is within 2% of the best, given the uncertainty.
    ``score``: weighted geometric mean of the rates, relative to the best cluster's. ``price``: in
    the currency of the design. ``power``: W. ``racks``, ``floor`` (m²). ``cores`` and ``memory``
    (bytes) in all. ``rates``: predicted, by workload. ``bill``: the parts list.
    ``memory_balance``, ``network_balance``: bytes per s per flop/s of DGEMM, of memory and of the
    adapters. ``hops``: between two nodes, mean. ``price_per_gflops``: per Gflop/s of Linpack, where
    that is a workload. ``topology``: its kind and extent. ``places``: on TOP500 lists;
    ``own_kinds``: among their systems with the same kind of processor and interconnect, by the
    names of the parts, and among self-made ones.
    """

    name: str
    nodes: int
    spares: int
    score: float
    likely: float
    price: float
    power: float
    racks: int
    floor: float
    cores: int
    memory: float
    memory_balance: float
    network_balance: float
    hops: float
    topology: str
    rates: list[PredictedRate]
    bill: list[BillLine]
    price_per_gflops: float | None
    places: list[DesignPlace]
    own_kinds: list[OwnKindPlace] = []


class FrontPoint(msgspec.Struct, frozen=True):
    """A cluster of the Pareto front: no other is cheaper, draws less and is as fast.

    ``name``: node, memory, disk and ``interconnect``; how many ``nodes``; its ``price`` and
    ``power`` (W). ``score``: relative to the best within the limits.
    """

    name: str
    interconnect: str
    nodes: int
    price: float
    power: float
    score: float


class UncertainInput(msgspec.Struct, frozen=True):
    """An uncertain figure: what knowing it before the choice would be worth.

    ``what`` of ``part``. ``gain``: increase of the expected rate, relative. ``changes``: share of
    its range in which another architecture is the better choice. ``value``, ``interval``: as the
    catalogue has it; None for the error of the model. ``kind``: measured, quoted, assumed or model.
    ``where``: file and line. ``measure``: the command that would
    measure it, "" where none does.
    """

    part: str
    what: str
    gain: float
    changes: float
    value: float | None
    interval: tuple[float, float] | None
    kind: str
    where: str
    measure: str


class ClusterDesign(msgspec.Struct, frozen=True):
    """What a design came to.

    ``schema``: of these findings. ``title``, ``file``: of the specification. ``utc``: when. All
    amounts are in ``currency``; ``budget`` None: not limited. ``draws`` of the uncertain figures
    from ``seed``. ``unknown``: sentences on what the numbers can't say.
    ``considered``: candidates; ``possible``: those within the limits; ``excluded``: by limit, how
    many it excludes. ``best``: the shortlist, best first. ``front``: the Pareto front, by price.
    ``inputs``: uncertain figures by what knowing them is worth. ``more``: the rate that a tenth
    more money buys, relative to the best cluster's; None without a budget. ``workload``: weights.
    ``assumed``: how many of the figures used are assumed, of ``figures``.
    """

    schema: int
    title: str
    utc: float
    file: str
    currency: str
    budget: float | None
    workload: dict[str, float]
    considered: int
    possible: int
    excluded: dict[str, int]
    best: list[DesignedCluster]
    front: list[FrontPoint]
    inputs: list[UncertainInput]
    more: float | None
    draws: int
    seed: int
    figures: int
    assumed: int
    unknown: list[str]
