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

    #: Its host's, with the member's number if members share it.
    name: str
    member: int
    cells: Sequence[CellSummary]
    host: str | None = None
    #: By cell id, each launch's cost in seconds per unit of work, more is worse.
    costs: Mapping[str, Floats] = field(default_factory=dict)
    #: See ``covariates_of``.
    covariates: Mapping[str, float] = field(default_factory=dict)
    #: The slowest CPU.
    core: SlowCore | None = None
    #: Properties of the machine that define its kind.
    kind: str = ""
    #: Other processes during its measurements.
    contention: Contention | None = None


def gain_of(shift: float, rate: bool) -> float:
    """Relative deviation of the metric from the typical node, positive is better, from a difference
    of logarithms of costs.
    """
    return math.expm1(-shift) if rate else -math.expm1(shift)


def gains_of(ends: Interval, rate: bool) -> Interval:
    """The same of an interval."""
    low, high = (gain_of(end, rate) for end in ends)
    return high, low


@dataclass(frozen=True)
class NodeValue:
    """One cell on one node."""

    #: Its name.
    node: str
    #: Its number in the group.
    member: int
    #: The median over launches, in the metric's unit.
    value: float
    #: How much better than the median node, relative; negative is worse.
    gain: float
    #: The same in robust standard deviations, null where nodes don't differ.
    sigmas: float | None


@dataclass(frozen=True)
class CellByNode:
    """One cell's metric over nodes."""

    #: ``cell``, ``id``: the cell.
    cell: Cell
    id: str
    #: ``metric``, ``unit``, ``better``: its headline metric.
    metric: str
    unit: str
    better: str
    #: Median over nodes, with its 95% interval ``ci95``, null for fewer than six nodes.
    median: float
    #: 95% interval.
    ci95: tuple[float, float] | None
    #: Coefficient of variation between nodes.
    cov: float | None
    #: Robust standard deviation over the median.
    robust: float
    #: Each node's value, best first.
    values: list[NodeValue]

    @property
    def spread(self) -> float:
        """From the worst node to the best, relative to the median."""
        return self.values[0].gain - self.values[-1].gain

    @property
    def label(self) -> str:
        """The cell's title."""
        return cell_title(self.cell)


@dataclass(frozen=True)
class NodeGain:
    """One node over all cells."""

    #: Its name.
    node: str
    #: Its number in the group.
    member: int
    #: Number of cells with a result.
    cells: int
    #: The median over cells of the relative deviation from the median node; positive is better.
    gain: float
    #: The cell, as text, with the worst deviation, which is ``worst_gain``.
    worst: str
    #: The deviation in the cell ``worst``.
    worst_gain: float


@dataclass(frozen=True)
class SuspectNode:
    """One node that is slower than its kind (``how``: outlier) or gets slower (step, trend)."""

    #: Its name.
    node: str
    #: Its number in the group.
    member: int
    #: outlier: slower than its kind. step, trend: gets slower.
    how: Literal["outlier", "step", "trend"]
    #: The resource or cell that reports it.
    what: str
    #: The cell as text.
    cell: str
    #: Relative deviation from the typical node, negative is worse, with its 95% interval ``ci95``;
    #: of a rate if ``rate``, else of a time.
    gain: float
    #: 95% interval.
    ci95: Interval
    #: Whether ``gain`` is the gain of a rate; otherwise of a time.
    rate: bool
    #: Number of launches of the node in that cell.
    launches: int
    #: Number of these slower than the typical node.
    slow: int
    #: Number of earlier runs with this node.
    occasions: int
    #: Number of these with at least half of the deviation.
    again: int
    #: First day (UTC) of a step or trend.
    since: str | None
    #: The lowest false-discovery rate at which the node would be reported.
    p_adjusted: float
    #: ``suspicion``, ``evidence``: what to check, and why.
    suspicion: str
    evidence: str
    #: The slow groups of the node, such as "rack r03", whose effect is not part of the deviation;
    #: empty if there are none.
    within: str = ""


@dataclass(frozen=True)
class FasterNode:
    """One node that is faster than its kind."""

    #: Its name.
    node: str
    #: The resource or cell.
    what: str
    #: Relative deviation from the typical node in that resource or cell.
    gain: float


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that share something, such as a rack or a switch, compared as a whole."""

    #: What the group is, such as ``rack``.
    what: str
    #: Its name.
    name: str
    #: Its nodes, compressed as in ``n[1-4]``.
    nodes: str
    #: Their numbers in the group of runs.
    members: list[int]
    #: Whether it is slower as a whole.
    slow: bool
    #: The resource or cell that reports it; of a group that is not slow that of the first slow
    #: group, or if none is slow, where it deviates most clearly.
    resource: str
    #: Relative deviation from the median group, negative is worse, with its 95% interval ``ci95``;
    #: of a rate if ``rate``, else of a time.
    gain: float
    #: 95% interval.
    ci95: Interval
    #: Whether ``gain`` is the gain of a rate; otherwise of a time.
    rate: bool
    #: Number of launches of its nodes there.
    launches: int
    #: Number of these in which its median node is slower than the typical node; both 0 if it isn't
    #: slow.
    slow_launches: int
    #: Adjusted over all groups, resources and cells.
    p_adjusted: float
    #: What to check; empty if it isn't slow.
    suspicion: str

    @property
    def title(self) -> str:
        """``rack r03``."""
        return f"{self.what} {self.name}"


@dataclass(frozen=True)
class NodeKind:
    """Nodes that were compared only with each other."""

    #: Their names, compressed as in ``n[1-4]``.
    nodes: str
    #: The properties that their machines share; empty if unknown.
    description: str


@dataclass(frozen=True)
class NodeFailure:
    """One node on which cells failed that did not fail on most others."""

    #: Its name.
    node: str
    #: Number of cells that failed.
    cells: int
    #: The first of them, as text.
    cell: str
    #: The reason of its failure.
    why: str


@dataclass(frozen=True)
class GroupMember:
    """One node of the group."""

    #: Its number.
    number: int
    #: Its name; empty before it began.
    node: str
    #: Its host; null before it began.
    host: str | None
    #: Complete, unfinished, failed or missing.
    state: MemberState
    #: Share of its cells with results; null if nothing was measured.
    share: float | None
    #: Why it failed.
    problem: str


@dataclass(frozen=True)
class NodeDeviations:
    """Deviation of each node from the typical node of its kind, in every cell."""

    #: Names.
    nodes: Sequence[str]
    #: Their numbers in the group.
    members: Sequence[int]
    #: As text. ``gain`` [node, cell]: relative, positive is better, nan without a result.
    #: ``slower`` [node, cell]: whether it is significantly slower, given the variation between
    #: nodes.
    cells: Sequence[str]
    gain: Floats
    slower: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
