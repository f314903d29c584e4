"""Types of the comparison of nodes: each cell over nodes, each node over cells, suspect nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.kernels.naming import cell_title
from assay.model.cell import Cell
from assay.records.group import MemberState
from assay.stats.cells.contention import Contention
from assay.stats.core.model import CellSummary
from assay.subjects.nodes.diagnosis_rules import SlowCore
from assay.units import Interval


@dataclass(frozen=True)
class MeasuredNode:
    """One node's summaries."""

    #: Name of the host, with the member's number if members share a host.
    name: str
    member: int
    cells: Sequence[CellSummary]
    host: str | None = None
    #: Each launch's cost by cell id, in seconds per unit of work; more is worse.
    costs: Mapping[str, Floats] = field(default_factory=dict)
    #: Covariates; see ``covariates_of``.
    covariates: Mapping[str, float] = field(default_factory=dict)
    #: The slowest core.
    core: SlowCore | None = None
    #: Properties of the machine that define the node's kind.
    kind: str = ""
    #: Contention by other processes during the node's measurements.
    contention: Contention | None = None


def gain_of(shift: float, rate: bool) -> float:
    """Relative deviation of the metric (positive is better), from logarithms of costs."""
    return math.expm1(-shift) if rate else -math.expm1(shift)


def gains_of(ends: Interval, rate: bool) -> Interval:
    """``gain_of`` for an interval."""
    low, high = (gain_of(end, rate) for end in ends)
    return high, low


@dataclass(frozen=True)
class NodeValue:
    """One cell on one node."""

    #: Name of the node.
    node: str
    #: Number of the node in the group.
    member: int
    #: Median over launches, in the metric's unit.
    value: float
    #: Relative deviation from the median node; negative is worse.
    gain: float
    #: Deviation in robust standard deviations; null if nodes don't differ.
    sigmas: float | None


@dataclass(frozen=True)
class CellByNode:
    """One cell's metric over nodes."""

    #: ``cell``, ``id``: the cell and its id.
    cell: Cell
    id: str
    #: ``metric``, ``unit``, ``better``: the cell's headline metric, its unit, and whether more or
    #: less is better.
    metric: str
    unit: str
    better: str
    #: Median over nodes. Its 95% interval ``ci95`` is null for fewer than six nodes.
    median: float
    #: 95% interval of ``median``.
    ci95: tuple[float, float] | None
    #: Coefficient of variation between nodes.
    cov: float | None
    #: Robust standard deviation / median.
    robust: float
    #: Each node's value, best first.
    values: list[NodeValue]

    @property
    def spread(self) -> float:
        """Difference between the worst and the best node, relative to the median."""
        return self.values[0].gain - self.values[-1].gain

    @property
    def label(self) -> str:
        """The cell's title."""
        return cell_title(self.cell)


@dataclass(frozen=True)
class NodeGain:
    """One node over all cells."""

    #: Name of the node.
    node: str
    #: Number of the node in the group.
    member: int
    #: Number of cells with a result.
    cells: int
    #: Median over cells of the relative deviation from the median node; positive is better.
    gain: float
    #: Cell with the worst deviation, as text.
    worst: str
    #: Relative deviation in the cell ``worst``.
    worst_gain: float


@dataclass(frozen=True)
class SuspectNode:
    """One node that is slower than its kind (``how``: outlier) or gets slower (step, trend)."""

    #: Name of the node.
    node: str
    #: Number of the node in the group.
    member: int
    #: outlier: slower than its kind. step, trend: gets slower.
    how: Literal["outlier", "step", "trend"]
    #: The resource or cell that shows the deviation.
    what: str
    #: The cell that shows the deviation, as text.
    cell: str
    #: Relative deviation from the typical node, with its 95% interval ``ci95``; negative is worse.
    #: It is the deviation of a rate if ``rate`` is true, otherwise of a time.
    gain: float
    #: 95% interval of ``gain``.
    ci95: Interval
    #: Whether ``gain`` refers to a rate; otherwise, it refers to a time.
    rate: bool
    #: Number of launches of the node in that cell.
    launches: int
    #: Number of these launches that were slower than the typical node.
    slow: int
    #: Number of earlier runs with this node.
    occasions: int
    #: Number of these runs with at least half of the deviation.
    again: int
    #: First day (UTC) of a step or trend.
    since: str | None
    #: The lowest false-discovery rate at which the node would be reported.
    p_adjusted: float
    #: ``suspicion``, ``evidence``: what to check and the evidence for it.
    suspicion: str
    evidence: str
    #: The slow groups of the node, such as "rack r03", whose effect is not part of the deviation;
    #: empty if there are none.
    within: str = ""
    #: Share of fleets without slow nodes in which some node is as far beyond the others, given the
    #: tail of this fleet; null for a step or trend.
    beyond: float | None = None


