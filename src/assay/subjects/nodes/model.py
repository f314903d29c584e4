"""Types of the comparison of nodes: each cell over nodes, each node over cells, suspect nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
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
    """One node's summaries. ``name``: its host's, with the member's number if members share it.

    ``costs``: by cell id, each launch's cost in seconds per unit of work, more is worse.
    ``covariates``: see ``covariates_of``. ``core``: the slowest CPU. ``kind``: properties of the
    machine that define its kind. ``contention``: other processes during its measurements.
    """

    name: str
    member: int
    cells: Sequence[CellSummary]
    host: str | None = None
    costs: Mapping[str, Floats] = field(default_factory=dict)
    covariates: Mapping[str, float] = field(default_factory=dict)
    core: SlowCore | None = None
    kind: str = ""
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


class NodeValue(msgspec.Struct, frozen=True):
    """One cell on one node. ``node``: its name; ``member``: its number in the group.

    ``value``: the median over launches, in the metric's unit. ``gain``: how much better than the
    median node, relative; negative is worse. ``sigmas``: the same in robust standard deviations,
    null where nodes don't differ.
    """

    node: str
    member: int
    value: float
    gain: float
    sigmas: float | None


class CellByNode(msgspec.Struct, frozen=True):
    """One cell's metric over nodes.

    ``cell``, ``id``: the cell. ``metric``, ``unit``, ``better``: its headline metric. ``median``:
    median over nodes, with its 95% interval ``ci95``, null for fewer than six nodes. ``cov``:
    coefficient of variation between nodes. ``robust``: robust standard deviation over the median.
    ``values``: each node's value, best first.
    """

    cell: Cell
    id: str
    metric: str
    unit: str
    better: str
    median: float
    ci95: tuple[float, float] | None
    cov: float | None
    robust: float
    values: list[NodeValue]

    @property
    def spread(self) -> float:
        """From the worst node to the best, relative to the median."""
        return self.values[0].gain - self.values[-1].gain

    @property
    def label(self) -> str:
        """The cell's title."""
        return cell_title(self.cell)


class NodeGain(msgspec.Struct, frozen=True):
    """One node over all cells. ``node``: its name; ``member``: its number in the group.

    ``cells``: number of cells with a result. ``gain``: the median over cells of the relative
    deviation from the median node; positive is better. ``worst``: the cell, as text, with the worst
    deviation, which is ``worst_gain``.
    """

    node: str
    member: int
    cells: int
    gain: float
    worst: str
    worst_gain: float


class SuspectNode(msgspec.Struct, frozen=True):
    """One node that is slower than its kind (``how``: outlier) or gets slower (step, trend).

    ``node``: its name; ``member``: its number in the group. ``what``: the resource or cell that
    reports it; ``cell``: the cell as text. ``gain``: relative deviation from the typical node,
    negative is worse, with its 95% interval ``ci95``; of a rate if ``rate``, else of a time.
    ``launches``: number of launches of the node in that cell; ``slow``: number of these slower than
    the typical node. ``occasions``: number of earlier runs with this node; ``again``: number of
    these with at least half of the deviation. ``since``: first day (UTC) of a step or trend.
    ``p_adjusted``: the lowest false-discovery rate at which the node would be reported.
    ``suspicion``, ``evidence``: what to check, and why. ``within``: the slow groups of the node,
    such as "rack r03", whose effect is not part of the deviation; empty if there are none.
    """

    node: str
    member: int
    how: Literal["outlier", "step", "trend"]
    what: str
    cell: str
    gain: float
    ci95: Interval
    rate: bool
    launches: int
    slow: int
    occasions: int
    again: int
    since: str | None
    p_adjusted: float
    suspicion: str
    evidence: str
    within: str = ""


class FasterNode(msgspec.Struct, frozen=True):
    """One node that is faster than its kind. ``node``: its name; ``what``: the resource or cell.

    ``gain``: relative deviation from the typical node in that resource or cell.
    """

    node: str
    what: str
    gain: float


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that share something, such as a rack or a switch, compared as a whole.

    ``what``: what the group is, such as ``rack``; ``name``: its name. ``nodes``: its nodes,
    compressed as in ``n[1-4]``; ``members``: their numbers in the group of runs. ``slow``: whether
    it is slower as a whole. ``resource``: the resource or cell that reports it; of a group that is
    not slow that of the first slow group, or if none is slow, where it deviates most clearly.
    ``gain``: relative deviation from the median group, negative is worse, with its 95% interval
    ``ci95``; of a rate if ``rate``, else of a time. ``launches``: number of launches of its nodes
    there; ``slow_launches``: number of these in which its median node is slower than the typical
    node; both 0 if it isn't slow. ``p_adjusted``: adjusted over all groups, resources and cells.
    ``suspicion``: what to check; empty if it isn't slow.
    """

    what: str
    name: str
    nodes: str
    members: list[int]
    slow: bool
    resource: str
    gain: float
    ci95: Interval
    rate: bool
    launches: int
    slow_launches: int
    p_adjusted: float
    suspicion: str

    @property
    def title(self) -> str:
        """``rack r03``."""
        return f"{self.what} {self.name}"


class NodeKind(msgspec.Struct, frozen=True):
    """Nodes that were compared only with each other.

    ``nodes``: their names, compressed as in ``n[1-4]``. ``description``: the properties that their
    machines share; empty if unknown.
    """

    nodes: str
    description: str


class NodeFailure(msgspec.Struct, frozen=True):
    """One node on which cells failed that did not fail on most others.

    ``node``: its name. ``cells``: number of cells that failed; ``cell``: the first of them, as
    text; ``why``: the reason of its failure.
    """

    node: str
    cells: int
    cell: str
    why: str


class GroupMember(msgspec.Struct, frozen=True):
    """One node of the group. ``number``: its number. ``node``: its name; empty before it began.

    ``host``: its host; null before it began. ``state``: complete, unfinished, failed or missing.
    ``share``: share of its cells with results; null if nothing was measured. ``problem``: why it
    failed.
    """

    number: int
    node: str
    host: str | None
    state: MemberState
    share: float | None
    problem: str


@dataclass(frozen=True)
class NodeDeviations:
    """Deviation of each node from the typical node of its kind, in every cell.

    ``nodes``: names. ``members``: their numbers in the group. ``cells``: as text. ``gain`` [node,
    cell]: relative, positive is better, nan without a result. ``slower`` [node, cell]: whether it
    is significantly slower, given the variation between nodes.
    """

    nodes: Sequence[str]
    members: Sequence[int]
    cells: Sequence[str]
    gain: Floats
    slower: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