@dataclass(frozen=True)
class ExplainedNode:
    """One node that is slower than its kind, but not beyond the tail of its kind."""

    #: Name of the node.
    node: str
    #: Number of the node in the group.
    member: int
    #: The resource or cell that shows the deviation.
    what: str
    #: Relative deviation from the typical node, with its 95% interval ``ci95``; negative is worse.
    #: It is the deviation of a rate if ``rate`` is true, otherwise of a time.
    gain: float
    #: 95% interval of ``gain``.
    ci95: Interval
    #: Whether ``gain`` refers to a rate; otherwise, it refers to a time.
    rate: bool
    #: Share of fleets without slow nodes in which some node is as far beyond the others.
    beyond: float


@dataclass(frozen=True)
class FasterNode:
    """One node that is faster than its kind."""

    #: Name of the node.
    node: str
    #: The resource or cell in which it is faster.
    what: str
    #: Relative deviation from the typical node in this resource or cell.
    gain: float


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that share something, such as a rack or a switch, compared as a whole."""

    #: Kind of the group, such as ``rack``.
    what: str
    #: Name of the group.
    name: str
    #: Nodes of the group, compressed as in ``n[1-4]``.
    nodes: str
    #: Numbers of the nodes in the group of runs.
    members: list[int]
    #: Whether the group is slower as a whole.
    slow: bool
    #: The resource or cell that shows the deviation. For a group that is not slow: the resource or
    #: cell of the first slow group, or, if none is slow, the one with the clearest deviation.
    resource: str
    #: Relative deviation from the median group, with its 95% interval ``ci95``; negative is worse.
    #: It is the deviation of a rate if ``rate`` is true, otherwise of a time.
    gain: float
    #: 95% interval of ``gain``.
    ci95: Interval
    #: Whether ``gain`` refers to a rate; otherwise, it refers to a time.
    rate: bool
    #: Number of launches of its nodes in this resource or cell.
    launches: int
    #: Number of these launches in which its median node was slower than the typical node. Both
    #: numbers are 0 if the group isn't slow.
    slow_launches: int
    #: p-value, adjusted over all groups, resources and cells.
    p_adjusted: float
    #: What to check; empty if the group isn't slow.
    suspicion: str

    @property
    def title(self) -> str:
        """``rack r03``."""
        return f"{self.what} {self.name}"


@dataclass(frozen=True)
class NodeKind:
    """Nodes that were compared only with each other."""

    #: Names of the nodes, compressed as in ``n[1-4]``.
    nodes: str
    #: The properties that their machines share; empty if unknown.
    description: str
    #: Number of the nodes.
    count: int = 0
    #: The resource or cell in which the kind differs most clearly from the largest kind; empty for
    #: the largest kind.
    what: str = ""
    #: Relative deviation from the largest kind there, with its 95% interval ``ci95``; negative is
    #: worse. It is the deviation of a rate if ``rate`` is true, otherwise of a time. Null for the
    #: largest kind, and for kinds of fewer than three nodes.
    gain: float | None = None
    #: 95% interval of ``gain``.
    ci95: Interval | None = None
    #: Whether ``gain`` refers to a rate; otherwise, it refers to a time.
    rate: bool = False


@dataclass(frozen=True)
class NodeFailure:
    """One node on which cells failed that did not fail on most others."""

    #: Name of the node.
    node: str
    #: Number of cells that failed.
    cells: int
    #: First cell that failed, as text.
    cell: str
    #: Reason of this failure.
    why: str


@dataclass(frozen=True)
class GroupMember:
    """One node of the group."""

    #: Number of the node.
    number: int
    #: Name of the node; empty before its measurement began.
    node: str
    #: Host of the node; null before its measurement began.
    host: str | None
    #: State of the node: complete, unfinished, failed or missing.
    state: MemberState
    #: Share of the cells with results; null if nothing was measured.
    share: float | None
    #: Reason why the node failed; empty if it didn't.
    problem: str


@dataclass(frozen=True)
class NodeDeviations:
    """Deviation of each node from the typical node of its kind, in every cell."""

    #: Names of the nodes.
    nodes: Sequence[str]
    #: Numbers of the nodes in the group.
    members: Sequence[int]
    #: Names of the cells as text. ``gain`` [node, cell]: relative deviation; positive is better,
    #: nan if there is no result. ``slower`` [node, cell]: whether the node is significantly slower,
    #: given the variation between nodes.
    cells: Sequence[str]
    gain: Floats
    slower: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
